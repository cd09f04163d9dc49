//! The event stream's own rules.

use harness_providers::sse::{DecodeError, Decoder};
use proptest::prelude::*;

type Events = Vec<(String, String)>;

fn decode<'a>(
    mut decoder: Decoder,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> (Events, Option<DecodeError>) {
    let mut events = Events::new();
    for chunk in chunks {
        let result = decoder.feed(chunk, |event| {
            events.push((event.name.to_owned(), event.data.to_owned()));
            Ok::<_, DecodeError>(())
        });
        if let Err(error) = result {
            return (events, Some(error));
        }
    }
    let result = decoder.finish(|event| {
        events.push((event.name.to_owned(), event.data.to_owned()));
        Ok::<_, DecodeError>(())
    });
    (events, result.err())
}

/// Decodes in one piece, in single bytes, and says the events in short.
fn check(stream: impl AsRef<[u8]>, expected: &[(&str, &str)]) {
    let stream = stream.as_ref();
    let expected: Events = expected
        .iter()
        .map(|(name, data)| ((*name).to_owned(), (*data).to_owned()))
        .collect();
    let whole = decode(Decoder::new(), [stream]);
    assert_eq!(
        whole,
        (expected.clone(), None),
        "{:?}",
        String::from_utf8_lossy(stream)
    );
    let bytes = decode(Decoder::new(), stream.chunks(1));
    assert_eq!(
        bytes,
        (expected, None),
        "{:?}",
        String::from_utf8_lossy(stream)
    );
}

#[test]
fn prov_03_event_stream_rules() {
    check("data: a\n\n", &[("", "a")]);
    check("data:a\n\n", &[("", "a")]);
    check("data:  a \n\n", &[("", " a ")]);
    check("data\n\n", &[("", "")]);
    check("data: a\r\n\r\ndata: b\r\n\r\n", &[("", "a"), ("", "b")]);
    check("data: a\r\rdata: b\r\r", &[("", "a"), ("", "b")]);
    check("data: a\n\rdata: b\r\n\n", &[("", "a"), ("", "b")]);
    check("\u{feff}data: a\n\n", &[("", "a")]);
    check(
        "data: \u{feff}a\n\n\u{feff}data: b\n\n",
        &[("", "\u{feff}a")],
    );
    check(
        ": ping\n\n:\n\ndata: a\n: in between\ndata: b\n\n",
        &[("", "a\nb")],
    );
    check(
        "event: x\nid: 7\nretry: 3\ndata: a\n\ndata: b\n\n",
        &[("x", "a"), ("", "b")],
    );
    check("event: x\n\ndata: a\n\n", &[("", "a")]);
    check("data: a\n\n\n\n\ndata: b\n\n", &[("", "a"), ("", "b")]);
    check("data: é\u{1F600}\n\n", &[("", "é\u{1F600}")]);
    check("dat: a\ndatas: b\n data: c\n\n", &[]);
    // Without its end, an event is given out when the stream ends.
    check("data: a\n\ndata: b", &[("", "a"), ("", "b")]);
    check("data: a\n\ndata: b\n", &[("", "a"), ("", "b")]);
    check("", &[]);
}

#[test]
fn an_empty_chunk_between_cr_and_lf_is_no_line() {
    let chunks: [&[u8]; 4] = [b"data: a\r", b"", b"\ndata: b\r\n", b"\r\n"];
    let expected = (vec![(String::new(), "a\nb".to_owned())], None);
    assert_eq!(decode(Decoder::new(), chunks), expected);
}

#[test]
fn what_is_not_utf8_is_an_error_after_what_came_before() {
    let stream = b"data: a\n\ndata: \xff\n\ndata: b\n\n";
    let expected = (
        vec![(String::new(), "a".to_owned())],
        Some(DecodeError::NotUtf8),
    );
    assert_eq!(decode(Decoder::new(), [stream.as_slice()]), expected);
    assert_eq!(decode(Decoder::new(), stream.chunks(1)), expected);
}

#[test]
fn lines_and_events_are_bounded() {
    let bounded = || Decoder::new().max_line_bytes(16);
    let error = Some(DecodeError::TooLong { max_bytes: 16 });
    for stream in [
        "data: a\n\ndata: 12345678901\n\n".to_owned(),
        format!("data: a\n\n: {}", "x".repeat(20)),
        format!("data: a\n\n{}", "data: 123456\n".repeat(3)),
    ] {
        let expected = (vec![(String::new(), "a".to_owned())], error.clone());
        assert_eq!(decode(bounded(), [stream.as_bytes()]), expected, "{stream}");
        assert_eq!(
            decode(bounded(), stream.as_bytes().chunks(1)),
            expected,
            "{stream}"
        );
    }
    let fits = "data: 1234567890\n\n";
    assert_eq!(decode(bounded(), [fits.as_bytes()]).1, None);
}

proptest! {
    /// Whatever the bytes, and however they are split.
    #[test]
    fn any_split_gives_the_same_events(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "data:", "data: ", "event: e", "id: 1", "retry: 3", ":", "\n", "\r", "\r\n", "\n\n",
                "\r\n\r\n", "x", "é", "\u{1F600}", "\u{feff}", "{\"a\":1}", " ", "data",
            ]),
            0..40,
        ),
        garbage in prop::option::of((0usize..200, any::<u8>())),
        cuts in prop::collection::vec(0usize..400, 0..20),
    ) {
        let mut stream = parts.concat().into_bytes();
        if let Some((at, byte)) = garbage
            && !stream.is_empty()
        {
            let at = at % stream.len();
            stream[at] = byte;
        }
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % (stream.len() + 1)).collect();
        cuts.sort_unstable();
        let mut chunks = Vec::new();
        let mut start = 0;
        for cut in cuts {
            chunks.push(&stream[start..cut]);
            start = cut;
        }
        chunks.push(&stream[start..]);
        let bounded = || Decoder::new().max_line_bytes(24);
        let whole = decode(bounded(), [stream.as_slice()]);
        prop_assert_eq!(&decode(bounded(), chunks), &whole);
        prop_assert_eq!(&decode(bounded(), stream.chunks(1)), &whole);
    }
}
