//! What can go wrong in one call, one variant for each thing that can be told apart.

use std::time::Duration;

use thiserror::Error;

use crate::ask::Usage;

/// Why there is no answer. Its text is one line that a person can act on; it never holds a key, and text that came
/// from the other side is shortened and stripped of control characters.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ModelError {
    /// The base URL cannot be used.
    #[error("the base URL is not usable: {why}")]
    BadBaseUrl {
        /// What is wrong with it.
        why: String,
    },
    /// The key holds characters that cannot be sent.
    #[error("the API key holds characters that cannot be sent in a header; set it again")]
    BadKey,
    /// The HTTP client could not be made.
    #[error("the HTTP client cannot start: {why}")]
    NoClient {
        /// What the library said.
        why: String,
    },
    /// A recording could not be read.
    #[error("the recording {path} cannot be used: {why}")]
    BadRecording {
        /// The file or directory.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// Nothing is recorded under this tag, or for this text.
    #[error("no answer is recorded for {tag}; the file {file} is missing")]
    NotRecorded {
        /// The tag line, or other words for the prompt.
        tag: String,
        /// The file that would hold it.
        file: String,
    },
    /// 401 or 403.
    #[error("the provider refused the API key (HTTP {status}): {excerpt}")]
    Unauthorised {
        /// The HTTP status.
        status: u16,
        /// What the provider said.
        excerpt: String,
    },
    /// 404: the base URL or the model is not known there.
    #[error(
        "the provider knows no such model or address (HTTP 404), check --model and the base URL: {excerpt}"
    )]
    NotFound {
        /// What the provider said.
        excerpt: String,
    },
    /// The provider will not take this request, now or later.
    #[error("the provider refused the request (HTTP {status}): {excerpt}")]
    BadRequest {
        /// The HTTP status.
        status: u16,
        /// What the provider said.
        excerpt: String,
    },
    /// 402, or 429 with a quota that is used up: waiting does not help.
    #[error("the account has no quota left (HTTP {status}): {excerpt}")]
    OutOfQuota {
        /// The HTTP status.
        status: u16,
        /// What the provider said.
        excerpt: String,
    },
    /// 429.
    #[error("the provider's rate limit is reached{}: {excerpt}", after(.retry_after))]
    RateLimited {
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
        /// What the provider said.
        excerpt: String,
    },
    /// 5xx, or another status that means "later".
    #[error("the provider is in trouble (HTTP {status}){}: {excerpt}", after(.retry_after))]
    Server {
        /// The HTTP status.
        status: u16,
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
        /// What the provider said.
        excerpt: String,
    },
    /// 3xx. Redirects are not followed: the key belongs to the host it was given for.
    #[error("the base URL redirects (HTTP {status}) to {location}; set it to the address that answers")]
    Redirected {
        /// The HTTP status.
        status: u16,
        /// Where to, without credentials and query.
        location: String,
    },
    /// No connection.
    #[error("no connection to the provider: {kind}: {detail}")]
    Connect {
        /// Which step failed.
        kind: ConnectKind,
        /// What the system said.
        detail: String,
    },
    /// The connection broke.
    #[error("the connection broke after {bytes_received} bytes of the response")]
    Reset {
        /// Bytes of the response's body.
        bytes_received: u64,
    },
    /// The response ended without saying that it was whole.
    #[error("the answer was cut off after {bytes_received} bytes of the response, without a stop reason")]
    CutOff {
        /// Bytes of the response's body.
        bytes_received: u64,
    },
    /// Part of the response could not be understood.
    #[error("the provider sent something that is no event of its protocol: {excerpt}")]
    MalformedEvent {
        /// The start of it.
        excerpt: String,
    },
    /// An error object inside a response that had begun well.
    #[error("the provider reported an error in its answer{}: {message}", coded(.code))]
    InBand {
        /// What the provider said.
        message: String,
        /// Its code, where it gave one.
        code: Option<String>,
    },
    /// A good status, but neither a stream nor a document of the protocol.
    #[error(
        "the address answers, but not in the provider's protocol ({content_type}), check the base URL and the provider: {excerpt}"
    )]
    NotAChat {
        /// The response's content type.
        content_type: String,
        /// Its start.
        excerpt: String,
    },
    /// No content came.
    #[error("nothing to read came within {}", seconds(.after))]
    FirstByteTimeout {
        /// The limit.
        after: Duration,
    },
    /// Content stopped coming.
    #[error("the answer stalled: nothing more came within {}", seconds(.after))]
    IdleTimeout {
        /// The limit.
        after: Duration,
    },
    /// The call took too long as a whole.
    #[error("the answer was not finished within {}", seconds(.after))]
    TotalTimeout {
        /// The limit.
        after: Duration,
    },
    /// The model stopped because it may write no more.
    #[error("the answer hit the output limit and is not whole; allow more output tokens or ask for less")]
    OutputLimit {
        /// Tokens, where reported: the call is paid for.
        usage: Option<Usage>,
    },
    /// The provider's content filter ended the answer.
    #[error("the provider's content filter stopped the answer")]
    Filtered {
        /// Tokens, where reported: the call is paid for.
        usage: Option<Usage>,
    },
    /// The model asked for tools and wrote no text.
    #[error("the model asked for tools instead of answering; perspt offers none")]
    OnlyToolCalls {
        /// Tokens, where reported: the call is paid for.
        usage: Option<Usage>,
    },
    /// The model stopped for a reason that is not known to mean a whole answer.
    #[error("the provider stopped for a reason perspt does not know: {reason}")]
    UnknownStop {
        /// The reason as sent.
        reason: String,
        /// Tokens, where reported: the call is paid for.
        usage: Option<Usage>,
    },
    /// The answer is larger than perspt takes.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// The call was no longer wanted.
    #[error("the call was cancelled")]
    Cancelled,
}

