//! What the variables of OpenTelemetry's specification say.
//!
//! As `opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables` and
//! `…/specs/otel/protocol/exporter` have it. Export is off unless an endpoint is named or `OTEL_TRACES_EXPORTER`
//! or `OTEL_METRICS_EXPORTER` is `otlp`. A value that cannot be used switches the export off and is told to who
//! wanted one, and the run goes on; the other values still hold for a trace file.

use std::path::Path;
use std::time::Duration;

use harness_core::{Secrets, TraceContext};
use harness_telemetry::export::{BatchOptions, OtlpTarget, Protocol, Sampling};

use crate::environment::{Environment, otel};

/// What is to be recorded, and where it goes.
#[derive(Debug, Default)]
pub(crate) struct OtelVariables {
    pub(crate) traces: Option<OtlpTarget>,
    pub(crate) metrics: Option<OtlpTarget>,
    /// What is said of the program.
    pub(crate) resource: Vec<(String, String)>,
    pub(crate) batch: BatchOptions,
    pub(crate) sampling: Sampling,
    /// Whether services and commands are told where they are in the trace.
    pub(crate) propagate: bool,
    /// Whether content is recorded.
    pub(crate) content: bool,
    /// Where the caller is in a trace.
    pub(crate) parent: Option<TraceContext>,
    /// Whether something is to be sent to a collector, if that is possible.
    pub(crate) wants_collector: bool,
    /// What cannot be used, and why; then nothing is sent.
    pub(crate) problem: Option<Problem>,
}

/// A variable that cannot be used, and why.
type Problem = String;

/// What is sent where.
#[derive(Clone, Copy)]
enum Signal {
    Traces,
    Metrics,
}

impl OtelVariables {
    /// Reads them.
    pub(crate) fn read(environment: &Environment) -> Self {
        let mut problem = None;
        let signals = [Signal::Traces, Signal::Metrics];
        let on = !flag(environment, otel::DISABLED);
        let target = |signal: Signal| {
            if on {
                signal.target(environment)
            } else {
                Ok(None)
            }
        };
        let [traces, metrics] = signals.map(|signal| usable(target(signal), &mut problem));
        let propagators = environment.text(otel::PROPAGATORS).unwrap_or_default();
        let mut propagators = propagators.split(',').map(str::trim);
        let parent = environment.text(otel::TRACEPARENT).and_then(|parent| {
            TraceContext::new(&parent, environment.text(otel::TRACESTATE).as_deref())
        });
        let read = Self {
            resource: resource(environment, &mut problem),
            batch: usable(batch(environment), &mut problem),
            sampling: usable(sampling(environment), &mut problem),
            propagate: propagators.any(|name| name == "tracecontext"),
            content: flag(environment, otel::CAPTURE_CONTENT),
            parent,
            wants_collector: on && signals.iter().any(|signal| signal.is_wanted(environment)),
            ..Self::default()
        };
        match problem {
            Some(_) => Self { problem, ..read },
            None => Self {
                traces,
                metrics,
                ..read
            },
        }
    }
}

/// A part, or its default and a problem. The first problem is told.
fn usable<T: Default>(part: Result<T, Problem>, problem: &mut Option<Problem>) -> T {
    part.unwrap_or_else(|found| {
        problem.get_or_insert(found);
        T::default()
    })
}

impl Signal {
    /// What the signal's own variable says, else that of all signals, and which one it is.
    fn text(
        self,
        environment: &Environment,
        names: [&'static str; 3],
    ) -> Option<(String, &'static str)> {
        let own = match self {
            Self::Traces => names[1],
            Self::Metrics => names[2],
        };
        let text = |name| Some((environment.text(name)?, name));
        text(own).or_else(|| text(names[0]))
    }

    fn exporter(self) -> &'static str {
        match self {
            Self::Traces => otel::TRACES_EXPORTER,
            Self::Metrics => otel::METRICS_EXPORTER,
        }
    }

    /// Whether it is to be sent anywhere.
    fn is_wanted(self, environment: &Environment) -> bool {
        match environment.text(self.exporter()).as_deref() {
            Some("none") => false,
            Some(_) => true,
            None => self.text(environment, otel::ENDPOINT).is_some(),
        }
    }

