//! The log: what a line is, what is damage, what is a torn end, and what readers see meanwhile.

use std::fs;
use std::sync::Arc;

use perspt_core::hash::Sha;
use perspt_core::ids::Millis;
use perspt_store::{Chain, EVENT_MAX, LogCheck, LogReader, LogWriter, Opened, Record, StoreError, check_log};
use perspt_testkit::disk::{Fault, Op, Watched};
use proptest::prelude::*;
use rustix::io::Errno;
use serde_json::json;

use crate::support::{HOME, Real, home_on, id, session_of, sim};

fn reopen(real: &Real) -> Result<(Opened, Vec<Record>), StoreError> {
    let mut records = Vec::new();
    let opened = LogWriter::open(&real.home, &id(), &mut |record| records.push(record))?;
    Ok((opened, records))
}

fn check(real: &Real) -> Result<LogCheck, StoreError> {
    check_log(&real.home, &id(), &mut |_| {})
}

fn assert_damage(real: &Real, line: u64, why: &str) {
    for result in [check(real).map(drop), reopen(real).map(drop)] {
        match result {
            Err(StoreError::Integrity { file, line: at, seq, why: found }) => {
                assert_eq!((file, at, seq), (real.log(), line, line));
                assert!(found.contains(why), "{found}");
            }
            other => panic!("no damage found: {other:?}"),
        }
    }
}

#[test]
fn a_line_is_exactly_what_the_format_says() {
    let real = Real::new();
    let mut writer = LogWriter::create(&real.home, &id()).unwrap();
    let first = writer.append(Millis(1_763_200_000_000), 1, &json!({"kind": "a"})).unwrap();
    let second = writer.append(Millis(1_763_200_000_001), 2, &json!({"kind": "b"})).unwrap();
    let head = r#"{"seq":1,"at":1763200000000,"v":1,"event":{"kind":"a"}"#;
    let hash = Sha::of(format!("{}{head}", "0".repeat(64)).as_bytes());
    let next = r#"{"seq":2,"at":1763200000001,"v":2,"event":{"kind":"b"}"#;
    let after = Sha::of(format!("{hash}{next}").as_bytes());
    let whole = format!("{head},\"hash\":\"{hash}\"}}\n{next},\"hash\":\"{after}\"}}\n");
    assert_eq!(fs::read_to_string(real.log()).unwrap(), whole);
    assert_eq!((first.seq, first.hash, second.seq, second.hash), (1, hash, 2, after));
}

