//! What a command cannot do, and what it still can.
// One test starts itself a second time, with more than usual to inherit.
#![allow(clippy::disallowed_types)]

use perspt_core::stage::Streams;
use perspt_sandbox::{Allowed, Level, Namespace, Seccomp};

use super::support::*;

/// Each line tries one thing outside and prints its name where it worked.
const ATTEMPTS: &str = r#"
cd "$IN"
(echo changed > "$OUT/file") 2>/dev/null && echo write
(echo changed >> "$OUT/file") 2>/dev/null && echo append
(echo new > "$OUT/new") 2>/dev/null && echo create
mv "$OUT/file" "$OUT/moved" 2>/dev/null && echo rename
truncate -s 0 "$OUT/file" 2>/dev/null && echo truncate
rm "$OUT/file" 2>/dev/null && echo remove
mkdir "$OUT/folder" 2>/dev/null && echo mkdir
ln "$OUT/file" hard 2>/dev/null && (echo changed > hard) 2>/dev/null && echo hardlink
ln -s "$OUT/file" soft
(echo changed > soft) 2>/dev/null && echo symlink
ln -s "$OUT" folder
(echo changed > folder/file) 2>/dev/null && echo symlinked-folder
touch mine && mv mine "$OUT/mine" 2>/dev/null && echo move-out
true
"#;

#[test]
fn a_write_outside_is_denied_in_every_confined_mode() {
    for (name, runner) in confined_runners() {
        let room = Room::new();
        std::fs::write(room.outside.join("file"), "as it was").unwrap();
        let worked = succeed(name, &runner, &room.sh(ATTEMPTS), &room.sandbox());
        assert_eq!(worked, "", "{name}");
        assert_eq!(std::fs::read_to_string(room.outside.join("file")).unwrap(), "as it was", "{name}");
        assert_eq!(std::fs::read_dir(&room.outside).unwrap().count(), 1, "{name}");
    }
}

#[test]
fn without_any_confinement_the_same_writes_work_and_the_report_says_so() {
    let room = Room::new();
    std::fs::write(room.outside.join("file"), "as it was").unwrap();
    let runner = runner().with(Allowed::nothing());
    let ran = run(&runner, &room.sh(ATTEMPTS), &room.sandbox());
    assert!(out(&ran).starts_with("write\nappend\ncreate\nrename\n"), "{}", out(&ran));
    assert_eq!(ran.confinement.level(), Level::None);
    assert_eq!(ran.confinement.landlock, None);
    assert_eq!(ran.confinement.seccomp, Seccomp::Off);
    assert!(ran.confinement.missing.iter().any(|hole| hole.contains("writes outside")));
    assert!(ran.confinement.missing.iter().any(|hole| hole == "the network"));
}

#[test]
fn a_write_inside_works_in_every_mode() {
    for (name, runner) in all_runners() {
        let room = Room::new();
        let script = r#"set -e
            mkdir a b; echo one > a/file; mv a/file b/file; ln b/file b/hard; ln -s file b/soft
            echo two >> b/soft; truncate -s 4 b/hard; chmod 700 b/file; touch -d @1 b/file; rm -r a; cat b/file"#;
        assert_eq!(succeed(name, &runner, &room.sh(script), &room.sandbox()), "one\n", "{name}");
        assert_eq!(std::fs::read_to_string(room.inside.join("b/hard")).unwrap(), "one\n", "{name}");
    }
}

#[test]
fn a_single_file_can_be_writable() {
    for (name, runner) in confined_runners() {
        let room = Room::new();
        std::fs::write(room.outside.join("one"), "").unwrap();
        std::fs::write(room.outside.join("two"), "").unwrap();
        let mut sandbox = room.sandbox();
        sandbox.writable.push(room.outside.join("one"));
        let script = r#"echo yes > "$OUT/one"; echo no > "$OUT/two"; true"#;
        run(&runner, &room.sh(script), &sandbox);
        assert_eq!(std::fs::read_to_string(room.outside.join("one")).unwrap(), "yes\n", "{name}");
        assert_eq!(std::fs::read_to_string(room.outside.join("two")).unwrap(), "", "{name}");
    }
}

