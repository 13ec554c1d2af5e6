//! A model that writes down what it is asked and what it answers, for [`crate::Recorded`] to play back.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::ask::{Answer, BoxFuture, CallLimits, Cancel, Chunks, Model};
use crate::error::ModelError;
use crate::prompt::Prompt;
use crate::recorded::PROMPT_END;

/// Takes out of a text what must not be kept.
pub type Mask = Box<dyn Fn(&str) -> String + Send + Sync>;

/// Another model, and the folder into which its calls are written, readable by the user alone.
///
/// Answers alone are kept, since failures cannot be played back. A later call of the same name replaces an earlier one.
pub struct Recording {
    model: Arc<dyn Model>,
    dir: PathBuf,
    mask: Mask,
}

impl Recording {
    /// Writes the calls of `model` into `dir`, which is made where it is missing. Every text goes through `mask`.
    pub fn wrap(model: Arc<dyn Model>, dir: &Path, mask: Mask) -> Result<Recording, ModelError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(|error| bad(dir, &error))?;
        Ok(Recording { model, dir: dir.to_owned(), mask })
    }

    fn keep(&self, prompt: &Prompt, answer: &Answer) -> Result<(), ModelError> {
        let name = prompt.file_name();
        let stem = name.strip_suffix(".txt").unwrap_or(&name);
        self.write(&format!("{stem}{PROMPT_END}"), &written(prompt))?;
        self.write(&name, &answer.text)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), ModelError> {
        let path = self.dir.join(name);
        let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
        let written = opened.and_then(|mut file| file.write_all((self.mask)(text).as_bytes()));
        written.map_err(|error| bad(&path, &error))
    }
}

/// A prompt as a person reads it: each part under a line that says whose it is.
fn written(prompt: &Prompt) -> String {
    let head = (!prompt.head.is_empty()).then_some(("system", prompt.head.as_str()));
    let turns = prompt.turns.iter().map(|turn| (turn.role.as_str(), turn.text.as_str()));
    let parts = head.into_iter().chain(turns);
    parts.map(|(role, text)| format!("--- {role}\n{}\n", text.trim_end_matches('\n'))).collect()
}

fn bad(path: &Path, error: &io::Error) -> ModelError {
    ModelError::BadRecording { path: path.display().to_string(), why: error.to_string() }
}

impl Model for Recording {
    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt,
        limits: &'a CallLimits,
        chunks: &'a mut (dyn Chunks + Send),
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<Answer, ModelError>> {
        Box::pin(async move {
            let answer = self.model.ask(prompt, limits, chunks, cancel).await?;
            self.keep(prompt, &answer)?;
            Ok(answer)
        })
    }

    fn name(&self) -> String {
        self.model.name()
    }
}
