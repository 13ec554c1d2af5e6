//! The form of a catalog file, built-in or a user's.

use std::collections::BTreeMap;
use std::fmt;

use perspt_core::route::{AnswerForm, Price};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::limit_name::{LimitName, StreamUsage};
use crate::protocol::Protocol;

/// A catalog file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct CatalogError {
    /// The line, counted from one, where it is known.
    pub line: Option<usize>,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for CatalogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// A whole file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(default)]
    pub(super) provider: Vec<ProviderEntry>,
    #[serde(default)]
    pub(super) model: Vec<ModelEntry>,
    #[serde(default)]
    pub(super) alias: BTreeMap<String, String>,
}

/// A provider, as far as the file tells.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProviderEntry {
    pub(super) name: String,
    #[serde(default, deserialize_with = "protocol")]
    pub(super) protocol: Option<Protocol>,
    pub(super) base_url: Option<String>,
    pub(super) key_variables: Option<Vec<String>>,
    pub(super) url_variables: Option<Vec<String>>,
    pub(super) local_port: Option<u16>,
    pub(super) small_up_to: Option<f64>,
    pub(super) stream_usage: Option<StreamUsage>,
    #[serde(default)]
    pub(super) defaults: BTreeMap<TierWord, String>,
}

/// A tier as a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TierWord {
    Architect,
    Actuator,
    Verifier,
    Speculator,
}

/// A model or a family of models, as far as the file tells.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelEntry {
    pub(super) provider: Option<String>,
    pub(super) name: String,
    #[serde(default, deserialize_with = "protocol")]
    pub(super) protocol: Option<Protocol>,
    pub(super) window: Option<u32>,
    pub(super) output: Option<u32>,
    #[serde(default, deserialize_with = "price")]
    pub(super) price: Option<Price>,
    pub(super) form: Option<AnswerForm>,
    pub(super) small: Option<bool>,
    pub(super) limit_name: Option<LimitName>,
}

impl File {
    /// Reads a file. The error names the line.
    pub(super) fn read(text: &str) -> Result<File, CatalogError> {
        toml_edit::de::from_str(text).map_err(|error| CatalogError {
            line: error.span().map(|span| line_at(text, span.start)),
            what: error.message().to_owned(),
        })
    }
}

fn line_at(text: &str, byte: usize) -> usize {
    text.bytes().take(byte).filter(|byte| *byte == b'\n').count() + 1
}

impl CatalogError {
    /// Something is wrong where this name stands in quotes for the first time.
    pub(super) fn at_name(text: &str, name: &str, what: String) -> CatalogError {
        let place = ['"', '\''].iter().filter_map(|quote| text.find(&format!("{quote}{name}{quote}"))).min();
        CatalogError { line: place.map(|byte| line_at(text, byte)), what }
    }
}

fn protocol<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Protocol>, D::Error> {
    let word = String::deserialize(from)?;
    match Protocol::parse(&word) {
        Some(protocol) => Ok(Some(protocol)),
        None => {
            let known = Protocol::ALL.map(Protocol::as_str).join(", ");
            Err(D::Error::custom(format!("`{word}` is no protocol; there are {known}")))
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dollars {
    input: f64,
    cached: Option<f64>,
    output: f64,
}

fn price<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Price>, D::Error> {
    let Dollars { input, cached, output } = Dollars::deserialize(from)?;
    let millionths = |dollars: f64| {
        // Beyond a million dollars a number is a slip.
        if !(0.0..=1e6).contains(&dollars) {
            return Err(D::Error::custom("a price is dollars for a million tokens, from 0 on"));
        }
        Ok((dollars * 1e6).round() as u64)
    };
    Ok(Some(Price {
        input: millionths(input)?,
        cached: millionths(cached.unwrap_or(input))?,
        output: millionths(output)?,
    }))
}