#[test]
fn chmod_and_utime_outside_are_denied_in_full_mode_and_named_as_missing_in_the_other() {
    let attempts = r#"
        chmod 777 "$OUT/file" 2>/dev/null && echo chmod
        touch -d @1 "$OUT/file" 2>/dev/null && echo utime
        chown 12:12 "$OUT/file" 2>/dev/null && echo chown
        true"#;
    for (name, runner) in confined_runners() {
        let room = Room::new();
        std::fs::write(room.outside.join("file"), "").unwrap();
        let ran = run(&runner, &room.sh(attempts), &room.sandbox());
        let named = ran.confinement.missing.iter().any(|hole| hole.starts_with("chmod"));
        if ran.confinement.namespaces.contains(&Namespace::Mount) {
            assert_eq!(out(&ran), "", "{name}");
            assert!(!named, "{name}");
        } else {
            assert!(out(&ran).starts_with("chmod\nutime\n"), "{name}");
            assert!(named, "{name}");
        }
    }
}

#[test]
fn this_machine_gives_everything_and_the_report_has_no_hole() {
    let room = Room::new();
    let ran = run(&runner(), &room.sh("true"), &room.sandbox());
    assert!(is_full(&ran), "{:?}", ran.confinement);
    for namespace in [Namespace::Mount, Namespace::Pid, Namespace::Net] {
        assert!(ran.confinement.namespaces.contains(&namespace));
    }
    assert!(ran.confinement.landlock.is_some());
    assert_eq!(ran.confinement.seccomp, Seccomp::On);
    assert_eq!(block_on(runner().available_confinement()).unwrap(), ran.confinement);
    assert_eq!(block_on(runner().refusals()).unwrap(), Vec::<String>::new());
}

#[test]
fn what_is_ruled_out_is_reported_as_missing() {
    let had = |allowed| block_on(runner().with(allowed).available_confinement()).unwrap();
    let partial = had(Allowed::without_namespaces());
    assert_eq!(partial.level(), Level::Partial);
    assert!(partial.namespaces.is_empty());
    assert!(partial.missing.iter().any(|hole| hole == "seeing other processes"));
    let no_filter = had(Allowed { seccomp: false, ..Allowed::without_namespaces() });
    assert!(no_filter.missing.iter().any(|hole| hole == "the network other than TCP"));
    let no_pid = had(without(&[Namespace::Pid]));
    assert_eq!(no_pid.missing, ["seeing other processes"]);
    assert_eq!(had(Allowed::nothing()).level(), Level::None);
    assert!(!block_on(runner().with(Allowed::nothing()).namespaces_available()).unwrap());
    assert!(block_on(runner().namespaces_available()).unwrap());
}

#[test]
fn the_usual_devices_work() {
    let script = r#"
import os, pty, tempfile
from multiprocessing import shared_memory
open('/dev/null', 'w').write('x')
assert open('/dev/zero', 'rb').read(3) == bytes(3)
assert len(open('/dev/urandom', 'rb').read(3)) == 3
try:
    os.write(os.open('/dev/full', os.O_WRONLY), b'x'); raise SystemExit('full is not full')
except OSError as error:
    assert error.errno == 28, error
open('/dev/shm/mine', 'w').write('x'); os.remove('/dev/shm/mine')
memory = shared_memory.SharedMemory(create=True, size=10); memory.close(); memory.unlink()
ours, theirs = pty.openpty()
assert os.isatty(theirs)
open('/dev/stdout', 'w').write('fine')
"#;
    for (name, runner) in all_runners() {
        let room = Room::new();
        assert_eq!(succeed(name, &runner, &room.python(script), &room.sandbox()), "fine", "{name}");
    }
}

