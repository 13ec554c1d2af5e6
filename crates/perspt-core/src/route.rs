//! Which model is asked for what: tiers, and the routes by which each is reached.

use serde::{Deserialize, Serialize};

/// The most bytes that a session's model, endpoint and routes have in the log, together: they stand in one event with
/// the task.
pub const MODELS_MAX: usize = 2800;

/// What a model is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Plans.
    Architect,
    /// Writes files.
    Actuator,
    /// Reads what the tools found.
    Verifier,
    /// Looks ahead and summarises.
    Speculator,
}

impl Tier {
    /// Every tier.
    pub const ALL: [Tier; 4] = [Tier::Architect, Tier::Actuator, Tier::Verifier, Tier::Speculator];

    /// The word in flags, keys and lines.
    pub fn as_str(self) -> &'static str {
        match self {
            Tier::Architect => "architect",
            Tier::Actuator => "actuator",
            Tier::Verifier => "verifier",
            Tier::Speculator => "speculator",
        }
    }
}

/// What tokens cost, in millionths of a US dollar for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Price {
    /// Tokens read.
    pub input: u64,
    /// Tokens read from the provider's cache.
    pub cached: u64,
    /// Tokens written.
    pub output: u64,
}

impl Price {
    /// What a call costs in millionths of a US dollar, rounded up. `input` includes the cached tokens.
    pub fn cost(&self, input: u64, cached: u64, output: u64) -> u64 {
        let cached = cached.min(input);
        let part = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let sum = part(input - cached, self.input) + part(cached, self.cached) + part(output, self.output);
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// The form in which a model is asked to write its changes. Both are always understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerForm {
    /// A heading for each file and its text in a fence.
    #[default]
    Blocks,
    /// One JSON object.
    Json,
}

/// A model, where it is reached, and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Route {
    /// The model, as `provider::model` or as the user wrote it.
    pub model: String,
    /// The endpoint, without credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// How many tokens prompt and answer may have together, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// How many tokens an answer may have, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u32>,
    /// What its tokens cost, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// The form it is asked to answer in.
    #[serde(default)]
    pub form: AnswerForm,
    /// Whether it is a small model: it gets short prompts and no plan to make.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub small: bool,
    /// Whether it runs on this machine, where reading a prompt takes time and costs nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub local: bool,
}

impl Route {
    /// A model of which nothing is known but its name and endpoint.
    pub fn plain(model: &str, base_url: Option<&str>) -> Route {
        Route {
            model: model.to_owned(),
            base_url: base_url.map(str::to_owned),
            window: None,
            output: None,
            price: None,
            form: AnswerForm::default(),
            small: false,
            local: false,
        }
    }
}

/// A tier's route, and the one that takes over where it fails.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TierRoute {
    /// The tier.
    pub tier: Tier,
    /// The route.
    pub main: Route,
    /// The one that takes over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Route>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_have_their_own_price_and_a_part_of_a_millionth_is_a_whole_one() {
        // 3 dollars, 30 cents and 15 dollars for a million tokens.
        let price = Price { input: 3_000_000, cached: 300_000, output: 15_000_000 };
        assert_eq!(price.cost(1_000_000, 0, 0), 3_000_000);
        assert_eq!(price.cost(1_000_000, 1_000_000, 0), 300_000);
        assert_eq!(price.cost(1000, 500, 100), 1500 + 150 + 1500);
        assert_eq!(price.cost(1, 1, 0), 1);
        assert_eq!(price.cost(1, 9, 0), price.cost(1, 1, 0), "no more can be cached than was read");
        assert_eq!(price.cost(u64::MAX, 0, u64::MAX), u64::MAX);
    }
}
