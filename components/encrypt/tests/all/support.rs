//! Sealing backends over memory and over files, and what lies on the files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use annals_encrypt::{Encrypt, KEY_ENV_SETTING, Surroundings};
use annals_jsonl::Jsonl;
use annals_memory::Memory;
use annals_sdk::types::{Batch, Error, ErrorCode, Page, SessionHeader};
use annals_sdk::{Persistence, Result};
use tempfile::TempDir;

pub const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
pub const OTHER_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHiA=";

/// `ANNALS_KEY` and `OTHER_KEY` are granted.
pub fn surroundings() -> Surroundings {
    Surroundings {
        variable: |name| match name {
            "ANNALS_KEY" => Some(KEY.to_owned()),
            "OTHER_KEY" => Some(OTHER_KEY.to_owned()),
            _ => None,
        },
        ..Surroundings::own()
    }
}

pub fn over_memory() -> Encrypt<Memory> {
    let mut backend = Encrypt::over(Memory::default(), surroundings());
    backend.configure(&[]).unwrap();
    backend
}

pub fn settings(root: &Path, more: &[(&str, &str)]) -> Vec<(String, String)> {
    let root = [("root", root.to_str().unwrap()), ("sync", "never")];
    let all = root.iter().chain(more);
    all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

pub fn over_files(root: &Path) -> Encrypt<Jsonl> {
    let mut backend = Encrypt::over(Jsonl::default(), surroundings());
    backend.configure(&settings(root, &[])).unwrap();
    backend
}

pub fn with_other_key(root: &Path) -> Encrypt<Jsonl> {
    let mut backend = Encrypt::over(Jsonl::default(), surroundings());
    let other = [(KEY_ENV_SETTING, "OTHER_KEY")];
    backend.configure(&settings(root, &other)).unwrap();
    backend
}

pub fn header(id: &str) -> SessionHeader {
    SessionHeader {
        version: 0,
        id: id.to_owned(),
        created_at_ms: 42,
        cwd: Some("/w".to_owned()),
        parent_session: None,
        seed_length: None,
        delegation_depth: None,
        extra: Some("{\"a\":1.0,\"b\":\"\\u0061\"}".to_owned()),
    }
}

pub fn event(seq: u64) -> String {
    format!(
        "{{\"type\":\"x\",\"seq\":{seq},\"time\":{},\"data\":{{\"secret\":[1.0,\"é\\u0062\"]}}}}\n",
        1000 + seq
    )
}

/// A packed row of three events.
pub fn row(seq: u64) -> String {
    format!(
        "{{\"type\":\"text-chunks\",\"seq0\":{seq},\"time0\":{},\"data\":{{\"turn\":1,\"step\":1,\"index\":0,\"dt\":[1,1],\"texts\":[\"secret\",\"b\",\"c\"]}}}}\n",
        1000 + seq
    )
}

pub fn batch(first_seq: u64, count: u64) -> Batch {
    Batch {
        first_seq,
        count,
        last_time_ms: 1000 + (first_seq + count).saturating_sub(1),
        lines: (first_seq..first_seq + count).map(event).collect(),
    }
}

/// Two events, a row of three, two events.
pub fn mixed() -> Batch {
    let lines = [event(0), event(1), row(2), event(5), event(6)].concat();
    Batch {
        first_seq: 0,
        count: 7,
        last_time_ms: 1006,
        lines,
    }
}

pub fn acquire<P: Persistence>(backend: &mut P, id: &str) -> String {
    backend.acquire(Some(id), "{\"pid\":1}", None).unwrap()
}

/// A stored session; nobody holds its lease.
pub fn stored<P: Persistence>(backend: &mut P, id: &str, first: &Batch) {
    let token = acquire(backend, id);
    backend.create(&header(id), &token, first).unwrap();
    backend.release(Some(id), &token).unwrap();
}

/// All pages of a log.
pub fn pages<P: Persistence>(backend: &mut P, id: &str, bytes_max: u32) -> Result<Vec<Page>> {
    let mut pages = Vec::new();
    let mut next = Some(0);
    while let Some(cursor) = next {
        let page = backend.load(id, cursor, bytes_max)?;
        next = page.next;
        pages.push(page);
    }
    Ok(pages)
}

pub fn lines<P: Persistence>(backend: &mut P, id: &str) -> Result<String> {
    let pages = pages(backend, id, 1 << 20)?;
    Ok(pages.into_iter().map(|page| page.lines).collect())
}

pub fn refused<T: std::fmt::Debug>(result: Result<T>, code: ErrorCode, reason: &str) -> Error {
    let error = result.unwrap_err();
    assert_eq!(
        (error.code, error.reason.as_str()),
        (code, reason),
        "{}",
        error.message
    );
    error
}

/// A root with the session "a", stored sealed, and the path of its log.
pub fn root_with(first: &Batch) -> (TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    stored(&mut over_files(root.path()), "a", first);
    let log = log_of(root.path(), "a");
    (root, log)
}

pub fn log_of(root: &Path, id: &str) -> PathBuf {
    let name = format!("{id}.jsonl");
    let mut files = files(root).into_keys();
    files
        .find(|path| path.file_name().unwrap() == name.as_str())
        .unwrap()
}

/// Everything below a root.
pub fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.insert(path.clone(), Vec::new());
                pending.push(path);
            } else {
                found.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// The lines of a log, newlines included.
pub fn lines_of(log: &Path) -> Vec<String> {
    let text = fs::read_to_string(log).unwrap();
    text.split_inclusive('\n').map(str::to_owned).collect()
}

/// Changes the lines of a log.
pub fn rewrite(log: &Path, change: impl FnOnce(&mut Vec<String>)) {
    let mut lines = lines_of(log);
    change(&mut lines);
    fs::write(log, lines.concat()).unwrap();
}
