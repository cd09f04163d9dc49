//! `harness telemetry`: what can be recorded of runs.

use std::process::ExitCode;

use harness_telemetry::Schemas;

use crate::arguments::{Output, TelemetryArguments};
use crate::failure::{Exit, Failure};
use crate::stdout;

/// Lists the registered schemas.
pub(crate) fn run(arguments: &TelemetryArguments) -> Result<ExitCode, Failure> {
    let schemas = Schemas::built_in();
    let text = match arguments.output {
        Output::Text => schemas.to_markdown(),
        Output::Json => serde_json::to_string(&schemas)
            .map_err(|error| Failure::failed(format!("the schemas are no JSON: {error}")))?,
    };
    stdout::print(text.trim_end())?;
    Ok(Exit::Finished.into())
}
