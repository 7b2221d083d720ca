//! One backend without a store, called on the thread of the caller: what the border to it costs by itself.

use std::path::Path;

use annals::{Bare, Place, Started};
use annals_sdk::Persistence;
use annals_sdk::types as native;
use anyhow::Result;

use super::EVENT_BYTES;
use crate::side::{TIME_MS, failed};

const MEASURED: &str = "measured";

/// A configured backend with one session.
pub trait Instance {
    fn has(&mut self, id: &str) -> Result<bool>;
    /// Makes the batch that is to come next, of that many events.
    fn prepare(&mut self, events: usize);
    /// Appends what was prepared.
    fn append(&mut self) -> Result<()>;
}

/// A backend, the token of its session, and the next batch.
pub struct Alone<B, T> {
    backend: B,
    token: String,
    batch: T,
}

impl<P: Persistence> Alone<P, native::Batch> {
    pub fn native(mut backend: P, settings: &[(String, String)]) -> Result<Self> {
        backend.configure(settings).map_err(failed)?;
        let token = backend.acquire(Some(MEASURED), "{}", None);
        let token = token.map_err(failed)?;
        let header = native::SessionHeader {
            id: MEASURED.to_owned(),
            version: 0,
            created_at_ms: TIME_MS,
            cwd: None,
            parent_session: None,
            seed_length: None,
            delegation_depth: None,
            extra: None,
        };
        let batch = native::Batch {
            first_seq: 0,
            count: 0,
            last_time_ms: TIME_MS,
            lines: String::new(),
        };
        backend.create(&header, &token, &batch).map_err(failed)?;
        Ok(Self {
            backend,
            token,
            batch,
        })
    }
}

impl<P: Persistence> Instance for Alone<P, native::Batch> {
    fn has(&mut self, id: &str) -> Result<bool> {
        self.backend.has(id).map_err(failed)
    }

    fn prepare(&mut self, events: usize) {
        self.batch.first_seq += self.batch.count;
        self.batch.count = events as u64;
        self.batch.lines = lines(self.batch.first_seq, events);
    }

    fn append(&mut self) -> Result<()> {
        let appended = self.backend.append(MEASURED, &self.token, &self.batch);
        appended.map_err(failed)
    }
}

impl Alone<Started, annals::Batch> {
    pub fn linked(place: Place, root: &Path) -> Result<Self> {
        let mut bare = Bare::new(place).map_err(failed)?;
        let settings = bare.settings().to_vec();
        let mut backend = bare.start(root).map_err(failed)?;
        backend.configure(&settings).map_err(failed)?;
        let token = backend.acquire(Some(MEASURED), "{}", None);
        let token = token.map_err(failed)?;
        let header = annals::SessionHeader {
            id: MEASURED.to_owned(),
            version: 0,
            created_at_ms: TIME_MS,
            cwd: None,
            parent_session: None,
            seed_length: None,
            delegation_depth: None,
            extra: None,
        };
        let batch = annals::Batch {
            first_seq: 0,
            count: 0,
            last_time_ms: TIME_MS,
            lines: String::new(),
        };
        backend.create(&header, &token, &batch).map_err(failed)?;
        Ok(Self {
            backend,
            token,
            batch,
        })
    }
}

impl Instance for Alone<Started, annals::Batch> {
    fn has(&mut self, id: &str) -> Result<bool> {
        self.backend.has(id).map_err(failed)
    }

    fn prepare(&mut self, events: usize) {
        self.batch.first_seq += self.batch.count;
        self.batch.count = events as u64;
        self.batch.lines = lines(self.batch.first_seq, events);
    }

    fn append(&mut self) -> Result<()> {
        let appended = self.backend.append(MEASURED, &self.token, &self.batch);
        appended.map_err(failed)
    }
}

/// Events as they are stored, from a seq on.
fn lines(first_seq: u64, events: usize) -> String {
    let text = "x".repeat(EVENT_BYTES - 54);
    (first_seq..)
        .take(events)
        .map(|seq| {
            format!(
                r#"{{"type":"plugin/note","seq":{seq},"time":{TIME_MS},"data":{{"number":1000,"text":"{text}"}}}}"#
            ) + "\n"
        })
        .collect()
}
