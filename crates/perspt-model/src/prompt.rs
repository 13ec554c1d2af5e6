//! A prompt and the tag that names it.

use std::fmt;

use perspt_core::ids::NodeId;

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

/// What is sent to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// What the prompt is for.
    pub tag: Tag,
    /// Stable text, equal byte for byte over a session's calls of one intent, so that providers can cache it. Sent
    /// as the system message; where it is empty none is sent.
    pub head: String,
    /// Changing text. Its first line is the tag line.
    pub body: String,
}

impl Prompt {
    /// A prompt whose body is the tag line followed by `evidence`.
    pub fn new(tag: Tag, head: String, evidence: &str) -> Prompt {
        let body = format!("{tag}\n{evidence}");
        Prompt { tag, head, body }
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
