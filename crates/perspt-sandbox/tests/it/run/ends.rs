//! How runs end, and that nothing is left of them.

use std::time::Duration;

use perspt_core::stage::StepEnd;
use perspt_sandbox::{Cancel, Ran, RunEnd, Runner, SandboxError, SandboxSpec};

use super::support::*;

/// A tree of processes that does what it can to survive: sessions of their own, parents that are gone,
/// signals ignored, output held open.
const STUBBORN: &str = r#"
import os, signal, time
for name in ('SIGTERM', 'SIGINT', 'SIGHUP', 'SIGCHLD'):
    signal.signal(getattr(signal, name), signal.SIG_IGN)
def apart():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            if os.fork() == 0:
                os.setsid()
            for name in range(2):
                os.fork()
            open('ready.%d' % os.getpid(), 'w')
            while True: time.sleep(1000)
        os._exit(0)
for round in range(3):
    apart()
"#;

/// Each round of [`STUBBORN`] leaves eight.
const LEFT: usize = 24;

fn stubborn(room: &Room, then: &str) -> perspt_sandbox::CommandSpec {
    room.python(&format!("{STUBBORN}{then}"))
}

fn wait_for_all(room: &Room) {
    let ready = || std::fs::read_dir(&room.inside).unwrap().count();
    while ready() < LEFT {
        std::thread::sleep(Duration::from_millis(5));
    }
}

const STAY: &str = "
while True: time.sleep(1000)
";

const WAIT_FOR_ALL_AND_LEAVE: &str = "
while len(os.listdir('.')) < 24: time.sleep(0.005)
print('left', flush=True)
os._exit(3)
";

#[test]
fn exit_codes_and_signals_come_back_as_they_were() {
    for (name, runner) in all_runners() {
        let room = Room::new();
        let end = |script: &str| run(&runner, &room.sh(script), &room.sandbox()).end;
        assert_eq!(end("exit 0"), exited(0), "{name}");
        assert_eq!(end("exit 7"), exited(7), "{name}");
        assert_eq!(end("exit 127"), exited(127), "{name}");
        assert_eq!(end("kill -9 $$"), RunEnd::Step(StepEnd::Signalled(9)), "{name}");
        assert_eq!(end("kill -TERM $$"), RunEnd::Step(StepEnd::Signalled(15)), "{name}");
    }
}

#[test]
fn a_program_that_cannot_be_started_is_told_from_one_that_fails() {
    for (name, runner) in all_runners() {
        let room = Room::new();
        let not_started = |argv: &[&str]| match run(&runner, &room.spec(argv), &room.sandbox()).end {
            RunEnd::Step(StepEnd::NotStarted(why)) => why,
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(not_started(&["no-such-program-anywhere"]), "no such program `no-such-program-anywhere`");
        assert_eq!(not_started(&["./nothing"]), "no such program `./nothing`");
        assert_eq!(not_started(&[]), "no program was named");
        std::fs::write(room.inside.join("text"), "not a program").unwrap();
        assert_eq!(not_started(&["./text"]), "cannot start `./text`: Permission denied");
        let script = room.inside.join("script");
        std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(not_started(&["./script"]), "the interpreter that `./script` names is not there");
    }
}

#[test]
fn a_missing_working_folder_is_told() {
    let room = Room::new();
    let mut spec = room.sh("true");
    spec.cwd = room.root.join("nowhere");
    let ran = run(&runner(), &spec, &room.sandbox());
    let why = format!("cannot enter the folder `{}`: No such file or directory", spec.cwd.display());
    assert_eq!(ran.end, RunEnd::Step(StepEnd::NotStarted(why)));
    assert!(is_full(&ran));
}

#[test]
fn a_program_is_searched_in_the_given_path_only() {
    let room = Room::new();
    let mut spec = room.spec(&["true"]);
    spec.env.insert("PATH".to_owned(), room.inside.display().to_string());
    let missing = RunEnd::Step(StepEnd::NotStarted("no such program `true`".to_owned()));
    assert_eq!(run(&runner(), &spec, &room.sandbox()).end, missing);
    spec.env.remove("PATH");
    assert_eq!(run(&runner(), &spec, &room.sandbox()).end, missing);
    let mine = room.inside.join("true");
    std::fs::write(&mine, "#!/bin/sh\nexit 42\n").unwrap();
    spec.env.insert("PATH".to_owned(), format!("/nowhere::{}:/bin", room.inside.display()));
    // Found by name, but not executable yet: the search goes on.
    assert_eq!(run(&runner(), &spec, &room.sandbox()).end, exited(0));
    std::fs::set_permissions(&mine, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(run(&runner(), &spec, &room.sandbox()).end, exited(42));
}

#[test]
fn what_a_command_leaves_running_is_ended_before_the_run_returns() {
    for (name, runner) in all_runners() {
        let room = Room::new();
        let ran = run(&runner, &stubborn(&room, WAIT_FOR_ALL_AND_LEAVE), &room.sandbox());
        assert_eq!(room.processes(), 0, "{name}");
        assert_eq!((ran.end.clone(), out(&ran).as_str()), (exited(3), "left\n"), "{name}: {}", err(&ran));
    }
}

#[test]
fn a_timeout_ends_everything_the_command_started() {
    for (name, runner) in all_runners() {
        let room = Room::new();
        let mut spec = stubborn(&room, STAY);
        // Long enough that on any machine the processes may be there, and no assertion depends on it.
        spec.timeout = Duration::from_millis(1500);
        let ran = run(&runner, &spec, &room.sandbox());
        assert_eq!(room.processes(), 0, "{name}");
        assert_eq!(ran.end, RunEnd::Step(StepEnd::TimedOut), "{name}");
    }
}

#[test]
fn a_program_that_forks_and_leaves_without_pause_is_caught() {
    // There is one of them at any moment, each time another, in a session of its own.
    let script = "
import os
if os.fork() == 0:
    while True:
        if os.fork() != 0: os._exit(0)
        os.setsid()
print('left', flush=True)
os._exit(0)
";
    for (name, runner) in all_runners() {
        let room = Room::new();
        let ran = run(&runner, &room.python(script), &room.sandbox());
        assert_eq!((out(&ran).as_str(), ran.end), ("left\n", exited(0)), "{name}");
        assert_eq!(room.processes(), 0, "{name}");
    }
}

/// Runs until `when` returns, then cancels.
fn run_and_cancel(runner: &Runner, room: &Room, sandbox: &SandboxSpec, when: impl FnOnce() + Send) -> Ran {
    let cancel = Cancel::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            when();
            cancel.cancel();
        });
        block_on(runner.run(&stubborn(room, STAY), sandbox, &cancel)).unwrap()
    })
}

