//! Everything a run needs: the server, the programs, a home and a folder to work in; and the runs
//! themselves, each checked to have done its work.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fs, io};

use serde_json::Value;
use xshell::{Shell, TempDir};

use crate::bench::child::{self, Finished};
use crate::bench::request::Request;
use crate::bench::script::{SMALL_FILES, Script};
use crate::bench::server::{Exchange, Keep, Server};
use crate::failure::Failure;

/// The programs that take part.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) harness: PathBuf,
    /// The bare client.
    pub(crate) floor: PathBuf,
    pub(crate) meter: PathBuf,
}

#[derive(Debug)]
pub(crate) struct Rig {
    pub(crate) programs: Programs,
    server: Server,
    /// Home, working folder and recordings; removed at the end.
    folder: TempDir,
}

/// One run of a client against the server.
#[derive(Debug)]
pub(crate) struct Run {
    started: Instant,
    pub(crate) wall: Duration,
    exchanges: Vec<Exchange>,
}

/// What harness sent in one run, to be sent again by the floor.
#[derive(Debug)]
pub(crate) struct Recording {
    script: Arc<Script>,
    file: PathBuf,
    requests: Vec<Request>,
}

/// What a run cost the process that made it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cost {
    /// Seconds, in user mode and in the kernel.
    pub(crate) cpu: f64,
    /// Bytes of the largest resident set.
    pub(crate) memory: f64,
}

/// Whether a program runs under the meter, which costs time and tells the cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Metered {
    No,
    Yes,
}

