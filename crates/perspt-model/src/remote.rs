//! A model over HTTP, in any of the protocols.
//!
//! One call is one request on a connection of its own: a request goes out, its status is judged (`http::refusal`), the
//! body is taken apart as it comes (`http::body`, then the protocol's decoder), always under the three timeouts
//! (`http::watch`). What the HTTP library reports is sorted in `http::transport`.

use std::fmt;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Response, Url};

use crate::ask::{Answer, BoxFuture, CallLimits, Cancel, Chunks, Model};
use crate::catalog::{LimitName, StreamUsage, usual_limit_name};
use crate::error::ModelError;
use crate::http::body::Body;
use crate::http::refusal;
use crate::http::said::Progress;
use crate::http::transport::{self, shown_url, without_credentials};
use crate::http::watch::Watch;
use crate::key::{Censor, Key};
use crate::prompt::Prompt;
use crate::protocol::{Call, Choice, Protocol};

/// Where to ask, how, as whom, and for which model.
#[derive(Clone)]
pub struct Endpoint {
    /// What is spoken there.
    pub protocol: Protocol,
    /// The service's address. The protocol's own path is added to it, such as `/chat/completions` to
    /// `https://api.openai.com/v1`; a version that the address already ends with is not added again.
    pub base_url: String,
    /// The key. Without one no header for it is sent.
    pub key: Option<Key>,
    /// The model's name.
    pub model: String,
    /// The window to ask for, where the protocol lets the caller choose it.
    pub num_ctx: Option<u32>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("protocol", &self.protocol)
            .field("base_url", &shown_url(&self.base_url))
            .field("key", &self.key)
            .field("model", &self.model)
            .field("num_ctx", &self.num_ctx)
            .finish()
    }
}

/// A model behind an endpoint.
pub struct Remote {
    client: Client,
    url: Url,
    headers: HeaderMap,
    protocol: Protocol,
    model: String,
    num_ctx: Option<u32>,
    limit_name: LimitName,
    stream_usage: StreamUsage,
    choice: Choice,
    censor: Censor,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("protocol", &self.protocol)
            .field("url", &without_credentials(self.url.clone()))
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl Remote {
    /// Prepares a model; nothing is sent yet.
    pub fn new(endpoint: Endpoint) -> Result<Remote, ModelError> {
        let Endpoint { protocol, base_url, key, model, num_ctx } = endpoint;
        let mut url = transport::below(&transport::base(&base_url)?, &protocol.segments(&model));
        if let Some((name, value)) = protocol.query() {
            url.query_pairs_mut().append_pair(name, value);
        }
        let mut censor = Censor::of_key(key.as_ref());
        transport::secrets(&url).iter().for_each(|secret| censor.add(secret));
        if key.is_some() {
            // With a key, credentials in the address would make a second, contradicting header.
            let _ = url.set_username("");
            let _ = url.set_password(None);
        }
        let headers = protocol.headers(key.as_ref())?;
        let client = transport::client(&url)?;
        let (limit_name, stream_usage) = (usual_limit_name(&model), StreamUsage::default());
        Ok(Remote {
            client,
            url,
            headers,
            protocol,
            model,
            num_ctx,
            limit_name,
            stream_usage,
            choice: Choice::Usual,
            censor,
        })
    }

    /// The same model, which chooses its words in another way.
    pub fn with_choice(self, choice: Choice) -> Remote {
        Remote { choice, ..self }
    }

    /// The same model with another name for its output limit than the one its own name suggests.
    pub fn with_limit_name(self, limit_name: LimitName) -> Remote {
        Remote { limit_name, ..self }
    }

    /// The same model at a service that counts tokens in its own way.
    pub fn with_stream_usage(self, stream_usage: StreamUsage) -> Remote {
        Remote { stream_usage, ..self }
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
        let call = Call {
            model: &self.model,
            prompt,
            limits,
            limit_name: self.limit_name,
            stream_usage: self.stream_usage,
            choice: self.choice,
            num_ctx: self.num_ctx,
        };
        let request = self
            .client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/x-ndjson, application/json")
            .body(self.protocol.body(&call).to_string());
        request.send().await.map_err(|error| transport::classify(error, 0, &self.censor))
    }

    /// Reads until the end mark, the end of the response, or the first error. Once all is there that makes an
    /// answer, what follows could only add the token count, so a connection that breaks or stalls then loses no more
    /// than that.
    async fn receive(
        &self,
        mut response: Response,
        limits: &CallLimits,
        watch: &mut Watch,
        chunks: &mut (dyn Chunks + Send),
    ) -> Result<Body, ModelError> {
        let content_type = refusal::content_type(&response, &self.censor);
        let mut body = Body::new(self.protocol, limits, content_type, self.censor.clone());
        loop {
            let piece = watch.guard(response.chunk()).await.and_then(|read| {
                read.map_err(|error| transport::classify(error, body.bytes_received(), &self.censor))
            });
            let piece = match piece {
                Ok(Some(piece)) => piece,
                Ok(None) => return Ok(body),
                Err(_) if body.is_whole() => return Ok(body),
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

impl Model for Remote {
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
