//! `harness trace`: a trace file, drawn.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use harness_telemetry::trace::Trace;
use harness_telemetry::trace_file::TraceFileError;

use crate::arguments::{Output, TraceArguments};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::stderr;
use crate::stdout;
use crate::trace_view::{self, Look};
use crate::typed_path::typed_path;

/// The width where there is no terminal that has one.
const WIDTH: usize = 100;

/// Draws it.
pub(crate) fn run(arguments: &TraceArguments) -> Result<ExitCode, Failure> {
    let environment = Environment::read();
    let file = typed_path(&arguments.file, &environment);
    let trace = file
        .map_err(TraceFileError::from)
        .and_then(|file| Trace::read(&file));
    let trace = trace.map_err(|error| {
        let file = arguments.file.display();
        match error {
            TraceFileError::Io(error) => Failure::usage(format!("{file} cannot be read: {error}")),
            error => Failure::usage(format!("{file} is no trace that can be read: {error}")),
        }
    })?;
    if trace.torn {
        stderr::note("the file is cut off at its end: what is there is shown");
    }
    if arguments.output == Output::Json {
        let text = serde_json::to_string(&trace)
            .map_err(|error| Failure::failed(format!("the trace is no JSON: {error}")))?;
        stdout::print(&text)?;
        return Ok(Exit::Finished.into());
    }
    let terminal = io::stdout().is_terminal();
    let plain = environment.is_set("NO_COLOR")
        || environment.text("TERM").is_none_or(|name| name == "dumb");
    let look = Look {
        width: arguments.width.map_or_else(terminal_width, usize::from),
        all: arguments.all,
        colour: terminal && !plain,
    };
    stdout::print_drawn(&trace_view::text(&trace, look))?;
    Ok(Exit::Finished.into())
}

/// The width of the terminal, as far as there is one.
fn terminal_width() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stdout());
    match size {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        _ => WIDTH,
    }
}
