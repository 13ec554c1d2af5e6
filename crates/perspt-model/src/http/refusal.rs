//! Responses whose status is not a success.

use std::time::{Duration, SystemTime};

use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, LOCATION, RETRY_AFTER};
use reqwest::{Response, Url};
use serde_json::Value;

use super::transport::without_credentials;
use super::watch::Watch;
use crate::error::ModelError;
use crate::key::Censor;
use crate::protocol::{api_key_is_invalid, provider_error, retry_delay};

/// How much of a refusal's body is read.
const MAX_BODY: usize = 64 * 1024;

/// Judges a refusal. Its body is read as far as it comes; the status counts even where the body does not.
pub(crate) async fn read(mut response: Response, watch: &Watch, censor: &Censor) -> ModelError {
    let mut body = Vec::new();
    while body.len() < MAX_BODY {
        match watch.guard(response.chunk()).await {
            Ok(Ok(Some(piece))) => body.extend_from_slice(&piece),
            Ok(Ok(None) | Err(_)) | Err(_) => break,
        }
    }
    let text = String::from_utf8_lossy(&body);
    judge(response.status().as_u16(), response.headers(), &text, censor)
}

fn judge(status: u16, headers: &HeaderMap, text: &str, censor: &Censor) -> ModelError {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let said = provider_error(&value);
    let excerpt = censor.excerpt(said.as_ref().map_or(text, |said| &said.message));
    let out_of_quota = said.is_some_and(|said| said.code.as_deref() == Some("insufficient_quota"));
    let retry_after = retry_after(headers).or_else(|| retry_delay(&value));
    match status {
        300..=399 => ModelError::Redirected { status, location: location(headers, censor) },
        401 | 403 => ModelError::Unauthorised { status, excerpt },
        404 => ModelError::NotFound { excerpt },
        402 => ModelError::OutOfQuota { status, excerpt },
        429 if out_of_quota => ModelError::OutOfQuota { status, excerpt },
        429 => ModelError::RateLimited { retry_after, excerpt },
        408 | 409 | 425 | 500.. => ModelError::Server { status, retry_after, excerpt },
        _ if api_key_is_invalid(&value) => ModelError::Unauthorised { status, excerpt },
        _ => ModelError::BadRequest { status, excerpt },
    }
}

/// The content type as text for people.
pub(crate) fn content_type(response: &Response, censor: &Censor) -> String {
    let value = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.map_or_else(|| "no content type".to_owned(), |value| censor.excerpt(value))
}

fn location(headers: &HeaderMap, censor: &Censor) -> String {
    let Some(text) = headers.get(LOCATION).and_then(|value| value.to_str().ok()) else {
        return "an address it does not name".to_owned();
    };
    match Url::parse(text) {
        Ok(url) => censor.excerpt(&without_credentials(url)),
        Err(_) => censor.excerpt(text.split(['?', '#']).next().unwrap_or_default()),
    }
}

/// How long the provider asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date. A date is
/// compared with the response's own `Date`, so that a wrong clock here changes nothing; one in the past is no wait.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(millis) = text("retry-after-ms").and_then(|text| text.parse().ok()) {
        return Some(Duration::from_millis(millis));
    }
    let value = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = httpdate::parse_http_date(value).ok()?;
    let now = text(DATE.as_str()).and_then(|date| httpdate::parse_http_date(date).ok());
    Some(until.duration_since(now.unwrap_or_else(SystemTime::now)).unwrap_or(Duration::ZERO))
}
