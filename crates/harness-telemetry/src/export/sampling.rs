//! Which traces are exported.

use opentelemetry_sdk::trace::Sampler;

use super::ExportError;

/// Which traces are exported: the six choices of the OpenTelemetry specification. A trace is exported as a
/// whole or not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Sampling {
    /// All.
    AlwaysOn,
    /// None.
    AlwaysOff,
    /// This part of them, from 0 to 1.
    Ratio(f64),
    /// Those that [go on from elsewhere](super::continue_trace) as was decided there; others all. The default.
    #[default]
    ParentAlwaysOn,
    /// Those that go on from elsewhere as was decided there; others not.
    ParentAlwaysOff,
    /// Those that go on from elsewhere as was decided there; of the others this part, from 0 to 1.
    ParentRatio(f64),
}

impl Sampling {
    pub(super) fn sampler(self) -> Result<Sampler, ExportError> {
        let of_parent = |root| Sampler::ParentBased(Box::new(root));
        Ok(match self {
            Self::AlwaysOn => Sampler::AlwaysOn,
            Self::AlwaysOff => Sampler::AlwaysOff,
            Self::Ratio(ratio) => by_ratio(ratio)?,
            Self::ParentAlwaysOn => of_parent(Sampler::AlwaysOn),
            Self::ParentAlwaysOff => of_parent(Sampler::AlwaysOff),
            Self::ParentRatio(ratio) => of_parent(by_ratio(ratio)?),
        })
    }
}

fn by_ratio(ratio: f64) -> Result<Sampler, ExportError> {
    if (0.0..=1.0).contains(&ratio) {
        Ok(Sampler::TraceIdRatioBased(ratio))
    } else {
        Err(ExportError::Ratio(ratio))
    }
}
