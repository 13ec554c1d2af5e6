//! Reading a log from front to back in one buffer of fixed size.

use std::path::PathBuf;

use crate::disk::File;
use crate::error::StoreError;
use crate::record::{Chain, Flaw, LINE_MAX, Record};

const WINDOW: usize = 64 * 1024;

/// An end of the log that is no record: what an append leaves that did not finish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torn {
    /// Where it begins.
    pub offset: u64,
    /// How many bytes follow from there to the end.
    pub bytes: u64,
    /// What is wrong with it.
    pub why: String,
    /// Whether it ends in a newline. What a killed writer leaves does not, so this is a record that was changed,
    /// or one of which a power cut took a part.
    pub ended: bool,
}

pub(crate) enum Scanned {
    Record(Record),
    End,
    Torn(Torn),
}

/// A position in a log between two records.
pub(crate) struct Scanner {
    file: Box<dyn File>,
    path: PathBuf,
    pub chain: Chain,
    /// Where the next line begins.
    pub offset: u64,
    window: Vec<u8>,
    /// The part of the window that holds the bytes from `offset` on.
    used: usize,
    filled: usize,
}

impl Scanner {
    pub fn new(file: Box<dyn File>, path: PathBuf) -> Scanner {
        let window = vec![0; WINDOW];
        Scanner { file, path, chain: Chain::default(), offset: 0, window, used: 0, filled: 0 }
    }

    /// The next record, or what the log ends with. At the end it may be asked again: the end is read anew.
    pub fn next(&mut self) -> Result<Scanned, StoreError> {
        let mut read_anew = false;
        loop {
            let seen = &self.window[self.used..self.filled];
            if let Some(length) = seen.iter().position(|&byte| byte == b'\n') {
                match self.chain.check(&seen[..length]) {
                    Ok(record) => {
                        self.used += length + 1;
                        self.offset += length as u64 + 1;
                        return Ok(Scanned::Record(record));
                    }
                    // A follower may hold the old bytes of a tail that was cut and written anew.
                    Err(_) if !read_anew => {
                        read_anew = true;
                        self.forget();
                    }
                    Err(flaw) => {
                        let flaw = if self.chain.runs_on(&seen[..length]) { run_on() } else { flaw };
                        return self.flawed(flaw, length as u64 + 1);
                    }
                }
            } else if seen.len() > LINE_MAX {
                let long = Flaw::Unsealed("it is longer than any record");
                let flaw = if self.chain.runs_on(seen) { run_on() } else { long };
                let length = self.line_length()?;
                return self.flawed(flaw, length);
            } else if self.read_on()? == 0 {
                let seen = &self.window[self.used..self.filled];
                let bytes = seen.len() as u64;
                if bytes == 0 {
                    self.forget();
                    return Ok(Scanned::End);
                }
                let open = Flaw::Unsealed("it has no newline");
                let flaw = if self.chain.runs_on(seen) { run_on() } else { open };
                return self.flawed(flaw, bytes);
            }
        }
    }

    /// A bad line of `length` bytes: a torn end if nothing follows it, else damage.
    fn flawed(&mut self, flaw: Flaw, length: u64) -> Result<Scanned, StoreError> {
        self.forget();
        let last = self.read_at(self.offset + length - 1)? <= 1;
        let ended = self.window[0] == b'\n';
        let why = match flaw {
            Flaw::Unsealed(why) if last => {
                let why = why.to_owned();
                return Ok(Scanned::Torn(Torn { offset: self.offset, bytes: length, why, ended }));
            }
            Flaw::Unsealed(why) => why.to_owned(),
            Flaw::Foreign(why) => why,
        };
        // One line is one record, so that the line's number is the record's.
        let seq = self.chain.seq + 1;
        Err(StoreError::Integrity { file: self.path.clone(), line: seq, seq, why })
    }

    /// How long the next line is, with its newline if it has one.
    fn line_length(&mut self) -> Result<u64, StoreError> {
        self.forget();
        let mut length = 0;
        loop {
            let read = self.read_at(self.offset + length)?;
            let newline = self.window[..read].iter().position(|&byte| byte == b'\n');
            length += newline.map_or(read, |at| at + 1) as u64;
            if newline.is_some() || read == 0 {
                return Ok(length);
            }
        }
    }

    fn forget(&mut self) {
        (self.used, self.filled) = (0, 0);
    }

    fn read_on(&mut self) -> Result<usize, StoreError> {
        self.window.copy_within(self.used..self.filled, 0);
        (self.used, self.filled) = (0, self.filled - self.used);
        let offset = self.offset + self.filled as u64;
        let read = self.file.read_at(&mut self.window[self.filled..], offset);
        let read = read.map_err(|source| self.fail(source))?;
        self.filled += read;
        Ok(read)
    }

    /// Reads into the start of the window, which must have been forgotten.
    fn read_at(&mut self, offset: u64) -> Result<usize, StoreError> {
        self.file.read_at(&mut self.window, offset).map_err(|source| self.fail(source))
    }

    fn fail(&self, source: std::io::Error) -> StoreError {
        StoreError::Io { doing: "read", path: self.path.clone(), source }
    }

    /// The file, to be written to from here on.
    pub fn into_file(self) -> Box<dyn File> {
        self.file
    }

    pub fn file(&self) -> &dyn File {
        self.file.as_ref()
    }
}

fn run_on() -> Flaw {
    Flaw::Foreign("it has no newline of its own".to_owned())
}
