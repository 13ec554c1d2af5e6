//! The chat-completions protocol over HTTP, as OpenAI speaks it and many others after it.
//!
//! One call is one request on a connection of its own: a request goes out (`request`), its status is judged
//! (`refusal`), the body is taken apart as it comes (`body`, then `chat`), always under the three timeouts
//! (`watch`). What the HTTP library reports is sorted in `transport`.

mod body;
mod chat;
mod refusal;
mod request;
mod transport;
mod watch;

use std::fmt;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Response, Url};

use crate::ask::{Answer, BoxFuture, CallLimits, Cancel, Chunks, Model};
use crate::error::ModelError;
use crate::key::{Censor, Key};
use crate::prompt::Prompt;
use body::Body;
use chat::Progress;
use watch::Watch;

/// Where to ask, as whom, and for which model.
#[derive(Clone)]
pub struct OpenAiConfig {
    /// The service's address with its version, such as `https://api.openai.com/v1`; `/chat/completions` is added.
    pub base_url: String,
    /// The key. Without one no `Authorization` header is sent.
    pub key: Option<Key>,
    /// The model's name.
    pub model: String,
}

impl fmt::Debug for OpenAiConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiConfig")
            .field("base_url", &shown_url(&self.base_url))
            .field("key", &self.key)
            .field("model", &self.model)
            .finish()
    }
}

/// An address as it may be shown or stored: without user, password, query and fragment. Text that is no address is
/// not repeated.
pub fn shown_url(text: &str) -> String {
    match Url::parse(text.trim()) {
        Ok(url) if url.has_host() => without_credentials(url),
        Ok(_) | Err(_) => "(not an address)".to_owned(),
    }
}

fn without_credentials(mut url: Url) -> String {
    // Both calls fail only for addresses without a host, which have no credentials either.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

/// A model behind the chat-completions protocol.
pub struct OpenAi {
    client: Client,
    url: Url,
    authorization: Option<HeaderValue>,
    model: String,
    censor: Censor,
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAi")
            .field("url", &without_credentials(self.url.clone()))
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl OpenAi {
    /// Prepares a model; nothing is sent yet.
    pub fn new(config: OpenAiConfig) -> Result<OpenAi, ModelError> {
        let mut url = transport::endpoint(&config.base_url)?;
        let mut censor = Censor::of_key(config.key.as_ref());
        transport::secrets(&url).iter().for_each(|secret| censor.add(secret));
        let authorization = match &config.key {
            None => None,
            Some(key) => {
                // With a key, credentials in the address would make a second, contradicting header.
                let _ = url.set_username("");
                let _ = url.set_password(None);
                let mut value = HeaderValue::from_str(&format!("Bearer {}", key.secret()))
                    .map_err(|_| ModelError::BadKey)?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        let client = transport::client(&url)?;
        Ok(OpenAi { client, url, authorization, model: config.model, censor })
    }

    async fn exchange(
        &self,
        prompt: &Prompt,
        limits: &CallLimits,
        chunks: &mut (dyn Chunks + Send),
    ) -> Result<Answer, ModelError> {
        let mut watch = Watch::start(limits);
        let response = watch.guard(self.send(prompt, limits)).await??;
        if !response.status().is_success() {
            return Err(refusal::read(response, &watch, &self.censor).await);
        }
        let body = self.receive(response, limits, &mut watch, chunks).await?;
        let said = body.finish(chunks)?.outcome()?;
        Ok(Answer {
            text: said.text,
            stop: said.stop,
            usage: said.usage,
            model: said.model.unwrap_or_else(|| self.model.clone()),
            first_token: watch.first_token(),
            latency: watch.latency(),
        })
    }

    async fn send(&self, prompt: &Prompt, limits: &CallLimits) -> Result<Response, ModelError> {
        let mut request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            .body(request::body(&self.model, prompt, limits));
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        request.send().await.map_err(|error| transport::classify(error, 0, &self.censor))
    }

    /// Reads until the end mark, the end of the response, or the first error. Once the stop reason is there the
    /// answer is whole: what follows could only add the token count, so a connection that breaks or stalls after
    /// it loses no more than that.
    async fn receive(
        &self,
        mut response: Response,
        limits: &CallLimits,
        watch: &mut Watch,
        chunks: &mut (dyn Chunks + Send),
    ) -> Result<Body, ModelError> {
        let content_type = refusal::content_type(&response, &self.censor);
        let mut body = Body::new(limits, content_type, self.censor.clone());
        loop {
            let piece = watch.guard(response.chunk()).await.and_then(|read| {
                read.map_err(|error| transport::classify(error, body.bytes_received(), &self.censor))
            });
            let piece = match piece {
                Ok(Some(piece)) => piece,
                Ok(None) => return Ok(body),
                Err(_) if body.has_stopped() => return Ok(body),
                Err(error) => return Err(error),
            };
            match body.push(&piece, chunks)? {
                Progress::Done => return Ok(body),
                Progress::Content => watch.content(),
                Progress::Nothing => {}
            }
        }
    }
}

impl Model for OpenAi {
    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt,
        limits: &'a CallLimits,
        chunks: &'a mut (dyn Chunks + Send),
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<Answer, ModelError>> {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(ModelError::Cancelled),
                result = self.exchange(prompt, limits, chunks) => result,
            }
        })
    }

    fn name(&self) -> String {
        self.model.clone()
    }
}
