//! The report, from the session's state and the readings that it keeps.

use std::collections::BTreeMap;

use perspt_core::energy::{Energy, TestCounts};
use perspt_core::event::{Calibration, MissingTool, Purpose, StageResult, StageVerdict, Trouble};
use perspt_core::grade::Grade;
use perspt_core::ids::{BlobId, SessionId};
use perspt_core::judge::{Finding, Judgement};
use perspt_core::outcome::Outcome;
use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, Status, TestEnd};
use perspt_core::residual::{Charge, Milli, Residual, Severity};
use perspt_core::stage::StageRole;
use perspt_core::state::{SessionState, stage_key};
use perspt_store::Blobs;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::fail::Failure;

/// What was found. As JSON it is the document that `docs/verify.md` describes.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Counts the forms of this document.
    pub version: u32,
    pub program: String,
    pub session: SessionId,
    pub workspace: String,
    pub result: Verified,
    pub exit_code: u8,
    /// Why nothing more was measured, or what could not be.
    pub trouble: Option<Trouble>,
    pub since: Option<SinceReport>,
    pub energy: Option<Energy>,
    pub threshold: Milli,
    /// How many files of code were proved how much.
    pub evidence: BTreeMap<&'static str, u32>,
    pub stages: Vec<StageReport>,
    pub missing: Vec<MissingReport>,
    pub findings: Vec<FindingReport>,
    pub ms: u64,
}

/// The end, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verified {
    Clean,
    Red,
    /// Something that is required could not look.
    NotMeasured,
    Interrupted,
    /// The folder or the command line cannot be worked with.
    Unusable,
    InternalError,
}

/// The revision whose findings are old.
#[derive(Debug, Serialize)]
pub struct SinceReport {
    pub revision: String,
    pub commit: String,
    pub changed: u64,
}

/// One stage of one root.
#[derive(Debug, Serialize)]
pub struct StageReport {
    pub root: RelPath,
    pub language: String,
    pub stage: &'static str,
    pub tool: String,
    pub required: bool,
    pub result: StageEnd,
    /// Why it did not look.
    pub why: Option<String>,
    pub counts: Option<TestCounts>,
    pub tests: Vec<TestReport>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StageEnd {
    Pass,
    Fail,
    /// A stage before it failed.
    NotRun,
    /// It could not look, or did not see a planted error.
    NotMeasured,
}

#[derive(Debug, Serialize)]
pub struct TestReport {
    pub name: String,
    pub file: Option<RelPath>,
    pub end: TestEnd,
    pub message: String,
}

/// A tool that is needed and cannot look.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct MissingReport {
    pub root: RelPath,
    pub language: String,
    #[serde(flatten)]
    pub missing: MissingTool,
}

/// One finding of one stage.
#[derive(Debug, Serialize)]
pub struct FindingReport {
    pub root: RelPath,
    pub language: String,
    pub stage: &'static str,
    pub tool: String,
    pub file: Option<RelPath>,
    pub line: Option<u32>,
    pub column: Option<u32>,
    pub class: &'static str,
    /// The tool's own code, or the test's name.
    pub symbol: Option<String>,
    pub severity: Severity,
    pub counted: Counted,
    /// Why it does not count.
    pub why: Option<String>,
    pub message: String,
    pub hint: Option<String>,
    pub evidence: String,
    pub fingerprint: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    Yes,
    /// The revision had it too.
    Old,
    /// It is shown only.
    Shown,
}

impl Report {
    /// The report of a session that has ended.
    pub fn of(state: &SessionState, blobs: &Blobs) -> Result<Report, Failure> {
        let note = state.last_look.as_ref().map(|(_, note)| note);
        let judgement: Option<Judgement> = note.map(|note| load(blobs, note.blob)).transpose()?;
        let end = state.end.as_ref();
        let outcome = end.map_or(Outcome::InternalError, |end| end.outcome);
        let meta = state.meta.as_ref();
        let verdicts = judgement.iter().flat_map(|judgement| &judgement.stages);
        let findings = judgement.iter().flat_map(|judgement| &judgement.findings);
        let roots = state.probed.iter().flatten();
        let missing = roots.flat_map(|root| root.missing.iter().map(move |missing| (&root.root, missing)));
        let mut unseen: Vec<MissingReport> = Vec::new();
        for (root, missing) in missing {
            let (dir, language, missing) = (root.dir.clone(), root.plugin.to_string(), missing.clone());
            let one = MissingReport { root: dir, language, missing };
            // One tool may be missed by several stages.
            if !unseen.contains(&one) {
                unseen.push(one);
            }
        }
        let mut evidence = BTreeMap::new();
        for file in judgement.iter().flat_map(|judgement| &judgement.files) {
            *evidence.entry(Grade::as_str(file.lowest())).or_insert(0) += 1;
        }
        Ok(Report {
            version: 1,
            program: meta.map(|meta| meta.program.clone()).unwrap_or_default(),
            session: meta.map_or_else(|| SessionId::from(""), |meta| meta.session.clone()),
            workspace: meta.map(|meta| meta.workspace.clone()).unwrap_or_default(),
            result: verified(outcome),
            exit_code: outcome.exit_code(),
            trouble: end.and_then(|end| end.trouble.clone()),
            since: since(state),
            energy: judgement.as_ref().map(|judgement| judgement.energy.clone()),
            threshold: state.settings().weights.epsilon,
            evidence,
            stages: verdicts.map(|verdict| stage(state, verdict, blobs)).collect::<Result<_, _>>()?,
            missing: unseen,
            findings: findings.map(finding).collect(),
            ms: state.active_ms(),
        })
    }

