//! The inbox: whole messages in order, and garbage that stops nobody.

use std::fs;

use perspt_store::StoreError;

use crate::support::{Real, abort, id, session_of};

#[test]
fn messages_come_in_the_order_they_were_sent_and_stay_until_done() {
    let real = Real::new();
    let _writer = session_of(&real.home, 1);
    let inbox = real.home.inbox(&id()).unwrap();
    assert!(inbox.take_all().unwrap().messages.is_empty());
    for n in 0..12 {
        inbox.send(&abort(&n.to_string())).unwrap();
    }
    let taken = inbox.take_all().unwrap();
    let all: Vec<_> = taken.messages.iter().map(|(_, message)| message.clone()).collect();
    assert_eq!(all, (0..12).map(|n| abort(&n.to_string())).collect::<Vec<_>>());
    for (name, _) in &taken.messages[..11] {
        inbox.done(name).unwrap();
    }
    inbox.send(&abort("late")).unwrap();
    let left = inbox.take_all().unwrap();
    let all: Vec<_> = left.messages.into_iter().map(|(_, message)| message).collect();
    assert_eq!(all, [abort("11"), abort("late")]);
}

#[test]
fn a_message_to_no_session_is_refused_and_makes_nothing() {
    let real = Real::new();
    let inbox = real.home.inbox(&id()).unwrap();
    assert!(matches!(inbox.send(&abort("x")), Err(StoreError::NoSession(_))));
    assert!(matches!(inbox.take_all(), Err(StoreError::NoSession(_))));
    assert!(!real.home.root().exists());
}

#[test]
fn garbage_is_moved_aside_and_reported_and_the_messages_still_come() {
    let real = Real::new();
    let _writer = session_of(&real.home, 1);
    let inbox = real.home.inbox(&id()).unwrap();
    inbox.send(&abort("good")).unwrap();
    let folder = real.home.session_dir(&id()).join("inbox");
    fs::write(folder.join("00000000.json"), b"{half").unwrap();
    fs::write(folder.join("00000002.json"), b"\xff\xfe").unwrap();
    fs::write(folder.join("00000003.json"), vec![b' '; 2 << 20]).unwrap();
    fs::write(folder.join("18446744073709551615.json"), b"1").unwrap();
    fs::write(folder.join("00000007.json"), b"{\"ask\":\"a word of a later perspt\"}").unwrap();
    fs::write(folder.join("README"), b"hello").unwrap();
    fs::write(folder.join("new-1-1"), b"being written").unwrap();
    fs::create_dir(folder.join("00000009.json")).unwrap();
    fs::write(real.folder.path().join("elsewhere"), b"1").unwrap();
    std::os::unix::fs::symlink(real.folder.path().join("elsewhere"), folder.join("00000008.json")).unwrap();
    let taken = inbox.take_all().unwrap();
    assert_eq!(taken.messages.len(), 1);
    let garbage: Vec<_> = taken.bad.iter().map(|garbage| garbage.file.as_str()).collect();
    assert_eq!(
        garbage,
        [
            "00000000.json",
            "00000002.json",
            "00000003.json",
            "00000007.json",
            "00000008.json",
            "00000009.json",
            "18446744073709551615.json",
            "README"
        ]
    );
    assert_eq!(fs::read(folder.join(&taken.bad[0].moved_to)).unwrap(), b"{half");
    assert!(inbox.take_all().unwrap().bad.is_empty());
    fs::write(folder.join("00000000.json"), b"{again").unwrap();
    assert_eq!(inbox.take_all().unwrap().bad.len(), 1);
    assert_eq!(fs::read(folder.join(&taken.bad[0].moved_to)).unwrap(), b"{half");
    inbox.send(&abort("more")).unwrap();
    inbox.done("../lock").unwrap();
    assert!(real.home.session_dir(&id()).join("lock").exists());
    assert_eq!(inbox.take_all().unwrap().messages.len(), 2);
}
