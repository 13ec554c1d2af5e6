//! What a server on this machine holds. It is asked, never guessed.

use std::time::Duration;

use reqwest::{Client, Method, Url};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::error::ModelError;
use crate::http::transport;
use crate::http::watch::later;
use crate::key::Censor;

/// How much of an answer is read.
const MAX_BODY: usize = 4 * 1024 * 1024;

/// How many models Ollama is asked about, one by one.
const MAX_SHOWN: usize = 32;

/// What was found at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The kind of server, for people.
    pub server: &'static str,
    /// Its models, in its own order.
    pub models: Vec<FoundModel>,
}

/// A model that a server has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundModel {
    /// The name to ask for.
    pub name: String,
    /// How many tokens prompt and answer may have together, where the server tells. Ollama tells what the model can
    /// do; what it does is a part of each request.
    pub window: Option<u32>,
}

/// Asks what is at a base URL, for `within` at most. Meant for servers on this machine: no key is sent, and a stranger
/// would be asked up to three questions. What the questions about single models do not bring in time stays unknown.
pub async fn look(base_url: &str, within: Duration) -> Result<Found, ModelError> {
    let base = root(transport::base(base_url)?);
    let questions =
        Questions { client: transport::client(&base)?, base, due: later(Instant::now(), within), within };
    if let Some(window) = questions.get(&["props"]).await?.as_ref().and_then(llama_window) {
        let list = questions.get(&["v1", "models"]).await?.unwrap_or_default();
        let models = names(&list).map(|name| FoundModel { name, window: Some(window) }).collect();
        return Ok(Found { server: "llama.cpp", models });
    }
    if let Some(tags) = questions.get(&["api", "tags"]).await?.filter(|tags| tags["models"].is_array()) {
        return Ok(Found { server: "Ollama", models: questions.ollama(&tags).await });
    }
    if let Some(list) = questions.get(&["api", "v0", "models"]).await?.filter(|list| list["data"].is_array())
    {
        return Ok(Found { server: "LM Studio", models: lm_studio(&list) });
    }
    match questions.get(&["v1", "models"]).await?.filter(|list| list["data"].is_array()) {
        Some(list) => {
            let models = names(&list).map(|name| FoundModel { name, window: None }).collect();
            Ok(Found { server: "a compatible server", models })
        }
        None => Err(ModelError::NotAChat {
            content_type: "it lists no models".to_owned(),
            excerpt: transport::without_credentials(questions.base),
        }),
    }
}

/// The address without the path that belongs to a protocol.
fn root(mut url: Url) -> Url {
    let kept = url.path().trim_end_matches('/').to_owned();
    let kept = ["/v1", "/api"].iter().find_map(|end| kept.strip_suffix(end)).unwrap_or(&kept).to_owned();
    url.set_path(&kept);
    url
}

struct Questions {
    client: Client,
    base: Url,
    due: Instant,
    within: Duration,
}

impl Questions {
    async fn get(&self, path: &[&str]) -> Result<Option<Value>, ModelError> {
        self.ask(Method::GET, path, None).await
    }

    /// One question. `None` where the server has nothing to say at that path.
    async fn ask(
        &self,
        method: Method,
        path: &[&str],
        body: Option<Value>,
    ) -> Result<Option<Value>, ModelError> {
        let segments: Vec<String> = path.iter().map(|segment| (*segment).to_owned()).collect();
        let mut request = self.client.request(method, transport::below(&self.base, &segments));
        if let Some(body) = body {
            request =
                request.header(reqwest::header::CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let late = |_| ModelError::FirstByteTimeout { after: self.within };
        timeout_at(self.due, read(request)).await.map_err(late)?
    }

    async fn ollama(&self, tags: &Value) -> Vec<FoundModel> {
        let mut models = Vec::new();
        for name in tags["models"].as_array().into_iter().flatten().filter_map(|model| model["name"].as_str())
        {
            let shown = if models.len() < MAX_SHOWN {
                self.ask(Method::POST, &["api", "show"], Some(json!({"model": name}))).await
            } else {
                Ok(None)
            };
            let window = shown.ok().flatten().as_ref().and_then(ollama_window);
            models.push(FoundModel { name: name.to_owned(), window });
        }
        models
    }
}

async fn read(request: reqwest::RequestBuilder) -> Result<Option<Value>, ModelError> {
    let censor = Censor::default();
    let mut response = request.send().await.map_err(|error| transport::classify(error, 0, &censor))?;
    if !response.status().is_success() {
        return Ok(None);
    }
    let mut body = Vec::new();
    while body.len() < MAX_BODY {
        let read = body.len() as u64;
        match response.chunk().await.map_err(|error| transport::classify(error, read, &censor))? {
            Some(piece) => body.extend_from_slice(&piece),
            None => break,
        }
    }
    Ok(serde_json::from_slice(&body).ok())
}

fn names(list: &Value) -> impl Iterator<Item = String> {
    list["data"].as_array().into_iter().flatten().filter_map(|model| model["id"].as_str()).map(str::to_owned)
}

fn number(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0)
}

fn llama_window(props: &Value) -> Option<u32> {
    number(&props["default_generation_settings"]["n_ctx"])
}

/// The field is named after the model's architecture: `llama.context_length`.
fn ollama_window(shown: &Value) -> Option<u32> {
    let facts = shown["model_info"].as_object()?;
    facts.iter().find(|(name, _)| name.ends_with(".context_length")).and_then(|(_, value)| number(value))
}

/// A loaded model has the window it was loaded with; the others could have the largest they know.
fn lm_studio(list: &Value) -> Vec<FoundModel> {
    let models = list["data"].as_array().into_iter().flatten();
    let talks = models.filter(|model| model["type"].as_str().is_none_or(|kind| kind != "embeddings"));
    talks
        .filter_map(|model| {
            let window =
                number(&model["loaded_context_length"]).or_else(|| number(&model["max_context_length"]));
            Some(FoundModel { name: model["id"].as_str()?.to_owned(), window })
        })
        .collect()
}
