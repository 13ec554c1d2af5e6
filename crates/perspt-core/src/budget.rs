//! Budgets: what a session may use, has used, and has reserved for effects in flight.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::route::Tier;

/// The most a session may use. Each is checked before a model call, with the call's own upper estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetLimits {
    /// Model calls, each HTTP request counted.
    pub steps: u64,
    /// Tokens in and out together.
    pub tokens: u64,
    /// Active milliseconds: the sum of the spans in which a process worked on the session.
    pub time_ms: u64,
    /// Millionths of a US dollar; no limit where the user set none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
}

impl Default for BudgetLimits {
    fn default() -> BudgetLimits {
        BudgetLimits { steps: 60, tokens: 2_000_000, time_ms: 2 * 60 * 60 * 1000, cost: None }
    }
}

/// What one model call may cost at most, or did cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spend {
    /// Model calls.
    pub steps: u64,
    /// Tokens in and out together.
    pub tokens: u64,
    /// Millionths of a US dollar, as far as prices are known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost: u64,
    /// Calls whose price is not known; their cost is not in `cost`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced: u64,
    /// Calls of which nobody said what they used: tokens and cost are what they used at most.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bounded: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Spend {
    /// One call with this many tokens, and what it costs where that is known.
    pub fn call(tokens: u64, cost: Option<u64>) -> Spend {
        Spend { steps: 1, tokens, cost: cost.unwrap_or(0), unpriced: u64::from(cost.is_none()), bounded: 0 }
    }

    /// The same of a call that may yet use less.
    pub fn at_most(self) -> Spend {
        Spend { bounded: self.steps, ..self }
    }

    /// Every part added.
    pub fn plus(self, other: Spend) -> Spend {
        Spend {
            steps: self.steps.saturating_add(other.steps),
            tokens: self.tokens.saturating_add(other.tokens),
            cost: self.cost.saturating_add(other.cost),
            unpriced: self.unpriced.saturating_add(other.unpriced),
            bounded: self.bounded.saturating_add(other.bounded),
        }
    }

    /// Every part subtracted, at least zero.
    pub fn minus(self, other: Spend) -> Spend {
        Spend {
            steps: self.steps.saturating_sub(other.steps),
            tokens: self.tokens.saturating_sub(other.tokens),
            cost: self.cost.saturating_sub(other.cost),
            unpriced: self.unpriced.saturating_sub(other.unpriced),
            bounded: self.bounded.saturating_sub(other.bounded),
        }
    }
}

/// Used and reserved.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Account {
    /// Settled by outcomes.
    pub used: Spend,
    /// Held for effects in flight.
    pub reserved: Spend,
    /// Active milliseconds of earlier spans.
    pub active_ms: u64,
    /// What was used, by tier.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tiers: BTreeMap<Tier, Spend>,
}

/// Which limit a call would break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetKind {
    /// Model calls.
    Steps,
    /// Tokens.
    Tokens,
    /// Active time.
    Time,
    /// Money.
    Cost,
}

impl BudgetKind {
    /// The flag that sets it.
    pub fn flag(self) -> &'static str {
        match self {
            BudgetKind::Steps => "--max-steps",
            BudgetKind::Tokens => "--max-tokens",
            BudgetKind::Time => "--max-time",
            BudgetKind::Cost => "--max-cost",
        }
    }
}

impl Account {
    /// Which limit stands in the way of a call that may cost `next`, with `active_ms` used so far.
    pub fn refusal(&self, limits: &BudgetLimits, next: Spend, active_ms: u64) -> Option<BudgetKind> {
        let after = self.used.plus(self.reserved).plus(next);
        if after.steps > limits.steps {
            Some(BudgetKind::Steps)
        } else if after.tokens > limits.tokens {
            Some(BudgetKind::Tokens)
        } else if limits.cost.is_some_and(|most| after.cost > most) {
            Some(BudgetKind::Cost)
        } else if active_ms >= limits.time_ms {
            Some(BudgetKind::Time)
        } else {
            None
        }
    }
}
