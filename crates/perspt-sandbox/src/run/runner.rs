//! The runner.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use perspt_core::stage::{StepEnd, Streams};
use tokio::sync::OnceCell;

use super::available::{self, Available};
use super::capture::{Captured, capture};
use super::link::{Channel, Link};
use super::{Cancel, CommandSpec, Ran, RunEnd, SandboxError, SandboxSpec, reports};
use crate::confine::hide::{Needed, can_be_hidden};
use crate::confine::{Allowed, Confinement, Namespace};
use crate::helper::wire::{Program, ProgramEnd, Report, Request};

/// Starts commands. Cheap to clone; clones share what was found out about the machine.
#[derive(Debug, Clone)]
pub struct Runner {
    helper: PathBuf,
    helper_args: Vec<String>,
    allowed: Allowed,
    available: Arc<OnceCell<Available>>,
}

/// What a helper is given besides its request.
struct HelperOptions<'a> {
    streams: Streams,
    output_cap: usize,
    timeout: Duration,
    held: Option<&'a OwnedFd>,
}

/// What came back from a helper.
struct HelperOutcome {
    end: RunEnd,
    confinement: Confinement,
    stdout: Captured,
    stderr: Captured,
}

/// What the helper said, gathered.
#[derive(Default)]
struct HelperReports {
    confinement: Option<Confinement>,
    not_started: Option<String>,
    failed: Option<SandboxError>,
    ended: Option<ProgramEnd>,
}

impl Runner {
    /// A runner whose helper is this program with these arguments; it is to call
    /// [`crate::helper_main`] first thing.
    pub fn new(helper: PathBuf, helper_args: Vec<String>) -> Runner {
        Runner { helper, helper_args, allowed: Allowed::everything(), available: Arc::default() }
    }

    /// The same runner with only these means of confinement.
    #[must_use]
    pub fn with(self, allowed: Allowed) -> Runner {
        Runner { allowed, available: Arc::default(), ..self }
    }

    /// Runs a command and returns when nothing of it is left. A command that fails, or cannot be started,
    /// is no error.
    pub async fn run(
        &self,
        spec: &CommandSpec,
        sandbox: &SandboxSpec,
        cancel: &Cancel,
    ) -> Result<Ran, SandboxError> {
        let namespaces = self.available().await?.namespaces(sandbox.network);
        if !sandbox.binds.is_empty() && !namespaces.contains(&Namespace::Mount) {
            return Err(SandboxError::NoMountNamespace);
        }
        reports::delete(spec, sandbox)?;
        let request = Request {
            namespaces,
            landlock: self.allowed.landlock,
            seccomp: self.allowed.seccomp,
            network: sandbox.network,
            binds: sandbox.binds.clone(),
            writable: sandbox.writable.clone(),
            hidden: hidden(spec, sandbox),
            program: Some(Program { argv: spec.argv.clone(), cwd: spec.cwd.clone(), env: spec.env.clone() }),
        };
        let options = HelperOptions {
            streams: spec.streams,
            output_cap: spec.output_cap,
            timeout: spec.timeout,
            held: sandbox.held.as_deref(),
        };
        let started = Instant::now();
        let outcome = self.carry_out(&request, &options, cancel).await?;
        let duration = started.elapsed();
        let collected = reports::collect(spec, sandbox);
        Ok(Ran {
            end: outcome.end,
            stdout: outcome.stdout,
            stderr: outcome.stderr,
            reports: collected.taken,
            refused_reports: collected.refused,
            confinement: outcome.confinement,
            duration,
        })
    }

    /// What a run without network would have in force here: tried once, then remembered.
    pub async fn available_confinement(&self) -> Result<Confinement, SandboxError> {
        Ok(self.available().await?.confinement.clone())
    }

    /// Why this machine gives less than everything, in words; empty where it gives everything.
    pub async fn refusals(&self) -> Result<Vec<String>, SandboxError> {
        Ok(self.available().await?.refusals.clone())
    }

    /// Whether folders can be shown at other paths.
    pub async fn namespaces_available(&self) -> Result<bool, SandboxError> {
        Ok(self.available().await?.confinement.namespaces.contains(&Namespace::Mount))
    }

    async fn available(&self) -> Result<&Available, SandboxError> {
        self.available.get_or_try_init(|| self.find_available()).await
    }

    async fn find_available(&self) -> Result<Available, SandboxError> {
        let mut refusals = Vec::new();
        for namespaces in available::candidates(&self.allowed) {
            match self.attempt(available::trial(namespaces, &self.allowed)).await {
                Ok(confinement) => return Ok(Available { confinement, refusals }),
                Err(error) => refusals.push(available::refusal(error)?),
            }
        }
        let confinement = self.attempt(available::trial(Default::default(), &self.allowed)).await?;
        Ok(Available { confinement, refusals })
    }

    async fn attempt(&self, request: Request) -> Result<Confinement, SandboxError> {
        /// The helper has nothing to wait for; this only bounds a machine that does not answer.
        const PATIENCE: Duration = Duration::from_secs(600);
        let options =
            HelperOptions { streams: Streams::Merged, output_cap: 0, timeout: PATIENCE, held: None };
        Ok(self.carry_out(&request, &options, &Cancel::new()).await?.confinement)
    }

