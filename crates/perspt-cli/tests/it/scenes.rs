//! The scenes of `cargo xtask play`, each with the lines it shows. After a change that is meant: run again with
//! `INSTA_UPDATE=always`, and read the difference.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Ran, World};

fn folder(scene: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/scenes").join(scene)
}

fn copy(from: &Path, world: &World, below: &str) {
    for entry in fs::read_dir(from).unwrap().flatten() {
        let name = format!("{below}{}", entry.file_name().to_str().unwrap());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), world, &format!("{name}/")),
            false => world.write(&name, &fs::read_to_string(entry.path()).unwrap()),
        }
    }
}

fn play(scene: &str) -> (World, Ran) {
    let folder = folder(scene);
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap().trim().to_owned();
    let world = World::empty();
    copy(&folder.join("project"), &world, "");
    let model = format!("replay:{}", folder.join("answers").display());
    let ran = world.perspt(&["agent", "-y", "--model", &model, &text("task")]);
    (world, ran.expect(text("exit-code").parse().unwrap()))
}

/// Fields of lines whose value differs from run to run or machine to machine.
const FIELDS_THAT_VARY: &[&str] = &["workspace", "model", "all", "merkle", "ledger", "hash", "tokens"];
/// Lines of `status` that do.
const STATUS_THAT_VARIES: &[&str] = &["workspace", "model", "budget", "spent", "tools"];

/// The lines with `…` for what varies.
fn masked(out: &str) -> String {
    let mask = |word: &str| match word.split_once('=') {
        Some((key, _)) if FIELDS_THAT_VARY.contains(&key) => format!("{key}=…"),
        Some(("id", id)) if id.starts_with("20") => "id=…".to_owned(),
        _ if word.contains("planted") && word.contains('.') => "…".to_owned(),
        _ if word.starts_with("20") && word.matches('-').count() == 2 => "…".to_owned(),
        _ => word.to_owned(),
    };
    let line = |line: &str| match line.starts_with("TOOLS ") {
        true => "TOOLS …".to_owned(),
        false => line.split(' ').map(mask).collect::<Vec<_>>().join(" "),
    };
    out.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_scene_shows_these_lines() {
    for scene in ["corrected", "given-up", "lands", "notes", "waits"] {
        let (world, ran) = play(scene);
        insta::assert_snapshot!(format!("{scene}-lines"), masked(&ran.out));
        let status = world.perspt(&["status"]).expect(0).out;
        let fixed = |line: &&str| !STATUS_THAT_VARIES.iter().any(|key| line.starts_with(key));
        let status: Vec<&str> = status.lines().filter(fixed).collect();
        insta::assert_snapshot!(format!("{scene}-status"), masked(&status.join("\n")));
    }
    let all = fs::read_dir(folder("")).unwrap().count();
    assert_eq!(all, 5, "a scene that nobody looks at");
}
