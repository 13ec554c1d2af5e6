//! The log of a session: its one writer, and readers that need no lock.

use std::path::{Path, PathBuf};

use perspt_core::hash::Sha;
use perspt_core::ids::{Millis, SessionId};
use serde::Serialize;

use crate::blobs::Shelf;
use crate::disk::{File, Open};
use crate::error::StoreError;
use crate::folder::{FILE_MODE, Folder, optional};
use crate::home::{Home, LOG};
use crate::lock::SessionLock;
use crate::record::{Chain, Record, Stamp};
use crate::scan::{Scanned, Scanner, Torn};

/// The one writer of a session's log. It holds the session's lock as long as it lives.
pub struct LogWriter {
    session: SessionId,
    path: PathBuf,
    file: Box<dyn File>,
    chain: Chain,
    line: Vec<u8>,
    failed: Option<String>,
    _lock: SessionLock,
}

/// A log that was opened to go on with it.
pub struct Opened {
    /// Its writer.
    pub writer: LogWriter,
    /// How many records it holds. None at all is a session that was never really begun.
    pub records: u64,
    /// The torn end that was cut off.
    pub cut: Option<TailCut>,
}

/// The end of a log that was cut off because it was no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TailCut {
    /// Where it began.
    pub offset: u64,
    /// How long it was.
    pub bytes: u64,
    /// Where its bytes are kept.
    pub kept_as: PathBuf,
    /// What was wrong with it.
    pub why: String,
}

impl LogWriter {
    /// Begins a session. It must not have a log yet; what a killed attempt left of its folder is used.
    pub fn create(home: &Home, session: &SessionId) -> Result<LogWriter, StoreError> {
        let folder = home.make_session(session)?;
        let lock = SessionLock::take(&folder, session)?;
        let file = folder.open(LOG, Open::New(FILE_MODE)).map_err(|error| {
            if error.is_taken() { StoreError::SessionExists(session.clone()) } else { error }
        })?;
        folder.sync()?;
        Ok(LogWriter::new(session, &folder, file, Chain::default(), lock))
    }

    /// Goes on with a session: checks every record and hands it to `each`, and cuts off a torn end.
    /// A folder without a log, or with an empty one, is a session with no records.
    pub fn open(
        home: &Home,
        session: &SessionId,
        each: &mut dyn FnMut(Record),
    ) -> Result<Opened, StoreError> {
        home.session(session)?;
        let folder = home.make_session(session)?;
        let lock = SessionLock::take(&folder, session)?;
        let mut scanner = Scanner::new(folder.open(LOG, Open::Any(FILE_MODE))?, folder.at(LOG));
        let torn = scan(&mut scanner, each)?;
        let cut = match torn {
            Some(torn) => Some(save_torn_end(&folder, scanner.file(), torn)?),
            None => None,
        };
        // A process that was killed may have left the last record, or the log's name, unsynced; whoever is
        // handed a record now acts on it. A kept tail has synced the folder already.
        if cut.is_none() {
            folder.sync()?;
        } else {
            scanner.file().truncate(scanner.offset).map_err(folder.fail("cut", LOG))?;
        }
        scanner.file().sync_data().map_err(folder.fail("sync", LOG))?;
        for shelf in Shelf::ALL {
            home.shelf(session, shelf)?.sweep()?;
        }
        let chain = scanner.chain;
        let writer = LogWriter::new(session, &folder, scanner.into_file(), chain, lock);
        Ok(Opened { writer, records: chain.seq, cut })
    }

    fn new(
        session: &SessionId,
        folder: &Folder,
        file: Box<dyn File>,
        chain: Chain,
        lock: SessionLock,
    ) -> LogWriter {
        let (session, path) = (session.clone(), folder.at(LOG));
        LogWriter { session, path, file, chain, line: Vec::new(), failed: None, _lock: lock }
    }

    /// Appends one event: one write, one sync, on disk on return. A time before the last record's is raised to it.
    ///
    /// After a failed write or sync nobody knows what the file ends with, so every later append fails too.
    pub fn append(&mut self, at: Millis, v: u32, event: &impl Serialize) -> Result<Stamp, StoreError> {
        if let Some(why) = &self.failed {
            return Err(StoreError::Poisoned { file: self.path.clone(), why: why.clone() });
        }
        self.line.clear();
        let mut chain = self.chain;
        let stamp = chain.seal(at, v, event, &mut self.line)?;
        if let Err(error) = self.write() {
            self.failed = Some(error.to_string());
            return Err(error);
        }
        self.chain = chain;
        Ok(stamp)
    }

