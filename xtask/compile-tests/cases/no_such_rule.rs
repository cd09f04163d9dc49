harness_telemetry::schema! {
    /// A rule about a field that is not there.
    pub static S = "s", version 1;

    /// One.
    span one(One) -> OneEnd = "one" {
        kind: Internal; level: Info; parents: [any];
        start {}
        end {
            /// How it ended.
            outcome: u64 = "s.outcome", low;
        }
        error_when result in ["failed"];
    }
}

fn main() {}