    /// Starts a helper with a request and stays with it to its end.
    async fn carry_out(
        &self,
        request: &Request,
        options: &HelperOptions<'_>,
        cancel: &Cancel,
    ) -> Result<HelperOutcome, SandboxError> {
        let (mut link, outputs) =
            Link::start(&self.helper, &self.helper_args, options.streams, options.held)?;
        let gone = Cancel::new();
        let control = async {
            // On every way out of here, errors too, the readers must learn that it is over.
            let _over = gone.clone().drop_guard();
            let conversation = converse(&mut link, request, options.timeout, cancel).await;
            link.channel.close();
            let status = link.helper.wait().await?;
            conversation.map(|(cut_short, heard)| (cut_short, heard, status))
        };
        let out = capture(outputs.out, options.output_cap, gone.clone());
        let err = async {
            match outputs.err {
                Some(pipe) => capture(pipe, options.output_cap, gone.clone()).await,
                None => Ok(Captured::default()),
            }
        };
        let (control, stdout, stderr) = tokio::join!(control, out, err);
        let (cut_short, heard, status) = control?;
        let failed = |source| SandboxError::Link { doing: "reading the output", source };
        let (stdout, stderr) = (stdout.map_err(failed)?, stderr.map_err(failed)?);
        let (end, confinement) = heard.conclude(cut_short, status)?;
        Ok(HelperOutcome { end, confinement, stdout, stderr })
    }
}

/// The places that are hidden from a command: those that are there and that it does not need.
fn hidden(spec: &CommandSpec, sandbox: &SandboxSpec) -> Vec<PathBuf> {
    let real = |path: &Path| path.canonicalize().ok();
    let bound = sandbox.binds.iter().flat_map(|bind| [&bind.from, &bind.over]);
    let own = sandbox.writable.iter().chain(bound).chain([&spec.cwd]);
    // Not the arguments: a command that names a secret is not to get it for that.
    let program = spec.argv.first().map(String::as_str);
    let named = spec.env.values().flat_map(|value| value.split(':')).chain(program);
    let used = named.map(Path::new).filter(|path| path.is_absolute());
    let needed = Needed {
        own: own.filter_map(|path| real(path)).collect(),
        // A program is often a link into the folder that holds the rest of it.
        used: used.flat_map(|path| [Some(path.to_owned()), real(path)]).flatten().collect(),
    };
    let places: Vec<PathBuf> = sandbox.hidden.iter().filter_map(|place| real(place)).collect();
    can_be_hidden(&places, &needed)
}

/// Sends the request and listens to the end; returns why it was cut short, if it was.
async fn converse(
    link: &mut Link,
    request: &Request,
    timeout: Duration,
    cancel: &Cancel,
) -> Result<(Option<RunEnd>, HelperReports), SandboxError> {
    let mut heard = HelperReports::default();
    // A helper that is gone before it has read everything says why in what it sent before.
    let Link { helper, channel } = link;
    let asked = channel.ask(request).await;
    let cut_short = tokio::select! {
        biased;
        all = heard.listen(channel) => { all?; None }
        () = cancel.cancelled() => Some(RunEnd::Cancelled),
        () = tokio::time::sleep(timeout) => Some(RunEnd::Step(StepEnd::TimedOut)),
        // If the helper was killed, its keeper still runs and must be told to end. If it ended, all reports are here.
        gone = helper.wait() => { gone?; None }
    };
    // A command that ended by itself before was not cut short.
    let cut_short = cut_short.filter(|_| heard.ended.is_none());
    channel.close();
    heard.listen(channel).await?;
    if heard.is_silent() {
        asked?;
    }
    Ok((cut_short, heard))
}

impl HelperReports {
    /// Listens until helper and keeper have closed their ends.
    async fn listen(&mut self, channel: &mut Channel) -> Result<(), SandboxError> {
        while let Some(report) = channel.receive().await? {
            match report {
                Report::SetUpFailed(failed) => {
                    self.failed = Some(SandboxError::SetUp { step: failed.step, why: failed.why });
                }
                Report::Confined(confinement) => self.confinement = Some(confinement),
                Report::NotStarted(why) => self.not_started = Some(why),
                Report::Ended(ended) => self.ended = Some(ended),
            }
        }
        Ok(())
    }

    fn is_silent(&self) -> bool {
        self.confinement.is_none() && self.failed.is_none() && self.ended.is_none()
    }

    fn conclude(
        self,
        cut_short: Option<RunEnd>,
        helper: ExitStatus,
    ) -> Result<(RunEnd, Confinement), SandboxError> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        if !helper.success() {
            return Err(SandboxError::HelperLost(helper.to_string()));
        }
        let confinement = self.confinement.unwrap_or_else(Confinement::not_begun);
        let end = match (self.not_started, self.ended, cut_short) {
            (Some(why), _, _) => RunEnd::Step(StepEnd::NotStarted(why)),
            (None, _, Some(cut_short)) => cut_short,
            (None, Some(ProgramEnd::Exited(code)), None) => RunEnd::Step(StepEnd::Exited(code)),
            (None, Some(ProgramEnd::Signalled(signal)), None) => RunEnd::Step(StepEnd::Signalled(signal)),
            (None, None, None) => {
                return Err(SandboxError::HelperLost("it did not say how the command ended".to_owned()));
            }
        };
        Ok((end, confinement))
    }
}
