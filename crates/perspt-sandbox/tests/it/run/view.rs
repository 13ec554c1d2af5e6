//! Folders shown at other places.
// One test starts itself a second time, in a place whose mounts are shared.
#![allow(clippy::disallowed_types)]

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use perspt_sandbox::{Access, Allowed, Bind, SandboxError, SandboxSpec};

use super::support::*;

/// A workspace with an environment in it, and a slot with another version of the workspace's file.
struct Bound {
    room: Room,
    workspace: PathBuf,
    tree: PathBuf,
}

impl Bound {
    fn new() -> Bound {
        let room = Room::new();
        let (workspace, tree) = (room.root.join("workspace"), room.root.join("slot/tree"));
        std::fs::create_dir_all(workspace.join(".venv/bin")).unwrap();
        std::fs::create_dir_all(&tree).unwrap();
        std::fs::write(workspace.join("file"), "the user's").unwrap();
        std::fs::write(workspace.join(".venv/bin/tool"), "#!/bin/sh\necho tool\n").unwrap();
        std::fs::write(tree.join("file"), "the branch's").unwrap();
        Bound { room, workspace, tree }
    }

    fn tree_over_workspace(&self) -> Bind {
        Bind { from: self.tree.clone(), over: self.workspace.clone(), access: Access::ReadWrite }
    }

    fn venv_back(&self) -> Bind {
        let venv = self.workspace.join(".venv");
        Bind { from: venv.clone(), over: venv, access: Access::ReadOnly }
    }

    fn sandbox(&self, binds: Vec<Bind>) -> SandboxSpec {
        SandboxSpec { binds, ..self.room.sandbox() }
    }
}

fn binding_runners() -> Vec<(&'static str, perspt_sandbox::Runner)> {
    confined_runners().into_iter().filter(|(name, _)| *name != "no namespaces").collect()
}

#[test]
fn the_tree_is_seen_at_the_workspace_s_path_and_writes_land_in_the_slot() {
    for (name, runner) in binding_runners() {
        let bound = Bound::new();
        let mut spec = bound.room.sh("cat file; pwd; echo new > made; echo changed > file");
        spec.cwd = bound.workspace.clone();
        let seen = succeed(name, &runner, &spec, &bound.sandbox(vec![bound.tree_over_workspace()]));
        assert_eq!(seen, format!("the branch's{}\n", bound.workspace.display()), "{name}");
        assert_eq!(std::fs::read_to_string(bound.tree.join("made")).unwrap(), "new\n", "{name}");
        assert_eq!(std::fs::read_to_string(bound.tree.join("file")).unwrap(), "changed\n", "{name}");
        assert_eq!(std::fs::read_to_string(bound.workspace.join("file")).unwrap(), "the user's", "{name}");
        assert!(!bound.workspace.join("made").exists(), "{name}");
    }
}

#[test]
fn the_environment_covered_by_the_tree_is_shown_at_its_own_place_read_only() {
    for (name, runner) in binding_runners() {
        let bound = Bound::new();
        let script = r#"sh .venv/bin/tool; cat file
            (echo evil > .venv/bin/tool) 2>/dev/null && echo written
            (: > .venv/new) 2>/dev/null && echo created
            chmod 777 .venv/bin/tool 2>/dev/null && echo chmod
            true"#;
        let mut spec = bound.room.sh(script);
        spec.cwd = bound.workspace.clone();
        let sandbox = bound.sandbox(vec![bound.tree_over_workspace(), bound.venv_back()]);
        assert_eq!(succeed(name, &runner, &spec, &sandbox), "tool\nthe branch's", "{name}");
        // The mount point is an empty folder in the slot's tree.
        assert_eq!(std::fs::read_dir(bound.tree.join(".venv")).unwrap().count(), 0, "{name}");
    }
}

#[test]
fn a_folder_bound_over_itself_is_read_only_inside_a_writable_one() {
    for (name, runner) in binding_runners() {
        let room = Room::new();
        let (closed, open) = (room.inside.join("closed"), room.inside.join("closed/open"));
        std::fs::create_dir_all(&open).unwrap();
        let bind = Bind { from: closed.clone(), over: closed.clone(), access: Access::ReadOnly };
        let sandbox = SandboxSpec { binds: vec![bind], ..room.sandbox() };
        let script = "(: > closed/a) 2>/dev/null && echo a; (: > closed/open/b) 2>/dev/null && echo b; : > c";
        assert_eq!(succeed(name, &runner, &room.sh(script), &sandbox), "", "{name}");
        assert!(room.inside.join("c").exists(), "{name}");
    }
}

#[test]
fn a_folder_of_the_slot_may_be_closed_with_single_places_in_it_writable() {
    for (name, runner) in binding_runners() {
        let room = Room::new();
        let build = room.outside.join("build");
        std::fs::create_dir_all(build.join("tmp")).unwrap();
        let mut sandbox = room.sandbox();
        sandbox.writable.push(build.join("tmp"));
        let script = r#"(: > "$OUT/build/a") 2>/dev/null && echo a; : > "$OUT/build/tmp/b""#;
        assert_eq!(succeed(name, &runner, &room.sh(script), &sandbox), "", "{name}");
        assert!(build.join("tmp/b").exists(), "{name}");
    }
}