    fn write(&self) -> Result<(), StoreError> {
        let fail = |doing, source| StoreError::Io { doing, path: self.path.clone(), source };
        let taken = self.file.append(&self.line).map_err(|source| fail("write", source))?;
        if taken != self.line.len() {
            let why = format!("only {taken} of {} bytes were written", self.line.len());
            return Err(fail("write", std::io::Error::new(std::io::ErrorKind::WriteZero, why)));
        }
        self.file.sync_data().map_err(|source| fail("sync", source))
    }

    /// The session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Where the log stands.
    pub fn chain(&self) -> Chain {
        self.chain
    }

    /// The path of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn scan(scanner: &mut Scanner, each: &mut dyn FnMut(Record)) -> Result<Option<Torn>, StoreError> {
    loop {
        match scanner.next()? {
            Scanned::Record(record) => each(record),
            Scanned::End => return Ok(None),
            Scanned::Torn(torn) => return Ok(Some(torn)),
        }
    }
}

/// Copies a torn end to a file beside the log, durably.
fn save_torn_end(folder: &Folder, log: &dyn File, torn: Torn) -> Result<TailCut, StoreError> {
    let staged = "log.cut.new";
    folder.clear(staged)?;
    let copy = folder.open(staged, Open::New(FILE_MODE))?;
    let (mut block, mut done) = (vec![0; 64 * 1024], 0);
    loop {
        let read = log.read_at(&mut block, torn.offset + done).map_err(folder.fail("read", LOG))?;
        if read == 0 {
            break;
        }
        folder.fill(staged, copy.as_ref(), &block[..read])?;
        done += read as u64;
    }
    copy.sync_data().map_err(folder.fail("sync", staged))?;
    let mut name = format!("log.cut-{}", torn.offset);
    let mut more = 1;
    while let Err(error) = folder.rename_new(staged, &name) {
        if !error.is_taken() {
            return Err(error);
        }
        more += 1;
        name = format!("log.cut-{}-{more}", torn.offset);
    }
    folder.sync()?;
    Ok(TailCut { offset: torn.offset, bytes: torn.bytes, kept_as: folder.at(&name), why: torn.why })
}

/// A reader of a log, written to or not. It takes no lock and never makes the writer wait.
pub struct LogReader {
    folder: Folder,
    scanner: Option<Scanner>,
}

impl LogReader {
    /// Begins at the first record.
    pub fn open(home: &Home, session: &SessionId) -> Result<LogReader, StoreError> {
        Ok(LogReader { folder: home.session(session)?, scanner: None })
    }

    /// The next whole, valid record; `None` at the end, or where an append is under way. May be asked again.
    pub fn poll(&mut self) -> Result<Option<Record>, StoreError> {
        if self.scanner.is_none() {
            let Some(file) = optional(self.folder.open(LOG, Open::Read))? else { return Ok(None) };
            self.scanner = Some(Scanner::new(file, self.folder.at(LOG)));
        }
        match self.scanner.as_mut().map(Scanner::next).transpose()? {
            Some(Scanned::Record(record)) => Ok(Some(record)),
            Some(Scanned::End | Scanned::Torn(_)) | None => Ok(None),
        }
    }

    /// Where the records read so far leave the chain.
    pub fn chain(&self) -> Chain {
        self.scanner.as_ref().map(|scanner| scanner.chain).unwrap_or_default()
    }
}

/// What checking a whole log found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogCheck {
    /// How many records are good.
    pub records: u64,
    /// The last link of the chain.
    pub head: Sha,
    /// An end that is no record. While a writer lives this may be an append under way.
    pub torn: Option<Torn>,
}

/// Checks a whole log without changing anything, and hands every record to `each`.
pub fn check_log(
    home: &Home,
    session: &SessionId,
    each: &mut dyn FnMut(Record),
) -> Result<LogCheck, StoreError> {
    let folder = home.session(session)?;
    let Some(file) = optional(folder.open(LOG, Open::Read))? else {
        return Ok(LogCheck { records: 0, head: Sha::ZERO, torn: None });
    };
    let mut scanner = Scanner::new(file, folder.at(LOG));
    let torn = scan(&mut scanner, each)?;
    Ok(LogCheck { records: scanner.chain.seq, head: scanner.chain.head, torn })
}
