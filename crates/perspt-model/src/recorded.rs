//! A model that plays texts back. It needs no network and costs nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use perspt_core::hash::Sha;

use crate::ask::{Answer, BoxFuture, CallLimits, Cancel, Chunks, Model, StopReason};
use crate::error::ModelError;
use crate::prompt::{Prompt, Tag};

/// Recorded answers by tag. The prompt's text plays no part there, so a changed template does not lose its
/// recording. A prompt without a tag, or whose tag is not recorded, is found by its hash.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// By the name of the file that holds, or would hold, the answer.
    answers: BTreeMap<String, String>,
    pace: Duration,
}

impl Recorded {
    /// How many characters make one chunk.
    const CHUNK_CHARS: usize = 24;

    /// Reads every `*.txt` of a directory; each must be named `<intent>@<node>@<attempt>.txt` or `<hash>.txt`.
    /// Prompts (`*.prompt.txt`), other files and sub-directories are left alone.
    pub fn from_dir(dir: &Path) -> Result<Recorded, ModelError> {
        let bad =
            |path: &Path, why: String| ModelError::BadRecording { path: path.display().to_string(), why };
        let entries = std::fs::read_dir(dir).map_err(|error| bad(dir, error.to_string()))?;
        let mut answers = BTreeMap::new();
        for entry in entries {
            let path = entry.map_err(|error| bad(dir, error.to_string()))?.path();
            if path.extension().is_none_or(|extension| extension != "txt") || path.is_dir() {
                continue;
            }
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if name.ends_with(PROMPT_END) {
                continue;
            }
            if Tag::from_file_name(&name).is_none() && !is_hash_name(&name) {
                return Err(bad(
                    &path,
                    "its name is not <intent>@<node>@<attempt>.txt or <hash>.txt".to_owned(),
                ));
            }
            let text = std::fs::read_to_string(&path).map_err(|error| bad(&path, error.to_string()))?;
            answers.insert(name, text);
        }
        Ok(Recorded { answers, pace: Duration::ZERO })
    }

    /// Answers given directly. A later pair replaces an earlier one of the same tag.
    pub fn from_pairs<T: Into<String>>(pairs: impl IntoIterator<Item = (Tag, T)>) -> Recorded {
        let answers = pairs.into_iter().map(|(tag, text)| (tag.file_name(), text.into())).collect();
        Recorded { answers, pace: Duration::ZERO }
    }

    /// Waits this long before each chunk, so that a person can watch an answer come in.
    pub fn paced(self, pace: Duration) -> Recorded {
        Recorded { pace, ..self }
    }

    fn find(&self, prompt: &Prompt) -> Result<&str, ModelError> {
        let by_tag = prompt.tag.as_ref().and_then(|tag| self.answers.get(&tag.file_name()));
        let found = by_tag.or_else(|| self.answers.get(&hash_name(prompt)));
        found.map(String::as_str).ok_or_else(|| ModelError::NotRecorded {
            tag: prompt.tag.as_ref().map_or_else(|| "this prompt".to_owned(), Tag::to_string),
            file: prompt.file_name(),
        })
    }

    async fn play(
        &self,
        prompt: &Prompt,
        limits: &CallLimits,
        chunks: &mut (dyn Chunks + Send),
    ) -> Result<Answer, ModelError> {
        let started = Instant::now();
        let text = self.find(prompt)?;
        if text.len() > limits.max_bytes {
            return Err(ModelError::TooLarge { limit: limits.max_bytes });
        }
        let mut first_token = None;
        let mut rest = text;
        while !rest.is_empty() {
            if !self.pace.is_zero() {
                tokio::time::sleep(self.pace).await;
            }
            let cut = rest.char_indices().nth(Self::CHUNK_CHARS).map_or(rest.len(), |(at, _)| at);
            let (piece, left) = rest.split_at(cut);
            first_token.get_or_insert_with(|| started.elapsed());
            chunks.chunk(piece);
            rest = left;
        }
        let latency = started.elapsed();
        Ok(Answer {
            text: text.to_owned(),
            stop: StopReason::End,
            usage: None,
            model: self.name(),
            first_token: first_token.unwrap_or(latency),
            latency,
        })
    }
}

/// How the name of a recorded prompt ends.
pub(crate) const PROMPT_END: &str = ".prompt.txt";

fn hash_name(prompt: &Prompt) -> String {
    format!("{}.txt", prompt.hash())
}

fn is_hash_name(name: &str) -> bool {
    name.strip_suffix(".txt").is_some_and(|hash| hash.parse::<Sha>().is_ok())
}

impl Model for Recorded {
    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt,
        limits: &'a CallLimits,
        chunks: &'a mut (dyn Chunks + Send),
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<Answer, ModelError>> {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(ModelError::Cancelled),
                played = self.play(prompt, limits, chunks) => played,
            }
        })
    }

    fn name(&self) -> String {
        "recorded".to_owned()
    }
}
