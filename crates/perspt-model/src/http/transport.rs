//! The HTTP client, and sorting what it reports.

use std::error::Error;
use std::io;
use std::net::IpAddr;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Url};

use crate::error::{ConnectKind, ModelError};
use crate::key::Censor;
use crate::prompt::percent_decoded;

/// A base URL. The text is not repeated in the error: it may hold credentials.
pub(crate) fn base(base_url: &str) -> Result<Url, ModelError> {
    let bad = |why: &str| ModelError::BadBaseUrl { why: why.to_owned() };
    let mut url = Url::parse(base_url.trim()).map_err(|error| bad(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("it must begin with http:// or https://"));
    }
    if url.cannot_be_a_base() {
        return Err(bad("it has no host"));
    }
    url.set_fragment(None);
    Ok(url)
}

/// The base URL followed by a path. Its query is kept and a trailing slash is not doubled. A first segment that is a
/// version, or `api`, is left out where the base URL ends with one: people write it both ways.
pub(crate) fn below(base: &Url, segments: &[String]) -> Url {
    let mut url = base.clone();
    let last = base.path().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is_there =
        |first: &String| (first == "api" && last == "api") || (is_version(first) && is_version(last));
    let left_out = usize::from(segments.first().is_some_and(is_there));
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(&segments[left_out..]);
    }
    url
}

/// `v1`, `v1beta` and the like.
fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
}

/// An address as it may be shown or stored: without user, password, query and fragment. Text that is no address is
/// not repeated.
pub fn shown_url(text: &str) -> String {
    match Url::parse(text.trim()) {
        Ok(url) if url.has_host() => without_credentials(url),
        Ok(_) | Err(_) => "(not an address)".to_owned(),
    }
}

pub(crate) fn without_credentials(mut url: Url) -> String {
    // Both calls fail only for addresses without a host, which have no credentials either.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

/// A value of a query that is shorter is no secret, and hiding it would garble what a server says.
const SHORTEST: usize = 4;

/// What an address says that nobody else may read, in every form in which a server could repeat it: the password as
/// written, as it is meant and as it is sent, and the values of the query, versions aside.
pub(crate) fn secrets(url: &Url) -> Vec<String> {
    let mut secrets = Vec::new();
    if let Some(password) = url.password() {
        let meant = |text: &str| percent_decoded(text).unwrap_or_else(|| text.to_owned());
        let sent = format!("{}:{}", meant(url.username()), meant(password));
        secrets.extend([password.to_owned(), meant(password), BASE64_STANDARD.encode(sent)]);
    }
    for pair in url.query().into_iter().flat_map(|query| query.split('&')) {
        let (name, value) = pair.split_once('=').unwrap_or(("", pair));
        if value.len() >= SHORTEST && !name.contains("version") {
            secrets.extend(percent_decoded(value).into_iter().chain([value.to_owned()]));
        }
    }
    secrets
}

/// A client that sends each request exactly once: no redirects, no retries, and no kept connections, since one that
/// the other side has meanwhile closed would fail a call that never reached it.
pub(crate) fn client(url: &Url) -> Result<Client, ModelError> {
    // An error says that a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("perspt/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .pool_max_idle_per_host(0)
        .dns_resolver(Lookup);
    if url.scheme() == "http" {
        // Nothing to verify, so a machine without root certificates can still ask a local model.
        builder = builder.tls_certs_only([]);
    }
    if is_loopback(url) {
        // A proxy's loopback is not ours.
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| ModelError::NoClient { why: root_cause(&error).to_string() })
}

pub(crate) fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The system's own name lookup, with an error of our own type so that it can be told from other failures.
struct Lookup;

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct LookupFailed(String);

impl Resolve for Lookup {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0))
                .await
                .map_err(|error| LookupFailed(format!("{}: {error}", name.as_str())))?;
            Ok(Box::new(found.collect::<Vec<_>>().into_iter()) as Addrs)
        })
    }
}

/// Says what kind of trouble a failed exchange was.
pub(crate) fn classify(error: reqwest::Error, bytes_received: u64, censor: &Censor) -> ModelError {
    let excerpt = || censor.excerpt(&root_cause(&error).to_string());
    if error.is_connect() {
        let detail = format!("{}: {}", host_of(&error), excerpt());
        return ModelError::Connect { kind: connect_kind(&error), detail };
    }
    for cause in causes(&error) {
        if let Some(http) = cause.downcast_ref::<hyper::Error>() {
            if http.is_parse() {
                let content_type = "not even HTTP".to_owned();
                return ModelError::NotAChat { content_type, excerpt: excerpt() };
            }
            if http.is_incomplete_message() {
                return ModelError::CutOff { bytes_received };
            }
        }
        match cause.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(io::ErrorKind::UnexpectedEof) => return ModelError::CutOff { bytes_received },
            Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
                return ModelError::MalformedEvent { excerpt: excerpt() };
            }
            Some(_) | None => {}
        }
    }
    ModelError::Reset { bytes_received }
}

fn connect_kind(error: &reqwest::Error) -> ConnectKind {
    for cause in causes(error) {
        if cause.is::<LookupFailed>() {
            return ConnectKind::Dns;
        }
        if cause.is::<rustls::Error>() {
            return ConnectKind::Tls;
        }
        let refused = |io: &io::Error| io.kind() == io::ErrorKind::ConnectionRefused;
        if cause.downcast_ref::<io::Error>().is_some_and(refused) {
            return ConnectKind::Refused;
        }
    }
    ConnectKind::Other
}

fn host_of(error: &reqwest::Error) -> String {
    let Some(url) = error.url() else { return "the provider".to_owned() };
    let host = url.host_str().unwrap_or("the provider");
    url.port_or_known_default().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// An error and everything below it. A system error that wraps another hides it from `source`.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| -> Option<&'a (dyn Error + 'static)> {
        let error: &'a (dyn Error + 'static) = *error;
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        match wrapped {
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => error.source(),
        }
    })
}

fn root_cause<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    causes(error).last().unwrap_or(error)
}
