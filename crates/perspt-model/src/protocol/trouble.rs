//! Errors as providers word them, in a response that began well or in a refusal.

use std::time::Duration;

use serde_json::Value;

/// An error as a provider words it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProviderError {
    pub(crate) message: String,
    pub(crate) code: Option<String>,
}

impl ProviderError {
    /// Reads the object that holds message and code.
    pub(crate) fn read(error: &Value) -> ProviderError {
        let message = match (error, &error["message"]) {
            (Value::String(message), _) | (_, Value::String(message)) => message.clone(),
            _ => error.to_string(),
        };
        let code = [&error["code"], &error["type"]].into_iter().find_map(|code| match code {
            Value::String(code) if !code.is_empty() => Some(code.clone()),
            Value::Number(code) => Some(code.to_string()),
            _ => None,
        });
        ProviderError { message, code }
    }
}

/// Finds an error object: `{"error": {…}}`, `{"error": "…"}`, or an object that calls itself an error. Some servers
/// put it into a list of its own.
pub(crate) fn provider_error(value: &Value) -> Option<ProviderError> {
    let value = alone(value);
    match &value["error"] {
        Value::Null if value["object"] == "error" || value["type"] == "error" => {
            Some(ProviderError::read(value))
        }
        Value::Null => None,
        error => Some(ProviderError::read(error)),
    }
}

/// How long the body of a refusal asks to wait: the `retryDelay` of a `RetryInfo`, such as `34.5s`.
pub(crate) fn retry_delay(value: &Value) -> Option<Duration> {
    let text = details(value).iter().find_map(|detail| detail["retryDelay"].as_str())?;
    let seconds = text.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Whether a refusal says that the key is wrong, whatever its status.
pub(crate) fn api_key_is_invalid(value: &Value) -> bool {
    details(value).iter().any(|detail| detail["reason"] == "API_KEY_INVALID")
}

fn details(value: &Value) -> &[Value] {
    alone(value)["error"]["details"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn alone(value: &Value) -> &Value {
    match value {
        Value::Array(items) if items.len() == 1 => &items[0],
        other => other,
    }
}
