//! Making the model that a session names: the provider's, a recording, or the demo's.

use std::path::Path;
use std::sync::Arc;

use perspt_agent::actor::ModelMaker;
use perspt_core::event::{SessionStarted, Trouble};
use perspt_model::{Key, Model, OpenAi, OpenAiConfig, Recorded, shown_url};

use crate::config::{self, Config};
use crate::demo;
use crate::fail::Failure;

/// Makes the model that a session names. The log holds the address without credentials and query. They come from the
/// configuration, like the key, where it means the same endpoint.
pub fn maker(config: &Config) -> Result<ModelMaker, Failure> {
    let configured = config.base_url()?.map(str::to_owned);
    Ok(Box::new(move |meta: &SessionStarted| {
        let logged = meta.base_url.as_deref();
        let same = configured.as_deref().filter(|whole| Some(shown_url(whole).as_str()) == logged);
        make(&meta.model, same.or(logged))
    }))
}

/// The model of this name at this endpoint. Nothing is sent yet.
pub fn make(name: &str, base_url: Option<&str>) -> Result<Arc<dyn Model>, Trouble> {
    let failed =
        |what: &str, why: String, todo: &str| Trouble { what: what.to_owned(), why, todo: todo.to_owned() };
    if let Some(language) = name.strip_prefix("demo:") {
        return Ok(Arc::new(demo::recording(language)));
    }
    if let Some(folder) = name.strip_prefix("replay:") {
        return match Recorded::from_dir(Path::new(folder)) {
            Ok(recorded) => Ok(Arc::new(recorded)),
            Err(error) => Err(failed(
                "the recording cannot be used",
                error.to_string(),
                "name a folder of recorded answers",
            )),
        };
    }
    let key = config::provider_key();
    if key.is_none() && base_url.is_none() {
        return Err(failed(
            "no model can be asked",
            "neither OPENAI_API_KEY nor OPENAI_BASE_URL is set".to_owned(),
            "set OPENAI_API_KEY, or OPENAI_BASE_URL for an endpoint without a key",
        ));
    }
    let openai = OpenAi::new(OpenAiConfig {
        base_url: base_url.unwrap_or(config::DEFAULT_BASE_URL).to_owned(),
        key: key.as_deref().and_then(Key::new),
        model: name.to_owned(),
    });
    match openai {
        Ok(model) => Ok(Arc::new(model)),
        Err(error) => Err(failed(
            "the model's endpoint cannot be used",
            error.to_string(),
            "check the base URL and the key",
        )),
    }
}
