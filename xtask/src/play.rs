//! Playing a scene: the real program against a scripted model, in a project that stays for you to look at.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place;
use crate::process::{Failed, cargo};

fn scenes() -> Result<PathBuf, Failed> {
    Ok(place::root()?.join("xtask/scenes"))
}

/// Lists the scenes, or plays one.
pub fn by_hand(words: &[&str]) -> Result<(), Failed> {
    match words {
        [] => list(),
        [scene, flags @ ..] => play(scene, flags),
    }
}

fn list() -> Result<(), Failed> {
    println!("cargo xtask play <scene> [--json]\n");
    let scenes = scenes()?;
    let entries =
        std::fs::read_dir(&scenes).map_err(|error| Failed(format!("{}: {error}", scenes.display())))?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    for name in names {
        println!("  {name:<12} {}", text(&scenes.join(&name), "about")?);
    }
    Ok(())
}

fn play(scene: &str, flags: &[&str]) -> Result<(), Failed> {
    let folder = scenes()?.join(scene);
    if !folder.join("task").exists() {
        return Err(Failed(format!("there is no scene `{scene}`; `cargo xtask play` lists them")));
    }
    let mut build = cargo();
    build.args(["build", "-q", "-p", "perspt-cli"]).current_dir(place::root()?);
    if !build.status().is_ok_and(|status| status.success()) {
        return Err(Failed("the program does not build".to_owned()));
    }
    let program = program()?;
    let place = std::env::temp_dir().join(format!("perspt-play-{scene}-{}", std::process::id()));
    let (project, home) = (place.join("project"), place.join("home"));
    copy(&folder.join("project"), &project)?;
    let model = format!("replay:{}", folder.join("answers").display());
    let mut agent = Command::new(&program);
    agent.args(["agent", "-y", "--model", &model]).args(flags).arg(text(&folder, "task")?);
    let code = agent
        .current_dir(&project)
        .env("PERSPT_HOME", &home)
        .status()
        .map_err(|error| Failed(format!("{}: {error}", program.display())))?
        .code();
    println!();
    let meant = text(&folder, "exit-code")?;
    let code = code.map_or("none".to_owned(), |code| code.to_string());
    println!("exit code  {code} (meant: {meant})");
    println!("project    {}", project.display());
    println!("log        {}/sessions/*/log.jsonl", home.display());
    println!(
        "look at it cd {} && PERSPT_HOME={} {} status",
        project.display(),
        home.display(),
        program.display()
    );
    if code == meant { Ok(()) } else { Err(Failed(format!("it ended with {code}"))) }
}

/// The program that cargo built, beside this one.
fn program() -> Result<PathBuf, Failed> {
    let own = std::env::current_exe().map_err(|error| Failed(error.to_string()))?;
    Ok(own.with_file_name("perspt"))
}

fn text(folder: &Path, name: &str) -> Result<String, Failed> {
    let path = folder.join(name);
    let text =
        std::fs::read_to_string(&path).map_err(|error| Failed(format!("{}: {error}", path.display())))?;
    Ok(text.trim().to_owned())
}

fn copy(from: &Path, to: &Path) -> Result<(), Failed> {
    let failed = |error: std::io::Error| Failed(format!("{}: {error}", from.display()));
    std::fs::create_dir_all(to).map_err(failed)?;
    for entry in std::fs::read_dir(from).map_err(failed)?.flatten() {
        let (path, there) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &there)?;
        } else {
            std::fs::copy(&path, &there).map_err(failed)?;
        }
    }
    Ok(())
}