    /// Where it is sent, if that is on.
    fn target(self, environment: &Environment) -> Result<Option<OtlpTarget>, Problem> {
        if !self.is_wanted(environment) {
            return Ok(None);
        }
        let exporter = self.exporter();
        if let Some(other) = environment.text(exporter).filter(|name| name != "otlp") {
            return Err(format!(
                "{exporter} is `{other}`: there are `otlp` and `none`"
            ));
        }
        let protocol = match self.text(environment, otel::PROTOCOL) {
            None => Protocol::HttpProtobuf,
            Some((text, name)) => match text.as_str() {
                "http/protobuf" => Protocol::HttpProtobuf,
                "http/json" => Protocol::HttpJson,
                "grpc" => Protocol::Grpc,
                other => {
                    return Err(format!(
                        "{name} is `{other}`: there are `http/protobuf`, `http/json` and `grpc`"
                    ));
                }
            },
        };
        let endpoint = self.text(environment, otel::ENDPOINT);
        let of_endpoint = endpoint.as_ref().map(|(_, name)| *name);
        let mut target = match endpoint {
            Some((base, name)) if name == otel::ENDPOINT[0] => {
                self.below(protocol, &with_scheme(protocol, base))
            }
            Some((endpoint, _)) => OtlpTarget::new(protocol, with_scheme(protocol, endpoint)),
            None if protocol == Protocol::Grpc => self.below(protocol, "http://localhost:4317"),
            None => self.below(protocol, "http://localhost:4318"),
        };
        let checked = |target: &OtlpTarget, name: &str| {
            let checked = target.check();
            checked.map_err(|error| format!("{name} cannot be used: {error}"))
        };
        checked(&target, of_endpoint.unwrap_or(exporter))?;
        if let Some((headers, name)) = self.text(environment, otel::HEADERS) {
            // What is no name may be a part of a secret: it is not told.
            let pairs = pairs(&headers)
                .filter(|pairs| pairs.iter().all(|(header, _)| is_token(header)))
                .ok_or_else(|| format!("{name} is no list of NAME=VALUE"))?;
            for (header, value) in pairs {
                target = target.header(header, value);
            }
            checked(&target, name)?;
        }
        if let Some((text, name)) = self.text(environment, otel::TIMEOUT) {
            target = target.timeout(milliseconds(name, &text)?);
            checked(&target, name)?;
        }
        if let Some((file, name)) = self.text(environment, otel::CERTIFICATE) {
            let path = environment.expand_home(Path::new(&file));
            let pem = crate::named_file::read(&path)
                .map_err(|error| format!("{name} cannot be used: {file}: {error}"))?;
            target = target.certificate(pem);
            checked(&target, name)?;
        }
        Ok(Some(target))
    }

    fn below(self, protocol: Protocol, base: &str) -> OtlpTarget {
        match self {
            Self::Traces => OtlpTarget::for_traces(protocol, base),
            Self::Metrics => OtlpTarget::for_metrics(protocol, base),
        }
    }
}

/// gRPC's addresses often come without.
fn with_scheme(protocol: Protocol, endpoint: String) -> String {
    if protocol == Protocol::Grpc && !endpoint.contains("://") {
        return format!("http://{endpoint}");
    }
    endpoint
}

fn resource(environment: &Environment, problem: &mut Option<Problem>) -> Vec<(String, String)> {
    let mut resource = vec![
        ("service.name".to_owned(), "harness".to_owned()),
        (
            "service.version".to_owned(),
            env!("CARGO_PKG_VERSION").to_owned(),
        ),
    ];
    if let Some(text) = environment.text(otel::RESOURCE) {
        let pairs = pairs(&text);
        let pairs = pairs.ok_or_else(|| format!("{} is no list of NAME=VALUE", otel::RESOURCE));
        resource.extend(usable(pairs, problem));
    }
    if let Some(name) = environment.text(otel::SERVICE_NAME) {
        resource.push(("service.name".to_owned(), name));
    }
    resource
}

