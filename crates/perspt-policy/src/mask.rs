//! Secrets in texts: found by pattern or because they are known, and taken out before a text is shown.
//!
//! Each secret becomes a placeholder, in tool output and in the texts of files alike. Where an answer is applied to a
//! file, [`put_back`] turns the placeholders of its text into what they stand for again.
//!
//! Limit: patterns know tokens by their form. A password that looks like a word is not found.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::LazyLock;

use perspt_core::hash::Sha;
use perspt_core::secret;
use regex::{Captures, Regex};

/// How a match has to look to be taken for a secret.
#[derive(Clone, Copy)]
enum Needs {
    /// The form says enough.
    Form,
    /// Letters and digits mixed, as no word is.
    Mixed,
    /// Not a word and not one of the usual samples.
    Password,
}

/// The name of a variable that ends in a word for a secret.
macro_rules! secret_name {
    () => {
        concat!(
            r"\b[A-Z0-9_]*(?:SECRET|TOKEN|PASSWORD|PASSWD",
            r"|(?:API|ACCESS|PRIVATE|SECRET|SIGNING|ENCRYPTION|MASTER)_?KEY)[0-9]*",
        )
    };
}

/// The forms. The group `s` or `t` is the secret; without one it is the whole match.
const FORMS: &[(Needs, &str)] = &[
    // AWS
    (Needs::Mixed, r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b"),
    (
        Needs::Mixed,
        r#"(?i)\baws_?(?:secret_?)?(?:access_?)?key["']?\s*[:=]\s*["']?(?<s>[A-Za-z0-9/+]{40})\b"#,
    ),
    // GitHub, GitLab
    (Needs::Form, r"\bgh[pousr]_[A-Za-z0-9]{30,}\b"),
    (Needs::Form, r"\bgithub_pat_[A-Za-z0-9_]{30,}\b"),
    (Needs::Mixed, r"\bgl(?:pat|dt|rt|ptt|cbt|oas|soat|agent)-[A-Za-z0-9_-]{20,}"),
    // Slack
    (Needs::Mixed, r"\bx(?:ox[abeoprs]|app)-[A-Za-z0-9-]{20,}"),
    (Needs::Mixed, r"\bhooks\.slack\.com/services/T[A-Z0-9]+/B[A-Z0-9]+/(?<s>[A-Za-z0-9]{20,})"),
    // OpenAI, Anthropic and those that write keys like them; Stripe
    (Needs::Mixed, r"\bsk-[A-Za-z0-9_-]{20,}"),
    (Needs::Mixed, r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}\b"),
    // Google
    (Needs::Mixed, r"\bAIza[A-Za-z0-9_-]{35}\b"),
    (Needs::Mixed, r"\bya29\.[A-Za-z0-9_-]{30,}"),
    (Needs::Mixed, r"\bGOCSPX-[A-Za-z0-9_-]{28}\b"),
    // Package registries and others with a form of their own
    (Needs::Form, r"\bnpm_[A-Za-z0-9]{36}\b"),
    (Needs::Form, r"\bpypi-AgE[A-Za-z0-9_-]{50,}"),
    (Needs::Mixed, r"\bcio[A-Za-z0-9]{32}\b"),
    (Needs::Mixed, r"\bhf_[A-Za-z0-9]{34}\b"),
    (Needs::Form, r"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    (Needs::Mixed, r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b"),
    // Headers, addresses, variables
    (
        Needs::Mixed,
        r#"(?i)\bauthorization["']?\s*[:=,]\s*["']?(?:bearer|token)\s+(?<s>[A-Za-z0-9._~+/=-]{12,})"#,
    ),
    (Needs::Password, r#"(?i)\bauthorization["']?\s*[:=,]\s*["']?basic\s+(?<s>[A-Za-z0-9+/]{12,}={0,2})"#),
    (
        Needs::Password,
        r#"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@"'`<>{}]*:(?<s>[^\s/@"'`<>{}$()]+)@[A-Za-z0-9\[]"#,
    ),
    (Needs::Mixed, concat!(secret_name!(), r"=(?<s>[A-Za-z0-9_+/=~-]{16,})(?:\s|$)")),
    (
        Needs::Mixed,
        concat!(
            secret_name!(),
            // What may stand between name and value: a quote, a type, and the sign.
            r#"["']?(?:\s*:\s*[&'\w\[\] ]{1,20})?\s*[:=]\s*"#,
            // A quoted value that begins as a path or a variable is none.
            r#"(?:"(?<s>[^\s"{}<>$/~.][^\s"{}<>]{15,})"|'(?<t>[^\s'{}<>$/~.][^\s'{}<>]{15,})')"#,
        ),
    ),
];

/// Where the text of a private key begins and ends.
const KEY_BEGINS: &str = r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----";
const KEY_ENDS: &str = r"-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----";

static COMPILED: LazyLock<Vec<(Needs, Regex)>> = LazyLock::new(|| {
    let compiled = |(needs, form): &(Needs, &str)| Some((*needs, compile(form)?));
    FORMS.iter().filter_map(compiled).collect()
});
static KEY: LazyLock<Option<(Regex, Regex)>> =
    LazyLock::new(|| Some((compile(KEY_BEGINS)?, compile(KEY_ENDS)?)));

/// A test has a sample of every form. A border of ASCII words is found much faster than one of all words.
fn compile(form: &str) -> Option<Regex> {
    Regex::new(&form.replace(r"\b", r"(?-u:\b)")).ok()
}

/// What is masked: everything with the form of a secret, and secrets whose values are known.
#[derive(Clone, Default)]
pub struct Masks {
    known: Vec<String>,
}

impl std::fmt::Debug for Masks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Masks({} known)", self.known.len())
    }
}

