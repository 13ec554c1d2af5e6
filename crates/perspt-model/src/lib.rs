//! Asking a language model: one prompt in, one typed result out.
//!
//! [`Model::ask`] is one request. It ends in an [`Answer`], which exists only when the other side said why it
//! stopped, or in a [`ModelError`] that names what went wrong. Whether to retry, wait or fall back is decided
//! elsewhere, from [`ModelError::is_transient`] and [`ModelError::retry_after`].
//!
//! Two models are here: [`Remote`] speaks every [`Protocol`] over HTTP, [`Recorded`] plays texts back. [`Recording`] and
//! [`Limited`] stand before another model. What is known of providers and models is data ([`Catalog`]); what a server
//! on this machine holds is asked ([`look`]).
//!
//! This crate knows perspt-core only, reads no environment except the proxy and certificate variables that the HTTP
//! library looks at, and is the only one that names an HTTP client.
//!
//! Start reading at `ask` (the seam), then `remote`, then a file of `protocol`.

mod ask;
mod catalog;
mod discover;
mod error;
mod estimate;
mod http;
mod key;
mod limited;
mod prompt;
mod protocol;
mod recorded;
mod recording;
mod remote;

pub use ask::{Answer, BoxFuture, CallLimits, Cancel, Chunks, Model, StopReason, Usage};
pub use catalog::{
    Catalog, CatalogError, LimitName, ModelFacts, Provider, Resolved, StreamUsage, is_loopback,
};
pub use discover::{Found, FoundModel, look};
pub use error::{ConnectKind, ModelError};
pub use estimate::estimate_tokens;
pub use http::sse;
pub use http::transport::shown_url;
pub use key::Key;
pub use limited::Limited;
pub use prompt::{Prompt, Role, Tag, Turn};
pub use protocol::{Choice, Protocol};
pub use recorded::Recorded;
pub use recording::{Mask, Recording};
pub use remote::{Endpoint, Remote};
