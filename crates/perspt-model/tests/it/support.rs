//! One call against one scripted reply.

use std::time::Duration;

use perspt_core::ids::NodeId;
use perspt_model::{
    Answer, CallLimits, Cancel, Endpoint, Key, Model, ModelError, Prompt, Protocol, Remote, Tag,
};
use perspt_testkit::server::{Reply, ScriptedServer};

/// Limits that no test should reach.
pub fn ample() -> CallLimits {
    let long = Duration::from_secs(100);
    CallLimits { first_byte: long, idle: long, total: long, ..CallLimits::default() }
}

/// A limit for a server that never answers.
pub const SHORT: Duration = Duration::from_millis(60);

pub fn prompt() -> Prompt {
    let tag = Tag::node("actuator.generate", &NodeId::from("n1"), 1);
    Prompt::new(tag, "You are careful.".to_owned(), "Write it.")
}

pub fn config(base_url: &str) -> Endpoint {
    Endpoint {
        base_url: base_url.to_owned(),
        key: Key::new("sk-secret-0123456789"),
        model: "some-model".to_owned(),
        protocol: Protocol::OpenAiChat,
        num_ctx: None,
    }
}

/// The server in another protocol. OpenAI's have their version in the address, the others bring it.
pub fn endpoint(protocol: Protocol, server: &ScriptedServer) -> Endpoint {
    let base_url = match protocol {
        Protocol::OpenAiChat | Protocol::OpenAiResponses => server.base_url(),
        Protocol::Anthropic | Protocol::Gemini | Protocol::Ollama => server.root_url(),
    };
    Endpoint { protocol, ..config(&base_url) }
}

pub fn model(server: &ScriptedServer) -> Remote {
    Remote::new(config(&server.base_url())).unwrap()
}

pub fn serve(reply: Reply) -> ScriptedServer {
    ScriptedServer::start(move |_: &perspt_testkit::server::Ask| reply.clone()).unwrap()
}

/// A reply whose body is exactly this.
pub fn raw(body: impl AsRef<[u8]>) -> Reply {
    Reply::raw("text/event-stream", [body.as_ref()])
}

/// What came of a call.
pub struct Trial {
    pub result: Result<Answer, ModelError>,
    pub chunks: Vec<String>,
}

impl Trial {
    pub fn answer(self) -> Answer {
        self.result.unwrap()
    }

    pub fn error(self) -> ModelError {
        self.result.unwrap_err()
    }
}

/// Asks once in chat completions. Whatever comes of it, the server has seen exactly one request.
pub async fn trial_within(limits: &CallLimits, reply: Reply) -> Trial {
    trial_in(Protocol::OpenAiChat, limits, reply).await
}

/// Asks once in this protocol.
pub async fn trial_in(protocol: Protocol, limits: &CallLimits, reply: Reply) -> Trial {
    let server = serve(reply);
    let mut chunks = Vec::new();
    let mut take = |text: &str| chunks.push(text.to_owned());
    let model = Remote::new(endpoint(protocol, &server)).unwrap();
    let result = model.ask(&prompt(), limits, &mut take, &Cancel::new()).await;
    assert_eq!(server.requests().len(), 1, "one call is one request");
    Trial { result, chunks }
}

pub async fn trial(reply: Reply) -> Trial {
    trial_within(&ample(), reply).await
}
