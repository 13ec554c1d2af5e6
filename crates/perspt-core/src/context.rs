//! What a model may ask to see before it answers.

use serde::{Deserialize, Serialize};

/// The most things that one answer may ask to see; further ones are left out of the event.
pub const REQUESTS_MAX: usize = 8;

/// The longest text of one of them, in characters.
pub const REQUEST_CHARS: usize = 200;

/// One thing that a model asks to see. Its texts are still the model's words: whoever serves it bounds them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ContextRequest {
    /// A file, or some lines of it.
    Read {
        /// A path below the workspace, as the model wrote it.
        path: String,
        /// The first and the last line, from 1. The whole file where there are none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lines: Option<(u32, u32)>,
    },
    /// Every line that holds a text, in whatever case.
    Search {
        /// The text.
        query: String,
    },
    /// Where a name is defined.
    Symbol {
        /// The name, with or without the names of what it stands in: `parse`, `Reader::parse`.
        symbol: String,
    },
}

#[cfg(test)]
mod tests {
    use super::ContextRequest;

    fn read(text: &str) -> Option<ContextRequest> {
        serde_json::from_str(text).ok()
    }

    #[test]
    fn the_three_kinds_are_read_as_the_prompt_describes_them() {
        let whole = ContextRequest::Read { path: "a.py".to_owned(), lines: None };
        assert_eq!(read(r#"{"kind":"read","path":"a.py"}"#), Some(whole));
        let part = ContextRequest::Read { path: "a.py".to_owned(), lines: Some((3, 9)) };
        assert_eq!(read(r#"{"kind":"read","path":"a.py","lines":[3,9]}"#), Some(part));
        let search = ContextRequest::Search { query: "discount".to_owned() };
        assert_eq!(read(r#"{"kind":"search","query":"discount"}"#), Some(search));
        let symbol = ContextRequest::Symbol { symbol: "Cart::total".to_owned() };
        assert_eq!(read(r#"{"kind":"symbol","symbol":"Cart::total"}"#), Some(symbol));
    }

    #[test]
    fn a_request_with_a_field_that_means_nothing_is_none() {
        assert_eq!(read(r#"{"kind":"run","path":"a.py"}"#), None);
        assert_eq!(read(r#"{"kind":"search","path":"a.py"}"#), None);
        assert_eq!(read(r#"{"kind":"read","path":"a.py","lines":[-1,9]}"#), None);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let part = ContextRequest::Read { path: "a.py".to_owned(), lines: Some((3, 9)) };
        let text = serde_json::to_string(&part).unwrap_or_default();
        assert_eq!(text, r#"{"kind":"read","path":"a.py","lines":[3,9]}"#);
        assert_eq!(read(&text), Some(part));
    }
}
