//! The log against what it stands on: an append against a bare write and sync, a verify against a bare hash.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use perspt_core::hash::Sha;
use perspt_core::ids::{Millis, SessionId};
use perspt_store::{Chain, Home, LogWriter, RealDisk, StoreError};

use super::Times;
use crate::process::{Failed, at};

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Failed {
        Failed(error.to_string())
    }
}

const PAIRS: u64 = 300;
const RECORDS: u64 = 20_000;
const ROUNDS: u64 = 11;

fn event(n: u64) -> serde_json::Value {
    serde_json::json!({ "kind": "bench", "n": n, "text": "x".repeat(600) })
}

/// Appends, and raw writes of the same bytes to a file beside the log.
pub fn append(scratch: &Path) -> Result<(), Failed> {
    let home = Home::open(scratch.join("append"), Arc::new(RealDisk))?;
    let session = SessionId::from("bench");
    let mut writer = LogWriter::create(&home, &session)?;
    let raw_path = home.session_dir(&session).join("raw");
    let mut raw = File::create(&raw_path).map_err(at(&raw_path))?;
    let (mut ours, mut bare) = (Times::default(), Times::default());
    for n in 0..PAIRS {
        let mut line = Vec::new();
        writer.chain().seal(Millis(n), 1, &event(n), &mut line)?;
        let begun = Instant::now();
        writer.append(Millis(n), 1, &event(n))?;
        ours.0.push(begun.elapsed());
        let begun = Instant::now();
        raw.write_all(&line)?;
        raw.sync_data()?;
        bare.0.push(begun.elapsed());
    }
    println!("append: {PAIRS} interleaved pairs");
    ours.show("append");
    bare.show("write + fdatasync");
    println!("  ratio {:.2}", ours.ratio(&bare));
    Ok(())
}

/// Checking a log, and hashing the same bytes.
pub fn verify(scratch: &Path) -> Result<(), Failed> {
    let home = Home::open(scratch.join("verify"), Arc::new(RealDisk))?;
    let session = SessionId::from("bench");
    let path = LogWriter::create(&home, &session)?.path().to_owned();
    let (mut chain, mut bytes) = (Chain::default(), Vec::new());
    for n in 0..RECORDS {
        chain.seal(Millis(n), 1, &event(n), &mut bytes)?;
    }
    std::fs::write(&path, &bytes).map_err(at(&path))?;
    let (mut ours, mut bare) = (Times::default(), Times::default());
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let verified = perspt_store::check_log(&home, &session, &mut |_| {})?;
        ours.0.push(begun.elapsed());
        if verified.records != RECORDS {
            return Err(Failed(format!("{} of {RECORDS} records were found", verified.records)));
        }
        let begun = Instant::now();
        std::hint::black_box(Sha::of(&std::fs::read(&path).map_err(at(&path))?));
        bare.0.push(begun.elapsed());
    }
    println!("verify: {RECORDS} records, {} MB, {ROUNDS} interleaved pairs", bytes.len() / 1_000_000);
    ours.show("verify");
    bare.show("read + SHA-256");
    println!("  ratio {:.2}", ours.ratio(&bare));
    Ok(())
}
