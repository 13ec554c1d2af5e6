//! The program itself: its size, how much of a node's time is its own, and the way from a clone to the end
//! of the demo.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use perspt_core::effect::{Effect, EffectKey};
use perspt_core::event::{Ended, Event, RunNote};
use perspt_core::ids::{Millis, NodeId};
use perspt_store::{Home, RealDisk};

use crate::place;
use crate::process::{Failed, cargo, run};

/// Builds the program as the README does and prints its size.
pub fn binary() -> Result<PathBuf, Failed> {
    let mut build = cargo();
    build.current_dir(place::root()?).args(["build", "--quiet", "--release", "--package", "perspt-cli"]);
    run(build)?;
    let path = place::target()?.join("release").join("perspt");
    println!("binary: {:.1} MB (aim: under 40)", std::fs::metadata(&path)?.len() as f64 / 1e6);
    Ok(path)
}

/// What one node took, in milliseconds.
#[derive(Default)]
struct Spent {
    begun: Option<Millis>,
    wall: u64,
    model: u64,
    tools: u64,
}

/// A demo whose log says how long tools and model took; the rest of each node's time is perspt's own.
pub fn own_time(binary: &Path, scratch: &Path) -> Result<(), Failed> {
    for language in ["rust", "python"] {
        let home = scratch.join(format!("demo-{language}"));
        let temp = scratch.join(format!("temp-{language}"));
        std::fs::create_dir(&temp)?;
        let mut demo = Command::new(binary);
        demo.args(["demo", "--lang", language]).env("PERSPT_HOME", &home).env("TMPDIR", &temp);
        demo.stdout(Stdio::null());
        let begun = Instant::now();
        if let Err(failed) = run(demo) {
            println!("demo {language}: not measured: {failed}");
            continue;
        }
        println!("demo {language}: {:.1} s in all", begun.elapsed().as_secs_f64());
        let nodes = nodes(&home)?;
        for (node, spent) in &nodes {
            let own = spent.wall.saturating_sub(spent.model).saturating_sub(spent.tools);
            println!(
                "  {node:<12} wall {} ms = model {} + tools {} + own {own} (aim: under 30)",
                spent.wall, spent.model, spent.tools
            );
        }
    }
    Ok(())
}

fn nodes(home: &Path) -> Result<BTreeMap<NodeId, Spent>, Failed> {
    let home = Home::open(home.to_owned(), Arc::new(RealDisk))?;
    let mut nodes: BTreeMap<NodeId, Spent> = BTreeMap::new();
    let mut open: BTreeMap<_, (EffectKey, Effect)> = BTreeMap::new();
    for session in home.sessions()? {
        perspt_store::check_log(&home, &session.id, &mut |record| match serde_json::from_str::<Event>(
            record.event.get(),
        ) {
            Ok(Event::EffectStarted { id, key, effect }) => {
                if let Some(node) = &key.node {
                    nodes.entry(node.clone()).or_default().begun.get_or_insert(record.at);
                }
                open.insert(id, (key, effect));
            }
            Ok(Event::EffectEnded { id, outcome, .. }) => {
                let node = open.remove(&id).and_then(|(key, _)| key.node);
                let Some(spent) = node.and_then(|node| nodes.get_mut(&node)) else { return };
                spent.model += latency(&outcome);
                spent.tools += runs(&outcome).iter().map(|run| run.ms).sum::<u64>();
                if let (Ended::Published { .. }, Some(begun)) = (&outcome, spent.begun) {
                    spent.wall = record.at.since(begun);
                }
            }
            Ok(_) | Err(_) => {}
        })?;
    }
    Ok(nodes)
}

fn latency(outcome: &Ended) -> u64 {
    match outcome {
        Ended::Answered { latency_ms, .. } => *latency_ms,
        _ => 0,
    }
}

fn runs(outcome: &Ended) -> &[RunNote] {
    match outcome {
        Ended::Fetched { runs }
        | Ended::LaidOut { runs, .. }
        | Ended::Measured { runs, .. }
        | Ended::Calibrated { runs, .. } => runs,
        _ => &[],
    }
}

/// A fresh clone, built from nothing, to the end of the demo: the README's first command.
pub fn fresh_clone(scratch: &Path) -> Result<(), Failed> {
    let clone = scratch.join("clone");
    let mut git = Command::new("git");
    git.args(["clone", "--quiet"]).arg(place::root()?).arg(&clone);
    run(git)?;
    let mut demo = cargo();
    demo.current_dir(&clone).args(["run", "--quiet", "--release", "--package", "perspt-cli", "--", "demo"]);
    demo.env("CARGO_TARGET_DIR", clone.join("target")).env("PERSPT_HOME", scratch.join("clone-home"));
    demo.stdout(Stdio::null());
    let begun = Instant::now();
    run(demo)?;
    println!("fresh clone to the end of the demo: {:.0} s (aim: 480)", begun.elapsed().as_secs_f64());
    Ok(())
}
