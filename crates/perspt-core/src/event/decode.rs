//! Reading an event back. A reader gets lines whose hash was checked, so an event it cannot read is not damaged: a
//! newer perspt wrote it.

use serde::Deserialize;

use super::{Event, SCHEMA};

/// An event that this program does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The schema it was written with.
    pub schema: u32,
    /// Its kind, as far as it says.
    pub kind: Option<String>,
    /// The word or field that is not known, where the schema is.
    pub why: Option<String>,
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = self.kind.as_deref().unwrap_or("without a kind");
        match &self.why {
            None => write!(f, "event `{kind}` has schema {}, this perspt knows {SCHEMA}", self.schema),
            Some(why) => write!(f, "event `{kind}` says something this perspt does not know: {why}"),
        }
    }
}

/// The event of a record with this schema.
pub fn decode(schema: u32, json: &str) -> Result<Event, Unknown> {
    #[derive(Deserialize)]
    struct Tagged {
        kind: String,
    }
    let unknown = |why| Unknown {
        schema,
        kind: serde_json::from_str::<Tagged>(json).ok().map(|tagged| tagged.kind),
        why,
    };
    if schema > SCHEMA {
        return Err(unknown(None));
    }
    serde_json::from_str(json).map_err(|error| unknown(Some(error.to_string())))
}
