//! The journal of a publication: one file per workspace, there from before the first change to after the last.

use std::path::Path;

use perspt_core::hash::Sha;
use perspt_core::path::RelPath;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Publication;
use crate::error::StoreError;
use crate::folder::optional;
use crate::home::Home;

const NAME: &str = "publish.json";
const STAGED: &str = "publish.json.new";
const JOURNAL_MAX: u64 = 1 << 30;

/// Everything that is needed to finish a publication or take it back.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Journal {
    pub publication: Publication,
    /// Folders that were missing and that the publication makes, outer ones first.
    pub made: Vec<RelPath>,
}

#[derive(Serialize, Deserialize)]
struct Sealed {
    journal: Box<RawValue>,
    hash: Sha,
}

pub(super) fn write(home: &Home, journal: &Journal) -> Result<(), StoreError> {
    let encode = |error: serde_json::Error| StoreError::Encode { what: "a journal", why: error.to_string() };
    let body = serde_json::value::to_raw_value(journal).map_err(encode)?;
    let hash = Sha::of(body.get().as_bytes());
    let bytes = serde_json::to_vec(&Sealed { journal: body, hash }).map_err(encode)?;
    let folder = home.make_workspace(&journal.publication.workspace)?;
    folder.stage(STAGED, &bytes)?;
    folder.rename(STAGED, NAME)?;
    folder.sync()
}

pub(super) fn read(home: &Home, workspace: &Path) -> Result<Option<Journal>, StoreError> {
    let Some(folder) = home.workspace(workspace)? else { return Ok(None) };
    let Some(bytes) = optional(folder.read(NAME, JOURNAL_MAX))? else { return Ok(None) };
    let damaged = |why: String| StoreError::Damaged { file: folder.at(NAME), why };
    let sealed: Sealed = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    if Sha::of(sealed.journal.get().as_bytes()) != sealed.hash {
        return Err(damaged("its hash does not match".to_owned()));
    }
    let journal: Journal =
        serde_json::from_str(sealed.journal.get()).map_err(|error| damaged(error.to_string()))?;
    if journal.publication.workspace != workspace {
        return Err(damaged("it is for another workspace".to_owned()));
    }
    Ok(Some(journal))
}

/// Makes a journal durable that is there.
pub(super) fn sync(home: &Home, workspace: &Path) -> Result<(), StoreError> {
    home.make_workspace(workspace)?.sync()
}

pub(super) fn remove(home: &Home, workspace: &Path) -> Result<(), StoreError> {
    let Some(folder) = home.workspace(workspace)? else { return Ok(()) };
    folder.clear(NAME)?;
    folder.sync()
}
