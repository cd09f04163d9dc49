//! What services say when a conversation is too long for the model.

/// Their words: the parts of one entry in this order, all in lower case.
const OVERFLOW: &[&[&str]] = &[
    &["prompt is too long"],                           // Anthropic, Fireworks
    &["input length and `max_tokens` exceed context"], // Anthropic
    &["input length and max_tokens exceed context"],   // Anthropic, through others
    &["exceeds the context window"],                   // OpenAI
    &["exceed the configured limit", "tokens"],        // OpenAI Responses
    &["maximum context length"],                       // OpenAI, OpenRouter, vLLM, DeepSeek, Azure
    &["max context length"],                           // various
    &["maximum model length"],                         // vLLM
    &["input token count", "exceeds the maximum"],     // Gemini
    &["maximum prompt length is"],                     // xAI
    &["reduce the length of the messages"],            // Groq, Cerebras
    &["too large for model with", "context length"],   // Mistral
    &["token count", "exceeds the limit of"],          // Copilot
    &["exceeds the available context size"],           // llama.cpp
    &["greater than the context length"],              // LM Studio
    &["loaded with context length of only"],           // LM Studio
    &["prompt too long", "context length"],            // Ollama
    &["exceeds the context length"],                   // Ollama
    &["longer than the model's context length"],       // SGLang
    &["input length", "exceeds the maximum allowed length"], // SGLang
    &["input length", "exceeds the maximum length"],   // Volcengine
    &["exceed max message tokens"],                    // Volcengine
    &["inputs` tokens + `max_new_tokens` must be"],    // TGI, Together
    &["inputs` must have less than", "tokens"],        // TGI
    &["greater than max_seq_len"],                     // TabbyAPI
    &["context window exceeds limit"],                 // MiniMax
    &["exceeded model token limit"],                   // Moonshot
    &["range of input length should be"],              // DashScope
    &["prompt exceeds max length"],                    // Zhipu
    &["prompt 超长"],                                  // Zhipu
    &["input is too long for requested model"],        // Bedrock
    &["number of input tokens exceeds"],               // Bedrock
    &["contextwindowexceedederror"],                   // LiteLLM
    &["context length exceeded"],
    &["context_length_exceeded"],
    &["context window exceeded"],
    &["exceeds context window"],
    &["exceeds model context window"],
    &["too many tokens"], // Cohere
    &["token limit exceeded"],
];

/// Words for tokens within a time: waiting helps, and a shorter conversation is not what is asked for.
const THROTTLED: &[&str] = &[
    "tokens per min",
    "tokens per day",
    "tokens per hour",
    "tokens per second",
    "tokens/min",
    "token rate limit",
    "(tpm)",
    "(tpd)",
];

/// Whether a message, in lower case, says that the conversation is too long.
pub(crate) fn overflows(message: &str) -> bool {
    if THROTTLED.iter().any(|words| message.contains(words)) {
        return false;
    }
    OVERFLOW.iter().any(|parts| {
        let mut rest = message;
        parts.iter().all(|part| match rest.find(part) {
            Some(at) => {
                rest = &rest[at + part.len()..];
                true
            }
            None => false,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each service, and what it says.
    const SAID: &[(&str, &str)] = &[
        (
            "Anthropic",
            "prompt is too long: 213462 tokens > 200000 maximum",
        ),
        (
            "Anthropic",
            "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input length or `max_tokens` and try again",
        ),
        (
            "OpenAI",
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens. Please reduce the length of the messages.",
        ),
        (
            "OpenAI Responses",
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
        ),
        (
            "OpenAI Responses",
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 292000 tokens.",
        ),
        (
            "Gemini",
            "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
        ),
        (
            "Mistral",
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        ),
        (
            "DeepSeek",
            "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (62000 in the messages, 8000 in the completion).",
        ),
        (
            "Groq",
            "Please reduce the length of the messages or completion.",
        ),
        (
            "xAI",
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        ),
        (
            "OpenRouter",
            "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens",
        ),
        (
            "Together",
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 8000 `inputs` tokens and 512 `max_new_tokens`",
        ),
        (
            "Fireworks",
            "The prompt is too long: 140000, model maximum context length: 131071",
        ),
        (
            "Bedrock",
            "The model returned the following errors: Input is too long for requested model.",
        ),
        (
            "Bedrock",
            "Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.",
        ),
        (
            "Azure",
            "This model's maximum context length is 128000 tokens, however you requested 130000 tokens",
        ),
        (
            "llama.cpp",
            "the request exceeds the available context size, try increasing it",
        ),
        (
            "vLLM",
            "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        ),
        (
            "vLLM",
            "This model's maximum context length is 262144 tokens. However, you requested 128000 output tokens and your prompt contains at least 134145 input tokens",
        ),
        (
            "Ollama",
            "prompt too long; exceeded max context length by 12 tokens",
        ),
        ("Ollama", "the input length exceeds the context length"),
        (
            "LM Studio",
            "The number of tokens to keep from the initial prompt is greater than the context length.",
        ),
        (
            "LM Studio",
            "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
        ),
        (
            "LiteLLM",
            "litellm.ContextWindowExceededError: litellm.BadRequestError: too long",
        ),
        (
            "SGLang",
            "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
        ),
        (
            "SGLang",
            "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).",
        ),
        (
            "TGI",
            "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000",
        ),
        (
            "Cerebras",
            "Please reduce the length of the messages or completion. Current length is 8193 while limit is 8192",
        ),
        (
            "Cohere",
            "too many tokens: total number of tokens in the prompt cannot exceed 4081",
        ),
        (
            "DashScope",
            "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
        ),
        (
            "Moonshot",
            "Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)",
        ),
        ("Zhipu", "Prompt exceeds max length"),
        ("Zhipu", "Prompt 超长"),
        ("MiniMax", "invalid params, context window exceeds limit"),
        (
            "Volcengine",
            "Total tokens of image and text exceed max message tokens.",
        ),
        (
            "Copilot",
            "prompt token count of 130000 exceeds the limit of 128000",
        ),
        (
            "TabbyAPI",
            "Prompt length 9000 is greater than max_seq_len 8192",
        ),
    ];

    #[test]
    fn what_services_say() {
        for (service, message) in SAID {
            assert!(overflows(&message.to_lowercase()), "{service}: {message}");
        }
    }

    #[test]
    fn throttling_that_speaks_of_tokens_is_none() {
        for message in [
            "Rate limit reached for gpt-4 in organization org-1 on tokens per min (TPM): Limit 10000, Used 9000, Requested 2000.",
            "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 40000. The input or output tokens must be reduced in order to run successfully.",
            "Request too large for model `llama` on tokens per minute (TPM): Limit 6000, Requested 8000, please reduce the length of the messages",
            "This request would exceed your organization's rate limit of 40,000 input tokens per minute.",
            "Too many tokens per day, please wait before trying again.",
            "max_tokens is too large: 200000. This model supports at most 16384 completion tokens",
            "image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
            "Request exceeds the maximum size",
        ] {
            assert!(!overflows(&message.to_lowercase()), "{message}");
        }
    }
}
