//! The seam: what can be asked of any model, and what comes back.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::error::ModelError;
use crate::prompt::Prompt;

/// Says that a call is no longer wanted. A call that sees it closes its connection and ends as
/// [`ModelError::Cancelled`].
pub use tokio_util::sync::CancellationToken as Cancel;

/// A future that can be held behind a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Something that answers prompts.
pub trait Model: Send + Sync {
    /// Sends the prompt once and reads its answer. Text is handed to `chunks` as it comes; what was handed over
    /// is no answer unless this returns one.
    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt,
        limits: &'a CallLimits,
        chunks: &'a mut (dyn Chunks + Send),
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<Answer, ModelError>>;

    /// The model's name as a person would write it.
    fn name(&self) -> String;
}

/// Takes text while it streams. Closures over `&str` will do.
pub trait Chunks {
    /// The next piece of the answer; never empty.
    fn chunk(&mut self, text: &str);
}

impl<F: FnMut(&str)> Chunks for F {
    fn chunk(&mut self, text: &str) {
        self(text);
    }
}

/// How long and how large one call may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallLimits {
    /// From the start of the call to the first piece of content (text or reasoning). Connecting is inside it,
    /// and so is a server that has sent its headers but nothing to read.
    pub first_byte: Duration,
    /// Between two pieces of content. Pings, comments and empty pieces do not count.
    pub idle: Duration,
    /// The whole call.
    pub total: Duration,
    /// How many tokens the model may write; sent along.
    pub max_output_tokens: u32,
    /// How many bytes the answer's text may have.
    pub max_bytes: usize,
}

impl Default for CallLimits {
    fn default() -> CallLimits {
        CallLimits {
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(60),
            total: Duration::from_secs(600),
            max_output_tokens: 16_384,
            max_bytes: 8 * 1024 * 1024,
        }
    }
}

/// How many tokens a second a processor reads at least: a model of 1.5 thousand million parameters read 970 tokens in 33
/// to 60 seconds on two busy cores.
const READ_PER_SECOND: u64 = 15;

impl CallLimits {
    /// The usual limits for a model on this machine and a prompt of this many tokens.
    pub fn for_local(prompt_tokens: u64) -> CallLimits {
        CallLimits::default().with_reading_time(prompt_tokens)
    }

    /// These limits for a model on this machine, which reads the prompt before its first word: that much time is
    /// added to the whole call, and the first word may take as long.
    pub fn with_reading_time(self, prompt_tokens: u64) -> CallLimits {
        let reading = Duration::from_secs(prompt_tokens.div_ceil(READ_PER_SECOND));
        CallLimits {
            first_byte: self.first_byte.max(reading),
            total: self.total.saturating_add(reading),
            ..self
        }
    }
}

/// A whole answer: the model stopped by itself and said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Everything the model wrote, reasoning excepted. May be empty.
    pub text: String,
    /// Why it stopped.
    pub stop: StopReason,
    /// Tokens, where the other side reported them.
    pub usage: Option<Usage>,
    /// The model that answered, as the other side names it, else as it was asked for.
    pub model: String,
    /// From the start of the call to the first piece of content.
    pub first_token: Duration,
    /// From the start of the call to its end.
    pub latency: Duration,
}

/// The ways of stopping that make an answer; every other way is a [`ModelError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// The model was done.
    End,
    /// The model wrote text and then asked for a tool, though none was offered.
    ToolCalls,
}

/// Tokens as the other side counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    pub input: u64,
    /// Tokens written, reasoning included.
    pub output: u64,
    /// Tokens of the prompt that came from the provider's cache.
    pub cached: u64,
}
