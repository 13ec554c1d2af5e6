//! Models: from the names that a user writes to routes, and from a route to something that can be asked.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use perspt_agent::actor::ModelMaker;
use perspt_core::event::{SessionStarted, Trouble};
use perspt_core::route::{MODELS_MAX, Price, Route, Tier, TierRoute};
use perspt_model::{
    Catalog, Choice, Endpoint, Found, Limited, Model, Protocol, Provider, Recorded, is_loopback, look,
    shown_url,
};

use tokio::sync::Semaphore;

use crate::config::{Config, env_text, fallback_key, tier_key};
use crate::demo;
use crate::fail::Failure;

/// The user's own models and prices, in the data directory.
const FILE: &str = "models.toml";
/// The provider whose protocol every compatible endpoint speaks.
const COMPATIBLE: &str = "openai";
/// The window that a server is asked for where it lets the caller choose and nobody says another.
const CHOSEN_WINDOW: u32 = 8192;
/// The largest that it is asked for: memory grows with it.
const LARGEST_CHOSEN_WINDOW: u32 = 16_384;
/// A model with a window up to this size gets short prompts and no plan to make.
const SMALL_WINDOW: u32 = 12_000;
/// How long a server on this machine may take to say which models it has.
const LOOK: Duration = Duration::from_secs(2);

/// How many calls one provider gets at once.
const CALLS_AT_ONCE: usize = 4;

const FREE: Price = Price { input: 0, cached: 0, output: 0 };

/// What names mean here: the catalog, and the user's configuration.
pub struct Models<'a> {
    config: &'a Config,
    catalog: Catalog,
}

/// A model with where it is asked.
struct Place<'a> {
    provider: &'a Provider,
    model: String,
    base_url: String,
}