    /// The findings that count.
    pub fn counted(&self) -> impl Iterator<Item = &FindingReport> {
        self.findings.iter().filter(|finding| finding.counted == Counted::Yes)
    }
}

fn load<T: DeserializeOwned>(blobs: &Blobs, id: BlobId) -> Result<T, Failure> {
    let bytes = blobs.get(id)?;
    serde_json::from_slice(&bytes).map_err(|error| {
        Failure::internal("a stored file is damaged", error.to_string(), "run `perspt verify` again")
    })
}

fn verified(outcome: Outcome) -> Verified {
    match outcome {
        Outcome::Success => Verified::Clean,
        Outcome::PartialSuccess | Outcome::Failed => Verified::Red,
        Outcome::DegradedVerification => Verified::NotMeasured,
        Outcome::Interrupted => Verified::Interrupted,
        Outcome::Usage | Outcome::Refused => Verified::Unusable,
        Outcome::InternalError | Outcome::BudgetExhausted | Outcome::ProviderUnusable => {
            Verified::InternalError
        }
    }
}

fn since(state: &SessionState) -> Option<SinceReport> {
    let Purpose::Verify { since: Some(revision) } = &state.meta.as_ref()?.purpose else { return None };
    let found = state.found.as_ref()?.since.as_ref()?;
    Some(SinceReport { revision: revision.clone(), commit: found.commit.clone(), changed: found.changed })
}

fn stage(state: &SessionState, verdict: &StageVerdict, blobs: &Blobs) -> Result<StageReport, Failure> {
    let id = &verdict.stage;
    let summary = state.baseline_of(id).first();
    let reading: Option<Reading> = summary.map(|one| load(blobs, one.blob)).transpose()?;
    let unseen = match state.calibrated.get(&stage_key(id)) {
        Some(Calibration::Blind(plant)) => Some(format!("it stayed green over a planted error ({plant})")),
        Some(Calibration::Unmeasured(why)) => Some(why.clone()),
        Some(Calibration::Sees(_) | Calibration::Remembered) | None => None,
    };
    let why = unseen.clone().or_else(|| match reading.as_ref().map(|reading| &reading.status) {
        Some(Status::NotRun(why) | Status::Unavailable(why)) => Some(why.clone()),
        Some(Status::Measured) => None,
        None => Some("a stage before it failed".to_owned()),
    });
    let result = match verdict.result {
        _ if unseen.is_some() => StageEnd::NotMeasured,
        // It looked at the whole tree all the same.
        StageResult::Pass | StageResult::NotConcerned => StageEnd::Pass,
        StageResult::Fail(_) => StageEnd::Fail,
        StageResult::NotRun => StageEnd::NotRun,
        StageResult::Unavailable => StageEnd::NotMeasured,
    };
    let results =
        reading.iter().filter_map(|reading| reading.tests.as_ref()).flat_map(|tests| &tests.results);
    let tests = results.map(|(name, result)| TestReport {
        name: name.0.clone(),
        file: result.file.clone(),
        end: result.end,
        message: result.message.clone(),
    });
    Ok(StageReport {
        root: id.root.clone(),
        language: id.plugin.to_string(),
        stage: id.kind.as_str(),
        tool: verdict.tool.clone(),
        required: verdict.role == StageRole::Required,
        result,
        why,
        counts: verdict.tests,
        tests: tests.collect(),
    })
}

fn finding(Finding { stage, residual }: &Finding) -> FindingReport {
    let (counted, why) = match &residual.charge {
        Charge::Counted => (Counted::Yes, None),
        Charge::Inherited(why) | Charge::Consent(why) => (Counted::Old, Some(why.clone())),
        Charge::Shown(why) => (Counted::Shown, Some(why.clone())),
    };
    let Residual { file, place, symbol, severity, message, hint, evidence, sensor, .. } = residual.clone();
    FindingReport {
        root: stage.root.clone(),
        language: stage.plugin.to_string(),
        stage: stage.kind.as_str(),
        tool: sensor,
        file,
        line: place.map(|place| place.line).filter(|line| *line > 0),
        column: place.map(|place| place.column).filter(|column| *column > 0),
        class: residual.class.as_str(),
        symbol,
        severity,
        counted,
        why,
        message,
        hint,
        evidence,
        fingerprint: residual.fingerprint().to_string(),
    }
}