impl Rig {
    pub(crate) fn new(programs: Programs, shell: &Shell) -> Result<Rig, Failure> {
        let folder = shell.create_temp_dir()?;
        let rig = Rig {
            programs,
            server: Server::start().map_err(failed("the local server"))?,
            folder,
        };
        for folder in [rig.home(), rig.work()] {
            fs::create_dir(folder).map_err(failed("a folder for the runs"))?;
        }
        for (number, name) in (1..).zip(SMALL_FILES) {
            fs::write(rig.work().join(name), small_file(number))
                .map_err(failed("a file to be read"))?;
        }
        Ok(rig)
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn report(&self) -> PathBuf {
        self.folder.path().join("report")
    }

    /// Runs harness against `script`.
    pub(crate) fn harness(&self, script: &Arc<Script>) -> Result<Run, Failure> {
        self.harness_with(script, &[])
    }

    /// As [`Rig::harness`], with more variables.
    pub(crate) fn harness_with(
        &self,
        script: &Arc<Script>,
        variables: &[(&str, &str)],
    ) -> Result<Run, Failure> {
        self.play_to_harness(script, Keep::Times, Metered::No, variables)
    }

    /// As [`Rig::harness`], for what it costs.
    pub(crate) fn harness_cost(&self, script: &Arc<Script>) -> Result<Cost, Failure> {
        self.play_to_harness(script, Keep::Times, Metered::Yes, &[])?;
        self.read_report()
    }

    /// Runs harness once and keeps what it sent.
    pub(crate) fn record(&self, script: &Arc<Script>) -> Result<Recording, Failure> {
        let run = self.play_to_harness(script, Keep::Requests, Metered::No, &[])?;
        let requests: Vec<_> = run
            .exchanges
            .into_iter()
            .filter_map(|it| it.request)
            .collect();
        let calls = script.answers.len() - 1;
        if let Some(last) = requests.last() {
            check_results(&serde_json::from_slice(&last.body())?, calls)?;
        }
        let mut bytes = Vec::new();
        for request in &requests {
            bytes.extend((request.bytes.len() as u64).to_le_bytes());
            bytes.extend_from_slice(&request.bytes);
        }
        let file = self
            .folder
            .path()
            .join(script.name)
            .with_extension("requests");
        fs::write(&file, bytes).map_err(failed("the recording"))?;
        Ok(Recording {
            script: Arc::clone(script),
            file,
            requests,
        })
    }

    /// Runs the floor on what harness sent.
    pub(crate) fn floor(&self, recording: &Recording) -> Result<Run, Failure> {
        self.play_to_floor(recording, Metered::No)
    }

    /// As [`Rig::floor`], for what it costs.
    pub(crate) fn floor_cost(&self, recording: &Recording) -> Result<Cost, Failure> {
        self.play_to_floor(recording, Metered::Yes)?;
        self.read_report()
    }

    fn play_to_harness(
        &self,
        script: &Arc<Script>,
        keep: Keep,
        metered: Metered,
        variables: &[(&str, &str)],
    ) -> Result<Run, Failure> {
        let address = format!("http://127.0.0.1:{}/v1", self.server.port);
        let mut command = self.command(&self.programs.harness, metered);
        command.envs(variables.iter().copied());
        command.args(["run", "--api", "openai-chat", "--base-url", &address]);
        command.args([
            "-m",
            "bench/model",
            "--no-session",
            "--max-turns",
            "1000",
            "-C",
        ]);
        command.arg(self.work()).arg(script.prompt);
        let (run, finished) = self.play(script, keep, &mut command)?;
        if finished.stdout.trim() != script.text {
            return Err(Failure::new(format!(
                "harness answered {:.200?}, not {:.200?}",
                finished.stdout, script.text
            )));
        }
        Ok(run)
    }

    fn play_to_floor(&self, recording: &Recording, metered: Metered) -> Result<Run, Failure> {
        let mut command = self.command(&self.programs.floor, metered);
        command
            .arg(self.server.port.to_string())
            .arg(&recording.file);
        Ok(self.play(&recording.script, Keep::Times, &mut command)?.0)
    }

    fn play(
        &self,
        script: &Arc<Script>,
        keep: Keep,
        command: &mut Command,
    ) -> Result<(Run, Finished), Failure> {
        self.server.play(script, keep);
        let finished = child::run(command)?;
        let exchanges = self.server.take();
        check_status(&finished, command)?;
        let exchanges = exchanges.map_err(Failure::new)?;
        if exchanges.len() != script.answers.len() {
            return Err(Failure::new(format!(
                "{} requests instead of {}",
                exchanges.len(),
                script.answers.len()
            )));
        }
        let run = Run {
            started: finished.started,
            wall: finished.took,
            exchanges,
        };
        Ok((run, finished))
    }

    /// Seconds from the start to the exit of a program that is run alone.
    pub(crate) fn seconds(&self, program: &Path, arguments: &[&str]) -> Result<f64, Failure> {
        let mut command = self.command(program, Metered::No);
        let finished = child::run(command.args(arguments))?;
        check_status(&finished, &command)?;
        Ok(finished.took.as_secs_f64())
    }

    /// `program` in an environment that says nothing of the person who runs the benchmark.
    pub(crate) fn command(&self, program: &Path, metered: Metered) -> Command {
        let mut command = match metered {
            Metered::No => Command::new(program),
            Metered::Yes => {
                let mut command = Command::new(&self.programs.meter);
                command.arg(self.report()).arg(program);
                command
            }
        };
        let path = env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
        command
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.home())
            .env("TMPDIR", self.folder.path());
        command
    }

    /// What the last run under the meter cost.
    pub(crate) fn read_report(&self) -> Result<Cost, Failure> {
        let report = fs::read_to_string(self.report()).map_err(failed("the meter's report"))?;
        read_cost(&report).ok_or_else(|| Failure::new(format!("the meter wrote {report:?}")))
    }
}

impl Run {
    /// Seconds from the start of the process to the first byte of its first request.
    pub(crate) fn to_first_request(&self) -> f64 {
        self.exchanges.first().map_or(f64::NAN, |first| {
            (first.first_byte - self.started).as_secs_f64()
        })
    }

    /// Seconds from the start of the process until it had a connection.
    pub(crate) fn to_connection(&self) -> f64 {
        self.exchanges.first().map_or(f64::NAN, |first| {
            (first.accepted - self.started).as_secs_f64()
        })
    }

    /// Seconds of the client's own, turn by turn: from the end of our answer to the next request,
    /// the tool's work included. The last turn has none.
    pub(crate) fn own_times(&self) -> Vec<f64> {
        self.between_turns(|next| next.first_byte)
    }

