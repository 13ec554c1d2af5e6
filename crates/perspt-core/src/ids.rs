//! Names of things: newtypes, so that one kind of id cannot stand where another belongs.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::hash::Sha;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> $name {
                $name(text.to_owned())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

macro_rules! hash_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Sha);

        impl $name {
            /// The first eight hexadecimal digits, for people.
            pub fn short(&self) -> String {
                self.0.short()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

text_id!(
    /// A session: one run of a task over one workspace, resumable.
    SessionId
);
text_id!(
    /// A node of the plan, named by the architect.
    NodeId
);
hash_id!(
    /// A blob: the SHA-256 of its bytes.
    BlobId
);
hash_id!(
    /// A tree: every path, kind and content in it.
    TreeId
);
hash_id!(
    /// One effect of one session; no two effects of a session share it.
    EffectId
);
hash_id!(
    /// A commit record: the hash of its canonical bytes.
    CommitId
);

impl BlobId {
    /// The id these bytes have.
    pub fn of(bytes: &[u8]) -> BlobId {
        BlobId(Sha::of(bytes))
    }
}

/// Milliseconds since the Unix epoch. Time enters perspt only as a field of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub u64);

impl Millis {
    /// This moment plus a number of milliseconds.
    pub fn plus(self, millis: u64) -> Millis {
        Millis(self.0.saturating_add(millis))
    }

    /// Milliseconds from `earlier` to this moment; zero where the clock went backwards.
    pub fn since(self, earlier: Millis) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}