#[test]
fn what_was_appended_is_read_back_and_the_log_goes_on_from_there() {
    let real = Real::new();
    drop(session_of(&real.home, 3));
    let (mut opened, records) = reopen(&real).unwrap();
    assert_eq!((opened.records, opened.cut.is_none(), records.len()), (3, true, 3));
    assert_eq!(records[2].event.get(), r#"{"kind":"note","n":3}"#);
    assert_eq!(records[2].kind().as_deref(), Some("note"));
    assert_eq!(opened.writer.append(Millis(0), 1, &json!({"kind": "x"})).unwrap().seq, 4);
    assert_eq!(check(&real).unwrap().head, opened.writer.chain().head);
}

#[test]
fn an_append_is_one_write_and_one_sync() {
    let watched = Watched::new(Arc::new(sim()), &[]);
    let mut writer = session_of(&home_on(watched.clone()), 1);
    for _ in 0..5 {
        watched.reset(&[]);
        writer.append(Millis(9), 1, &json!({"kind": "note", "text": "x".repeat(9000)})).unwrap();
        assert_eq!(watched.counts(), [(Op::Append, 1), (Op::SyncData, 1)].into());
    }
}

#[test]
fn an_event_over_the_limit_is_refused_and_nothing_is_written() {
    let real = Real::new();
    let mut writer = session_of(&real.home, 1);
    let before = fs::read(real.log()).unwrap();
    let text = |bytes: usize| json!("x".repeat(bytes - 2));
    let error = writer.append(Millis(1), 1, &text(EVENT_MAX + 1)).unwrap_err();
    assert!(matches!(error, StoreError::EventTooLong { bytes, limit } if bytes == limit + 1), "{error}");
    assert_eq!(fs::read(real.log()).unwrap(), before);
    writer.append(Millis(u64::MAX), u32::MAX, &text(EVENT_MAX)).unwrap();
    assert_eq!(check(&real).unwrap().records, 2);
}

#[test]
fn raw_json_with_a_line_break_is_refused() {
    let real = Real::new();
    let mut writer = session_of(&real.home, 0);
    let raw = serde_json::value::RawValue::from_string("{\n\"kind\":\"a\"}".to_owned()).unwrap();
    assert!(matches!(writer.append(Millis(1), 1, &raw), Err(StoreError::Encode { .. })));
    writer.append(Millis(1), 1, &json!("line\nbreak in a text")).unwrap();
    assert_eq!(check(&real).unwrap().records, 1);
}

#[test]
fn a_clock_that_goes_backwards_stands_still_in_the_log() {
    let real = Real::new();
    let mut writer = session_of(&real.home, 0);
    for at in [50, 20, 60] {
        writer.append(Millis(at), 1, &json!({"kind": "note"})).unwrap();
    }
    drop(writer);
    let (mut opened, records) = reopen(&real).unwrap();
    assert_eq!(records.iter().map(|record| record.at.0).collect::<Vec<_>>(), [50, 50, 60]);
    opened.writer.append(Millis(1), 1, &json!({"kind": "note"})).unwrap();
    assert_eq!(opened.writer.chain().at, Millis(60));
}

#[test]
fn an_event_of_a_newer_version_is_handed_out_as_it_is() {
    let real = Real::new();
    let mut writer = session_of(&real.home, 0);
    writer.append(Millis(1), 77, &json!({"new": [1], "kind": "not \"known\""})).unwrap();
    drop(writer);
    let (_, records) = reopen(&real).unwrap();
    assert_eq!((records[0].v, records[0].kind().as_deref()), (77, Some("not \"known\"")));
    assert_eq!(perspt_store::kind_of(&serde_json::value::to_raw_value(&json!([1])).unwrap()), None);
}

#[test]
fn a_log_cut_at_any_byte_loses_only_its_torn_end_and_keeps_its_bytes() {
    let real = Real::new();
    drop(session_of(&real.home, 3));
    let whole = fs::read(real.log()).unwrap();
    let ends: Vec<usize> = (0..whole.len()).filter(|&at| whole[at] == b'\n').map(|at| at + 1).collect();
    for length in 0..whole.len() {
        fs::write(real.log(), &whole[..length]).unwrap();
        let good = ends.iter().copied().filter(|&end| end <= length).max().unwrap_or(0);
        let count = ends.iter().filter(|&&end| end <= length).count();
        let torn = check(&real).unwrap().torn;
        assert!(torn.as_ref().is_none_or(|torn| !torn.ended), "no killed writer leaves a newline");
        assert_eq!(torn.map(|torn| (torn.offset, torn.bytes)), cut_of(good, length));
        let (opened, records) = reopen(&real).unwrap();
        assert_eq!((records.len(), opened.records), (count, count as u64));
        let cut = opened.cut.as_ref().map(|cut| (cut.offset, cut.bytes));
        assert_eq!(cut, cut_of(good, length));
        if let Some(cut) = opened.cut {
            assert!(
                cut.kept_as.file_name().unwrap().to_str().unwrap().starts_with(&format!("log.cut-{good}"))
            );
            assert_eq!(fs::read(&cut.kept_as).unwrap(), &whole[good..length]);
        }
        assert_eq!(fs::read(real.log()).unwrap(), &whole[..good]);
    }
}

fn cut_of(good: usize, length: usize) -> Option<(u64, u64)> {
    (length > good).then_some((good as u64, (length - good) as u64))
}

#[test]
fn any_changed_byte_is_damage_or_a_bad_last_record() {
    let real = Real::new();
    drop(session_of(&real.home, 3));
    let whole = fs::read(real.log()).unwrap();
    let last = whole[..whole.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
    for at in 0..whole.len() {
        for flip in [1, 0x20] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            fs::write(real.log(), &bytes).unwrap();
            let more = bytes[last..].iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len()) + last + 1;
            match check(&real) {
                Err(StoreError::Integrity { .. }) => assert!(at < last || more < bytes.len(), "byte {at}"),
                Ok(found) => {
                    let torn = found.torn.unwrap_or_else(|| panic!("byte {at} changed unseen"));
                    assert_eq!((torn.offset, found.records), (last as u64, 2));
                    assert_eq!(torn.ended, at + 1 < whole.len(), "byte {at}");
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn an_acknowledged_record_that_lost_its_newline_is_damage_and_not_cut() {
    let real = Real::new();
    drop(session_of(&real.home, 3));
    let text = fs::read_to_string(real.log()).unwrap();
    let end = text.trim_end().rfind('\n').unwrap();
    for rest in [&text[end + 1..], "x", "{\"seq\":"] {
        fs::write(real.log(), format!("{}*{rest}", &text[..end])).unwrap();
        assert_damage(&real, 2, "newline");
    }
    for rest in ["", "*", "\0\0\0"] {
        fs::write(real.log(), format!("{}{rest}", &text[..end])).unwrap();
        let (opened, records) = reopen(&real).unwrap();
        assert_eq!((records.len(), opened.cut.unwrap().why.as_str()), (1, "it has no newline"));
    }
}

#[test]
fn a_record_edited_in_the_middle_is_named_by_file_line_and_seq() {
    let real = Real::new();
    drop(session_of(&real.home, 5));
    let text = fs::read_to_string(real.log()).unwrap();
    fs::write(real.log(), text.replace("\"n\":3", "\"n\":4")).unwrap();
    assert_damage(&real, 3, "hash");
    assert!(fs::read_to_string(real.log()).unwrap().contains("\"seq\":5"), "damage is not cut");
}

#[test]
fn records_that_are_missing_repeated_or_swapped_are_damage() {
    let real = Real::new();
    drop(session_of(&real.home, 4));
    let text = fs::read_to_string(real.log()).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for (order, line) in [(&[0, 2, 3][..], 2), (&[1, 2, 3], 1), (&[0, 0, 1, 2], 2), (&[0, 2, 1, 3], 2)] {
        fs::write(real.log(), order.iter().map(|&n| lines[n]).collect::<String>()).unwrap();
        assert_damage(&real, line, "hash");
    }
}

#[test]
fn foreign_bytes_at_the_end_are_a_torn_end_only_as_a_single_line() {
    let real = Real::new();
    drop(session_of(&real.home, 2));
    let good = fs::read(real.log()).unwrap();
    let long = vec![b'x'; 300_000];
    let nul = vec![0; 5000];
    let singles: [&[u8]; 6] = [b"\n", b"x", b"hello\n", &long, &[&long[..], b"\n"].concat(), &nul];
    for foreign in singles {
        fs::write(real.log(), [&good[..], foreign].concat()).unwrap();
        assert_eq!(check(&real).unwrap().torn.unwrap().ended, foreign.ends_with(b"\n"));
        let (opened, records) = reopen(&real).unwrap();
        let cut = opened.cut.unwrap();
        assert_eq!((records.len(), cut.bytes), (2, foreign.len() as u64));
        assert_eq!(fs::read(cut.kept_as).unwrap(), foreign);
        assert_eq!(fs::read(real.log()).unwrap(), good);
    }
    let several: [&[u8]; 4] = [b"\n\n", b"x\ny", b"hello\nhello\n", &[&long[..], b"\nx"].concat()];
    for foreign in several {
        fs::write(real.log(), [&good[..], foreign].concat()).unwrap();
        assert_damage(&real, 3, "");
        assert_eq!(fs::read(real.log()).unwrap(), [&good[..], foreign].concat());
    }
}

#[test]
fn carriage_returns_a_byte_order_mark_and_blank_lines_are_damage() {
    let real = Real::new();
    drop(session_of(&real.home, 3));
    let text = fs::read_to_string(real.log()).unwrap();
    for bad in [text.replace('\n', "\r\n"), format!("\u{feff}{text}"), format!("\n{text}")] {
        fs::write(real.log(), bad).unwrap();
        assert_damage(&real, 1, "");
    }
}

/// A line with any head, sealed as the next record would be.
fn sealed(before: Sha, head: &str) -> String {
    let hash = Sha::of(format!("{before}{head}").as_bytes());
    format!("{head},\"hash\":\"{hash}\"}}\n")
}

#[test]
fn a_sealed_line_that_is_no_record_is_damage_even_at_the_end() {
    let real = Real::new();
    let writer = session_of(&real.home, 2);
    let before = writer.chain().head;
    drop(writer);
    let good = fs::read_to_string(real.log()).unwrap();
    for (head, why) in [
        (r#"{"seq":4,"at":2000,"v":1,"event":{"kind":"a"}"#, "numbered 4"),
        (r#"{"seq":3,"at":2000,"v":1,"event":{"kind":"a"},"more":1"#, "not JSON"),
        (r#"{"seq":3,"at":2000,"v":1,"event":{"kind":"a"},"event":{}"#, "not JSON"),
        (r#"{"seq":3,"seq":3,"at":2000,"v":1,"event":{"kind":"a"}"#, "laid out"),
        (r#"{"at":2000,"seq":3,"v":1,"event":{"kind":"a"}"#, "laid out"),
        (r#"{"seq":03,"at":2000,"v":1,"event":{"kind":"a"}"#, "laid out"),
        (r#"{"seq":3, "at":2000,"v":1,"event":{"kind":"a"}"#, "laid out"),
        (r#"{"seq":3,"at":2000,"v":4294967296,"event":{"kind":"a"}"#, "version"),
        (r#"{"seq":3,"at":2000,"v":1,"event":{"kind":"#, "not JSON"),
    ] {
        fs::write(real.log(), format!("{good}{}", sealed(before, head))).unwrap();
        assert_damage(&real, 3, why);
    }
    let fine = sealed(before, r#"{"seq":3,"at":2000,"v":1,"event":{"kind":"a"}"#);
    fs::write(real.log(), format!("{good}{fine}")).unwrap();
    assert_eq!(check(&real).unwrap().records, 3);
}

#[test]
fn a_half_created_session_is_one_without_records() {
    let real = Real::new();
    assert!(matches!(reopen(&real), Err(StoreError::NoSession(_))));
    assert!(matches!(LogReader::open(&real.home, &id()), Err(StoreError::NoSession(_))));
    assert!(!real.home.root().exists(), "looking has made something");

    fs::create_dir_all(real.home.session_dir(&id())).unwrap();
    assert_eq!(check(&real).unwrap().records, 0);
    let mut reader = LogReader::open(&real.home, &id()).unwrap();
    assert!(reader.poll().unwrap().is_none());
    assert!(!real.log().exists(), "looking has made something");
    let (mut opened, _) = reopen(&real).unwrap();
    assert_eq!((opened.records, opened.cut), (0, None));
    opened.writer.append(Millis(1), 1, &json!({"kind": "note"})).unwrap();
    assert_eq!(reader.poll().unwrap().unwrap().seq, 1);

    drop(opened.writer);
    fs::write(real.log(), b"").unwrap();
    assert_eq!(reopen(&real).unwrap().0.records, 0);
    assert!(matches!(LogWriter::create(&real.home, &id()), Err(StoreError::SessionExists(_))));
    fs::remove_file(real.log()).unwrap();
    LogWriter::create(&real.home, &id()).unwrap();
}

#[test]
fn a_reader_follows_the_tail_and_takes_only_whole_records() {
    let real = Real::new();
    let mut writer = session_of(&real.home, 1);
    let mut reader = LogReader::open(&real.home, &id()).unwrap();
    assert_eq!(reader.poll().unwrap().unwrap().seq, 1);
    assert!(reader.poll().unwrap().is_none());
    writer.append(Millis(1), 1, &json!({"kind": "note"})).unwrap();
    assert_eq!(reader.poll().unwrap().unwrap().seq, 2);

    let mut line = Vec::new();
    let mut chain = writer.chain();
    chain.seal(Millis(2), 1, &json!({"kind": "slow"}), &mut line).unwrap();
    for byte in &line {
        assert!(reader.poll().unwrap().is_none());
        let whole = [fs::read(real.log()).unwrap(), vec![*byte]].concat();
        fs::write(real.log(), whole).unwrap();
    }
    assert_eq!(reader.poll().unwrap().unwrap().kind().as_deref(), Some("slow"));
    assert_eq!(reader.chain(), chain);
}

#[test]
fn a_reader_goes_on_after_a_torn_end_was_cut_and_written_anew() {
    for tail in ["{\"seq\":2,\"at\":1", "garbage that is longer than the next record will be, by far\n"] {
        let real = Real::new();
        drop(session_of(&real.home, 1));
        let text = fs::read_to_string(real.log()).unwrap();
        fs::write(real.log(), format!("{text}{tail}")).unwrap();
        let mut reader = LogReader::open(&real.home, &id()).unwrap();
        assert_eq!(reader.poll().unwrap().unwrap().seq, 1);
        assert!(reader.poll().unwrap().is_none());
        let (mut opened, _) = reopen(&real).unwrap();
        for _ in 0..3 {
            opened.writer.append(Millis(1), 1, &json!({"kind": "anew"})).unwrap();
        }
        assert_eq!(reader.poll().unwrap().unwrap().kind().as_deref(), Some("anew"));
    }
}

#[test]
fn a_reader_that_holds_old_bytes_of_a_cut_tail_looks_again() {
    // The reader reads a window ahead: the bad line is in its memory while the log is cut and goes on.
    let real = Real::new();
    drop(session_of(&real.home, 2));
    let text = fs::read_to_string(real.log()).unwrap();
    fs::write(real.log(), format!("{text}bad\n")).unwrap();
    let mut reader = LogReader::open(&real.home, &id()).unwrap();
    assert_eq!(reader.poll().unwrap().unwrap().seq, 1);
    let (mut opened, _) = reopen(&real).unwrap();
    opened.writer.append(Millis(1), 1, &json!({"kind": "anew"})).unwrap();
    assert_eq!(reader.poll().unwrap().unwrap().seq, 2);
    assert_eq!(reader.poll().unwrap().unwrap().kind().as_deref(), Some("anew"));
}

#[test]
fn after_a_failed_append_every_later_one_fails_until_the_log_is_opened_again() {
    for (fault, kept) in
        [(Fault::Fail(1, Errno::NOSPC), 1), (Fault::Fail(2, Errno::IO), 2), (Fault::Short(1), 1)]
    {
        let disk = sim();
        let watched = Watched::new(Arc::new(disk.clone()), &[]);
        let home = home_on(watched.clone());
        let mut writer = session_of(&home, 1);
        watched.reset(&[fault]);
        let error = writer.append(Millis(1), 1, &json!({"kind": "lost"})).unwrap_err();
        assert!(matches!(&error, StoreError::Io { path, .. } if path.ends_with("log.jsonl")), "{error}");
        watched.reset(&[]);
        let again = writer.append(Millis(1), 1, &json!({"kind": "after"})).unwrap_err();
        assert!(matches!(&again, StoreError::Poisoned { why, .. } if *why == error.to_string()), "{again}");
        assert_eq!(watched.calls(), 0);
        drop(writer);
        // A record whose sync failed may well be whole.
        let opened = LogWriter::open(&home, &id(), &mut |_| {}).unwrap();
        assert_eq!(opened.records, kept);
        assert_eq!(opened.cut.is_some(), fault == Fault::Short(1));
        let log = disk.read(&format!("{HOME}/sessions/s-1/log.jsonl")).unwrap();
        assert!(log.ends_with(b"\n"));
    }
}

proptest! {
    #[test]
    fn any_events_are_read_back_as_they_were(
        events in prop::collection::vec((any::<u64>(), any::<u32>(), ".{0,60}"), 0..12)
    ) {
        let home = home_on(sim());
        let mut writer = LogWriter::create(&home, &id()).unwrap();
        for (at, v, text) in &events {
            writer.append(Millis(*at), *v, &json!({"kind": text})).unwrap();
        }
        let mut read = Vec::new();
        let verified = check_log(&home, &id(), &mut |record| read.push((record.v, record.kind().unwrap()))).unwrap();
        let wanted: Vec<_> = events.into_iter().map(|(_, v, text)| (v, text)).collect();
        prop_assert_eq!(read, wanted);
        prop_assert_eq!(verified.head, writer.chain().head);
    }

    #[test]
    fn no_bytes_after_a_good_log_ever_pass_for_a_record(foreign in prop::collection::vec(any::<u8>(), 1..200)) {
        let disk = sim();
        let home = home_on(disk.clone());
        drop(session_of(&home, 2));
        let path = format!("{HOME}/sessions/s-1/log.jsonl");
        let whole = [disk.read(&path).unwrap(), foreign].concat();
        disk.overwrite(&path, &whole);
        match check_log(&home, &id(), &mut |_| {}) {
            Ok(found) => prop_assert!(found.records == 2 && found.torn.is_some()),
            Err(error) => {
                let damage = matches!(error, StoreError::Integrity { line: 3, .. });
                prop_assert!(damage, "{}", error);
            }
        }
    }
}

#[test]
fn the_chain_can_be_built_without_a_disk() {
    let (mut chain, mut bytes) = (Chain::default(), Vec::new());
    chain.seal(Millis(7), 1, &json!({"kind": "a"}), &mut bytes).unwrap();
    chain.seal(Millis(8), 1, &json!({"kind": "b"}), &mut bytes).unwrap();
    let real = Real::new();
    fs::create_dir_all(real.home.session_dir(&id())).unwrap();
    fs::write(real.log(), bytes).unwrap();
    let verified = check(&real).unwrap();
    assert_eq!((verified.records, verified.head, verified.torn), (2, chain.head, None));
}