impl Masks {
    /// Knows the values of those variables whose names say that they are secret.
    pub fn knowing(variables: impl IntoIterator<Item = (String, String)>) -> Masks {
        let mut known: Vec<String> = variables
            .into_iter()
            .filter(|(name, value)| is_secret(name, value))
            .map(|(_, value)| value)
            .collect();
        known.sort();
        known.dedup();
        Masks { known }
    }

    /// The text as it may be shown.
    pub fn masked(&self, text: &str) -> String {
        self.mask(text).text
    }

    /// The text with a placeholder for each secret. The same text always has the same placeholders.
    pub fn mask(&self, text: &str) -> Masked {
        let places = self.places(text);
        let found: BTreeSet<&str> = places.iter().map(|place| &text[place.clone()]).collect();
        let names = named(&found);
        let instead = places.iter().filter_map(|place| {
            let name = names.get(&text[place.clone()])?;
            Some((place.clone(), name.as_str()))
        });
        let shown = secret::replaced(text, instead);
        let secrets = names.into_iter().map(|(secret, name)| (name, secret.to_owned())).collect();
        Masked { text: shown, secrets }
    }

    /// Where secrets stand: in order, none over another.
    fn places(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = key_bodies(text);
        for (needs, form) in COMPILED.iter() {
            found.extend(form.captures_iter(text).filter_map(|found| the_secret(*needs, &found)));
        }
        found.extend(self.known.iter().flat_map(|known| secret::places(text, known)));
        found.sort_by_key(|place| (place.start, std::cmp::Reverse(place.end)));
        let mut places: Vec<Range<usize>> = Vec::new();
        for place in found {
            match places.last_mut() {
                Some(last) if place.start < last.end => last.end = last.end.max(place.end),
                Some(_) | None => places.push(place),
            }
        }
        places
    }
}

/// A text with placeholders instead of its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masked {
    /// The text as it may be shown.
    pub text: String,
    /// What each placeholder stands for.
    pub secrets: BTreeMap<String, String>,
}

/// A placeholder for each secret, made from its hash, so that an edit of the file cannot make it stand for another. It
/// has as few digits as tell these secrets apart: too few to test a guess by.
fn named<'a>(secrets: &BTreeSet<&'a str>) -> BTreeMap<&'a str, String> {
    const FEWEST: usize = 4;
    const ALL: usize = 64;
    let with = |digits: usize| -> BTreeMap<&'a str, String> {
        let name = |secret: &str| {
            let hash = Sha::of(secret.as_bytes()).to_string();
            format!("<perspt-secret-{}>", &hash[..digits])
        };
        secrets.iter().map(|secret| (*secret, name(secret))).collect()
    };
    let is_unique =
        |names: &BTreeMap<&str, String>| names.values().collect::<BTreeSet<_>>().len() == secrets.len();
    (FEWEST..ALL).map(with).find(is_unique).unwrap_or_else(|| with(ALL))
}