#[test]
fn a_cancelled_run_ends_everything_the_command_started() {
    for (name, runner) in all_runners() {
        let room = Room::new();
        let ran = run_and_cancel(&runner, &room, &room.sandbox(), || {
            wait_for_all(&room);
            // They are real, and there is the command itself besides.
            assert_eq!(room.processes(), LEFT + 1, "{name}");
        });
        assert_eq!(room.processes(), 0, "{name}");
        assert_eq!(ran.end, RunEnd::Cancelled, "{name}");
    }
}

#[test]
fn a_run_that_is_cancelled_before_it_begins_leaves_nothing() {
    let room = Room::new();
    let cancel = Cancel::new();
    cancel.cancel();
    let ran = block_on(runner().run(&stubborn(&room, STAY), &room.sandbox(), &cancel)).unwrap();
    assert_eq!(ran.end, RunEnd::Cancelled);
    assert_eq!(room.processes(), 0);
}

#[test]
fn a_run_whose_future_is_dropped_ends_everything_and_holds_the_lock_until_then() {
    for (name, runner) in all_runners() {
        let room = Room::new();
        let lock = room.root.join("lock");
        let (held, sandbox) = with_lock(&room, &lock);
        block_on(async {
            let spec = stubborn(&room, STAY);
            let never = Cancel::new();
            let ready = async {
                while std::fs::read_dir(&room.inside).unwrap().count() < LEFT {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            tokio::select! {
                ran = runner.run(&spec, &sandbox, &never) => panic!("{name}: {ran:?}"),
                () = ready => {}
            }
        });
        drop((held, sandbox));
        std::fs::File::open(&lock).unwrap().lock().unwrap();
        assert_eq!(room.processes(), 0, "{name}");
    }
}

fn with_lock(room: &Room, lock: &std::path::Path) -> (std::sync::Arc<std::os::fd::OwnedFd>, SandboxSpec) {
    let file = std::fs::File::create(lock).unwrap();
    file.lock().unwrap();
    let held = std::sync::Arc::new(std::os::fd::OwnedFd::from(file));
    (held.clone(), SandboxSpec { held: Some(held), ..room.sandbox() })
}

#[test]
fn when_the_run_has_returned_nothing_of_it_holds_the_lock() {
    for (name, runner) in all_runners() {
        let room = Room::new();
        let lock = room.root.join("lock");
        let (held, sandbox) = with_lock(&room, &lock);
        run(&runner, &stubborn(&room, WAIT_FOR_ALL_AND_LEAVE), &sandbox);
        drop((held, sandbox));
        // Waited for, not tried: a test beside this one may be between fork and exec and hold a copy.
        std::fs::File::open(&lock).unwrap().lock().unwrap();
        assert_eq!(room.processes(), 0, "{name}");
    }
}

#[test]
fn a_helper_that_is_not_there_is_an_error() {
    let room = Room::new();
    let runner = Runner::new(room.root.join("no-helper"), Vec::new());
    let error = try_run(&runner, &room.sh("true"), &room.sandbox()).unwrap_err();
    assert!(matches!(error, SandboxError::Helper { .. }), "{error}");
    let runner = Runner::new("/bin/true".into(), Vec::new());
    let error = try_run(&runner, &room.sh("true"), &room.sandbox()).unwrap_err();
    assert!(matches!(error, SandboxError::HelperLost(_) | SandboxError::Link { .. }), "{error}");
}

#[test]
fn many_runs_at_once_do_not_disturb_each_other() {
    let rooms: Vec<Room> = (0..12).map(|_| Room::new()).collect();
    let runner = runner();
    block_on(async {
        let runs = rooms.iter().enumerate().map(|(index, room)| {
            let runner = runner.clone();
            let spec = room.sh(&format!("echo {index}; sleep 1000 & exit {index}"));
            let sandbox = room.sandbox();
            tokio::spawn(async move { runner.run(&spec, &sandbox, &Cancel::new()).await.unwrap() })
        });
        for (index, ran) in runs.collect::<Vec<_>>().into_iter().enumerate() {
            let ran = ran.await.unwrap();
            assert_eq!((ran.end.clone(), out(&ran)), (exited(index as i32), format!("{index}\n")));
        }
    });
    assert_eq!(rooms.iter().map(Room::processes).sum::<usize>(), 0);
}
