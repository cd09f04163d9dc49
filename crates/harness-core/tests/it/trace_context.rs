//! A place in a trace: what W3C's Trace Context allows, and nothing else.

use harness_core::TraceContext;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";

#[test]
fn what_is_a_traceparent() {
    let zero = ["0".repeat(32), "0".repeat(16)];
    let cases = [
        (format!("00-{TRACE}-{SPAN}-01"), true),
        (format!("00-{TRACE}-{SPAN}-00"), true),
        (format!("01-{TRACE}-{SPAN}-01"), true),
        (format!("01-{TRACE}-{SPAN}-01-more"), true),
        (format!("00-{TRACE}-{SPAN}-01-more"), false),
        (format!("01-{TRACE}-{SPAN}-01more"), false),
        (format!("01-{TRACE}-{SPAN}-01-a b"), false),
        (format!("01-{TRACE}-{SPAN}-01-a\r\nx: y"), false),
        (format!("ff-{TRACE}-{SPAN}-01"), false),
        (format!("00-{}-{SPAN}-01", zero[0]), false),
        (format!("00-{TRACE}-{}-01", zero[1]), false),
        (format!("00-{}-{SPAN}-01", TRACE.to_uppercase()), false),
        (format!("00-{TRACE}-{SPAN}-0g"), false),
        (format!("00-{TRACE}-{SPAN}"), false),
        (format!("00_{TRACE}-{SPAN}-01"), false),
        (format!(" 00-{TRACE}-{SPAN}-01"), false),
        (format!("00-{TRACE}-{SPAN}-01\n"), false),
        ("é".repeat(30), false),
        (String::new(), false),
    ];
    for (text, expected) in cases {
        let context = TraceContext::new(&text, None);
        assert_eq!(context.is_some(), expected, "{text:?}");
        if let Some(context) = context {
            assert_eq!(context.traceparent(), text);
        }
    }
}

#[test]
fn a_state_that_cannot_be_a_header_is_left_out() {
    let parent = format!("00-{TRACE}-{SPAN}-01");
    let (long, longest) = ("x".repeat(513), "x".repeat(512));
    let cases = [
        ("vendor=1,other=2", true),
        (&longest, true),
        (&long, false),
        ("a\r\nauthorization: x", false),
        ("é=1", false),
        (" ", false),
        ("", false),
    ];
    for (state, kept) in cases {
        let context = TraceContext::new(&parent, Some(state)).unwrap();
        assert_eq!(context.tracestate(), kept.then_some(state), "{state:?}");
    }
}
