//! A provider: where it is, what it speaks, and what the environment says about it.

use perspt_core::route::Tier;

use super::file::{ProviderEntry, TierWord};
use super::limit_name::StreamUsage;
use crate::http::transport;
use crate::key::Key;
use crate::protocol::Protocol;

/// Someone who serves models.
#[derive(Debug, Clone, PartialEq)]
pub struct Provider {
    /// The name before `::`.
    pub name: String,
    /// What it speaks.
    pub protocol: Protocol,
    /// Where it is when nothing else is said.
    pub base_url: String,
    /// Variables that hold its key; the first that is set counts.
    pub key_variables: Vec<String>,
    /// Variables that lead elsewhere; the first that is set counts.
    pub url_variables: Vec<String>,
    /// The port on which it usually listens, for servers on this machine.
    pub local_port: Option<u16>,
    pub(super) small_up_to: Option<f64>,
    pub(super) stream_usage: StreamUsage,
    defaults: Vec<(TierWord, String)>,
}

impl Provider {
    /// The model that is asked where none is named. Servers on this machine have none: they are asked what they hold.
    pub fn default_model(&self, tier: Tier) -> Option<&str> {
        let word = match tier {
            Tier::Architect => TierWord::Architect,
            Tier::Actuator => TierWord::Actuator,
            Tier::Verifier => TierWord::Verifier,
            Tier::Speculator => TierWord::Speculator,
        };
        self.defaults.iter().find(|(tier, _)| *tier == word).map(|(_, model)| model.as_str())
    }

    /// Its key, where the environment has one.
    pub fn key(&self, variable: impl Fn(&str) -> Option<String>) -> Option<Key> {
        self.key_variables.iter().find_map(|name| Key::new(&variable(name)?))
    }

    /// Where it is, by the environment or else by the catalog.
    pub fn base_url_in(&self, variable: impl Fn(&str) -> Option<String>) -> String {
        let set = self.url_variables.iter().find_map(|name| set(variable(name)));
        set.map_or_else(|| self.base_url.clone(), |text| self.whole_url(&text))
    }

    /// Whether the environment speaks of it.
    pub(super) fn is_in(&self, variable: &impl Fn(&str) -> Option<String>) -> bool {
        let mut names = self.key_variables.iter().chain(&self.url_variables);
        names.any(|name| set(variable(name)).is_some())
    }

    /// Whether it usually runs on this machine.
    pub fn is_local(&self) -> bool {
        self.local_port.is_some()
    }

    /// An address that may lack its scheme and port, as `OLLAMA_HOST` does. The address for listening everywhere is
    /// not one to ask at.
    fn whole_url(&self, text: &str) -> String {
        let Some(port) = self.local_port.filter(|_| !text.contains("://")) else { return text.to_owned() };
        let host = text.trim_end_matches('/');
        let host = if host.starts_with(':') { format!("127.0.0.1{host}") } else { host.to_owned() };
        let has_port = host.rsplit_once(':').is_some_and(|(before, port)| {
            !port.is_empty()
                && port.bytes().all(|byte| byte.is_ascii_digit())
                && (before.ends_with(']') || !before.contains(':'))
        });
        let host = if has_port { host } else { format!("{host}:{port}") };
        format!("http://{}", host.replacen("0.0.0.0", "127.0.0.1", 1))
    }

    /// A provider from its entry; `None` where it says neither what is spoken nor where.
    pub(super) fn new(entry: ProviderEntry) -> Option<Provider> {
        let base_url = entry.base_url.clone()?;
        let mut provider = Provider {
            name: entry.name.clone(),
            protocol: entry.protocol?,
            base_url,
            key_variables: Vec::new(),
            url_variables: Vec::new(),
            local_port: None,
            small_up_to: None,
            stream_usage: StreamUsage::default(),
            defaults: Vec::new(),
        };
        provider.overlay(entry);
        Some(provider)
    }

    /// Takes over what an entry says.
    pub(super) fn overlay(&mut self, entry: ProviderEntry) {
        self.protocol = entry.protocol.unwrap_or(self.protocol);
        if let Some(base_url) = entry.base_url {
            self.base_url = base_url;
        }
        if let Some(variables) = entry.key_variables {
            self.key_variables = variables;
        }
        if let Some(variables) = entry.url_variables {
            self.url_variables = variables;
        }
        self.local_port = entry.local_port.or(self.local_port);
        self.small_up_to = entry.small_up_to.or(self.small_up_to);
        self.stream_usage = entry.stream_usage.unwrap_or(self.stream_usage);
        for (tier, model) in entry.defaults {
            self.defaults.retain(|(known, _)| *known != tier);
            self.defaults.push((tier, model));
        }
    }
}

/// Whether an address is on this machine.
pub fn is_loopback(base_url: &str) -> bool {
    transport::base(base_url).is_ok_and(|url| transport::is_loopback(&url))
}

fn set(value: Option<String>) -> Option<String> {
    value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}
