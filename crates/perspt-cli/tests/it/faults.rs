//! A machine that fails: a full disk, a home that cannot be written.
#![allow(clippy::disallowed_types, reason = "tests start the real binary in a mount namespace")]

use std::process::Command;

use perspt_testkit::server::Reply;

use crate::support::{Language, Ran, World, bundle, planned, solution, write};

const L: Language = Language::Prose;
const P: Language = Language::Python;

/// Runs the binary with the home mounted as told. `None` where this machine gives no mount namespace.
fn mounted(world: &World, mount: &str, words: &str) -> Option<Ran> {
    let probe = Command::new("unshare").args(["-Urm", "true"]).output().ok()?;
    if !probe.status.success() {
        return None;
    }
    let inner = world.command(&[]);
    let script = format!("{mount} && exec \"$0\" {words}");
    let mut command = Command::new("unshare");
    command.args(["-Urm", "sh", "-c", &script]).arg(inner.get_program());
    command
        .env_clear()
        .envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(world.ws());
    Some(Ran::of(command.stdin(std::process::Stdio::null()).output().unwrap()))
}

#[test]
fn a_home_that_cannot_be_written_ends_with_1_and_says_so() {
    let world = World::of(L).serve(planned(L, |_| solution(L)));
    let before = world.files();
    let home = world.home();
    let mount = read_only(&home);
    let Some(ran) = mounted(&world, &mount, "agent -y 'add a mul function'") else { return };
    ran.expect(1).warns("error:").warns("permissions of the data directory");
    assert_eq!(world.files(), before);
    assert_eq!(world.server().requests().len(), 0);
}

/// Mounts a folder over itself so that it cannot be written.
fn read_only(folder: &std::path::Path) -> String {
    format!("mount --bind {0} {0} && mount -o remount,ro,bind {0}", folder.display())
}

#[test]
fn a_workspace_that_cannot_be_written_is_refused_before_anything_is_asked() {
    let world = World::of(L).serve(planned(L, |_| Reply::status(401, "no")));
    let mount = read_only(&world.ws());
    let Some(ran) = mounted(&world, &mount, "agent -y 'add a mul function'") else { return };
    let refused = |ran: Ran| {
        ran.expect(2)
            .warns("the workspace is not writable")
            .warns(&format!("{}: its file system is mounted read-only", world.ws().display()))
            .warns("do:")
    };
    refused(ran);
    assert!(world.sessions().is_empty());
    assert_eq!(world.server().requests().len(), 0);
    mounted(&world, &mount, "doctor").unwrap().says("cannot be a workspace: ").says("mounted read-only");
    world.agent("add a mul function").expect(8);
    let (events, asked) = (world.events().len(), world.server().requests().len());
    refused(mounted(&world, &mount, "resume -y").unwrap());
    assert_eq!((world.events().len(), world.server().requests().len()), (events, asked));
    mounted(&world, &mount, "abort").unwrap().expect(0).says("was aborted");
}

#[test]
fn a_full_disk_ends_with_1_and_the_tree_is_whole() {
    let world = World::of(L).serve(planned(L, |_| solution(L)));
    let before = world.files();
    let mount = format!("mount -t tmpfs -o size=32k tmpfs {}", world.home().display());
    let Some(ran) = mounted(&world, &mount, "agent -y 'add a mul function'") else { return };
    ran.expect(1).warns("why:").warns("do:");
    assert_eq!(world.files(), before);
}

#[test]
fn a_disk_that_is_full_while_tests_run_is_the_machines_fault_and_not_the_models() {
    let greedy = "import os\n\nfrom calc import mul\n\n\ndef test_mul():\n    with open(os.environ['TMPDIR'] + '/big', 'wb') as big:\n        while True:\n            big.write(b'x' * 65536)\n            big.flush()\n";
    let world = World::of(P).serve(planned(P, move |_| {
        bundle(&[write(P.lib(), &P.lib_with("a * b")), write(P.new_test(), greedy)])
    }));
    let before = world.files();
    let mount = format!("mount -t tmpfs -o size=16m tmpfs {}", world.home().display());
    let Some(ran) = mounted(&world, &mount, "agent -y 'add a mul function'") else { return };
    ran.expect(1).says("next=\"perspt resume").warns("the disk is full").never_says("RETRY");
    assert_eq!(world.files(), before);
    assert_eq!(world.server().asks(), 2);
}

#[test]
fn a_command_that_finds_the_disk_full_and_tidies_up_is_the_machines_fault_too() {
    let tidy = "import os\n\nfrom calc import mul\n\n\ndef test_mul():\n    path = os.environ['TMPDIR'] + '/big'\n    try:\n        with open(path, 'wb') as big:\n            while True:\n                big.write(b'x' * 65536)\n                big.flush()\n    finally:\n        os.remove(path)\n";
    let world = World::of(P).serve(planned(P, move |_| {
        bundle(&[write(P.lib(), &P.lib_with("a * b")), write(P.new_test(), tidy)])
    }));
    let before = world.files();
    let mount = format!("mount -t tmpfs -o size=16m tmpfs {}", world.home().display());
    let Some(ran) = mounted(&world, &mount, "agent -y 'add a mul function'") else { return };
    ran.expect(1).warns("the disk is full").never_says("RETRY");
    assert_eq!(world.files(), before);
}

/// Does a task under a limit of the shell's.
fn limited(world: &World, limit: &str) -> Ran {
    let inner = world.command(&["agent", "-y", "add a mul function"]);
    let mut shell = Command::new("sh");
    let script = format!("ulimit {limit} && exec \"$0\" \"$@\"");
    shell.args(["-c", &script]).arg(inner.get_program()).args(inner.get_args());
    shell.env_clear().envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Ran::of(shell.current_dir(world.ws()).stdin(std::process::Stdio::null()).output().unwrap())
}

#[test]
fn a_limit_of_open_files_that_is_too_low_is_called_so() {
    let world = World::of(L).serve(planned(L, |_| Reply::status(401, "no")));
    let mut stopped = 0;
    for files in 5..18 {
        let ran = limited(&world, &format!("-n {files}"));
        if ran.code == 1 {
            stopped += 1;
            ran.warns("Too many open files").warns("ulimit -n");
        }
    }
    assert!(stopped > 3, "{stopped}");
    world.agent("add a mul function").expect(8);
}

#[test]
fn a_limit_on_the_size_of_files_is_told_and_kills_nobody() {
    let world = World::of(L).serve(planned(L, |_| solution(L)));
    let before = world.files();
    limited(&world, "-f 4")
        .expect(1)
        .warns("log.jsonl")
        .warns("check free space and permissions of the data directory");
    assert_eq!(world.files(), before);
    world.perspt(&["resume"]).expect(0).says("COMMIT node=mul");
}

#[test]
fn what_perspt_starts_meets_a_limit_on_the_size_of_files_as_ever() {
    let world = World::rust().serve(planned(Language::Rust, |_| Reply::status(401, "no")));
    let status = "let status = std::fs::read_to_string(\"/proc/self/status\").unwrap();\n    \
        let ignored = status.lines().find_map(|line| line.strip_prefix(\"SigIgn:\")).unwrap();\n    \
        let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();\n    \
        assert_eq!(ignored & (1 << 24), 0, \"SIGXFSZ is ignored\");";
    world.write("tests/signals.rs", &format!("#[test]\nfn default() {{\n    {status}\n}}\n"));
    world.agent("add a mul function").expect(8).says("BASELINE cargo-test=3-passed,0-failed");
}
