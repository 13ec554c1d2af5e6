//! Asking a language model: one prompt in, one typed result out.
//!
//! [`Model::ask`] is one request. It ends in an [`Answer`], which exists only when the other side said why it
//! stopped, or in a [`ModelError`] that names what went wrong. Whether to retry, wait or fall back is decided
//! elsewhere, from [`ModelError::is_transient`] and [`ModelError::retry_after`].
//!
//! Two models are here: [`OpenAi`] speaks the chat-completions protocol over HTTP, [`Recorded`] plays texts back
//! by the prompt's tag. This crate knows perspt-core only, reads no environment except the proxy variables that
//! the HTTP library looks at, and is the only one that names an HTTP client.
//!
//! Start reading at `ask` (the seam), then `openai`.

mod ask;
mod error;
mod estimate;
mod key;
mod openai;
mod prompt;
mod recorded;
pub mod sse;

pub use ask::{Answer, BoxFuture, CallLimits, Cancel, Chunks, Model, StopReason, Usage};
pub use error::{ConnectKind, ModelError};
pub use estimate::estimate_tokens;
pub use key::Key;
pub use openai::{OpenAi, OpenAiConfig, shown_url};
pub use prompt::{Prompt, Tag};
pub use recorded::Recorded;
