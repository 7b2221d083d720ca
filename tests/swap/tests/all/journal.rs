//! What was said of every session: to the callers who appended, and to an observer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use annals::{Batch, Observer};

/// Every session by id.
pub type Sessions = BTreeMap<String, Told>;

/// What was said of one session.
#[derive(Clone, Default)]
pub struct Told {
    /// Every line that an observer was told of, by seq, behind what a fork began with.
    pub lines: Vec<String>,
    /// The lines that the callers of `append` were given, by seq.
    pub acknowledged: BTreeMap<u64, String>,
    /// What cannot be: a seq that was given twice or was not due.
    pub contradictions: Vec<String>,
}

impl Told {
    /// A caller was given these lines.
    pub fn acknowledge(&mut self, batch: &Batch) {
        for (seq, line) in (batch.first_seq..).zip(batch.lines.lines()) {
            if self.acknowledged.insert(seq, line.to_owned()).is_some() {
                let text = format!("seq {seq} was acknowledged twice");
                self.contradictions.push(text);
            }
        }
    }

    /// An observer was told of them.
    pub fn observe(&mut self, batch: &Batch) {
        let due = self.lines.len() as u64;
        if batch.first_seq != due {
            let text = format!("told of seq {} where {due} is due", batch.first_seq);
            self.contradictions.push(text);
        }
        self.lines.extend(batch.lines.lines().map(str::to_owned));
    }
}

/// Shared by all who write.
#[derive(Clone, Default)]
pub struct Journal(Arc<Mutex<Sessions>>);

impl Journal {
    pub fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.0.lock().unwrap()
    }

    pub fn acknowledge(&self, id: &str, batch: &Batch) {
        let mut sessions = self.sessions();
        sessions
            .entry(id.to_owned())
            .or_default()
            .acknowledge(batch);
    }

    /// A fork is about to begin with the first `events` lines of its source.
    pub fn seed(&self, child: &str, source: &str, events: u64) {
        let mut sessions = self.sessions();
        let mut told = Told::default();
        let lines = sessions[source].lines.iter().take(events as usize);
        told.lines.extend(lines.cloned());
        sessions.insert(child.to_owned(), told);
    }

    /// Whether the session has these lines from that seq on.
    pub fn has(&self, id: &str, start: u64, lines: &str) -> bool {
        let sessions = self.sessions();
        let known = sessions[id].lines.iter().skip(start as usize);
        let mut met = 0;
        let is_same = lines.lines().zip(known).all(|(theirs, ours)| {
            met += 1;
            theirs == ours
        });
        is_same && met == lines.lines().count()
    }

    /// How many events the session has.
    pub fn length(&self, id: &str) -> u64 {
        self.sessions().get(id).map_or(0, |told| told.lines.len()) as u64
    }

    /// How many events each session has.
    pub fn lengths(&self) -> BTreeMap<String, u64> {
        let sessions = self.sessions();
        let length = |(id, told): (&String, &Told)| (id.clone(), told.lines.len() as u64);
        sessions.iter().map(length).collect()
    }

    /// Everything that was said, for the end.
    pub fn into_sessions(self) -> Sessions {
        std::mem::take(&mut self.sessions())
    }
}

/// Writes down what it is told.
pub struct Recorder(pub Journal);

impl Observer for Recorder {
    fn created(&mut self, id: &str) -> Result<(), String> {
        match id.starts_with("vetoed") {
            true => Err("not this one".to_owned()),
            false => Ok(()),
        }
    }

    fn appended(&mut self, id: &str, events: &Batch) {
        let mut sessions = self.0.sessions();
        sessions.entry(id.to_owned()).or_default().observe(events);
    }
}
