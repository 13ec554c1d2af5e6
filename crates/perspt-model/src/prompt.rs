//! A prompt and the tag that names it.

use std::fmt;

use perspt_core::hash::Sha;
use perspt_core::ids::NodeId;

use crate::estimate::estimate_tokens;

/// What a prompt is for, told by intent, node and attempt. Logs, recordings and scripted models match on it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag {
    /// The intent's slug, such as `actuator.generate`.
    pub intent: String,
    /// The node, where the prompt is about one.
    pub node: Option<NodeId>,
    /// One more than the answers already recorded for this intent and node.
    pub attempt: u32,
}

impl Tag {
    /// A tag for a prompt about a node.
    pub fn node(intent: &str, node: &NodeId, attempt: u32) -> Tag {
        Tag { intent: intent.to_owned(), node: Some(node.clone()), attempt }
    }

    /// A tag for a prompt about the whole session.
    pub fn session(intent: &str, attempt: u32) -> Tag {
        Tag { intent: intent.to_owned(), node: None, attempt }
    }

    /// The name of the file that holds the recorded answer: `<intent>@<node>@<attempt>.txt`.
    pub fn file_name(&self) -> String {
        format!("{}@{}@{}.txt", encode(&self.intent), self.node_text(), self.attempt)
    }

    /// The tag whose recording has this name, if it is one that [`Tag::file_name`] could have made.
    pub fn from_file_name(name: &str) -> Option<Tag> {
        let mut parts = name.strip_suffix(".txt")?.split('@');
        let (intent, node, attempt) = (parts.next()?, parts.next()?, parts.next()?);
        let tag = Tag {
            intent: percent_decoded(intent)?,
            node: if node == "-" { None } else { Some(NodeId(percent_decoded(node)?)) },
            attempt: attempt.parse().ok()?,
        };
        (parts.next().is_none() && tag.file_name() == name).then_some(tag)
    }

    fn node_text(&self) -> String {
        match &self.node {
            None => "-".to_owned(),
            // A node that calls itself "-" must not read as "no node".
            Some(node) if node.as_str() == "-" => "%2D".to_owned(),
            Some(node) => encode(node.as_str()),
        }
    }
}

/// The tag line. Characters that could break the line or its reading are percent-encoded.
impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let intent = encode(&self.intent);
        write!(f, "[perspt intent={intent} node={} attempt={}]", self.node_text(), self.attempt)
    }
}

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The one who asks.
    User,
    /// The model, in an earlier answer.
    Assistant,
}

impl Role {
    /// The word for people and recordings.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
        }
    }
}

/// One piece of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Turn {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub text: String,
    /// How many bytes at the start of the text later calls will send again. Protocols that mark what is to be cached
    /// put a mark there; the others do not look at it. Zero where nothing is known to come again.
    pub stable: usize,
}

impl Turn {
    /// Something the user says, none of it known to be sent again.
    pub fn user(text: impl Into<String>) -> Turn {
        Turn { role: Role::User, text: text.into(), stable: 0 }
    }

    /// Something the model has said.
    pub fn assistant(text: impl Into<String>) -> Turn {
        Turn { role: Role::Assistant, text: text.into(), stable: 0 }
    }

    /// The text with another number of bytes that are sent again.
    pub fn with_stable(self, stable: usize) -> Turn {
        Turn { stable, ..self }
    }

    /// The part that is sent again and the rest. `None` where there is no place between two parts: nothing or
    /// everything comes again, or the place lies within a character.
    pub fn parts(&self) -> Option<(&str, &str)> {
        let inside = 0 < self.stable && self.stable < self.text.len();
        inside.then(|| self.text.split_at_checked(self.stable)).flatten()
    }
}

/// What is sent to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// What the prompt is for. A chat has none.
    pub tag: Option<Tag>,
    /// Stable text, equal byte for byte over a session's calls of one intent, so that providers can cache it. Sent
    /// as the system message; where it is empty none is sent.
    pub head: String,
    /// The conversation so far; the last turn is the user's. Where there is a tag, the first turn begins with its
    /// line.
    pub turns: Vec<Turn>,
}

impl Prompt {
    /// A prompt of one turn: the tag line followed by `evidence`.
    pub fn new(tag: Tag, head: String, evidence: &str) -> Prompt {
        let text = format!("{tag}\n{evidence}");
        Prompt { tag: Some(tag), head, turns: vec![Turn::user(text)] }
    }

    /// A conversation without a tag.
    pub fn chat(head: String, turns: Vec<Turn>) -> Prompt {
        Prompt { tag: None, head, turns }
    }

    /// How many tokens head and turns may cost; see [`estimate_tokens`].
    pub fn estimated_tokens(&self) -> u64 {
        let turns = self.turns.iter().map(|turn| estimate_tokens(&turn.text));
        turns.fold(estimate_tokens(&self.head), u64::saturating_add)
    }

    /// A hash of head, roles and texts. Two prompts that say the same have the same one; tag and cache marks play
    /// no part.
    pub fn hash(&self) -> Sha {
        let turns = self.turns.iter().flat_map(|turn| [turn.role.as_str(), &turn.text]);
        Sha::of_fields(std::iter::once(self.head.as_str()).chain(turns).map(str::as_bytes))
    }

    /// The name of the file that holds the recorded answer: the tag's, or the hash where there is no tag.
    pub fn file_name(&self) -> String {
        self.tag.as_ref().map_or_else(|| format!("{}.txt", self.hash()), Tag::file_name)
    }
}

/// Percent-encodes every byte that is not a letter, a digit, `-`, `_` or `.`.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// Undoes percent-encoding. `None` where it is broken or hides bytes that are no text.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let high = char::from(bytes.next()?).to_digit(16)?;
            let low = char::from(bytes.next()?).to_digit(16)?;
            decoded.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            decoded.push(byte);
        }
    }
    String::from_utf8(decoded).ok()
}
