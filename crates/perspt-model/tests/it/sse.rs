//! The decoder, apart from HTTP.

use perspt_model::sse::{Decoder, EventTooLarge, SseEvent};
use proptest::prelude::*;

fn decode(pieces: &[&[u8]], limit: usize) -> Result<(Vec<SseEvent>, Option<SseEvent>), EventTooLarge> {
    let mut decoder = Decoder::new(limit);
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(piece, &mut events)?;
    }
    Ok((events, decoder.finish()))
}

fn all(bytes: &[u8]) -> Vec<(String, String)> {
    let (events, rest) = decode(&[bytes], 10_000).unwrap();
    events.into_iter().chain(rest).map(|event| (event.name, String::from_utf8(event.data).unwrap())).collect()
}

fn data(bytes: &[u8]) -> Vec<String> {
    all(bytes).into_iter().map(|(_, data)| data).collect()
}

#[test]
fn all_line_ends_and_spacings_mean_the_same() {
    for text in ["data: a\n\ndata: b\n\n", "data:a\r\n\r\ndata:b\r\n\r\n", "data: a\r\rdata: b\r\r"] {
        assert_eq!(data(text.as_bytes()), ["a", "b"], "{text:?}");
    }
    assert_eq!(
        data("\u{feff}data: a\n\n\u{feff}data: b\n\n".as_bytes()),
        ["a"],
        "only the first mark is one"
    );
}

#[test]
fn several_data_lines_are_one_event() {
    assert_eq!(data(b"data: a\ndata\ndata:  b\n\n"), ["a\n\n b"]);
}

#[test]
fn comments_other_fields_and_events_without_data_are_nothing() {
    assert_eq!(
        data(b": x\n\nid: 1\n\nretry: 2\n\nevent: e\n\ndatax: 1\n\n data: 1\n\n"),
        Vec::<String>::new()
    );
    let named = [("e".to_owned(), "1".to_owned()), (String::new(), "2".to_owned())];
    assert_eq!(all(b"event: e\ndata: 1\n\ndata: 2\n\n"), named);
}

#[test]
fn the_unfinished_rest_is_handed_out_at_the_end() {
    assert_eq!(decode(&[b"data: a\n\ndata: b"], 100).unwrap().1.unwrap().data, b"b");
    assert_eq!(decode(&[b"data: a\n\n"], 100).unwrap().1, None);
}

#[test]
fn an_event_beyond_the_limit_is_refused_in_one_line_or_in_many() {
    assert_eq!(decode(&[&[b'x'; 101]], 100), Err(EventTooLarge));
    assert_eq!(decode(&[&b"data: 1234567890\n".repeat(20)], 100), Err(EventTooLarge));
    assert!(decode(&[&b"data: 1234567890\n\n".repeat(200)], 100).is_ok());
}

/// Bytes that look like a stream more often than chance would have it.
fn streamish() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        Just(b"data: ".to_vec()),
        Just(b"data:".to_vec()),
        Just(b"event: ".to_vec()),
        Just(b":".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n\n".to_vec()),
        Just(b"\xef\xbb\xbf".to_vec()),
        Just("ü🦀".as_bytes().to_vec()),
        Just(b"{\"a\":[1]}".to_vec()),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(token, 0..60).prop_map(|tokens| tokens.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut(bytes in streamish(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20)) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in cuts {
            pieces.push(&bytes[from..cut]);
            from = cut;
        }
        pieces.push(&bytes[from..]);
        let whole = decode(&[&bytes], 10_000);
        prop_assert_eq!(&decode(&pieces, 10_000), &whole);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(&decode(&single, 10_000), &whole);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..500), limit in 0usize..600) {
        let _ = decode(&[&bytes], limit);
    }
}
