//! What is captured of a command's output.

use std::io::{IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixListener;

use perspt_core::stage::Streams;
use perspt_sandbox::Allowed;
use rustix::net::{RecvAncillaryBuffer, RecvFlags};

use super::support::*;

#[test]
fn the_streams_are_kept_apart_byte_for_byte() {
    for (name, runner) in all_runners() {
        let room = Room::new();
        let ran = run(&runner, &room.sh(r"printf 'a\000\377b'; printf 'c\n' >&2"), &room.sandbox());
        assert_eq!(ran.stdout.bytes, b"a\0\xffb", "{name}");
        assert_eq!(ran.stderr.bytes, b"c\n", "{name}");
        assert!(!ran.stdout.cut && !ran.stderr.cut, "{name}");
    }
}

#[test]
fn merged_streams_keep_the_order_of_writing() {
    for (name, runner) in all_runners() {
        let room = Room::new();
        let mut spec = room.sh("for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done");
        spec.streams = Streams::Merged;
        let ran = run(&runner, &spec, &room.sandbox());
        let expected: String = (1..=5).map(|i| format!("out {i}\nerr {i}\n")).collect();
        assert_eq!(out(&ran), expected, "{name}");
        assert_eq!(err(&ran), "", "{name}");
    }
}

#[test]
fn output_is_cut_at_the_cap_and_only_beyond_it() {
    let room = Room::new();
    let mut spec = room.sh("printf 0123456789; printf abc >&2");
    for (cap, kept, cut) in
        [(4, "0123", true), (9, "012345678", true), (10, "0123456789", false), (0, "", true)]
    {
        spec.output_cap = cap;
        let ran = run(&runner(), &spec, &room.sandbox());
        assert_eq!((out(&ran).as_str(), ran.stdout.cut), (kept, cut));
        assert_eq!(ran.stderr.cut, cap < 3);
        assert_eq!(ran.end, exited(0));
    }
}

#[test]
fn fifty_megabytes_pass_without_blocking_and_only_the_cap_is_kept() {
    for (name, runner) in all_runners() {
        let room = Room::new();
        let mut spec = room.sh("head -c 50000000 /dev/zero; head -c 50000000 /dev/zero >&2; echo end >&2");
        spec.output_cap = 1000;
        let ran = run(&runner, &spec, &room.sandbox());
        assert_eq!(ran.end, exited(0), "{name}");
        assert_eq!((ran.stdout.bytes.len(), ran.stdout.cut), (1000, true), "{name}");
        assert!(ran.stdout.bytes.capacity() <= 64 * 1024, "{name}");
        assert_eq!((ran.stderr.bytes.len(), ran.stderr.cut), (1000, true), "{name}");
    }
}

#[test]
fn large_output_within_the_cap_is_complete() {
    let room = Room::new();
    let mut spec = room.python("import sys; sys.stdout.write('0123456789' * 2_000_000)");
    spec.output_cap = 20_000_000;
    let ran = run(&runner(), &spec, &room.sandbox());
    assert_eq!(ran.stdout.bytes.len(), 20_000_000);
    assert!(ran.stdout.bytes.chunks(10).all(|chunk| chunk == b"0123456789"));
    assert!(!ran.stdout.cut);
}

#[test]
fn a_command_that_closes_its_output_is_still_waited_for() {
    let room = Room::new();
    let script = "exec >&- 2>&-; while [ ! -e go ]; do sleep 0.01; done; exit 5";
    let go = room.inside.join("go");
    let ran = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&runner(), &room.sh(script), &room.sandbox()));
        while room.processes() == 0 {
            std::thread::yield_now();
        }
        std::fs::write(&go, "").unwrap();
        running.join().unwrap()
    });
    assert_eq!(ran.end, exited(5));
}

#[test]
fn a_background_process_that_keeps_the_output_open_does_not_hold_up_the_run() {
    for (name, runner) in all_runners() {
        let room = Room::new();
        let ran = run(&runner, &room.sh("(trap '' TERM HUP; sleep 100000) & echo done"), &room.sandbox());
        assert_eq!((out(&ran).as_str(), ran.end), ("done\n", exited(0)), "{name}");
        assert_eq!(room.processes(), 0, "{name}");
    }
}

#[test]
fn an_output_pipe_that_got_out_of_the_sandbox_does_not_hold_up_the_run() {
    let script = r#"
import os, socket
print('before', flush=True)
there = socket.socket(socket.AF_UNIX); there.connect(os.environ['OUT'] + '/agent')
socket.send_fds(there, [b'x'], [1, 2])
there.recv(1)
"#;
    let room = Room::new();
    let agent = UnixListener::bind(room.outside.join("agent")).unwrap();
    // Only without namespaces can it be got out at all.
    let runner = runner().with(Allowed::without_namespaces());
    std::thread::scope(|scope| {
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let keeping = scope.spawn(move || {
            let (stream, _) = agent.accept().unwrap();
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
            let mut with = RecvAncillaryBuffer::new(&mut space);
            let mut byte = [0];
            let into = &mut [IoSliceMut::new(&mut byte)];
            rustix::net::recvmsg(&stream, into, &mut with, RecvFlags::CMSG_CLOEXEC).unwrap();
            let kept: Vec<_> = with.drain().collect();
            (&stream).write_all(b"x").unwrap();
            // Held until the run has returned.
            let _ = wait.recv();
            kept.len()
        });
        let ran = run(&runner, &room.python(script), &room.sandbox());
        assert_eq!((out(&ran).as_str(), ran.end.clone()), ("before\n", exited(0)), "{}", err(&ran));
        drop(done);
        assert_eq!(keeping.join().unwrap(), 1);
    });
}

#[test]
fn nothing_of_the_helper_itself_gets_into_the_output() {
    let room = Room::new();
    let ran = run(&runner(), &room.spec(&["no-such-program"]), &room.sandbox());
    assert_eq!((out(&ran), err(&ran)), (String::new(), String::new()));
}
