//! Values as JSON in the session's blobs, and texts that live as long as their node.

use perspt_core::ids::BlobId;
use perspt_core::path::RelPath;
use perspt_core::tree::Entry;
use perspt_store::Blobs;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Sources;
use crate::AgentError;
use crate::actor::Actor;
use crate::error::EffectError;

impl Actor {
    /// Stores a value for good.
    pub(crate) fn store_blob(&self, value: &impl Serialize) -> Result<BlobId, AgentError> {
        put(&self.parts.blobs, value)
    }

    /// Loads a value that was stored for good.
    pub(crate) fn load_blob<T: DeserializeOwned>(
        &self,
        what: &'static str,
        id: BlobId,
    ) -> Result<T, AgentError> {
        get(&self.parts.blobs, what, id)
    }

    /// Stores a prompt or a rejected answer until its node is closed.
    pub(crate) fn store_text(&self, value: &impl Serialize) -> Result<BlobId, AgentError> {
        put(&self.parts.texts, value)
    }

    /// Loads a prompt or a rejected answer of an open node.
    pub(crate) fn load_text<T: DeserializeOwned>(
        &self,
        what: &'static str,
        id: BlobId,
    ) -> Result<T, AgentError> {
        get(&self.parts.texts, what, id)
    }

    /// Loads an answer as it came. The empty one has no file.
    pub(crate) fn load_answer(&self, id: BlobId) -> Result<String, AgentError> {
        if id == BlobId::of(b"") {
            return Ok(String::new());
        }
        let what = "an answer";
        String::from_utf8(self.parts.texts.get(id)?)
            .map_err(|error| AgentError::Blob { what, why: error.to_string() })
    }

    /// Stores what a file was before a change.
    pub(crate) fn store_original(
        &self,
        sources: &Sources,
        path: &RelPath,
        entry: &Entry,
    ) -> Result<(), EffectError> {
        let bytes = sources.bytes(path, entry).ok_or(EffectError::BaseMoved)?;
        self.parts.blobs.put(&bytes)?;
        Ok(())
    }
}

fn put(blobs: &Blobs, value: &impl Serialize) -> Result<BlobId, AgentError> {
    let bytes = serde_json::to_vec(value)
        .map_err(|error| AgentError::Blob { what: "a value", why: error.to_string() })?;
    Ok(blobs.put(&bytes)?)
}

fn get<T: DeserializeOwned>(blobs: &Blobs, what: &'static str, id: BlobId) -> Result<T, AgentError> {
    serde_json::from_slice(&blobs.get(id)?).map_err(|error| AgentError::Blob { what, why: error.to_string() })
}