fn batch(environment: &Environment) -> Result<BatchOptions, Problem> {
    let mut batch = BatchOptions::default();
    if let Some(text) = environment.text(otel::BATCH_DELAY) {
        batch = batch.delay(milliseconds(otel::BATCH_DELAY, &text)?);
    }
    if let Some(text) = environment.text(otel::BATCH_QUEUE) {
        batch = batch.queue(count(otel::BATCH_QUEUE, &text)?);
    }
    if let Some(text) = environment.text(otel::BATCH_SIZE) {
        batch = batch.batch(count(otel::BATCH_SIZE, &text)?);
    }
    Ok(batch)
}

fn sampling(environment: &Environment) -> Result<Sampling, Problem> {
    let Some(name) = environment.text(otel::SAMPLER) else {
        return Ok(Sampling::default());
    };
    let ratio = || match environment.text(otel::SAMPLER_ARG) {
        None => Ok(1.0),
        Some(text) => match text.parse::<f64>() {
            Ok(ratio) if (0.0..=1.0).contains(&ratio) => Ok(ratio),
            _ => Err(format!(
                "{} is `{text}`, not from 0 to 1",
                otel::SAMPLER_ARG
            )),
        },
    };
    Ok(match name.as_str() {
        "always_on" => Sampling::AlwaysOn,
        "always_off" => Sampling::AlwaysOff,
        "traceidratio" => Sampling::Ratio(ratio()?),
        "parentbased_always_on" => Sampling::ParentAlwaysOn,
        "parentbased_always_off" => Sampling::ParentAlwaysOff,
        "parentbased_traceidratio" => Sampling::ParentRatio(ratio()?),
        other => {
            return Err(format!(
                "{} is `{other}`, which is not known",
                otel::SAMPLER
            ));
        }
    })
}

/// Whether this can be a header's name.
fn is_token(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    name.bytes().all(fits)
}

/// `true` and nothing else, as the specification has it.
fn flag(environment: &Environment, name: &str) -> bool {
    environment
        .text(name)
        .is_some_and(|text| text.eq_ignore_ascii_case("true"))
}

fn milliseconds(name: &str, text: &str) -> Result<Duration, Problem> {
    let number = text.parse::<u64>();
    let number =
        number.map_err(|_| format!("{name} is `{text}`, which is no number of milliseconds"))?;
    Ok(Duration::from_millis(number))
}

fn count(name: &str, text: &str) -> Result<usize, Problem> {
    match text.parse::<usize>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("{name} is `{text}`, which is no number above 0")),
    }
}

/// What collectors are sent along and nobody else may see, whether or not anything is sent: the values of the
/// headers, and what is in them behind `Bearer` and the like. A value without a digit, under a name that speaks
/// of no secret, is a word such as the name of a tenant: masked, it would be missing in every text.
pub(crate) fn secrets(environment: &Environment) -> Secrets {
    const NAMES: [&str; 8] = [
        "auth", "key", "token", "secret", "cookie", "password", "team", "dsn",
    ];
    let mut secrets = Secrets::new();
    for headers in otel::HEADERS
        .map(|name| environment.text(name))
        .iter()
        .flatten()
    {
        for header in headers.split(',') {
            let (name, value) = header.split_once('=').unwrap_or(("key", header));
            let name = name.to_lowercase();
            let decoded = percent_encoding::percent_decode_str(value.trim()).decode_utf8_lossy();
            let is_secret = NAMES.iter().any(|part| name.contains(part))
                || value.contains(|c: char| c.is_ascii_digit());
            if is_secret {
                secrets.add(&decoded);
                secrets.add(decoded.split_whitespace().next_back().unwrap_or_default());
            }
        }
    }
    secrets
}

/// `name=value,name=value`, with the percent escapes of W3C's Baggage.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let parts = text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (name, value) = part.split_once('=')?;
            let name = name.trim();
            let value = percent_encoding::percent_decode_str(value.trim());
            let value = value.decode_utf8().ok()?.into_owned();
            (!name.is_empty()).then(|| (name.to_owned(), value))
        })
        .collect()
}
