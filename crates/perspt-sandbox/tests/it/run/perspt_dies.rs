//! perspt is killed without a chance to clean up. The test binary starts itself a second time, as perspt.
// The second perspt is a process that the test kills.
#![allow(clippy::disallowed_types)]

use std::fs::{File, TryLockError};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use perspt_sandbox::{Allowed, Runner, SandboxError, SandboxSpec};

use super::support::*;

/// Set in the second process: the lock, the folder and the mode.
const ROLE: &str = "PERSPT_TEST_DIES_IN";
const MODE: &str = "PERSPT_TEST_DIES_MODE";

const FAMILY: &str = r#"
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for index in range(30):
    if os.fork() == 0:
        os.setsid()
        if os.fork() != 0: os._exit(0)
        open('ready.%d' % index, 'w')
        while True: time.sleep(1000)
while True: time.sleep(1000)
"#;

fn runner_of(mode: &str) -> Runner {
    match mode {
        "full" => runner(),
        "no pid namespace" => runner().with(without(&[perspt_sandbox::Namespace::Pid])),
        "no namespaces" => runner().with(Allowed::without_namespaces()),
        _ => runner().with(Allowed::nothing()),
    }
}

/// Does nothing in an ordinary test run.
#[test]
fn acting_as_the_perspt_that_is_killed() {
    let (Ok(root), Ok(mode)) = (std::env::var(ROLE), std::env::var(MODE)) else { return };
    let root = PathBuf::from(root);
    let lock = File::create(root.join("lock")).unwrap();
    lock.lock().unwrap();
    let inside = root.join("inside");
    let sandbox = SandboxSpec {
        writable: vec![inside.clone()],
        held: Some(Arc::new(OwnedFd::from(lock))),
        ..SandboxSpec::closed()
    };
    let mut spec = Room::new().python(FAMILY);
    spec.cwd = inside;
    spec.env.insert(MARK.to_owned(), root.file_name().unwrap().to_str().unwrap().to_owned());
    run(&runner_of(&mode), &spec, &sandbox);
}

#[test]
fn when_perspt_is_killed_nothing_is_left_and_the_lock_is_free_only_then() {
    for mode in ["full", "no pid namespace", "no namespaces", "nothing"] {
        let room = Room::new();
        let mut perspt = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "run::perspt_dies::acting_as_the_perspt_that_is_killed", "--nocapture"])
            .env(ROLE, &room.root)
            .env(MODE, mode)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while std::fs::read_dir(&room.inside).unwrap().count() < 30 {
            assert!(perspt.try_wait().unwrap().is_none(), "{mode}: perspt ended by itself");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(room.processes(), 31, "{mode}");
        let lock = File::open(room.root.join("lock")).unwrap();
        assert!(matches!(lock.try_lock(), Err(TryLockError::WouldBlock)), "{mode}");
        perspt.kill().unwrap();
        perspt.wait().unwrap();
        lock.lock().unwrap();
        assert_eq!(room.processes(), 0, "{mode}");
    }
}

/// The process ids of the helper (a child of this process) and of its keeper, by what they run.
fn helpers_of_this_process() -> Vec<i32> {
    let helper = helper().canonicalize().unwrap();
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == helper))
        .filter(|pid| descends_from_this_process(*pid))
        .collect()
}

fn descends_from_this_process(pid: i32) -> bool {
    let parent = |pid: i32| -> Option<i32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    std::iter::successors(Some(pid), |pid| parent(*pid).filter(|pid| *pid > 1))
        .any(|pid| pid == std::process::id() as i32)
}

/// Does nothing in an ordinary test run. Kills the helper, or the keeper, of its own run.
#[test]
fn acting_as_the_perspt_whose_helper_is_killed() {
    let (Ok(root), Ok(which)) = (std::env::var(ROLE), std::env::var(MODE)) else { return };
    let (which, mode) = which.split_once('/').unwrap();
    let inside = PathBuf::from(&root).join("inside");
    let mark = inside.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let mut spec = Room::new().python(FAMILY);
    spec.cwd = inside.clone();
    spec.env.insert(MARK.to_owned(), mark.clone());
    let sandbox = SandboxSpec { writable: vec![inside.clone()], ..SandboxSpec::closed() };
    let runner = runner_of(mode);
    let ran = std::thread::scope(|scope| {
        let running = scope.spawn(|| try_run(&runner, &spec, &sandbox));
        while std::fs::read_dir(&inside).unwrap().count() < 30 {
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut helpers = helpers_of_this_process();
        helpers.sort_unstable();
        assert_eq!(helpers.len(), 2, "the helper and its keeper");
        let read = |name: &str| -> Vec<Vec<u8>> {
            helpers.iter().map(|pid| std::fs::read(format!("/proc/{pid}/{name}")).unwrap()).collect()
        };
        let (environments, arguments) = (read("environ"), read("cmdline"));
        let victim = if which == "helper" { helpers[0] } else { helpers[1] };
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(victim).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
        let ran = running.join().unwrap();
        assert!(environments.iter().all(Vec::is_empty), "perspt's own may hold keys");
        assert_eq!(arguments, vec![[helper().as_os_str().as_encoded_bytes(), b"\0"].concat(); 2]);
        ran
    });
    assert_eq!(processes_with(&mark), 0, "{which}/{mode}");
    assert!(matches!(ran, Err(SandboxError::HelperLost(_))), "{which}/{mode}: {ran:?}");
}

#[test]
fn when_the_helper_or_the_keeper_is_killed_nothing_is_left_either() {
    for which in ["helper/full", "keeper/full", "helper/no namespaces", "keeper/no namespaces"] {
        let room = Room::new();
        let done = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "run::perspt_dies::acting_as_the_perspt_whose_helper_is_killed", "--nocapture"])
            .env(ROLE, &room.root)
            .env(MODE, which)
            .output()
            .unwrap();
        assert!(done.status.success(), "{which}: {}", String::from_utf8_lossy(&done.stderr));
    }
}