impl<'a> Models<'a> {
    /// The built-in catalog with what the user's file adds.
    pub fn load(config: &'a Config) -> Result<Models<'a>, Failure> {
        let path = config.home.join(FILE);
        let bad = |why: String| {
            let why = format!("{}: {why}", path.display());
            Failure::usage("the file of models cannot be used", why, "fix or remove it")
        };
        let catalog = match std::fs::read_to_string(&path) {
            Ok(text) => Catalog::built_in().with_user_file(&text).map_err(|error| bad(error.to_string()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Catalog::built_in(),
            Err(error) => return Err(bad(error.to_string())),
        };
        Ok(Models { config, catalog })
    }

    /// The catalog.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Every tier's route. Servers on this machine are asked for their window.
    pub fn routes(&self) -> Result<Vec<TierRoute>, Failure> {
        let common = self.config.model("model")?;
        let mut known: Vec<(String, Route)> = Vec::new();
        let mut route = |name: &str| match known.iter().find(|(known, _)| known == name) {
            Some((_, route)) => Ok(route.clone()),
            None => {
                let route = self.route(name)?;
                known.push((name.to_owned(), route.clone()));
                Ok::<_, Failure>(route)
            }
        };
        let mut routes: Vec<TierRoute> = Vec::new();
        for tier in Tier::ALL {
            let named = self.config.model(tier_key(tier).0)?.or(common);
            let main = match named {
                Some(name) => route(name)?,
                None => route(&self.default_name(tier)?)?,
            };
            let fallback = self.config.model(fallback_key(tier).0)?.map(&mut route).transpose()?;
            routes.push(TierRoute { tier, main, fallback });
        }
        // The first event names the actuator's model once more.
        let again = routes.iter().filter(|route| route.tier == Tier::Actuator).map(|route| &route.main);
        let named =
            again.map(|one| one.model.len() + one.base_url.as_ref().map_or(0, String::len)).sum::<usize>();
        let bytes = named + serde_json::to_vec(&routes).map_or(0, |bytes| bytes.len());
        if bytes > MODELS_MAX {
            return Err(Failure::usage(
                "the names and addresses of the models are too long",
                format!("together they have {bytes} bytes, and {MODELS_MAX} is the limit"),
                "use shorter names, or one model for several tiers",
            ));
        }
        self.check_prices(&routes)?;
        Ok(routes)
    }

    /// The route of one tier.
    pub fn route_of(&self, tier: Tier) -> Result<Route, Failure> {
        let named = self.config.model(tier_key(tier).0)?.or(self.config.model("model")?);
        match named {
            Some(name) => self.route(name),
            None => self.route(&self.default_name(tier)?),
        }
    }

    /// The routes of a session that goes on, where the user now names another address for its models. Without one they
    /// stay where they were: what was meant for one endpoint must not go to another.
    pub fn moved(&self, routes: &[TierRoute]) -> Result<Option<Vec<TierRoute>>, Failure> {
        let mut moved = routes.to_vec();
        for route in moved.iter_mut().flat_map(|one| [Some(&mut one.main), one.fallback.as_mut()]).flatten() {
            if self.named_address(&route.model)?.is_some_and(|named| route.base_url != Some(named)) {
                *route = self.route(&route.model.clone())?;
            }
        }
        let address = |routes: &[TierRoute]| -> Vec<Option<String>> {
            let all = routes.iter().flat_map(|one| [Some(&one.main), one.fallback.as_ref()]);
            all.flatten().map(|route| route.base_url.clone()).collect()
        };
        Ok((address(&moved) != address(routes)).then_some(moved))
    }

    /// The address that a flag, a setting or a variable names for a route's model, as it is logged.
    fn named_address(&self, model: &str) -> Result<Option<String>, Failure> {
        let provider = model.split_once("::").and_then(|(name, _)| self.catalog.provider(name));
        let Some(provider) = provider else { return Ok(None) };
        let usual = provider.base_url_in(env_text);
        let redirected = (usual != provider.base_url).then_some(usual);
        Ok(self.config.base_url()?.map(str::to_owned).or(redirected).map(|named| shown_url(&named)))
    }

    /// A limit on money means nothing where a price is not known.
    pub fn check_prices(&self, routes: &[TierRoute]) -> Result<(), Failure> {
        if self.config.max_cost()?.is_none() {
            return Ok(());
        }
        // Nothing asks the speculator yet.
        let asked = routes.iter().filter(|route| route.tier != Tier::Speculator);
        let all = asked.flat_map(|route| [Some(&route.main), route.fallback.as_ref()]);
        let Some(unknown) = all.flatten().find(|route| route.price.is_none()) else { return Ok(()) };
        Err(Failure::usage(
            "`--max-cost` cannot be kept",
            format!("the price of `{}` is not known", unknown.model),
            format!(
                "put its price into {} (see docs/models.md), or limit the session by `--max-tokens`",
                self.config.home.join(FILE).display()
            ),
        ))
    }

    /// The model of a tier at the first provider that the environment speaks of.
    fn default_name(&self, tier: Tier) -> Result<String, Failure> {
        let endpoint = self.config.base_url()?;
        let compatible = self.catalog.provider(COMPATIBLE).filter(|_| endpoint.is_some());
        let detected = compatible.or_else(|| self.catalog.detect(env_text));
        let name = detected
            .and_then(|provider| Some(format!("{}::{}", provider.name, provider.default_model(tier)?)));
        match (name, detected) {
            (Some(name), _) => Ok(name),
            (None, Some(provider)) => Err(Failure::usage(
                "no model is named",
                format!("`{}` has no usual model", provider.name),
                format!(
                    "name one, as `--model {}::NAME`; `perspt doctor` shows those that are there",
                    provider.name
                ),
            )),
            (None, None) => Err(self.nothing_to_ask()),
        }
    }

    fn nothing_to_ask(&self) -> Failure {
        let keys = self.catalog.providers().iter().filter_map(|provider| provider.key_variables.first());
        let keys: Vec<&str> = keys.map(String::as_str).collect();
        Failure::usage(
            "no model can be asked",
            "no provider's key is set and no endpoint is named",
            format!(
                "set one of {}; or name a model on this machine, as `--model ollama::NAME`; `perspt doctor` shows the \
                 servers that run here",
                keys.join(", ")
            ),
        )
    }

    /// The route of a name.
    pub fn route(&self, name: &str) -> Result<Route, Failure> {
        if name.starts_with("demo:") || name.starts_with("replay:") {
            return Ok(Route { price: Some(FREE), ..Route::plain(name, None) });
        }
        let Place { provider, model, base_url } = self.place(name)?;
        let facts = self.catalog.facts(Some(provider), &model);
        let protocol = facts.protocol.unwrap_or(provider.protocol);
        let local = is_loopback(&base_url);
        let named = self.config.context_window()?;
        let is_known = named.or(facts.window).is_some();
        let found = if local && !is_known { window_there(&model, &base_url) } else { None };
        let window = match (named, protocol) {
            (Some(window), _) => Some(window),
            // This server cuts a prompt silently to the window it was asked for, so one is always asked for.
            (None, Protocol::Ollama) => {
                Some(found.or(facts.window).unwrap_or(CHOSEN_WINDOW).min(LARGEST_CHOSEN_WINDOW))
            }
            (None, _) => found.or(facts.window),
        };
        Ok(Route {
            model: format!("{}::{model}", provider.name),
            base_url: Some(shown_url(&base_url)),
            window,
            output: facts.output,
            price: facts.price.or((local && provider.is_local()).then_some(FREE)),
            form: self.config.answer_form()?.unwrap_or(facts.form),
            small: facts.small || window.is_some_and(|window| window <= SMALL_WINDOW),
            local,
        })
    }

    /// Where a name is asked: at the endpoint that the user names, else at its provider's.
    fn place(&self, name: &str) -> Result<Place<'_>, Failure> {
        let endpoint = self.config.base_url()?;
        let resolved = self.catalog.resolve(name);
        // An alias means one provider's model, as a whole name does.
        let outright = name.contains("::") || (resolved.provider.is_some() && resolved.model != name);
        if let (true, None) = (outright, resolved.provider) {
            let known: Vec<&str> = self.catalog.providers().iter().map(|one| one.name.as_str()).collect();
            return Err(Failure::usage(
                "the provider is not known",
                format!("`{name}` begins with none of {}", known.join(", ")),
                "name one of them, or add it to models.toml in perspt's data directory",
            ));
        }
        let compatible = self.catalog.provider(COMPATIBLE);
        let redirected = compatible.filter(|one| one.base_url_in(env_text) != one.base_url);
        let provider = match (resolved.provider, endpoint) {
            (Some(provider), _) if outright => Some(provider),
            // An endpoint that the user names speaks the common protocol unless the name says another.
            (_, Some(_)) => compatible,
            (Some(provider), None) if provider.key(env_text).is_some() => Some(provider),
            (found, None) => redirected
                .or(found.filter(|provider| provider.key_variables.is_empty()))
                .or_else(|| self.catalog.detect(env_text))
                .or(found),
        };
        let provider = provider.ok_or_else(|| self.nothing_to_ask())?;
        let base_url = endpoint.map_or_else(|| provider.base_url_in(env_text), str::to_owned);
        Ok(Place { provider, model: resolved.model, base_url })
    }

    /// Makes the models of routes, for a session that outlives this.
    pub fn maker(config: &Config) -> Result<ModelMaker, Failure> {
        let maker = Maker::new(config)?;
        Ok(Box::new(move |_: &SessionStarted, route: &Route| maker.make(route)))
    }
}

/// Makes models. The log holds an address without credentials and query. They come from the configuration and the
/// environment, like the key, where those mean the same endpoint.
pub struct Maker {
    catalog: Catalog,
    endpoint: Option<String>,
    /// How many calls each provider may still get at once.
    permits: Mutex<BTreeMap<String, Arc<Semaphore>>>,
}

impl Maker {
    /// With what the configuration says.
    pub fn new(config: &Config) -> Result<Maker, Failure> {
        let catalog = Models::load(config)?.catalog;
        let endpoint = config.base_url()?.map(str::to_owned);
        Ok(Maker { catalog, endpoint, permits: Mutex::default() })
    }

    /// The model of a route. Nothing is sent yet.
    pub fn make(&self, route: &Route) -> Result<Arc<dyn Model>, Trouble> {
        let failed = |what: &str, why: String, todo: &str| Trouble {
            what: what.to_owned(),
            why,
            todo: todo.to_owned(),
        };
        if let Some(language) = route.model.strip_prefix("demo:") {
            return Ok(Arc::new(demo::recording(language)));
        }
        if let Some(folder) = route.model.strip_prefix("replay:") {
            let recorded = Recorded::from_dir(Path::new(folder)).map_err(|error| {
                failed("the recording cannot be used", error.to_string(), "name a folder of recorded answers")
            });
            return Ok(Arc::new(recorded?));
        }
        let (name, model) = route.model.split_once("::").unwrap_or((COMPATIBLE, &route.model));
        let Some(provider) = self.catalog.provider(name) else {
            let why = format!("`{name}` is not a provider");
            return Err(failed("no model can be asked", why, "name another with `--model`"));
        };
        let usual = provider.base_url_in(env_text);
        let whole = [self.endpoint.as_deref(), Some(usual.as_str())].into_iter().flatten();
        let logged = route.base_url.as_deref();
        let same = whole.clone().find(|whole| logged.is_none_or(|logged| shown_url(whole) == logged));
        let base_url = same.or(logged).unwrap_or(&usual).to_owned();
        let key = provider.key(env_text);
        if key.is_none() && !provider.key_variables.is_empty() && base_url == provider.base_url {
            let why = format!("{} is not set", provider.key_variables.join(" or "));
            return Err(failed("no model can be asked", why, "set it, or name another model with `--model`"));
        }
        let protocol = self.catalog.facts(Some(provider), model).protocol.unwrap_or(provider.protocol);
        let endpoint = Endpoint { protocol, base_url, key, model: model.to_owned(), num_ctx: route.window };
        match self.catalog.remote(Some(provider), endpoint) {
            Ok(model) => {
                let choice = if route.local && route.small { Choice::Likeliest } else { Choice::Usual };
                Ok(Arc::new(Limited::new(Arc::new(model.with_choice(choice)), self.permits_of(name))))
            }
            Err(error) => Err(failed(
                "the model's endpoint cannot be used",
                error.to_string(),
                "check the base URL and the key",
            )),
        }
    }
}

impl Maker {
    fn permits_of(&self, provider: &str) -> Arc<Semaphore> {
        let mut permits = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Semaphore::new(CALLS_AT_ONCE));
        permits.entry(provider.to_owned()).or_insert_with(new).clone()
    }
}

/// The window of a model, by the word of the server on this machine that holds it.
fn window_there(model: &str, base_url: &str) -> Option<u32> {
    let found = look_at(base_url)?;
    let named = found.models.iter().find(|one| one.name == model);
    // A server that holds one model answers to any name.
    let only = found.models.first().filter(|_| found.models.len() == 1);
    named.or(only).and_then(|one| one.window)
}

/// What the server at an address on this machine holds, if one answers soon. On a thread of its own, so that it can be
/// called from anywhere.
pub fn look_at(base_url: &str) -> Option<Found> {
    let asked = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        runtime.block_on(look(base_url, LOOK)).ok()
    };
    std::thread::scope(|scope| scope.spawn(asked).join().ok().flatten())
}
