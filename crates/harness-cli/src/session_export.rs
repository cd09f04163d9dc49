//! `harness sessions export`.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use harness_session::{Access, Error, Log, Session, export_html, export_jsonl, export_markdown};

use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::session_place::SessionPlace;
use crate::sessions_arguments::{ExportFormat, SessionsExportArguments};
use crate::sessions_command::{chosen, failure, open};
use crate::stdout;
use crate::typed_path::typed_path;

/// Writes a session to a file or to standard output.
pub(crate) fn export(
    place: &SessionPlace,
    environment: &Environment,
    arguments: &SessionsExportArguments,
) -> Result<ExitCode, Failure> {
    let to = arguments.to.as_deref();
    let format = match (arguments.format, to) {
        (Some(format), _) => format,
        (None, Some(to)) if to != Path::new("-") => format_of(to)?,
        (None, _) => ExportFormat::Jsonl,
    };
    let id = chosen(place, &arguments.session)?;
    let session = open(place, id, Access::Read)?;
    let to = to.filter(|to| *to != Path::new("-"));
    match to {
        None => print(&session, format)?,
        Some(to) => {
            let path = typed_path(to, environment).map_err(|error| unwritable(to, &error))?;
            write(&session, format, &path, arguments.force)?;
        }
    }
    Ok(Exit::Finished.into())
}

/// The format that a file's name ends with.
fn format_of(path: &Path) -> Result<ExportFormat, Failure> {
    let ending = path.extension().and_then(|ending| ending.to_str());
    match ending.map(str::to_ascii_lowercase).as_deref() {
        Some("html" | "htm") => Ok(ExportFormat::Html),
        Some("md" | "markdown") => Ok(ExportFormat::Markdown),
        Some("jsonl") => Ok(ExportFormat::Jsonl),
        _ => Err(Failure::usage(format!(
            "the name {} does not tell the format",
            path.display()
        ))
        .hint("name it with --format, or end the name with .html, .md or .jsonl")),
    }
}

fn write_to(log: &dyn Log, format: ExportFormat, out: &mut dyn Write) -> Result<(), Error> {
    match format {
        ExportFormat::Jsonl => export_jsonl(log, out),
        ExportFormat::Markdown => export_markdown(log, out),
        ExportFormat::Html => export_html(log, out),
    }
}

fn print(session: &Session, format: ExportFormat) -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        // What acts on a terminal is made harmless, for which all of it has to be there.
        let mut bytes = Vec::new();
        write_to(session.log(), format, &mut bytes).map_err(|error| failure(&error))?;
        return stdout::print(&String::from_utf8_lossy(&bytes));
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write_to(session.log(), format, &mut out) {
        // A reader that has gone away read all that it wanted.
        Err(Error::Io { error, .. }) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(failure(&error)),
        Ok(()) => Ok(()),
    }
}

/// Writes a file beside the one that is meant, and renames it: nobody sees half of it. It is its owner's
/// alone, as the session is.
fn write(session: &Session, format: ExportFormat, path: &Path, force: bool) -> Result<(), Failure> {
    // Before the work; the rename makes sure of it once more.
    if !force && fs::symlink_metadata(path).is_ok() {
        return Err(is_there(path));
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::Builder::new()
        .prefix(".harness-export-")
        .tempfile_in(folder)
        .map_err(|error| unwritable(path, &error))?;
    let mut out = io::BufWriter::new(file.as_file_mut());
    write_to(session.log(), format, &mut out).map_err(|error| match error {
        Error::Io { error, .. } => unwritable(path, &error),
        error => failure(&error),
    })?;
    drop(out);
    let kept = if force {
        file.persist(path)
    } else {
        file.persist_noclobber(path)
    };
    match kept {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(is_there(path)),
        Err(error) => Err(unwritable(path, &error.error)),
    }
}

fn is_there(path: &Path) -> Failure {
    Failure::usage(format!("{} is there already", path.display())).hint("--force writes over it")
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let error = without_path(error);
    Failure::failed(format!("cannot write {}: {error}", path.display()))
}

/// What the system said, without the name of a temporary file, which nobody asked for.
pub(crate) fn without_path(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" at path ") {
        Some((what, _)) => what.to_owned(),
        None => text,
    }
}
