//! What is known of providers and models, as data: `built_in.toml`, and a user's file laid over it.

mod file;
mod limit_name;
mod matching;
mod provider;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use perspt_core::route::{AnswerForm, Price};

use crate::error::ModelError;
use crate::protocol::Protocol;
use crate::remote::{Endpoint, Remote};
pub use file::CatalogError;
use file::{File, ModelEntry};
pub use limit_name::{LimitName, StreamUsage};
use matching::Breadth;
pub use provider::{Provider, is_loopback};

/// Everything that is known.
#[derive(Debug, Clone)]
pub struct Catalog {
    providers: Vec<Provider>,
    models: Vec<ModelEntry>,
    aliases: BTreeMap<String, String>,
}

/// What a name means.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved<'a> {
    /// Who serves it, where the name tells.
    pub provider: Option<&'a Provider>,
    /// The model as its provider calls it.
    pub model: String,
}

/// What is known of a model. Unknown is `None`, never a guess.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelFacts {
    /// What it is asked in, where that is not its provider's usual protocol.
    pub protocol: Option<Protocol>,
    /// How many tokens prompt and answer may have together.
    pub window: Option<u32>,
    /// How many tokens an answer may have.
    pub output: Option<u32>,
    /// What its tokens cost.
    pub price: Option<Price>,
    /// The form it is asked to answer in.
    pub form: AnswerForm,
    /// Whether it is a small model.
    pub small: bool,
    /// What its output limit is called in a chat completion.
    pub limit_name: LimitName,
}

static BUILT_IN: LazyLock<Catalog> = LazyLock::new(|| {
    let empty = Catalog { providers: Vec::new(), models: Vec::new(), aliases: BTreeMap::new() };
    match empty.with_user_file(include_str!("built_in.toml")) {
        Ok(catalog) => catalog,
        Err(error) => unreachable!("BUG: the built-in catalog: {error}"),
    }
});

impl Catalog {
    /// What perspt knows by itself.
    pub fn built_in() -> Catalog {
        BUILT_IN.clone()
    }

    /// This catalog with a file laid over it: what the file says counts, the rest stays. New providers are looked for
    /// after the known ones.
    pub fn with_user_file(mut self, text: &str) -> Result<Catalog, CatalogError> {
        let file = File::read(text)?;
        let wrong = |name: &str, what: String| Err(CatalogError::at_name(text, name, what));
        for entry in file.provider {
            let name = entry.name.clone();
            if let Some(known) = self.providers.iter_mut().find(|known| known.name == name) {
                known.overlay(entry);
            } else if let Some(provider) = Provider::new(entry) {
                self.providers.push(provider);
            } else {
                return wrong(
                    &name,
                    format!("the provider `{name}` is new; it needs `protocol` and `base_url`"),
                );
            }
        }
        for entry in file.model {
            if let Some(name) = entry.provider.as_ref().filter(|name| self.provider(name).is_none()) {
                return wrong(
                    name,
                    format!("the model `{}` names a provider `{name}` that is not known", entry.name),
                );
            }
            self.models.push(entry);
        }
        for (alias, meaning) in file.alias {
            self.aliases.insert(alias.to_lowercase(), meaning);
        }
        Ok(self)
    }

    /// The providers, in the order in which they are looked for.
    pub fn providers(&self) -> &[Provider] {
        &self.providers
    }

    /// The provider of this name.
    pub fn provider(&self, name: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.name == name)
    }

    /// The aliases with their meanings.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        self.aliases.iter().map(|(alias, meaning)| (alias.as_str(), meaning.as_str()))
    }

    /// Says what a name means: `provider::model`, an alias, or a model that stands in one provider's table alone.
    pub fn resolve(&self, name: &str) -> Resolved<'_> {
        let name = name.trim();
        let meaning = self.aliases.get(&name.to_lowercase()).map_or(name, String::as_str);
        if let Some((provider, model)) = meaning.split_once("::")
            && let Some(provider) = self.provider(provider)
        {
            return Resolved { provider: Some(provider), model: self.own_alias(provider, model) };
        }
        Resolved { provider: self.only_provider(meaning), model: meaning.to_owned() }
    }

    /// What is known of a model.
    pub fn facts(&self, provider: Option<&Provider>, model: &str) -> ModelFacts {
        let mut fitting: Vec<(usize, &ModelEntry)> = self
            .models
            .iter()
            .filter(|entry| entry.provider.is_none() || entry.provider.as_deref() == provider.map(name_of))
            .filter_map(|entry| Some((matching::fits(&entry.name, model, entry.provider.as_deref())?, entry)))
            .collect();
        // The longest name first, and of equal ones the later: a user's file comes last.
        fitting.reverse();
        fitting.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
        let entries = || fitting.iter().map(|(_, entry)| *entry);
        let by_size = || {
            let limit = provider?.small_up_to?;
            matching::billions(model).map(|size| size <= limit)
        };
        ModelFacts {
            protocol: entries().find_map(|entry| entry.protocol),
            window: entries().find_map(|entry| entry.window),
            output: entries().find_map(|entry| entry.output),
            price: entries().find_map(|entry| entry.price),
            form: entries().find_map(|entry| entry.form).unwrap_or_default(),
            small: entries().find_map(|entry| entry.small).or_else(by_size).unwrap_or(false),
            limit_name: entries().find_map(|entry| entry.limit_name).unwrap_or_default(),
        }
    }

    /// The first provider of which the environment speaks: a key, or an address. The environment is passed in.
    pub fn detect(&self, variable: impl Fn(&str) -> Option<String>) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.is_in(&variable))
    }

    /// A model at an endpoint, asked the way this catalog says.
    pub fn remote(&self, provider: Option<&Provider>, endpoint: Endpoint) -> Result<Remote, ModelError> {
        let limit_name = self.facts(provider, &endpoint.model).limit_name;
        let stream_usage = provider.map(|provider| provider.stream_usage).unwrap_or_default();
        Ok(Remote::new(endpoint)?.with_limit_name(limit_name).with_stream_usage(stream_usage))
    }

    /// `anthropic::sonnet` means what `sonnet` means.
    fn own_alias(&self, provider: &Provider, model: &str) -> String {
        let meaning = self.aliases.get(&model.to_lowercase()).and_then(|meaning| meaning.split_once("::"));
        match meaning {
            Some((owner, meant)) if owner == provider.name => meant.to_owned(),
            Some(_) | None => model.to_owned(),
        }
    }

    /// A name that stands in a table as it is counts before families of names.
    fn only_provider(&self, model: &str) -> Option<&Provider> {
        let exact = self.owners(model, Breadth::One);
        let owners = if exact.is_empty() { self.owners(model, Breadth::Family) } else { exact };
        match owners[..] {
            [owner] => self.provider(owner),
            _ => None,
        }
    }

    fn owners(&self, model: &str, breadth: Breadth) -> Vec<&str> {
        let entries = self.models.iter().filter(|entry| Breadth::of(&entry.name) == breadth);
        let mut owners: Vec<&str> = entries
            .filter_map(|entry| entry.provider.as_deref().map(|owner| (owner, &entry.name)))
            .filter(|(owner, name)| matching::fits(name, model, Some(owner)).is_some())
            .map(|(owner, _)| owner)
            .collect();
        owners.sort_unstable();
        owners.dedup();
        owners
    }
}

/// The name of the output limit that a model's own name suggests, wherever it is served.
pub(crate) fn usual_limit_name(model: &str) -> LimitName {
    BUILT_IN.facts(None, model).limit_name
}

fn name_of(provider: &Provider) -> &str {
    &provider.name
}
