//! What was asked, and who decides the reply.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::gate::Tally;
use super::reply::Reply;
use super::speech;

/// The tag line of a prompt: `[perspt intent=… node=… attempt=…]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag {
    /// The intent's slug.
    pub intent: String,
    /// The node's id as written in the line, `-` for none.
    pub node: String,
    /// The attempt.
    pub attempt: u32,
}

impl Tag {
    /// Finds the first tag line in a text.
    pub fn find(text: &str) -> Option<Tag> {
        text.lines().find_map(|line| {
            let inner = line.trim().strip_prefix("[perspt ")?.strip_suffix(']')?;
            let field = |name: &str| {
                inner
                    .split(' ')
                    .find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
                    .map(str::to_owned)
            };
            Some(Tag {
                intent: field("intent")?,
                node: field("node")?,
                attempt: field("attempt")?.parse().ok()?,
            })
        })
    }
}

/// A request as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The target as written: a path with its query, or a whole address where the server is used as a proxy.
    pub target: String,
    /// Names in lower case, with values, in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
    /// The tag line in the messages, if there is one.
    pub tag: Option<Tag>,
}

impl Request {
    /// The value of a header; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }

    /// The target without host and query.
    pub fn path(&self) -> &str {
        let target = match self.target.split_once("://") {
            Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
            None => &self.target,
        };
        target.split('?').next().unwrap_or_default()
    }

    /// Whether a completion is asked for.
    pub fn is_ask(&self) -> bool {
        self.method == "POST" && speech::of_path(self.path()).is_some()
    }

    /// The messages' text, one after the other.
    pub fn text(&self) -> String {
        speech::texts(&self.json())
    }
}

/// A completion that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The request.
    pub request: Request,
    /// How many completions were asked for so far, this one included.
    pub ordinal: usize,
    /// How many of them had this tag, this one included.
    pub nth_of_tag: usize,
}

impl Ask {
    /// The request's tag.
    pub fn tag(&self) -> Option<&Tag> {
        self.request.tag.as_ref()
    }
}

/// Decides what is replied. Closures will do. It runs on the server's only thread, so it must not wait.
pub trait Script: Send + Sync + 'static {
    /// The reply to a completion that is asked for.
    fn reply(&self, ask: &Ask) -> Reply;

    /// What stands at another address, as JSON. `None` is told with status 404; a list of models stands there anyway.
    fn page(&self, _: &Request) -> Option<String> {
        None
    }
}

impl<F: Fn(&Ask) -> Reply + Send + Sync + 'static> Script for F {
    fn reply(&self, ask: &Ask) -> Reply {
        self(ask)
    }
}

/// Replies by tag. Several for one tag are given one after the other, and the last one again and again. A tag that
/// is not in the table is refused with status 400 and a text that names it.
#[derive(Default)]
pub struct Table {
    replies: BTreeMap<Tag, Vec<Reply>>,
    pages: BTreeMap<String, String>,
}

impl Table {
    /// An empty table.
    pub fn new() -> Table {
        Table::default()
    }

    /// Adds the next reply for a tag; `node` is `-` for none.
    pub fn on(mut self, intent: &str, node: &str, attempt: u32, reply: Reply) -> Table {
        let tag = Tag { intent: intent.to_owned(), node: node.to_owned(), attempt };
        self.replies.entry(tag).or_default().push(reply);
        self
    }

    /// What stands at a path, as JSON.
    pub fn page(mut self, path: &str, json: impl ToString) -> Table {
        self.pages.insert(path.to_owned(), json.to_string());
        self
    }
}

impl Script for Table {
    fn reply(&self, ask: &Ask) -> Reply {
        let replies = ask.tag().and_then(|tag| self.replies.get(tag)).map(Vec::as_slice).unwrap_or_default();
        match replies.get(ask.nth_of_tag - 1).or(replies.last()) {
            Some(reply) => reply.clone(),
            None => Reply::status(400, &format!("nothing is scripted for {:?}", ask.tag())),
        }
    }

    fn page(&self, request: &Request) -> Option<String> {
        self.pages.get(request.path()).cloned()
    }
}

/// Every request so far.
#[derive(Default)]
pub(crate) struct Log {
    requests: Mutex<Vec<Request>>,
    arrivals: Tally,
}

impl Log {
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.lock().clone()
    }

    pub(crate) fn arrivals(&self) -> Tally {
        self.arrivals.clone()
    }

    /// Keeps a request; where it asks for a completion, says which one it is.
    pub(crate) fn add(&self, request: Request) -> Option<Ask> {
        let ask = {
            let mut requests = self.lock();
            requests.push(request.clone());
            let asks = || requests.iter().filter(|request| request.is_ask());
            let nth_of_tag = asks().filter(|earlier| earlier.tag == request.tag).count();
            request.is_ask().then(|| Ask { ordinal: asks().count(), nth_of_tag, request })
        };
        self.arrivals.add();
        ask
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
