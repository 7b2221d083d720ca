//! The workload: what agents do with sessions, and what they were told is stored.

use std::collections::BTreeMap;

use annals_crash::Sim;
use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode, EvictionReason, SessionSummary};
use annals_store::{OpenMode, SessionKey};

use crate::process::{
    ROOT, Sessions, events, fact, open, options, start, turn, turn_begun, turn_ended, with_lease,
};

/// A stored session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fact {
    /// All event lines.
    pub text: String,
    pub title: Option<String>,
    pub first_prompt: String,
}

/// What is acknowledged, by id.
pub type Facts = BTreeMap<String, Fact>;

/// What goes wrong while the story is told: called for each error that was given, and for each acknowledgement.
pub trait Listener {
    fn error(&mut self, what: &str, error: &Error);
    fn acknowledged(&mut self, facts: &Facts);
}

/// Nothing may go wrong.
pub struct Smooth;

impl Listener for Smooth {
    fn error(&mut self, what: &str, error: &Error) {
        panic!("{what}: {error:?}");
    }
    fn acknowledged(&mut self, _facts: &Facts) {}
}

/// How often an agent tries what fails.
const TRIES_MAX: usize = 4;

pub struct Teller<'a> {
    sim: &'a Sim,
    listener: &'a mut dyn Listener,
    /// Whether a quiet time passes after each acknowledgement.
    is_settling: bool,
    /// What was acknowledged, then with the next acknowledgement, and so on. Operations of the disk are marked with the
    /// number of the one that they follow.
    pub versions: Vec<Facts>,
    time_ms: u64,
}