/// Which step of connecting failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum ConnectKind {
    /// The host's name could not be looked up.
    #[error("its name cannot be looked up")]
    Dns,
    /// Nobody listens there.
    #[error("nobody listens at its address")]
    Refused,
    /// No secure connection could be agreed on.
    #[error("no secure connection (TLS)")]
    Tls,
    /// Something else, such as an unreachable network or a proxy that does not answer.
    #[error("cannot be reached")]
    Other,
}

impl ModelError {
    /// Whether the provider had begun to answer: what it wrote may be billed though there is no answer.
    pub fn had_begun(&self) -> bool {
        match self {
            ModelError::Reset { bytes_received } | ModelError::CutOff { bytes_received } => {
                *bytes_received > 0
            }
            ModelError::MalformedEvent { .. }
            | ModelError::InBand { .. }
            | ModelError::IdleTimeout { .. }
            | ModelError::TotalTimeout { .. }
            | ModelError::OutputLimit { .. }
            | ModelError::Filtered { .. }
            | ModelError::OnlyToolCalls { .. }
            | ModelError::UnknownStop { .. }
            | ModelError::TooLarge { .. } => true,
            ModelError::BadBaseUrl { .. }
            | ModelError::BadKey
            | ModelError::NoClient { .. }
            | ModelError::BadRecording { .. }
            | ModelError::NotRecorded { .. }
            | ModelError::Unauthorised { .. }
            | ModelError::NotFound { .. }
            | ModelError::BadRequest { .. }
            | ModelError::OutOfQuota { .. }
            | ModelError::RateLimited { .. }
            | ModelError::Server { .. }
            | ModelError::Redirected { .. }
            | ModelError::Connect { .. }
            | ModelError::NotAChat { .. }
            | ModelError::FirstByteTimeout { .. }
            | ModelError::Cancelled => false,
        }
    }

    /// Whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            ModelError::RateLimited { .. }
            | ModelError::Server { .. }
            | ModelError::Reset { .. }
            | ModelError::CutOff { .. }
            | ModelError::MalformedEvent { .. }
            | ModelError::FirstByteTimeout { .. }
            | ModelError::IdleTimeout { .. }
            | ModelError::TotalTimeout { .. } => true,
            ModelError::Connect { kind, .. } => *kind != ConnectKind::Tls,
            ModelError::InBand { code, .. } => !code.as_deref().is_some_and(is_lasting),
            ModelError::BadBaseUrl { .. }
            | ModelError::BadKey
            | ModelError::NoClient { .. }
            | ModelError::BadRecording { .. }
            | ModelError::NotRecorded { .. }
            | ModelError::Unauthorised { .. }
            | ModelError::NotFound { .. }
            | ModelError::BadRequest { .. }
            | ModelError::OutOfQuota { .. }
            | ModelError::Redirected { .. }
            | ModelError::NotAChat { .. }
            | ModelError::OutputLimit { .. }
            | ModelError::Filtered { .. }
            | ModelError::OnlyToolCalls { .. }
            | ModelError::UnknownStop { .. }
            | ModelError::TooLarge { .. }
            | ModelError::Cancelled => false,
        }
    }

    /// How long the provider asks to wait before the next try.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            ModelError::RateLimited { retry_after, .. } | ModelError::Server { retry_after, .. } => {
                *retry_after
            }
            _ => None,
        }
    }

    /// What the failed call used, where the provider said so.
    pub fn usage(&self) -> Option<Usage> {
        match self {
            ModelError::OutputLimit { usage }
            | ModelError::Filtered { usage }
            | ModelError::OnlyToolCalls { usage }
            | ModelError::UnknownStop { usage, .. } => *usage,
            _ => None,
        }
    }

    /// One line that says what happened and, where it helps, what to do.
    pub fn what(&self) -> String {
        self.to_string()
    }
}

/// Codes of in-band errors that a repeat does not cure. Numbers are read as HTTP statuses.
fn is_lasting(code: &str) -> bool {
    const LASTING: [&str; 14] = [
        "authentication_error",
        "billing_error",
        "billing_hard_limit_reached",
        "content_filter",
        "content_policy_violation",
        "context_length_exceeded",
        "insufficient_quota",
        "invalid_api_key",
        "invalid_prompt",
        "invalid_request_error",
        "model_not_found",
        "not_found_error",
        "permission_error",
        "request_too_large",
    ];
    match code.parse::<u16>() {
        Ok(status) => (400..500).contains(&status) && !matches!(status, 408 | 409 | 425 | 429),
        Err(_) => LASTING.contains(&code),
    }
}

fn after(retry_after: &Option<Duration>) -> String {
    retry_after.map(|wait| format!("; it asks to wait {}", seconds(&wait))).unwrap_or_default()
}

fn coded(code: &Option<String>) -> String {
    code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default()
}

fn seconds(duration: &Duration) -> String {
    match duration.as_secs() {
        0..600 => format!("{} s", duration.as_millis() as f64 / 1000.0),
        600..36_000 => format!("{} minutes", duration.as_secs() / 60),
        long => format!("{} hours", long / 3600),
    }
}
