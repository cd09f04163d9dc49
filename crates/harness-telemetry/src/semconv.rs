//! The names that the OpenTelemetry conventions for generative AI give.
//!
//! From `open-telemetry/semantic-conventions-genai`: spans and attributes as of commit
//! `7e7e4e763354b505b8e1f76512f17a1977b00f70` (`model/gen-ai/spans.yaml`), metrics of tokens as of
//! `9b2ce3b4e6b351a44025a289eefc1a6f6108a938` (`model/gen-ai/token-metrics.yaml`). They are own constants
//! because those of the crate `opentelemetry-semantic-conventions` are deprecated since the conventions left
//! the main repository. All are in development; [`VERSION`] counts what changed here.

/// Counts up when a name below changes.
pub const VERSION: u32 = 1;

macro_rules! names {
    ($($name:ident = $value:literal;)*) => {
        $(
            #[doc = concat!("`", $value, "`")]
            pub const $name: &str = $value;
        )*
    };
}

// Which operation, by whom.
names! {
    OPERATION_NAME = "gen_ai.operation.name";
    PROVIDER_NAME = "gen_ai.provider.name";
    CONVERSATION_ID = "gen_ai.conversation.id";
    AGENT_ID = "gen_ai.agent.id";
    AGENT_NAME = "gen_ai.agent.name";
    AGENT_DESCRIPTION = "gen_ai.agent.description";
    AGENT_VERSION = "gen_ai.agent.version";
    SERVER_ADDRESS = "server.address";
    SERVER_PORT = "server.port";
    ERROR_TYPE = "error.type";
}

// Requests and replies.
names! {
    REQUEST_MODEL = "gen_ai.request.model";
    REQUEST_MAX_TOKENS = "gen_ai.request.max_tokens";
    REQUEST_TEMPERATURE = "gen_ai.request.temperature";
    REQUEST_STREAM = "gen_ai.request.stream";
    RESPONSE_ID = "gen_ai.response.id";
    RESPONSE_MODEL = "gen_ai.response.model";
    RESPONSE_FINISH_REASONS = "gen_ai.response.finish_reasons";
    RESPONSE_TIME_TO_FIRST_CHUNK = "gen_ai.response.time_to_first_chunk";
    USAGE_INPUT_TOKENS = "gen_ai.usage.input_tokens";
    USAGE_OUTPUT_TOKENS = "gen_ai.usage.output_tokens";
    USAGE_CACHE_READ_INPUT_TOKENS = "gen_ai.usage.cache_read.input_tokens";
    USAGE_CACHE_CREATION_INPUT_TOKENS = "gen_ai.usage.cache_creation.input_tokens";
    USAGE_REASONING_OUTPUT_TOKENS = "gen_ai.usage.reasoning.output_tokens";
}

// Tools.
names! {
    TOOL_NAME = "gen_ai.tool.name";
    TOOL_TYPE = "gen_ai.tool.type";
    TOOL_DESCRIPTION = "gen_ai.tool.description";
    TOOL_CALL_ID = "gen_ai.tool.call.id";
}

// Content: only when it is switched on.
names! {
    SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions";
    INPUT_MESSAGES = "gen_ai.input.messages";
    OUTPUT_MESSAGES = "gen_ai.output.messages";
    TOOL_DEFINITIONS = "gen_ai.tool.definitions";
    TOOL_CALL_ARGUMENTS = "gen_ai.tool.call.arguments";
    TOOL_CALL_RESULT = "gen_ai.tool.call.result";
}

// Metrics.
names! {
    CLIENT_OPERATION_DURATION = "gen_ai.client.operation.duration";
    CLIENT_TIME_TO_FIRST_CHUNK = "gen_ai.client.operation.time_to_first_chunk";
    CLIENT_INPUT_TOKENS = "gen_ai.client.inference.usage.input_tokens";
    CLIENT_OUTPUT_TOKENS = "gen_ai.client.inference.usage.output_tokens";
    CLIENT_CACHE_READ_TOKENS = "gen_ai.client.inference.usage.cache_read.input_tokens";
    CLIENT_CACHE_WRITE_TOKENS = "gen_ai.client.inference.usage.cache_write.input_tokens";
    CLIENT_REASONING_TOKENS = "gen_ai.client.inference.usage.reasoning.output_tokens";
    INVOKE_AGENT_DURATION = "gen_ai.invoke_agent.duration";
    EXECUTE_TOOL_DURATION = "gen_ai.execute_tool.duration";
}