impl<'a> Teller<'a> {
    pub fn new(sim: &'a Sim, listener: &'a mut dyn Listener, is_settling: bool) -> Teller<'a> {
        Teller {
            sim,
            listener,
            is_settling,
            versions: vec![Facts::new()],
            time_ms: 1000,
        }
    }

    fn acknowledge(&mut self, change: impl FnOnce(&mut Facts)) {
        let mut facts = self.versions.last().unwrap().clone();
        change(&mut facts);
        self.listener.acknowledged(&facts);
        self.versions.push(facts);
        self.sim.set_mark(self.versions.len() - 1);
        if self.is_settling {
            self.sim.settle();
        }
    }

    fn attempt<T>(
        &mut self,
        what: &str,
        store: &mut Sessions,
        mut call: impl FnMut(&mut Sessions) -> Result<T>,
    ) -> T {
        for tried in 1.. {
            match call(store) {
                Ok(done) => return done,
                Err(error) => {
                    self.listener.error(what, &error);
                    assert!(tried < TRIES_MAX, "{what} goes on failing: {error:?}");
                    if tried > 1 {
                        self.sim.heal();
                    }
                }
            }
        }
        unreachable!()
    }

    fn start(&mut self, number: u32) -> Sessions {
        for _ in 0..TRIES_MAX {
            match start(self.sim, number) {
                Ok(store) => return store,
                Err(error) => self.listener.error("configure", &error),
            }
        }
        panic!("configuring goes on failing");
    }

    fn append(&mut self, store: &mut Sessions, key: SessionKey, lines: &str) {
        self.time_ms += 1;
        store.append(key, lines, self.time_ms).unwrap();
    }

    fn flush(&mut self, store: &mut Sessions, key: SessionKey) {
        let id = store.id(key).unwrap();
        self.attempt(&format!("flush {id}"), store, |store| store.flush(key));
        self.note(store, key);
    }

    fn note(&mut self, store: &Sessions, key: SessionKey) {
        let (id, text) = (store.id(key).unwrap(), events(store, key));
        self.acknowledge(|facts| facts.entry(id).or_default().text = text);
    }

    fn create(
        &mut self,
        store: &mut Sessions,
        id: &str,
        cwd: Option<&str>,
        text: &str,
    ) -> SessionKey {
        let key = self.attempt(&format!("create {id}"), store, |store| {
            store.create(options(id, cwd), 1)
        });
        self.append(store, key, &turn(1, text));
        self.attempt(&format!("flush {id}"), store, |store| store.flush(key));
        let fact = Fact {
            text: events(store, key),
            title: None,
            first_prompt: text.chars().take(200).collect(),
        };
        self.acknowledge(|facts| drop(facts.insert(id.to_owned(), fact)));
        key
    }

    fn open(&mut self, store: &mut Sessions, id: &str, why: EvictionReason) -> SessionKey {
        let (key, _) = self.attempt(&format!("open {id}"), store, |store| {
            open(store, id, OpenMode::Resume, why)
        });
        self.note(store, key);
        key
    }

    fn entitle(&mut self, store: &mut Sessions, id: &str, title: &str) {
        let summary = SessionSummary {
            title: Some(title.to_owned()),
            first_prompt: None,
        };
        self.attempt(&format!("update {id}"), store, |store| {
            store.update(id, &summary)
        });
        self.acknowledge(|facts| facts.get_mut(id).unwrap().title = Some(title.to_owned()));
    }

    fn close(&mut self, store: &mut Sessions, key: SessionKey) {
        self.attempt("close", store, |store| store.close(key));
    }

    fn renew(&mut self, store: &mut Sessions) {
        self.attempt("renew", store, Sessions::renew);
    }

    fn delete(&mut self, store: &mut Sessions, id: &str) {
        let mut is_removed = false;
        self.attempt(&format!("delete {id}"), store, |store| {
            let deleted = with_lease(store, id, EvictionReason::Gone, |store| store.delete(id));
            match deleted {
                // it was said that it is removed, if not for good
                Err(error) if error.code == ErrorCode::NotFound && is_removed => Ok(()),
                Err(error) => {
                    is_removed |= error.reason == "delete-not-durable";
                    Err(error)
                }
                Ok(()) => Ok(()),
            }
        });
        self.acknowledge(|facts| drop(facts.remove(id)));
    }

    /// What a process left in a log that was killed while it wrote: part of a turn, and part of a line.
    fn tear(&mut self, bucket: &str, id: &str, turn: u32) {
        let seq = self.versions.last().unwrap()[id].text.lines().count();
        let mut lines = String::new();
        for (at, line) in turn_begun(turn, "torn").lines().enumerate() {
            let envelope = format!("\",\"seq\":{},\"time\":2000,\"data\"", seq + at);
            lines.push_str(&line.replacen("\",\"data\"", &envelope, 1));
            lines.push('\n');
        }
        lines.push_str("{\"type\":\"assistant/mess");
        self.sim
            .scribble(&format!("{ROOT}/{bucket}/{id}.jsonl"), lines.as_bytes());
    }

    /// Creates, appends, repairs, updates, forks, deletes; a lease is taken, renewed and taken over.
    pub fn tell(&mut self) {
        let no_cwd = "_no-cwd";
        let gone = EvictionReason::Gone;
        let mut one = self.start(1);
        let a = self.create(&mut one, "a", None, "first");
        self.append(&mut one, a, &turn(2, &"long ".repeat(1900)));
        self.flush(&mut one, a);
        self.renew(&mut one);
        self.append(&mut one, a, &turn_begun(3, "in pieces"));
        self.flush(&mut one, a);
        self.append(&mut one, a, &turn_ended(3));
        self.flush(&mut one, a);
        self.entitle(&mut one, "a", "a title");
        let b = self.attempt("fork a", &mut one, |store| {
            store.fork(
                "a",
                Some(5),
                Some("b".to_owned()),
                Some("/work".to_owned()),
                7,
            )
        });
        self.attempt("flush b", &mut one, |store| store.flush(b));
        let text = events(&one, b);
        self.acknowledge(|facts| {
            let first_prompt = "first".to_owned();
            let fact = Fact {
                text,
                first_prompt,
                title: None,
            };
            facts.insert("b".to_owned(), fact);
        });
        self.close(&mut one, b);
        self.close(&mut one, a);

        // a process dies in the middle of an append, the next one repairs and dies with the lease
        self.tear(no_cwd, "a", 4);
        let mut two = self.start(2);
        let a = self.open(&mut two, "a", gone);
        self.append(&mut two, a, &turn(5, "after the repair"));
        self.flush(&mut two, a);
        drop(two);

        // its lease is taken over; then the lease of one that is only silent, and what that one writes late is refused
        let a = self.open(&mut one, "a", gone);
        self.append(&mut one, a, &turn(6, "taken over"));
        self.flush(&mut one, a);
        let mut three = self.start(3);
        let late = a;
        let a = self.open(&mut three, "a", EvictionReason::Silent);
        self.append(&mut three, a, &turn(7, "fenced"));
        self.flush(&mut three, a);
        self.append(&mut one, late, &turn(7, "late"));
        self.refuse(&mut one, late);
        self.close(&mut three, a);

        // a session with a title and cut bytes is deleted, and its id is used again
        let c = self.create(&mut one, "c", None, "of the old one");
        self.entitle(&mut one, "c", "old");
        self.close(&mut one, c);
        self.tear(no_cwd, "c", 2);
        let c = self.open(&mut one, "c", gone);
        self.close(&mut one, c);
        self.delete(&mut one, "c");
        let c = self.create(&mut one, "c", None, "of the new one");
        self.close(&mut one, c);
    }

    /// A flush of one who lost the lease is never ok.
    fn refuse(&mut self, store: &mut Sessions, key: SessionKey) {
        for _ in 0..TRIES_MAX {
            let error = store.flush(key).unwrap_err();
            if error.code == ErrorCode::Busy {
                assert!(!fact(&error, "id").is_null() || error.reason == "lease-lost");
                // it is known to have lost it, so that closing does not wait for a flush
                assert_eq!(store.close(key).unwrap_err().code, ErrorCode::Busy);
                return;
            }
            self.listener.error("late flush", &error);
            self.sim.heal();
        }
        panic!("a late flush is not told that the lease is lost");
    }
}
