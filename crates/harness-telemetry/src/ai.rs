//! The spans and metrics of the conventions for generative AI: what any agent does.

use crate::semconv::{
    AGENT_DESCRIPTION, AGENT_ID, AGENT_NAME, AGENT_VERSION, CLIENT_CACHE_READ_TOKENS,
    CLIENT_CACHE_WRITE_TOKENS, CLIENT_INPUT_TOKENS, CLIENT_OPERATION_DURATION,
    CLIENT_OUTPUT_TOKENS, CLIENT_REASONING_TOKENS, CLIENT_TIME_TO_FIRST_CHUNK, CONVERSATION_ID,
    ERROR_TYPE, EXECUTE_TOOL_DURATION, INPUT_MESSAGES, INVOKE_AGENT_DURATION, OPERATION_NAME,
    OUTPUT_MESSAGES, PROVIDER_NAME, REQUEST_MAX_TOKENS, REQUEST_MODEL, REQUEST_STREAM,
    REQUEST_TEMPERATURE, RESPONSE_FINISH_REASONS, RESPONSE_ID, RESPONSE_MODEL,
    RESPONSE_TIME_TO_FIRST_CHUNK, SERVER_ADDRESS, SERVER_PORT, SYSTEM_INSTRUCTIONS,
    TOOL_CALL_ARGUMENTS, TOOL_CALL_ID, TOOL_CALL_RESULT, TOOL_DEFINITIONS, TOOL_DESCRIPTION,
    TOOL_NAME, TOOL_TYPE, USAGE_CACHE_CREATION_INPUT_TOKENS, USAGE_CACHE_READ_INPUT_TOKENS,
    USAGE_INPUT_TOKENS, USAGE_OUTPUT_TOKENS, USAGE_REASONING_OUTPUT_TOKENS,
};

