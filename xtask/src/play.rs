//! Playing a scene: the real program against a scripted model, in a project that stays for you to look at.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::Failed;

const SCENES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenes");

/// Lists the scenes, or plays one.
pub fn by_hand(words: &[&str]) -> Result<(), Failed> {
    match words {
        [] => list(),
        [scene, flags @ ..] => play(scene, flags),
    }
}

fn list() -> Result<(), Failed> {
    println!("cargo xtask play <scene> [--json]\n");
    let entries = std::fs::read_dir(SCENES).map_err(|error| Failed(format!("{SCENES}: {error}")))?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    for name in names {
        println!("  {name:<12} {}", text(&Path::new(SCENES).join(&name), "about")?);
    }
    Ok(())
}

fn play(scene: &str, flags: &[&str]) -> Result<(), Failed> {
    let folder = Path::new(SCENES).join(scene);
    if !folder.join("task").exists() {
        return Err(Failed(format!("there is no scene `{scene}`; `cargo xtask play` lists them")));
    }
    let status = Command::new(env!("CARGO")).args(["build", "-q", "-p", "perspt-cli"]).status();
    if !status.is_ok_and(|status| status.success()) {
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
    println!("exit code  {} (meant: {})", code.unwrap_or(-1), text(&folder, "exit-code")?);
    println!("project    {}", project.display());
    println!("log        {}/sessions/*/log.jsonl", home.display());
    println!(
        "look at it cd {} && PERSPT_HOME={} {} status",
        project.display(),
        home.display(),
        program.display()
    );
    Ok(())
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
