//! Money and models in words.

use perspt_core::budget::Spend;
use perspt_core::route::{Route, Tier, TierRoute};

use crate::out::value;

/// Millionths of a US dollar with four digits, rounded up: `$0.0123`.
pub fn dollars(millionths: u64) -> String {
    let parts = millionths.div_ceil(100);
    format!("${}.{:04}", parts / 10_000, parts % 10_000)
}

/// What was spent. Where prices are not known, that is said and not guessed.
pub fn cost(spend: &Spend) -> String {
    match (spend.unpriced, spend.cost) {
        (0, cost) if spend.bounded > 0 => format!("at-most-{}", dollars(cost)),
        (0, cost) => dollars(cost),
        (_, 0) => "unknown".to_owned(),
        (calls, cost) => format!("{}+{calls}-unpriced-calls", dollars(cost)),
    }
}

/// The fields of a MODELS line: each model with the tiers that ask it.
pub fn models_fields(routes: &[TierRoute]) -> String {
    let mut groups: Vec<(&Route, Vec<&str>)> = Vec::new();
    for TierRoute { tier, main, .. } in routes {
        match groups.iter_mut().find(|(route, _)| *route == main) {
            Some((_, tiers)) => tiers.push(tier.as_str()),
            None => groups.push((main, vec![tier.as_str()])),
        }
    }
    let all = groups.len() == 1 && routes.len() == Tier::ALL.len();
    let mut fields = Vec::new();
    for (route, tiers) in groups {
        let tiers = if all { "all".to_owned() } else { tiers.join("+") };
        fields.push(format!("{tiers}={}", value(&route.model)));
        fields.extend(route.window.map(|window| format!("window={window}")));
        fields.push(match route.price {
            Some(price) => {
                format!("price={}/{}/{}", dollars(price.input), dollars(price.cached), dollars(price.output))
            }
            None => "price=unknown".to_owned(),
        });
    }
    for TierRoute { tier, fallback, .. } in routes {
        fields.extend(
            fallback.as_ref().map(|route| format!("{}_fallback={}", tier.as_str(), value(&route.model))),
        );
    }
    fields.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_rounded_up_and_an_unknown_one_is_never_a_number() {
        assert_eq!(dollars(0), "$0.0000");
        assert_eq!(dollars(1), "$0.0001");
        assert_eq!(dollars(1_234_567), "$1.2346");
        assert_eq!(cost(&Spend { steps: 2, tokens: 9, cost: 0, unpriced: 2, bounded: 0 }), "unknown");
        assert_eq!(
            cost(&Spend { steps: 2, tokens: 9, cost: 500, unpriced: 1, bounded: 0 }),
            "$0.0005+1-unpriced-calls"
        );
        assert_eq!(cost(&Spend::default()), "$0.0000");
        let lost = Spend { steps: 1, cost: 500, bounded: 1, ..Spend::default() };
        assert_eq!(cost(&lost), "at-most-$0.0005", "nobody said what a lost call used");
    }

    #[test]
    fn one_model_for_all_tiers_is_named_once() {
        let route = |tier, model: &str| TierRoute { tier, main: Route::plain(model, None), fallback: None };
        let same: Vec<TierRoute> = Tier::ALL.into_iter().map(|tier| route(tier, "a::b")).collect();
        assert_eq!(models_fields(&same), "all=a::b price=unknown");
        let mut other = same;
        other[0] = route(Tier::Architect, "c::d");
        assert_eq!(
            models_fields(&other),
            "architect=c::d price=unknown actuator+verifier+speculator=a::b price=unknown"
        );
    }
}
