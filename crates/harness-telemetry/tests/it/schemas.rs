//! Schemas: what they declare, and that they go together.

use harness_telemetry::{AI, HARNESS, SchemaError, Schemas, ValueType, semconv};
use serde_json::json;

pub(crate) use shop::SHOP;

pub(crate) mod shop {
    harness_telemetry::schema! {
        /// What a shop does.
        pub(crate) static SHOP = "shop", version 3;

        /// One order, from the basket to the parcel.
        span order(Order<'a>) -> Ordered<'a> = "order {item}" {
            kind: Internal; level: Info; parents: [root, order];
            start {
                /// What was ordered.
                item: &'a str = "shop.item", low;
                /// How often.
                count: Option<u64> = "shop.count", high;
            }
            end {
                /// What came of it.
                result: &'a str = "shop.result", low;
            }
            events {
                /// It is in its parcel.
                packed(Packed<'a>) {
                    /// Kilograms.
                    weight: f64 = "shop.weight", high;
                    /// What stands on it.
                    label: Option<&'a str> = "shop.label", low sensitive;
                }
            }
            error_when result in ["sold out", "lost"];
        }

        metrics {
            /// Orders.
            orders(Orders<'a>) = "shop.orders", Counter, "{order}", [] {
                /// What was ordered.
                item: &'a str = "shop.item", low;
            }
        }
    }
}

mod broken {
    harness_telemetry::schema! {
        /// With a key twice.
        pub(crate) static TWICE = "twice", version 1;

        /// One span.
        span one(One) -> OneEnd = "one" {
            kind: Internal; level: Info; parents: [any];
            start {
                /// A number.
                a: u64 = "twice.a", low;
            }
            end {
                /// A number.
                b: u64 = "twice.a", low;
            }
        }
    }
}

mod orphan {
    harness_telemetry::schema! {
        /// With a parent that is not there.
        pub(crate) static ORPHAN = "orphan", version 1;

        /// One span.
        span one(One) -> OneEnd = "one" {
            kind: Internal; level: Info; parents: [nobody];
            start {}
            end {}
        }
    }
}

#[test]
fn what_does_not_go_together_is_told() {
    let built_in = Schemas::built_in();
    assert_eq!(
        built_in.with(&AI).unwrap_err(),
        SchemaError::Twice("gen_ai".to_owned())
    );
    let twice = built_in.with(&broken::TWICE).unwrap_err();
    assert_eq!(
        twice.to_string(),
        "the span `twice.one` has two attributes `twice.a`"
    );
    let orphan = built_in.with(&orphan::ORPHAN).unwrap_err();
    assert_eq!(
        orphan.to_string(),
        "the span `orphan.one` names a parent `nobody` that the schema does not have"
    );
    let all = built_in.with(&SHOP).unwrap();
    let names: Vec<&str> = all.iter().map(|schema| schema.name).collect();
    assert_eq!(names, ["gen_ai", "harness", "shop"]);
}

#[test]
fn a_schema_as_json() {
    let all = json!(Schemas::none().with(&SHOP).unwrap());
    let expected = json!([{
        "name": "shop",
        "version": 3,
        "description": "What a shop does.",
        "spans": [{
            "name": "order",
            "id": "shop.order",
            "title": "order {item}",
            "description": "One order, from the basket to the parcel.",
            "kind": "internal",
            "level": "info",
            "parents": ["root", "order"],
            "always": [],
            "start": [
                {"key": "shop.item", "type": "string", "required": true, "cardinality": "low", "sensitive": false, "description": "What was ordered."},
                {"key": "shop.count", "type": "int", "required": false, "cardinality": "high", "sensitive": false, "description": "How often."},
            ],
            "end": [{"key": "shop.result", "type": "string", "required": true, "cardinality": "low", "sensitive": false, "description": "What came of it."}],
            "end_optional": [],
            "events": [{
                "name": "shop.packed",
                "description": "It is in its parcel.",
                "attributes": [
                    {"key": "shop.weight", "type": "double", "required": true, "cardinality": "high", "sensitive": false, "description": "Kilograms."},
                    {"key": "shop.label", "type": "string", "required": false, "cardinality": "low", "sensitive": true, "description": "What stands on it."},
                ],
            }],
            "error_when": {"key": "shop.result", "values": ["sold out", "lost"]},
        }],
        "metrics": [{
            "name": "shop.orders",
            "description": "Orders.",
            "unit": "{order}",
            "instrument": "counter",
            "buckets": [],
            "attributes": [{"key": "shop.item", "type": "string", "required": true, "cardinality": "low", "sensitive": false, "description": "What was ordered."}],
        }],
    }]);
    assert_eq!(all, expected);
}

/// The attributes of the conventions' spans, by their names there: nothing is missing that is required or
/// recommended and known here, and nothing has a name that the conventions do not have.
#[test]
fn the_names_are_those_of_the_conventions() {
    let own = ["harness.cost", "harness.tool.outcome"];
    for span in AI.spans {
        for attribute in span.start.iter().chain(span.end).chain(span.end_optional) {
            let known =
                attribute.key.starts_with("gen_ai.") || attribute.key.starts_with("server.");
            assert!(known || own.contains(&attribute.key), "{}", attribute.key);
        }
        let operation = span
            .always
            .iter()
            .find(|fixed| fixed.key == semconv::OPERATION_NAME);
        assert_eq!(operation.map(|fixed| fixed.value), Some(span.name));
        assert!(span.title.starts_with(span.name));
    }
    for span in HARNESS.spans {
        assert!(span.title.starts_with("harness."), "{}", span.title);
    }
    let chat = AI.spans.iter().find(|span| span.name == "chat").unwrap();
    let reasons = chat.attribute(semconv::RESPONSE_FINISH_REASONS).unwrap();
    assert_eq!(reasons.kind, ValueType::Strings);
    for content in [
        semconv::INPUT_MESSAGES,
        semconv::OUTPUT_MESSAGES,
        semconv::SYSTEM_INSTRUCTIONS,
        semconv::TOOL_DEFINITIONS,
    ] {
        assert!(chat.attribute(content).unwrap().sensitive, "{content}");
    }
}
