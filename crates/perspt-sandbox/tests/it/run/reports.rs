//! Report files.

use std::os::unix::fs::symlink;

use perspt_sandbox::{Access, Bind, SandboxError, SandboxSpec};

use super::support::*;

#[test]
fn a_report_is_deleted_before_the_run_and_collected_after_it() {
    for (name, runner) in all_runners() {
        let room = Room::new();
        let (one, two) = (room.inside.join("one.xml"), room.inside.join("two.xml"));
        std::fs::write(&one, "stale").unwrap();
        std::fs::write(&two, "stale").unwrap();
        let mut spec = room.sh("[ -e one.xml ] && echo stale; printf fresh > two.xml");
        spec.reports = vec![one.clone(), two.clone(), room.inside.join("no/such/folder.xml")];
        let ran = run(&runner, &spec, &room.sandbox());
        assert_eq!(out(&ran), "", "{name}");
        assert_eq!(ran.reports, [(two, b"fresh".to_vec())].into(), "{name}");
        assert_eq!(ran.refused_reports, [].into(), "{name}");
    }
}

#[test]
fn a_report_below_a_bind_is_the_slot_s_and_not_the_user_s() {
    let room = Room::new();
    let (workspace, tree) = (room.root.join("workspace"), room.root.join("tree"));
    for folder in [&workspace, &tree] {
        std::fs::create_dir(folder).unwrap();
        std::fs::write(folder.join("report"), "old").unwrap();
    }
    let bind = Bind { from: tree.clone(), over: workspace.clone(), access: Access::ReadWrite };
    let sandbox = SandboxSpec { binds: vec![bind], ..room.sandbox() };
    let mut spec = room.sh("[ -e report ] && exit 1; printf new > report");
    spec.cwd = workspace.clone();
    spec.reports = vec![workspace.join("report")];
    let ran = run(&runner(), &spec, &sandbox);
    assert_eq!(ran.end, exited(0));
    assert_eq!(ran.reports, [(workspace.join("report"), b"new".to_vec())].into());
    assert_eq!(std::fs::read_to_string(workspace.join("report")).unwrap(), "old");
}

#[test]
fn a_report_that_is_a_link_a_pipe_a_folder_or_too_large_is_refused_with_a_reason() {
    let room = Room::new();
    std::fs::write(room.outside.join("secret"), "key").unwrap();
    let script =
        r#"ln -s "$OUT/secret" link; ln -s "$OUT" folder; mkfifo pipe; mkdir dir; truncate -s 33M large"#;
    let mut spec = room.sh(script);
    let names = ["link", "folder/secret", "pipe", "dir", "large"];
    spec.reports = names.iter().map(|name| room.inside.join(name)).collect();
    let ran = run(&runner(), &spec, &room.sandbox());
    assert_eq!(ran.reports, [].into());
    let why = |name: &str| ran.refused_reports[&room.inside.join(name)].as_str();
    assert_eq!(why("link"), "it is reached through a symbolic link");
    assert_eq!(why("folder/secret"), "it is reached through a symbolic link");
    assert_eq!(why("pipe"), "it is not a plain file");
    assert_eq!(why("dir"), "it is not a plain file");
    assert!(why("large").starts_with("it is larger than"));
}

#[test]
fn deleting_an_old_report_does_not_follow_a_link_either() {
    let room = Room::new();
    let precious = room.outside.join("precious");
    std::fs::write(&precious, "").unwrap();
    symlink(&room.outside, room.inside.join("folder")).unwrap();
    let mut spec = room.sh("true");
    spec.reports = vec![room.inside.join("folder/precious")];
    let error = try_run(&runner(), &spec, &room.sandbox()).unwrap_err();
    assert!(matches!(error, SandboxError::OldReport { .. }), "{error}");
    assert!(precious.exists());
    // A link itself is deleted like a file.
    symlink(&precious, room.inside.join("link")).unwrap();
    spec.reports = vec![room.inside.join("link")];
    run(&runner(), &spec, &room.sandbox());
    assert!(precious.exists() && !room.inside.join("link").is_symlink());
}
