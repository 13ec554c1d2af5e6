//! A reader of JSON that forgives what has one meaning and says what it forgave. It visits every byte once, and its depth is
//! bounded. Strings are never mended: a quote that is not escaped, or an escape that could mean two things, ends it.

use serde_json::{Map, Number, Value};

use super::notes::Notes;
use super::steps::count;

/// How deep a value may be.
const DEPTH: usize = 100;

/// A value that was read.
#[derive(Debug)]
pub(super) struct Found {
    pub value: Value,
    /// The byte after it.
    pub end: usize,
    /// What was forgiven.
    pub notes: Notes,
}

/// Why there is no value.
#[derive(Debug)]
pub(super) struct Broken {
    /// Where.
    pub at: usize,
    pub why: String,
    /// Whether it had a key before it broke. Other text with braces has none.
    pub had_key: bool,
}

/// Reads the value that begins at `start`. It may end before the text does.
pub(super) fn read_json(text: &str, start: usize) -> Result<Found, Broken> {
    let mut reader = Reader { text, at: start, notes: Notes::default(), had_key: false, missing: 0 };
    let read = reader.value(0);
    count(reader.at - start);
    match read {
        Ok(value) => {
            if reader.missing > 0 {
                reader.notes.add(format!("{} missing closing bracket(s) added", reader.missing));
            }
            Ok(Found { value, end: reader.at, notes: reader.notes })
        }
        Err(why) => Err(Broken { at: reader.at, why, had_key: reader.had_key }),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    notes: Notes,
    had_key: bool,
    missing: usize,
}

impl Reader<'_> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// Whether the text ends here, or the fence that the value stands in.
    fn is_end(&self) -> bool {
        self.byte().is_none() || self.rest().starts_with("```") || self.rest().starts_with("~~~")
    }

    /// Skips white space and comments.
    fn skip(&mut self) -> Result<(), String> {
        loop {
            match self.byte() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(b'#') => self.skip_line(),
                Some(b'/') if self.rest().starts_with("//") => self.skip_line(),
                Some(b'/') if self.rest().starts_with("/*") => {
                    let Some(end) = self.rest().find("*/") else { return Err(self.cut("a comment")) };
                    self.at += end + 2;
                    self.notes.add("comment left out");
                }
                Some(_) | None => return Ok(()),
            }
        }
    }

    /// Something that is not closed takes the rest of the text with it.
    fn cut(&mut self, what: &str) -> String {
        self.at = self.text.len();
        format!("{what} has no end")
    }

    fn skip_line(&mut self) {
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        self.notes.add("comment left out");
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > DEPTH {
            return Err(format!("it is nested more than {DEPTH} deep"));
        }
        match self.byte() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"' | b'\'') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => self.word(),
            None => Err("it ends where a value should stand".to_owned()),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut fields = Map::new();
        self.skip()?;
        while !self.closes(b'}', fields.is_empty())? {
            let key = self.key()?;
            self.skip()?;
            if self.byte() != Some(b':') {
                return Err(format!("after the key `{}` a colon is missing", shown(&key)));
            }
            self.at += 1;
            self.had_key = true;
            self.skip()?;
            let value = self.value(depth + 1)?;
            match fields.get(&key) {
                Some(before) if *before == value => self.notes.add(format!("`{}` stood twice", shown(&key))),
                Some(_) => return Err(format!("`{}` stands twice, with different values", shown(&key))),
                None => {
                    fields.insert(key, value);
                }
            }
            self.separator(b'}')?;
        }
        Ok(Value::Object(fields))
    }

    fn array(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut values = Vec::new();
        self.skip()?;
        while !self.closes(b']', values.is_empty())? {
            values.push(self.value(depth + 1)?);
            self.separator(b']')?;
        }
        Ok(Value::Array(values))
    }

    /// Whether the container ends here. Where the text ends after a value, only the bracket is missing.
    fn closes(&mut self, bracket: u8, is_empty: bool) -> Result<bool, String> {
        if self.byte() == Some(bracket) {
            self.at += 1;
            return Ok(true);
        }
        if !self.is_end() {
            return Ok(false);
        }
        if is_empty {
            return Err("it ends before anything stands in it".to_owned());
        }
        self.missing += 1;
        Ok(true)
    }

    /// What stands after a value: a comma, or the container's end.
    fn separator(&mut self, bracket: u8) -> Result<(), String> {
        self.skip()?;
        if self.byte() == Some(bracket) || self.is_end() {
            return Ok(());
        }
        if self.byte() != Some(b',') {
            let here: String = self.rest().chars().take(20).collect();
            return Err(format!("a comma or a closing bracket is missing before `{}`", here.trim_end()));
        }
        self.at += 1;
        self.skip()?;
        if self.byte() == Some(bracket) {
            self.notes.add("trailing comma removed");
        } else if self.is_end() {
            return Err("it ends after a comma".to_owned());
        }
        Ok(())
    }

    fn key(&mut self) -> Result<String, String> {
        if let Some(b'"' | b'\'') = self.byte() {
            return self.string();
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = self.rest().find(|c| !is_word(c)).unwrap_or(self.rest().len());
        if length == 0 {
            return Err("a key is missing".to_owned());
        }
        let key = self.rest()[..length].to_owned();
        self.at += length;
        self.notes.add("keys without quotes");
        Ok(key)
    }

    fn word(&mut self) -> Result<Value, String> {
        const WORDS: [(&str, Value, bool); 6] = [
            ("true", Value::Bool(true), true),
            ("false", Value::Bool(false), true),
            ("null", Value::Null, true),
            ("True", Value::Bool(true), false),
            ("False", Value::Bool(false), false),
            ("None", Value::Null, false),
        ];
        let length = self.rest().find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest().len());
        let word = &self.rest()[..length];
        let Some((_, value, is_json)) = WORDS.iter().find(|(known, ..)| *known == word) else {
            let here: String = self.rest().chars().take(20).collect();
            return Err(format!("`{here}` is no JSON value"));
        };
        self.at += length;
        if !is_json {
            self.notes.add("Python words for true, false and null");
        }
        Ok(value.clone())
    }

    fn number(&mut self) -> Result<Value, String> {
        let is_part = |c: char| matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E');
        let length = self.rest().find(|c| !is_part(c)).unwrap_or(self.rest().len());
        let number: Number =
            self.rest()[..length].parse().map_err(|_| "a number cannot be read".to_owned())?;
        self.at += length;
        Ok(Value::Number(number))
    }

    fn string(&mut self) -> Result<String, String> {
        let quote = self.byte().unwrap_or(b'"');
        self.at += 1;
        if quote == b'\'' {
            self.notes.add("single quotes");
        }
        let (mut out, mut seen) = (String::new(), Marks::default());
        loop {
            let plain = |c: char| c as u32 >= 0x20 && c != '\\' && c != char::from(quote);
            let Some(length) = self.rest().find(|c| !plain(c)) else { return Err(self.cut("a string")) };
            out.push_str(&self.rest()[..length]);
            self.at += length;
            match self.byte() {
                Some(byte) if byte == quote => {
                    self.at += 1;
                    return self.checked(out, &seen);
                }
                Some(b'\\') => self.escape(quote, &mut out, &mut seen)?,
                Some(raw) => {
                    seen.raw = true;
                    out.push(char::from(raw));
                    self.at += 1;
                }
                None => return Err(self.cut("a string")),
            }
        }
    }

    /// A model that breaks lines as they are may have left the backslashes of its code as they are too.
    fn checked(&mut self, text: String, seen: &Marks) -> Result<String, String> {
        if seen.raw && seen.escape {
            return Err(format!(
                "the string that begins with `{}` has raw line breaks or tabs and also escapes such as `\\n`: \
                 it cannot be known which of them are meant",
                shown(&text)
            ));
        }
        if seen.raw {
            self.notes.add("raw line breaks in a string");
        }
        Ok(text)
    }

    fn escape(&mut self, quote: u8, out: &mut String, seen: &mut Marks) -> Result<(), String> {
        let escaped = self.text.as_bytes().get(self.at + 1).copied();
        let meant = match escaped {
            Some(b'"') => '"',
            Some(b'\'') if quote == b'\'' => '\'',
            Some(b'/') => '/',
            other => {
                seen.escape = true;
                match other {
                    Some(b'\\') => '\\',
                    Some(b'n') => '\n',
                    Some(b't') => '\t',
                    Some(b'r') => '\r',
                    Some(b'b') => '\u{8}',
                    Some(b'f') => '\u{c}',
                    Some(b'u') => return self.unicode(out),
                    Some(_) | None => {
                        return Err("a backslash stands before what JSON does not escape".to_owned());
                    }
                }
            }
        };
        out.push(meant);
        self.at += 2;
        Ok(())
    }

    /// `\uXXXX`, or two of them for a character beyond the first plane.
    fn unicode(&mut self, out: &mut String) -> Result<(), String> {
        let bad = || "a \\u escape cannot be read".to_owned();
        let unit = |at: usize| {
            let digits = self.text.get(at + 2..at + 6)?;
            let is_escape =
                self.text.get(at..at + 2)? == "\\u" && digits.bytes().all(|b| b.is_ascii_hexdigit());
            u16::from_str_radix(digits, 16).ok().filter(|_| is_escape)
        };
        let first = unit(self.at).ok_or_else(bad)?;
        let (units, length) = if (0xD800..0xDC00).contains(&first) {
            (vec![first, unit(self.at + 6).ok_or_else(bad)?], 12)
        } else {
            (vec![first], 6)
        };
        out.push_str(&String::from_utf16(&units).map_err(|_| bad())?);
        self.at += length;
        Ok(())
    }
}

/// What a string held.
#[derive(Default)]
struct Marks {
    /// A line break or another control character as it is.
    raw: bool,
    /// An escape that source code has too.
    escape: bool,
}

fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}