/// The placeholders in a text, each once.
pub fn placeholders(text: &str) -> BTreeSet<&str> {
    static FORM: LazyLock<Option<Regex>> = LazyLock::new(|| compile(r"<perspt-secret-[0-9a-f]{4,64}>"));
    FORM.iter().flat_map(|form| form.find_iter(text)).map(|found| found.as_str()).collect()
}

/// The text with what its placeholders stand for. Lines of a secret end as the text's own lines do.
pub fn put_back(text: &str, secrets: &BTreeMap<String, String>) -> String {
    let is_plain = !text.contains('\r');
    secrets.iter().fold(text.to_owned(), |text, (name, secret)| match is_plain {
        true => text.replace(name, &secret.replace("\r\n", "\n")),
        false => text.replace(name, secret),
    })
}

fn the_secret(needs: Needs, found: &Captures<'_>) -> Option<Range<usize>> {
    let group = ["s", "t"].into_iter().find_map(|name| found.name(name)).or_else(|| found.get(0))?;
    let fits = match needs {
        Needs::Form => true,
        Needs::Mixed => is_mixed(group.as_str()) && !is_sample(group.as_str()),
        Needs::Password => is_password(group.as_str()) && !is_sample(group.as_str()),
    };
    fits.then(|| group.range())
}

/// Letters and at least two digits, and not the same few characters over and over.
fn is_mixed(text: &str) -> bool {
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let different: BTreeSet<char> = text.chars().collect();
    digits >= 2 && text.chars().any(char::is_alphabetic) && different.len() >= 8
}

/// Long enough, and something else than letters.
fn is_password(text: &str) -> bool {
    text.chars().count() >= 8 && !text.chars().all(|c| c.is_ascii_lowercase() || c == '-' || c == '_')
}

/// What documentation puts where a secret would be.
fn is_sample(text: &str) -> bool {
    const SIGNS: &[&str] = &["example", "password", "passwd", "changeme", "xxxx", "****", "your", "redacted"];
    let lower = text.to_ascii_lowercase();
    SIGNS.iter().any(|sign| lower.contains(sign))
}

/// Whether a variable's name says that its value is secret, and the value could be one.
fn is_secret(name: &str, value: &str) -> bool {
    const WORDS: &[&str] =
        &["SECRET", "TOKEN", "PASSWORD", "PASSWD", "PASSPHRASE", "KEY", "APIKEY", "CREDENTIALS", "PAT"];
    const SHORTEST: usize = 12;
    let name = name.to_ascii_uppercase();
    let says_so = name.split('_').any(|word| WORDS.contains(&word));
    let is_place = value.starts_with('/') || value.starts_with('~') || value.contains("://");
    says_so
        && value.len() >= SHORTEST
        && is_password(value)
        && !is_place
        && !value.contains(char::is_whitespace)
}

/// What lies between the two lines of a private key. Code that only names these lines holds no key.
fn key_bodies(text: &str) -> Vec<Range<usize>> {
    let Some((begins, ends)) = &*KEY else { return Vec::new() };
    let body = |begin: regex::Match<'_>| {
        let rest = &text[begin.end()..];
        // A text that was cut has no end line.
        let end = ends.find(rest).map_or_else(|| rest.len().min(base64_length(rest)), |end| end.start());
        let body = rest[..end].trim_end();
        let start = begin.end() + (body.len() - body.trim_start().len());
        holds_base64(body).then(|| start..begin.end() + body.len())
    };
    begins.find_iter(text).filter_map(body).collect()
}

/// How much of a text could be lines of base64, as they are or inside a quoted string.
fn base64_length(text: &str) -> usize {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c.is_whitespace() || "+/=\\\"',:-".contains(c);
    text.find(|c: char| !is_part(c)).unwrap_or(text.len())
}

fn holds_base64(text: &str) -> bool {
    const LINE: usize = 40;
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    text.split(|c: char| !is_base64(c)).any(|run| run.len() >= LINE)
}
