//! `perspt verify`: the sensors on a tree as it is. It is a session without a plan: the same effects, in the same log, and no
//! model.

use std::path::Path;

use perspt_core::event::{Purpose, SessionStarted, Trouble};
use perspt_core::state::SessionState;
use perspt_store::Home;

use super::agent::open;
use super::exit_code;
use crate::args::VerifyArgs;
use crate::config::Config;
use crate::fail::Failure;
use crate::view::verified::{Form, Live, Report};
use crate::{out, session_id, wire, workspace};

/// What stands where other sessions have a task.
const TASK: &str = "verify the tree as it is";

/// No commit, branch or tag has a longer name.
const REVISION_MAX: usize = 400;

pub fn run(args: &VerifyArgs) -> Result<u8, Failure> {
    let config = Config::load()?.with_judge_args(&args.judge);
    let home = wire::open_home(&config)?;
    let workspace = workspace::to_read(args.path.as_deref(), &home)?;
    let since = args.since.as_deref().map(revision).transpose()?;
    let form = Form::of(args);
    let state = look(&home, &config, &workspace, since, form)?;
    let session = state.meta.as_ref().map(|meta| meta.session.clone());
    let session = session.ok_or(perspt_agent::AgentError::NeverBegun)?;
    let report = Report::of(&state, &home.blobs(&session)?)?;
    form.print(&report);
    if let Some(trouble) = &report.trouble {
        out::note(&format!("stopped: {}", out::plain(&trouble.what)));
        out::note(&format!("  why: {}", out::plain(&trouble.why)));
        out::note(&format!("  do:  {}", out::plain(&trouble.todo)));
    }
    Ok(exit_code(&state))
}

fn revision(named: &str) -> Result<String, Failure> {
    let fits = !named.trim().is_empty() && named.len() <= REVISION_MAX && !named.contains(char::is_control);
    fits.then(|| named.to_owned()).ok_or_else(|| {
        Failure::usage(
            "the revision cannot be read",
            "`--since` is empty, too long or has control characters",
            "name a commit, branch or tag",
        )
    })
}

/// Runs the session that looks.
fn look(
    home: &Home,
    config: &Config,
    workspace: &Path,
    since: Option<String>,
    form: Form,
) -> Result<SessionState, Failure> {
    let workspace = workspace.to_string_lossy().into_owned();
    let started = SessionStarted {
        purpose: Purpose::Verify { since },
        settings: config.settings()?,
        program: format!("perspt {}", env!("CARGO_PKG_VERSION")),
        ..SessionStarted::new(session_id::new(), workspace, TASK.to_owned(), String::new())
    };
    let mut view = Live::new(form);
    let open = open(home, started, &mut view)?;
    let no_model = Box::new(|_: &SessionStarted, _: &_| {
        Err(Trouble {
            what: "a model was asked for".to_owned(),
            why: "a session that verifies has none".to_owned(),
            todo: "please report this with the session's log".to_owned(),
        })
    });
    wire::drive(home, config, open, no_model, &mut view)
}
