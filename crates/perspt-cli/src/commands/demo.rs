//! `perspt demo`: a recorded model builds a to-do program in a temporary folder; everything else is real.

use perspt_core::event::Approval;
use perspt_core::route::{Tier, TierRoute};

use super::agent;
use crate::args::{DemoArgs, DemoLanguage, RunArgs};
use crate::config::Config;
use crate::fail::Failure;
use crate::models::Models;
use crate::{demo, out, session_id, wire, workspace};

pub fn run(args: &DemoArgs) -> Result<u8, Failure> {
    let language = match args.lang {
        DemoLanguage::Rust => "rust",
        DemoLanguage::Python => "python",
        DemoLanguage::Javascript => "javascript",
        DemoLanguage::Go => "go",
    };
    let config = Config::load()?.without_own_commands();
    let home = wire::open_home(&config)?;
    let folder = std::env::temp_dir().join(format!("perspt-demo-{language}-{}", session_id::new()));
    std::fs::create_dir_all(&folder).map_err(|error| {
        Failure::internal(
            "the demo has no folder to work in",
            format!("{}: {error}", folder.display()),
            "set TMPDIR to a folder that you can write to",
        )
    })?;
    let workspace = workspace::for_session(Some(&folder), &home)?;
    for line in INTRODUCTION {
        out::line(line);
    }
    let task = demo::task(language);
    out::line(&format!("$ perspt agent -y {}", out::value(task)));
    let model = format!("demo:{language}");
    let route = Models::load(&config)?.route(&model)?;
    let tier = |tier| TierRoute { tier, main: route.clone(), fallback: None };
    let new_session = agent::NewSession {
        task,
        routes: Tier::ALL.map(tier).to_vec(),
        planning: None,
        approval: Approval::Policy,
        allow: vec![],
        lang: None,
    };
    let code = agent::start(&home, &config, &workspace, new_session, &RunArgs::default())?;
    out::line("");
    if code == 0 {
        closing(language, &workspace.to_string_lossy());
    }
    Ok(code)
}

const INTRODUCTION: &[&str] = &[
    "perspt hands a task to a model and keeps only what real tools prove. Here the model is recorded;",
    "the compiler, the tests, the sandbox and the ledger are real. Watch for node `store`: its first answer",
    "lacks something, the energy V(x) says so, and only the corrected one is committed.",
    "",
];

fn closing(language: &str, folder: &str) {
    let tests = match language {
        "python" => "python3 -m unittest",
        "javascript" => "node --test",
        "go" => "go test ./...",
        _ => "cargo test",
    };
    out::line("Every file in that folder was measured before it was written there. What to try next:");
    out::line(&format!("  cd {folder} && {tests}"));
    out::line("  perspt ledger --recent          what was committed, with its hashes");
    out::line("  perspt ledger --verify          check that no record was changed");
    out::line("  perspt status                   the session, node by node (in that folder)");
    out::line(
        "  perspt agent \"<task>\"           your own task, in your own project (set OPENAI_API_KEY first)",
    );
}