#[test]
fn the_slot_s_own_path_and_the_user_s_tree_stay_closed() {
    for (name, runner) in binding_runners() {
        let bound = Bound::new();
        let script = format!("(echo x > {}/file) 2>/dev/null && echo written; true", bound.tree.display());
        let sandbox = bound.sandbox(vec![bound.tree_over_workspace()]);
        let wrote = succeed(name, &runner, &bound.room.sh(&script), &sandbox);
        assert_eq!(wrote, "", "{name}");
    }
}

#[test]
fn a_missing_mount_point_outside_the_slot_is_an_error_and_is_not_created() {
    let bound = Bound::new();
    let over = bound.room.root.join("not-there");
    let bind = Bind { from: bound.tree.clone(), over: over.clone(), access: Access::ReadWrite };
    let error = try_run(&runner(), &bound.room.sh("true"), &bound.sandbox(vec![bind])).unwrap_err();
    assert!(matches!(&error, SandboxError::SetUp { step, .. } if step.contains("not-there")), "{error}");
    assert!(!over.exists());
}

#[test]
fn a_missing_source_or_writable_folder_is_an_error_that_names_it() {
    let bound = Bound::new();
    let bind = Bind { from: bound.room.root.join("gone"), ..bound.tree_over_workspace() };
    let error = try_run(&runner(), &bound.room.sh("true"), &bound.sandbox(vec![bind])).unwrap_err();
    assert!(matches!(&error, SandboxError::SetUp { step, .. } if step.contains("gone")), "{error}");
    let mut sandbox = bound.room.sandbox();
    sandbox.writable.push(bound.room.root.join("missing"));
    let error = try_run(&runner(), &bound.room.sh("true"), &sandbox).unwrap_err();
    assert!(matches!(&error, SandboxError::SetUp { step, .. } if step.contains("missing")), "{error}");
    sandbox.writable = vec!["tmp".into()];
    let error = try_run(&runner(), &bound.room.sh("true"), &sandbox).unwrap_err();
    assert!(matches!(&error, SandboxError::SetUp { why, .. } if why.contains("not an absolute")), "{error}");
}

#[test]
fn a_symbolic_link_planted_in_place_of_a_writable_folder_opens_nothing() {
    for (name, runner) in confined_runners() {
        let room = Room::new();
        let planted = room.inside.join("build");
        symlink(&room.outside, &planted).unwrap();
        let mut sandbox = room.sandbox();
        sandbox.writable.push(planted.clone());
        let ran = try_run(&runner, &room.sh("echo x > build/file"), &sandbox);
        assert!(!room.outside.join("file").exists(), "{name}");
        let error = ran.unwrap_err();
        assert!(
            matches!(&error, SandboxError::SetUp { why, .. } if why.contains("symbolic link")),
            "{name}: {error}"
        );
        sandbox.writable = vec![planted.join("deeper")];
        std::fs::create_dir(room.outside.join("deeper")).unwrap();
        assert!(try_run(&runner, &room.sh("echo x > build/deeper/file"), &sandbox).is_err(), "{name}");
        assert!(!room.outside.join("deeper/file").exists(), "{name}");
    }
}

#[test]
fn binds_without_a_mount_namespace_are_refused_before_anything_runs() {
    let bound = Bound::new();
    for allowed in [Allowed::without_namespaces(), Allowed::nothing()] {
        let runner = runner().with(allowed);
        let spec = bound.room.sh("echo ran > \"$IN/ran\"");
        let error = try_run(&runner, &spec, &bound.sandbox(vec![bound.tree_over_workspace()])).unwrap_err();
        assert!(matches!(error, SandboxError::NoMountNamespace));
    }
    assert!(!bound.room.inside.join("ran").exists());
}

#[test]
fn the_mounts_of_a_run_do_not_reach_the_machine() {
    let before = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let bound = Bound::new();
    let sandbox = bound.sandbox(vec![bound.tree_over_workspace(), bound.venv_back()]);
    succeed("full", &runner(), &bound.room.sh("true"), &sandbox);
    assert_eq!(std::fs::read_to_string("/proc/self/mountinfo").unwrap(), before);
}

#[test]
fn nor_do_they_where_mounts_are_shared() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let test = "run::view::the_mounts_of_a_run_do_not_reach_the_machine";
    let exe = std::env::current_exe().unwrap();
    let shared = ["--mount", "--propagation", "shared", "--"];
    let done =
        std::process::Command::new("unshare").args(shared).arg(exe).args(["--exact", test]).output().unwrap();
    let printed = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && printed.contains("1 passed"), "{printed}");
}