    /// As [`Run::own_times`], but to the last byte of the next request.
    pub(crate) fn times_to_whole_request(&self) -> Vec<f64> {
        self.between_turns(|next| next.last_byte)
    }

    fn between_turns(&self, until: impl Fn(&Exchange) -> Instant) -> Vec<f64> {
        let pairs = self.exchanges.windows(2);
        pairs
            .map(|pair| until(&pair[1]).saturating_duration_since(pair[0].answered))
            .map(|time| time.as_secs_f64())
            .collect()
    }

    /// How many connections it took.
    pub(crate) fn connections(&self) -> usize {
        let connections = self.exchanges.iter().map(|it| it.connection);
        connections.collect::<BTreeSet<_>>().len()
    }
}

impl Recording {
    /// The JSON of the first request.
    pub(crate) fn first_body(&self) -> Result<Value, Failure> {
        let first = self.requests.first();
        let body = first.map(Request::body).unwrap_or_default();
        Ok(serde_json::from_slice(&body)?)
    }
}

/// For `map_err`: what could not be had, and why.
pub(crate) fn failed(what: &'static str) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::new(format!("{what}: {error}"))
}

fn check_status(finished: &Finished, command: &Command) -> Result<(), Failure> {
    if finished.status.success() {
        return Ok(());
    }
    let program = Path::new(command.get_program()).file_name();
    Err(Failure::new(format!(
        "{} ended with {}: {}",
        program.unwrap_or_default().display(),
        finished.status,
        finished.stderr.lines().last().unwrap_or("it said nothing")
    )))
}

/// A figure counts only when the work was done: the last request must hold a result for each call,
/// with the file's text in it.
fn check_results(body: &Value, calls: usize) -> Result<(), Failure> {
    let messages = body["messages"].as_array().into_iter().flatten();
    let results = messages.filter(|it| it["role"] == "tool");
    let right = results
        .zip((1..=SMALL_FILES.len()).cycle())
        .filter(|(result, number)| {
            let first_line = small_file(*number);
            let first_line = first_line.lines().next().unwrap_or_default();
            result["content"].to_string().contains(first_line)
        });
    match right.count() {
        right if right == calls => Ok(()),
        right => Err(Failure::new(format!(
            "{right} of {calls} calls came back with the text of their file"
        ))),
    }
}

/// A small file of its own text: a dozen lines.
fn small_file(number: usize) -> String {
    let line = |line| format!("file {number}, line {line}: nothing but a short text to be read\n");
    (1..=12).map(line).collect()
}

fn read_cost(report: &str) -> Option<Cost> {
    let mut numbers = report.split_whitespace().map(str::parse::<f64>);
    let mut next = || numbers.next()?.ok();
    let (user, system, memory) = (next()?, next()?, next()?);
    Some(Cost {
        cpu: (user + system) / 1e6,
        memory,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Cost, check_results, read_cost, small_file};

    #[test]
    fn reads_what_the_meter_wrote() {
        let cost = Cost {
            cpu: 0.0035,
            memory: 9_437_184.0,
        };
        assert_eq!(read_cost("1500 2000 9437184\n"), Some(cost));
        assert_eq!(read_cost("1500 2000"), None);
        assert_eq!(read_cost("1500 x 1"), None);
    }

    #[test]
    fn every_call_must_come_back_with_its_file() {
        let result = |number| json!({"role": "tool", "content": small_file(number)});
        let of = |results: Vec<Value>| json!({ "messages": results });
        let parts = json!([{"type": "text", "text": small_file(2)}]);
        let in_parts = json!({"role": "tool", "content": parts});
        assert!(check_results(&of(vec![result(1), in_parts]), 2).is_ok());
        assert!(check_results(&of(vec![]), 0).is_ok());
        let failure = |results| check_results(&of(results), 2).unwrap_err().to_string();
        assert!(failure(vec![result(1), result(1)]).starts_with("1 of 2 calls"));
        assert!(failure(vec![result(1)]).starts_with("1 of 2 calls"));
    }
}