crate::schema! {
    /// What the OpenTelemetry conventions for generative AI define.
    pub static AI = "gen_ai", version 1;

    /// An agent at work on what it was asked.
    span invoke_agent(InvokeAgent<'a>) -> AgentEnd<'a> = "invoke_agent {agent}" {
        kind: Internal; level: Info; parents: [any];
        always {
            /// What is done.
            operation = OPERATION_NAME => "invoke_agent";
        }
        start {
            /// The agent's name.
            agent: &'a str = AGENT_NAME, low;
            /// Who serves the model that it begins with.
            provider: &'a str = PROVIDER_NAME, low;
            /// The model that it begins with.
            model: &'a str = REQUEST_MODEL, low;
        }
        start_optional {
            /// The conversation: the session's id.
            conversation: &'a str = CONVERSATION_ID, high;
            /// The agent's id.
            agent_id: &'a str = AGENT_ID, high;
            /// What the agent is for.
            agent_description: &'a str = AGENT_DESCRIPTION, low;
            /// The agent's version.
            agent_version: &'a str = AGENT_VERSION, low;
        }
        end {
            /// Tokens of all requests, cached ones included.
            input_tokens: u64 = USAGE_INPUT_TOKENS, high;
            /// Tokens of all replies, thinking included.
            output_tokens: u64 = USAGE_OUTPUT_TOKENS, high;
            /// Why the last reply ended; empty if there was none.
            finish_reasons: &'a [&'a str] = RESPONSE_FINISH_REASONS, low;
        }
        end_optional {
            /// Input tokens that came from the provider's cache.
            cache_read_tokens: u64 = USAGE_CACHE_READ_INPUT_TOKENS, high;
            /// Input tokens that were written to the provider's cache.
            cache_creation_tokens: u64 = USAGE_CACHE_CREATION_INPUT_TOKENS, high;
            /// Output tokens that were spent on thinking.
            reasoning_tokens: u64 = USAGE_REASONING_OUTPUT_TOKENS, high;
        }
    }

    /// One request to a model, and its reply.
    span chat(Chat<'a>) -> ChatEnd<'a> = "chat {model}" {
        kind: Client; level: Info; parents: [any];
        always {
            /// What is done.
            operation = OPERATION_NAME => "chat";
        }
        start {
            /// Who serves the model.
            provider: &'a str = PROVIDER_NAME, low;
            /// The model that was asked.
            model: &'a str = REQUEST_MODEL, low;
        }
        start_optional {
            /// The conversation: the session's id.
            conversation: &'a str = CONVERSATION_ID, high;
            /// Whether the reply is streamed.
            stream: bool = REQUEST_STREAM, low;
            /// The most tokens of the reply.
            max_tokens: u64 = REQUEST_MAX_TOKENS, high;
            /// The sampling temperature.
            temperature: f64 = REQUEST_TEMPERATURE, high;
            /// The service's host name.
            server_address: &'a str = SERVER_ADDRESS, low;
            /// The service's port.
            server_port: u32 = SERVER_PORT, low;
            /// The system prompt, as JSON.
            system_instructions: &'a str = SYSTEM_INSTRUCTIONS, high sensitive;
            /// The conversation so far, as JSON.
            input_messages: &'a str = INPUT_MESSAGES, high sensitive;
            /// The tools on offer, as JSON.
            tool_definitions: &'a str = TOOL_DEFINITIONS, high sensitive;
        }
        end {
            /// Tokens of the request, cached ones included, if the provider counted.
            input_tokens: Option<u64> = USAGE_INPUT_TOKENS, high;
            /// Tokens of the reply, thinking included, if the provider counted.
            output_tokens: Option<u64> = USAGE_OUTPUT_TOKENS, high;
            /// Why the reply ended.
            finish_reasons: &'a [&'a str] = RESPONSE_FINISH_REASONS, low;
        }
        end_optional<'a> {
            /// The provider's name for the reply.
            response_id: &'a str = RESPONSE_ID, high;
            /// The model that replied.
            response_model: &'a str = RESPONSE_MODEL, low;
            /// Seconds from the request to the first piece of the reply.
            time_to_first_chunk: f64 = RESPONSE_TIME_TO_FIRST_CHUNK, high;
            /// Input tokens that came from the provider's cache.
            cache_read_tokens: u64 = USAGE_CACHE_READ_INPUT_TOKENS, high;
            /// Input tokens that were written to the provider's cache.
            cache_creation_tokens: u64 = USAGE_CACHE_CREATION_INPUT_TOKENS, high;
            /// Output tokens that were spent on thinking.
            reasoning_tokens: u64 = USAGE_REASONING_OUTPUT_TOKENS, high;
            /// What it cost, in US dollars, if the model's prices are known.
            cost: f64 = "harness.cost", high;
            /// The reply, as JSON.
            output_messages: &'a str = OUTPUT_MESSAGES, high sensitive;
        }
    }

    /// One tool at work.
    span execute_tool(ExecuteTool<'a>) -> ToolEnd<'a> = "execute_tool {tool}" {
        kind: Internal; level: Info; parents: [any];
        always {
            /// What is done.
            operation = OPERATION_NAME => "execute_tool";
            /// That it runs in this process, for the model.
            kind = TOOL_TYPE => "function";
        }
        start {
            /// The tool's name.
            tool: &'a str = TOOL_NAME, low;
            /// The call's id.
            call_id: &'a str = TOOL_CALL_ID, high;
        }
        start_optional {
            /// What the tool is for.
            tool_description: &'a str = TOOL_DESCRIPTION, low;
            /// The arguments, as JSON.
            arguments: &'a str = TOOL_CALL_ARGUMENTS, high sensitive;
        }
        end {
            /// How it ended: `done`, `denied`, `failed`, `cancelled`, `interrupted`.
            outcome: &'a str = "harness.tool.outcome", low;
        }
        end_optional<'a> {
            /// What the model is shown of the result.
            result: &'a str = TOOL_CALL_RESULT, high sensitive;
        }
        error_when outcome in ["denied", "failed", "cancelled", "interrupted"];
    }

    /// An agent that makes a plan before it acts.
    span plan(Plan<'a>) -> PlanEnd = "plan {agent}" {
        kind: Internal; level: Info; parents: [any];
        always {
            /// What is done.
            operation = OPERATION_NAME => "plan";
        }
        start {
            /// The agent's name.
            agent: &'a str = AGENT_NAME, low;
        }
        end {}
    }

    metrics {
        /// How long requests to models take.
        operation_duration(OperationDuration<'a>) = CLIENT_OPERATION_DURATION, Histogram, "s",
            [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92] {
            /// What was done.
            operation: &'a str = OPERATION_NAME, low;
            /// Who serves the model.
            provider: &'a str = PROVIDER_NAME, low;
            /// The model that was asked.
            model: &'a str = REQUEST_MODEL, low;
            /// Why it failed.
            error: Option<&'a str> = ERROR_TYPE, low;
        }

        /// How long the first piece of a reply takes.
        time_to_first_chunk(TimeToFirstChunk<'a>) = CLIENT_TIME_TO_FIRST_CHUNK, Histogram, "s",
            [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92] {
            /// What was done.
            operation: &'a str = OPERATION_NAME, low;
            /// Who serves the model.
            provider: &'a str = PROVIDER_NAME, low;
            /// The model that was asked.
            model: &'a str = REQUEST_MODEL, low;
        }

        /// Tokens of requests, cached ones included.
        input_tokens(InputTokens<'a>) = CLIENT_INPUT_TOKENS, Counter, "{token}", [] {
            /// Who serves the model.
            provider: &'a str = PROVIDER_NAME, low;
            /// The model that was asked.
            model: &'a str = REQUEST_MODEL, low;
        }

        /// Tokens of replies, thinking included.
        output_tokens(OutputTokens<'a>) = CLIENT_OUTPUT_TOKENS, Counter, "{token}", [] {
            /// Who serves the model.
            provider: &'a str = PROVIDER_NAME, low;
            /// The model that was asked.
            model: &'a str = REQUEST_MODEL, low;
        }

        /// Input tokens that came from the provider's cache.
        cache_read_tokens(CacheReadTokens<'a>) = CLIENT_CACHE_READ_TOKENS, Counter, "{token}", [] {
            /// Who serves the model.
            provider: &'a str = PROVIDER_NAME, low;
            /// The model that was asked.
            model: &'a str = REQUEST_MODEL, low;
        }

        /// Input tokens that were written to the provider's cache.
        cache_write_tokens(CacheWriteTokens<'a>) = CLIENT_CACHE_WRITE_TOKENS, Counter, "{token}", [] {
            /// Who serves the model.
            provider: &'a str = PROVIDER_NAME, low;
            /// The model that was asked.
            model: &'a str = REQUEST_MODEL, low;
        }

        /// Output tokens that were spent on thinking.
        reasoning_tokens(ReasoningTokens<'a>) = CLIENT_REASONING_TOKENS, Counter, "{token}", [] {
            /// Who serves the model.
            provider: &'a str = PROVIDER_NAME, low;
            /// The model that was asked.
            model: &'a str = REQUEST_MODEL, low;
        }

        /// How long an agent works on what it was asked.
        invoke_agent_duration(InvokeAgentDuration<'a>) = INVOKE_AGENT_DURATION, Histogram, "s",
            [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6, 819.2] {
            /// The agent's name.
            agent: &'a str = AGENT_NAME, low;
            /// Why it failed.
            error: Option<&'a str> = ERROR_TYPE, low;
        }

        /// How long tools work.
        execute_tool_duration(ExecuteToolDuration<'a>) = EXECUTE_TOOL_DURATION, Histogram, "s",
            [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 60.0, 600.0] {
            /// The tool's name.
            tool: &'a str = TOOL_NAME, low;
            /// Why it failed.
            error: Option<&'a str> = ERROR_TYPE, low;
        }
    }
}
