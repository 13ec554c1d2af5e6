//! What stands behind a question: the whole list of needs, and the texts of tests, from the session's blobs.

use perspt_core::consent::Need;
use perspt_core::effect::Question;
use perspt_core::ids::{BlobId, NodeId};
use perspt_core::judge::Judgement;
use perspt_core::question::Asked;
use perspt_core::reading::Reading;
use perspt_core::state::SessionState;
use serde::de::DeserializeOwned;

use crate::blobs::Blobs;
use crate::error::StoreError;

/// The question with everything a person needs to decide.
pub fn asked(
    blobs: &Blobs,
    state: &SessionState,
    node: Option<NodeId>,
    question: &Question,
) -> Result<Asked, StoreError> {
    match question {
        Question::Plan { .. } => Ok(Asked::Plan),
        Question::Consents { needs, judgement, texts, .. } => {
            let whole: Option<Judgement> = judgement.map(|blob| read(blobs, blob)).transpose()?;
            let reading: Option<Reading> = texts.map(|blob| read(blobs, blob)).transpose()?;
            let missing = |whole: Judgement| {
                state.consents.missing(&whole.needs).into_iter().cloned().collect::<Vec<Need>>()
            };
            Ok(Asked::Consents {
                node,
                needs: whole.map_or_else(|| needs.clone(), missing),
                inventory: reading.and_then(|reading| reading.inventory).unwrap_or_default(),
            })
        }
    }
}

fn read<T: DeserializeOwned>(blobs: &Blobs, blob: BlobId) -> Result<T, StoreError> {
    let bytes = blobs.get(blob)?;
    serde_json::from_slice(&bytes)
        .map_err(|error| StoreError::Decode { what: format!("blob {blob}"), why: error.to_string() })
}