#[test]
fn the_machine_s_disks_cannot_be_reached_by_a_device_file() {
    let script = r#"
        for number in 8:0 254:0 259:0; do
            mknod disk b ${number%:*} ${number#*:} 2>/dev/null && echo made
        done
        for disk in /dev/sda /dev/vda /dev/nvme0n1; do
            [ -e "$disk" ] && (: >> "$disk") 2>/dev/null && echo opened
        done
        true"#;
    for (name, runner) in confined_runners() {
        let room = Room::new();
        assert_eq!(succeed(name, &runner, &room.sh(script), &room.sandbox()), "", "{name}");
    }
}

#[test]
fn other_processes_are_not_visible_in_full_mode() {
    let room = Room::new();
    let script = format!("set -- /proc/[0-9]*; echo $#; cat /proc/{}/environ", std::process::id());
    let ran = run(&runner(), &room.sh(&script), &room.sandbox());
    // The keeper and the shell; the helper and perspt are outside.
    assert_eq!(out(&ran), "2\n");
    assert!(err(&ran).contains("No such file"), "{}", err(&ran));
}

#[test]
fn the_environment_and_memory_of_the_keeper_and_of_perspt_cannot_be_read() {
    let script = format!(
        "cat /proc/{0}/environ; cat /proc/$PPID/environ; head -c 1 /proc/$PPID/mem; head -c 1 /proc/{0}/mem",
        std::process::id()
    );
    for (name, runner) in confined_runners() {
        let room = Room::new();
        assert_eq!(out(&run(&runner, &room.sh(&script), &room.sandbox())), "", "{name}");
    }
}

#[test]
fn processes_outside_cannot_be_signalled() {
    let script = format!("kill -0 {} 2>/dev/null && echo reached; true", std::process::id());
    for (name, runner) in confined_runners() {
        let room = Room::new();
        let ran = run(&runner, &room.sh(&script), &room.sandbox());
        assert_eq!(out(&ran), "", "{name}");
    }
}

#[test]
fn kernel_calls_that_reach_past_the_walls_are_denied() {
    let script = r#"
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def refused(number, *arguments):
    ctypes.set_errno(0)
    return libc.syscall(number, *arguments) == -1 and ctypes.get_errno()
x86 = os.uname().machine == 'x86_64'
calls = dict(mount=165, umount2=166, setns=308, bpf=321, keyctl=250, kexec_load=246, init_module=175,
    io_uring_setup=425, open_tree=428, perf_event_open=298) if x86 else dict(mount=40, umount2=39, setns=268,
    bpf=280, keyctl=219, kexec_load=104, init_module=105, io_uring_setup=425, open_tree=428, perf_event_open=241)
for name, number in calls.items():
    assert refused(number, 0, 0, 0, 0, 0) == 1, name
assert refused(272 if x86 else 97, 0x10000000) == 1, 'unshare of users'
assert refused(272 if x86 else 97, 0x00020000) == 1, 'unshare of mounts'
assert refused(435, 0, 0) == 38, 'clone3'
assert refused(56 if x86 else 220, 0x10000000 | 17, 0, 0, 0, 0) == 1, 'clone with new users'
status = open('/proc/self/status').read()
assert 'NoNewPrivs:\t1' in status and 'Seccomp:\t2' in status
kept = int([line for line in status.splitlines() if line.startswith('CapEff')][0].split()[1], 16)
assert kept & ~0b10011111011 == 0, hex(kept)
print('fine')
"#;
    for (name, runner) in confined_runners().into_iter().filter(|(name, _)| *name != "namespaces only") {
        let room = Room::new();
        assert_eq!(succeed(name, &runner, &room.python(script), &room.sandbox()), "fine\n", "{name}");
    }
}

#[test]
fn the_environment_is_exactly_the_given_one_and_no_descriptor_is_inherited() {
    for (name, runner) in all_runners() {
        let room = Room::new();
        let mut spec = room.spec(&["/usr/bin/env"]);
        spec.env = [("ONE".to_owned(), "1".to_owned()), ("TWO".to_owned(), "a b\nc".to_owned())].into();
        assert_eq!(succeed(name, &runner, &spec, &room.sandbox()), "ONE=1\nTWO=a b\nc\n", "{name}");
        spec.argv = vec!["/bin/ls".to_owned(), "/proc/self/fd".to_owned()];
        // The fourth is ls's own, on the folder it lists.
        assert_eq!(succeed(name, &runner, &spec, &room.sandbox()), "0\n1\n2\n3\n", "{name}");
        spec.argv = ["/bin/sed", "-n", "s/^SigIgn:\\t//p; s/^SigBlk:\\t//p", "/proc/self/status"]
            .map(str::to_owned)
            .into();
        let signals = succeed(name, &runner, &spec, &room.sandbox());
        let mut signals = signals.lines().map(|line| u64::from_str_radix(line, 16).unwrap());
        assert_eq!(signals.next(), Some(0), "{name}: no signal is blocked");
        assert_eq!(signals.next().map(|ignored| ignored & 0x1000), Some(0), "{name}: SIGPIPE is not ignored");
        spec.argv = ["/bin/sh", "-c", "cat; umask; ulimit -c"].map(str::to_owned).into();
        spec.streams = Streams::Merged;
        assert_eq!(succeed(name, &runner, &spec, &room.sandbox()), "0022\n0\n", "{name}");
    }
}

#[test]
fn what_perspt_inherited_itself_does_not_reach_the_command() {
    let test = "run::walls::the_environment_is_exactly_the_given_one_and_no_descriptor_is_inherited";
    let shell = "umask 077; ulimit -S -c unlimited; exec 9</dev/null; exec \"$0\" --exact \"$1\"";
    let exe = std::env::current_exe().unwrap();
    let done = std::process::Command::new("sh").args(["-c", shell]).arg(exe).arg(test).output().unwrap();
    let printed = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && printed.contains("1 passed"), "{printed}");
}
