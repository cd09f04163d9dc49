//! A schema of one's own, and where its spans go: `cargo run -p harness-telemetry --features trace-file --example
//! own_schema -- FILE` writes a trace that `harness trace FILE` draws.

use harness_telemetry::Schemas;
use harness_telemetry::export::Exporter;
use harness_telemetry::trace_file::{TraceFileWriter, TraceFormat};
use tracing_subscriber::layer::SubscriberExt;

// begin
harness_telemetry::schema! {
    /// What a shop does.
    pub static SHOP = "shop", version 1;

    /// One order, from the basket to the parcel.
    span order(Order<'a>) -> Ordered = "order {item}" {
        kind: Internal; level: Info; parents: [root];
        start {
            /// What was ordered.
            item: &'a str = "shop.item", low;
        }
        end {
            /// How many parcels it became.
            parcels: u32 = "shop.parcels", low;
        }
    }
}
// end

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args_os().nth(1).ok_or("name a file")?;
    let writer = TraceFileWriter::create(file.as_ref(), TraceFormat::Otlp)?;
    let exporter = Exporter::builder(Schemas::built_in().with(&SHOP)?)
        .service("shop", "1.0.0")
        .sink(Box::new(writer))
        .start()?;
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(exporter.layer()))?;

    let span = order(Order { item: "tea" }).start();
    span.end(Ordered { parcels: 1 });
    // Given up: it ends as an error.
    drop(order(Order { item: "milk" }).start());

    let report = exporter.finish(std::time::Duration::from_secs(5));
    match report.error {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}
