//! What a talk has used, by model.

use std::collections::BTreeMap;

use perspt_core::route::Price;
use perspt_model::Usage;

/// What was used so far, by the model's name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spending {
    by_model: BTreeMap<String, Spent>,
}

/// What one model was used for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Calls made.
    pub calls: u64,
    /// Calls that may have to be paid for and of which the provider told no tokens.
    pub uncounted: u64,
    /// Tokens, as far as the provider told them.
    pub usage: Usage,
    /// Millionths of a US dollar for the calls whose price is known.
    pub cost: u64,
    /// Calls with tokens and without a known price.
    pub unpriced: u64,
}

/// How a call counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    /// The provider told its tokens.
    Tokens(Usage),
    /// It may be paid for; nobody told how much.
    Unknown,
    /// It came to nothing before anything was written.
    Free,
}

impl Spending {
    pub(crate) fn add(&mut self, model: &str, price: Option<Price>, counted: Counted) {
        let spent = self.by_model.entry(model.to_owned()).or_default();
        spent.calls += 1;
        match counted {
            Counted::Free => {}
            Counted::Unknown => spent.uncounted += 1,
            Counted::Tokens(usage) => {
                spent.usage.input = spent.usage.input.saturating_add(usage.input);
                spent.usage.output = spent.usage.output.saturating_add(usage.output);
                spent.usage.cached = spent.usage.cached.saturating_add(usage.cached);
                match price {
                    Some(price) => {
                        let cost = price.cost(usage.input, usage.cached, usage.output);
                        spent.cost = spent.cost.saturating_add(cost);
                    }
                    None => spent.unpriced += 1,
                }
            }
        }
    }

    /// What each model was used for.
    pub fn models(&self) -> impl Iterator<Item = (&str, &Spent)> {
        self.by_model.iter().map(|(model, spent)| (model.as_str(), spent))
    }

    /// One line for each model.
    pub fn lines(&self) -> Vec<String> {
        if self.by_model.is_empty() {
            return vec!["nothing was asked yet".to_owned()];
        }
        self.models().map(|(model, spent)| format!("{model}: {}", spent.line())).collect()
    }
}

impl Spent {
    fn line(&self) -> String {
        let Usage { input, output, cached } = self.usage;
        let calls = if self.calls == 1 { "call" } else { "calls" };
        let uncounted = match self.uncounted {
            0 => String::new(),
            count => format!(" ({count} without a count of tokens)"),
        };
        let (calls_made, cost) = (self.calls, self.cost_text());
        format!(
            "{calls_made} {calls}{uncounted}, tokens in {input}, of these cached {cached}, out {output}, cost {cost}"
        )
    }

    /// Money where it is known. It is a lower bound where some calls were not counted.
    fn cost_text(&self) -> String {
        if self.unpriced > 0 || (self.cost == 0 && self.uncounted > 0) {
            return "unknown".to_owned();
        }
        let least = if self.uncounted > 0 { "at least " } else { "" };
        format!("{least}${}.{:06}", self.cost / 1_000_000, self.cost % 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: Price = Price { input: 3_000_000, cached: 300_000, output: 15_000_000 };

    fn tokens(input: u64, cached: u64, output: u64) -> Counted {
        Counted::Tokens(Usage { input, output, cached })
    }

    #[test]
    fn tokens_and_money_add_up_by_model() {
        let mut spending = Spending::default();
        spending.add("a", Some(PRICE), tokens(1000, 500, 100));
        spending.add("a", Some(PRICE), tokens(1000, 0, 0));
        spending.add("b", None, tokens(7, 0, 5));
        assert_eq!(
            spending.lines(),
            [
                "a: 2 calls, tokens in 2000, of these cached 500, out 100, cost $0.006150",
                "b: 1 call, tokens in 7, of these cached 0, out 5, cost unknown",
            ]
        );
    }

    #[test]
    fn a_call_that_was_not_counted_makes_the_sum_a_lower_bound() {
        let mut spending = Spending::default();
        spending.add("a", Some(PRICE), tokens(1000, 0, 0));
        spending.add("a", Some(PRICE), Counted::Unknown);
        assert_eq!(
            spending.lines(),
            [
                "a: 2 calls (1 without a count of tokens), tokens in 1000, of these cached 0, out 0, cost at least $0.003000"
            ]
        );
        let mut spending = Spending::default();
        spending.add("a", None, Counted::Unknown);
        assert!(spending.lines()[0].ends_with("cost unknown"), "{spending:?}");
    }

    #[test]
    fn a_call_that_came_to_nothing_costs_nothing() {
        let mut spending = Spending::default();
        assert_eq!(spending.lines(), ["nothing was asked yet"]);
        spending.add("a", None, Counted::Free);
        assert_eq!(spending.lines(), ["a: 1 call, tokens in 0, of these cached 0, out 0, cost $0.000000"]);
    }
}
