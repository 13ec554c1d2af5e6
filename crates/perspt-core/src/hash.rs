//! SHA-256 as a value. Every identity in perspt (blob, tree, effect, commit, chain link) is one of these.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// A SHA-256 digest. Prints and serialises as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Sha(pub [u8; 32]);

impl Sha {
    /// The digest before the first link of a chain.
    pub const ZERO: Sha = Sha([0; 32]);

    /// The digest of one byte string.
    pub fn of(bytes: &[u8]) -> Sha {
        Sha(Sha256::digest(bytes).into())
    }

    /// The digest of several fields; each is preceded by its length, so that no two lists of fields
    /// share a digest by running into each other.
    pub fn of_fields<'a>(fields: impl IntoIterator<Item = &'a [u8]>) -> Sha {
        let mut builder = ShaBuilder::default();
        for field in fields {
            builder.field(field);
        }
        builder.finish()
    }

    /// The first eight hexadecimal digits, for people.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }
}

/// A digest built up piece by piece.
#[derive(Default)]
pub struct ShaBuilder(Sha256);

impl ShaBuilder {
    /// Adds bytes as they are.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Adds a length and then the bytes.
    pub fn field(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }

    /// The digest of everything added.
    pub fn finish(self) -> Sha {
        Sha(self.0.finalize().into())
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sha({self})")
    }
}

/// A text that is not a SHA-256 digest in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a SHA-256 digest (64 lower-case hexadecimal digits)")]
pub struct NotASha(pub String);

impl FromStr for Sha {
    type Err = NotASha;

    fn from_str(text: &str) -> Result<Sha, NotASha> {
        let bad = || NotASha(text.chars().take(80).collect());
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(bad());
        }
        let mut out = [0u8; 32];
        for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
            let nibble = |c: u8| match c {
                b'0'..=b'9' => Some(c - b'0'),
                b'a'..=b'f' => Some(c - b'a' + 10),
                _ => None,
            };
            let (Some(high), Some(low)) = (nibble(pair[0]), nibble(pair[1])) else { return Err(bad()) };
            *byte = high << 4 | low;
        }
        Ok(Sha(out))
    }
}

impl Serialize for Sha {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sha {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Sha, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
