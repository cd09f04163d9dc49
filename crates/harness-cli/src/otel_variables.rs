//! What the variables of OpenTelemetry's specification say.
//!
//! As `opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables` and
//! `…/specs/otel/protocol/exporter` have it. Export is off unless an endpoint is named or `OTEL_TRACES_EXPORTER`
//! or `OTEL_METRICS_EXPORTER` is `otlp`. A value that cannot be used switches the export off and is told, and the
//! run goes on.

use std::path::Path;
use std::time::Duration;

use harness_core::TraceContext;
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
    pub(crate) fn read(environment: &Environment) -> Result<Self, Problem> {
        let content = flag(environment, otel::CAPTURE_CONTENT);
        let parent = environment.text(otel::TRACEPARENT).and_then(|parent| {
            TraceContext::new(&parent, environment.text(otel::TRACESTATE).as_deref())
        });
        let read = Self {
            content,
            parent,
            resource: resource(environment)?,
            ..Self::default()
        };
        if flag(environment, otel::DISABLED) {
            return Ok(read);
        }
        let propagators = environment.text(otel::PROPAGATORS).unwrap_or_default();
        let mut propagators = propagators.split(',').map(str::trim);
        Ok(Self {
            traces: Signal::Traces.target(environment)?,
            metrics: Signal::Metrics.target(environment)?,
            batch: batch(environment)?,
            sampling: sampling(environment)?,
            propagate: propagators.any(|name| name == "tracecontext"),
            ..read
        })
    }
}

impl Signal {
    /// The signal's own variable, then that of all signals.
    fn text(self, environment: &Environment, names: [&str; 3]) -> Option<(String, bool)> {
        let own = match self {
            Self::Traces => names[1],
            Self::Metrics => names[2],
        };
        let own = environment.text(own).map(|text| (text, true));
        own.or_else(|| environment.text(names[0]).map(|text| (text, false)))
    }

    /// Where it is sent, if that is on.
    fn target(self, environment: &Environment) -> Result<Option<OtlpTarget>, Problem> {
        let exporter = match self {
            Self::Traces => otel::TRACES_EXPORTER,
            Self::Metrics => otel::METRICS_EXPORTER,
        };
        let named = environment.text(exporter);
        match named.as_deref() {
            None | Some("otlp") => {}
            Some("none") => return Ok(None),
            Some(other) => {
                return Err(format!(
                    "{exporter} is `{other}`: there are `otlp` and `none`"
                ));
            }
        }
        let endpoint = self.text(environment, otel::ENDPOINT);
        if endpoint.is_none() && named.is_none() {
            return Ok(None);
        }
        let protocol = self.text(environment, otel::PROTOCOL);
        let protocol = match protocol.as_ref().map(|(protocol, _)| protocol.as_str()) {
            None | Some("http/protobuf") => Protocol::HttpProtobuf,
            Some("http/json") => Protocol::HttpJson,
            Some("grpc") => Protocol::Grpc,
            Some(other) => {
                return Err(format!(
                    "{} is `{other}`: there are `http/protobuf`, `http/json` and `grpc`",
                    otel::PROTOCOL[0]
                ));
            }
        };
        let mut target = match endpoint {
            Some((endpoint, true)) => OtlpTarget::new(protocol, with_scheme(protocol, endpoint)),
            Some((base, false)) => self.below(protocol, &with_scheme(protocol, base)),
            None if protocol == Protocol::Grpc => self.below(protocol, "http://localhost:4317"),
            None => self.below(protocol, "http://localhost:4318"),
        };
        if let Some((headers, _)) = self.text(environment, otel::HEADERS) {
            let pairs =
                pairs(&headers).ok_or("OTEL_EXPORTER_OTLP_HEADERS is no list of NAME=VALUE")?;
            for (name, value) in pairs {
                target = target.header(name, value);
            }
        }
        if let Some((text, _)) = self.text(environment, otel::TIMEOUT) {
            target = target.timeout(milliseconds(otel::TIMEOUT[0], &text)?);
        }
        if let Some((file, _)) = self.text(environment, otel::CERTIFICATE) {
            let path = environment.expand_home(Path::new(&file));
            let pem = crate::named_file::read(&path)
                .map_err(|error| format!("the certificate {file} cannot be read: {error}"))?;
            target = target.certificate(pem);
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

fn resource(environment: &Environment) -> Result<Vec<(String, String)>, Problem> {
    let mut resource = vec![
        ("service.name".to_owned(), "harness".to_owned()),
        (
            "service.version".to_owned(),
            env!("CARGO_PKG_VERSION").to_owned(),
        ),
    ];
    if let Some(text) = environment.text(otel::RESOURCE) {
        let pairs = pairs(&text);
        let pairs = pairs.ok_or_else(|| format!("{} is no list of NAME=VALUE", otel::RESOURCE))?;
        resource.extend(pairs);
    }
    if let Some(name) = environment.text(otel::SERVICE_NAME) {
        resource.push(("service.name".to_owned(), name));
    }
    Ok(resource)
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
