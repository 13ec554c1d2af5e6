//! What is said of models: routes, prices, requests for context.

use perspt_core::budget::Spend;
use perspt_core::context::ContextRequest;
use perspt_core::effect::AskRoute;
use perspt_core::event::Recovered;
use perspt_core::route::{AnswerForm, Price, Route, Tier, TierRoute};

use super::Babble;

impl Babble<'_> {
    pub(super) fn spend(&mut self) -> Spend {
        let [steps, tokens, cost, unpriced, bounded] = [(); 5].map(|()| self.number());
        Spend { steps, tokens, cost, unpriced, bounded }
    }

    pub(super) fn route(&mut self) -> Route {
        let model = self.0.pick(&["m", "other", "small"]);
        let price = Price { input: self.number(), cached: self.number(), output: self.number() };
        Route {
            base_url: self.maybe(Self::text),
            window: self.maybe(Self::small),
            output: self.maybe(Self::small),
            price: self.maybe(|_| price),
            form: self.0.pick(&[AnswerForm::Blocks, AnswerForm::Json]),
            small: self.0.chance(200),
            local: self.0.chance(200),
            ..Route::plain(model, None)
        }
    }

    pub(super) fn routes(&mut self) -> Vec<TierRoute> {
        let one = |by: &mut Self| TierRoute {
            tier: by.0.pick(&Tier::ALL),
            main: by.route(),
            fallback: by.maybe(Self::route),
        };
        (0..self.0.below(4)).map(|_| one(self)).collect()
    }

    pub(super) fn ask_route(&mut self) -> AskRoute {
        let Route { model, base_url, .. } = self.route();
        AskRoute { tier: self.0.pick(&Tier::ALL), model, base_url, fallback: self.0.chance(300) }
    }

    pub(super) fn request(&mut self) -> ContextRequest {
        let (text, lines) = (self.text(), self.maybe(|by| (by.small(), by.small())));
        let all = [
            ContextRequest::Read { path: text.clone(), lines },
            ContextRequest::Search { query: text.clone() },
            ContextRequest::Symbol { symbol: text },
        ];
        self.0.pick(&all)
    }

    pub(super) fn recovered(&mut self) -> Recovered {
        Recovered { form: self.text(), mended: (0..self.0.below(2)).map(|_| self.text()).collect() }
    }
}
