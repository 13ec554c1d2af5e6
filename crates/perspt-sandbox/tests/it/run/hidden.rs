//! Secret places are not read.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use perspt_sandbox::{SandboxSpec, secret_places};

use super::support::*;

/// A home with secrets and tools in it.
fn home(room: &Room) -> PathBuf {
    let home = room.root.join("home");
    let files = [
        ".ssh/id_ed25519",
        ".aws/credentials",
        ".config/gh/hosts.yml",
        ".cargo/credentials.toml",
        ".cargo/config.toml",
        ".cargo/bin/tool",
        ".bash_history",
        "dotfiles/netrc",
        "notes.txt",
    ];
    for file in files {
        std::fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
        std::fs::write(home.join(file), format!("text of {file}\n")).unwrap();
    }
    symlink("dotfiles/netrc", home.join(".netrc")).unwrap();
    home
}

fn hiding(room: &Room, home: &Path) -> SandboxSpec {
    SandboxSpec { hidden: secret_places(Some(home), &|_| None), ..room.sandbox() }
}

const READ: &str = r#"cd "$H"; cat .ssh/* .aws/* .config/gh/* .cargo/credentials.toml .bash_history .netrc dotfiles/netrc \
    .cargo/config.toml .cargo/bin/tool notes.txt 2>/dev/null; true"#;

#[test]
fn secrets_of_the_home_are_hidden_and_tools_are_not() {
    for (name, runner) in confined_runners() {
        let room = Room::new();
        let home = home(&room);
        let mut spec = room.sh(READ);
        spec.env.insert("H".to_owned(), home.display().to_string());
        spec.env.insert("CARGO_HOME".to_owned(), home.join(".cargo").display().to_string());
        let ran = run(&runner, &spec, &hiding(&room, &home));
        let seen = out(&ran);
        let named = ran.confinement.missing.iter().any(|hole| hole.contains("secret places"));
        assert_eq!(named, name == "no namespaces", "{name}: {:?}", ran.confinement);
        if named {
            assert!(seen.contains("id_ed25519"), "{name}");
        } else {
            let left = ["text of .cargo/config.toml", "text of .cargo/bin/tool", "text of notes.txt"];
            assert!(seen.lines().eq(left), "{name}: {seen}");
        }
    }
}

#[test]
fn a_hidden_folder_is_empty_and_cannot_be_written() {
    let room = Room::new();
    let home = home(&room);
    let script = format!(
        "ls -A {0}/.ssh; (: > {0}/.ssh/x) 2>/dev/null && echo written; umount {0}/.ssh 2>/dev/null && echo gone; true",
        home.display()
    );
    assert_eq!(succeed("full", &runner(), &room.sh(&script), &hiding(&room, &home)), "");
    assert!(home.join(".ssh/id_ed25519").exists());
}

#[test]
fn a_project_in_a_secret_place_can_be_worked_on_and_naming_a_secret_does_not_show_it() {
    let room = Room::new();
    let home = home(&room);
    let project = home.join(".aws/project");
    std::fs::create_dir(&project).unwrap();
    let mut sandbox = hiding(&room, &home);
    sandbox.writable.push(project.clone());
    let mut spec = room.sh("echo made > made; cat made");
    spec.cwd = project;
    assert_eq!(succeed("project", &runner(), &spec, &sandbox), "made\n");
    let key = home.join(".ssh/id_ed25519").display().to_string();
    assert_ne!(run(&runner(), &room.spec(&["/bin/cat", &key]), &sandbox).end, exited(0));
}

#[test]
fn variables_move_secret_places() {
    let variable = |name: &str| match name {
        "CARGO_HOME" => Some(PathBuf::from("/elsewhere/cargo")),
        "KUBECONFIG" => Some(PathBuf::from("/elsewhere/kube")),
        "NETRC" => Some(PathBuf::from("relative")),
        _ => None,
    };
    let places = secret_places(Some(Path::new("/home/me")), &variable);
    for place in [
        "/home/me/.ssh",
        "/home/me/.cargo/credentials.toml",
        "/elsewhere/cargo/credentials",
        "/elsewhere/kube",
    ] {
        assert!(places.contains(&PathBuf::from(place)), "{place}");
    }
    assert!(places.iter().all(|place| place.is_absolute()));
    assert_eq!(secret_places(None, &|_| None), Vec::<PathBuf>::new());
}
