//! The listeners of a store script: what they write down, and what they do besides.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::{Answered, Stop, parsed, text_field};
use crate::host::Sessions;
use crate::vector::set;

/// The state of a script, which an observer of the store under test shares: `K` names the store's sessions.
///
/// One caller runs it, and callbacks of the calls it makes; nothing stays locked over a call.
pub struct Script<K> {
    /// The clock of the step.
    pub(super) time_ms: AtomicU64,
    /// Notifications of the step, in the order of their delivery.
    pub(super) emitted: Mutex<Vec<Value>>,
    /// Sessions by their names in the script.
    pub(super) sessions: Mutex<BTreeMap<String, K>>,
    /// Entered sessions by the names of what detaches them.
    pub(super) handles: Mutex<BTreeMap<String, K>>,
    /// Sessions by their ids, as of the last notification.
    told: Mutex<BTreeMap<String, K>>,
    listeners: Mutex<Vec<Listener>>,
    /// Steps that start before the present one is awaited.
    due: Mutex<VecDeque<(usize, Value)>>,
    started: Mutex<BTreeMap<usize, Value>>,
    stop: Mutex<Option<Stop>>,
}

pub(super) fn lock<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K> Default for Script<K> {
    fn default() -> Self {
        Self {
            time_ms: AtomicU64::default(),
            emitted: Mutex::default(),
            sessions: Mutex::default(),
            handles: Mutex::default(),
            told: Mutex::default(),
            listeners: Mutex::default(),
            due: Mutex::default(),
            started: Mutex::default(),
            stop: Mutex::default(),
        }
    }
}

struct Listener {
    on: String,
    times: u64,
    step: Value,
}

/// How a listener ended.
enum Ending {
    Ok,
    Threw(String),
    /// It fails later, when everybody has been called.
    Rejected(String),
}

impl<K: Clone + PartialEq> Script<K> {
    pub(super) fn listen(&self, step: &Value) -> Result<(), Stop> {
        lock(&self.listeners).push(Listener {
            on: text_field(step, "on")?.to_owned(),
            times: step.get("times").and_then(Value::as_u64).unwrap_or(1),
            step: step.clone(),
        });
        Ok(())
    }

    /// What kept a callback from doing its part.
    pub(super) fn stopped(&self) -> Result<(), Stop> {
        lock(&self.stop).take().map_or(Ok(()), Err)
    }

    /// Starts all before any is awaited. Only a flush is awaited here, so the others start from inside the first one.
    pub(super) fn concurrently<S: Sessions<Key = K>>(
        &self,
        store: &mut S,
        steps: &[Value],
    ) -> Answered {
        lock(&self.due).extend(steps.iter().cloned().enumerate());
        self.start_due(store);
        let started = std::mem::take(&mut *lock(&self.started));
        Ok(started.into_values().collect())
    }

    fn start_due<S: Sessions<Key = K>>(&self, store: &mut S) {
        loop {
            let Some((at, step)) = lock(&self.due).pop_front() else {
                return;
            };
            let outcome = store
                .check_callable()
                .and_then(|()| self.outcome(store, &step));
            match outcome {
                Ok(outcome) => drop(lock(&self.started).insert(at, outcome)),
                Err(stop) => drop(lock(&self.stop).replace(stop)),
            }
        }
    }

    /// Writes the notification down, then calls the listeners one by one: until one throws where that is a veto.
    fn notify<S: Sessions<Key = K>>(
        &self,
        store: &mut S,
        told: Value,
        is_veto: bool,
    ) -> Result<(), String> {
        let text = |name: &str| told.get(name).and_then(Value::as_str).unwrap_or_default();
        let (on, id, event_type) = (
            text("event").to_owned(),
            text("session").to_owned(),
            text("type").to_owned(),
        );
        lock(&self.emitted).push(told);
        // where nobody can be called, nobody has to be known
        if let Ok(Some(key)) = store.key_of(&id) {
            lock(&self.told).insert(id.clone(), key);
        }
        let mut failed = Ok(());
        let count = lock(&self.listeners).len();
        for at in 0..count {
            let Some(step) = self.take(at, &on, &event_type) else {
                continue;
            };
            match self.act(store, &id, &step) {
                Ending::Ok => {}
                Ending::Threw(words) if is_veto => return Err(words),
                Ending::Threw(words) | Ending::Rejected(words) => failed = failed.and(Err(words)),
            }
        }
        // what fails later is no veto
        if is_veto { Ok(()) } else { failed }
    }

    /// What the listener does about this notification, if it still does anything.
    fn take(&self, at: usize, on: &str, event_type: &str) -> Option<Value> {
        let mut listeners = lock(&self.listeners);
        let listener = listeners.get_mut(at)?;
        let of = listener.step.get("when_type").and_then(Value::as_str);
        let is_meant = listener.on == on && of.is_none_or(|of| of == event_type);
        if !is_meant || listener.times == 0 {
            return None;
        }
        listener.times -= 1;
        Some(listener.step.clone())
    }

    fn act<S: Sessions<Key = K>>(&self, store: &mut S, id: &str, step: &Value) -> Ending {
        let act = step.get("do").and_then(Value::as_str).unwrap_or_default();
        let words = || {
            let words = step.get("message").and_then(Value::as_str);
            words.unwrap_or("listener failed").to_owned()
        };
        let acted = match act {
            "throw" => return Ending::Threw(words()),
            "reject" => return Ending::Rejected(words()),
            // leaving is the one thing that every listener may ask for
            "detach" => self.handle(step).and_then(|key| store.detach(&key)),
            _ => store
                .check_callable()
                .and_then(|()| self.call_back(store, id, act, step)),
        };
        let mut outcome = json!({ "listener": act });
        match acted {
            Ok(_) => set(&mut outcome, "ok", true),
            Err(Stop::Refused(refusal)) => set(&mut outcome, "error", refusal.value()),
            Err(stop) => drop(lock(&self.stop).replace(stop)),
        }
        lock(&self.emitted).push(outcome);
        Ending::Ok
    }

    fn call_back<S: Sessions<Key = K>>(
        &self,
        store: &mut S,
        id: &str,
        act: &str,
        step: &Value,
    ) -> Result<(), Stop> {
        match act {
            "append" => self.append(store, &self.notified(id)?, step).map(drop),
            "announce" => store.announce(&self.notified(id)?),
            "create" => self.create(store, step).map(drop),
            _ => Err(Stop::Misread(format!("a listener cannot {act:?}"))),
        }
    }

    fn notified(&self, id: &str) -> Result<K, Stop> {
        let key = lock(&self.told).get(id).cloned();
        key.ok_or_else(|| Stop::Misread(format!("nothing was told of {id:?}")))
    }
}

/// What the observer of a store under test hands on.
impl<K: Clone + PartialEq> Script<K> {
    /// # Errors
    /// A listener's veto.
    pub fn created<S: Sessions<Key = K>>(&self, store: &mut S, id: &str) -> Result<(), String> {
        let told = json!({ "event": "session/created", "session": id });
        self.notify(store, told, true)
    }

    /// Of complete event lines.
    pub fn appended<S: Sessions<Key = K>>(&self, store: &mut S, id: &str, lines: &str) {
        for event in parsed(lines).unwrap_or_default() {
            let told = json!({
                "event": "session/event", "session": id,
                "seq": event.get("seq"), "type": event.get("type"),
            });
            // nobody hears of it
            let _ = self.notify(store, told, false);
        }
    }

    /// # Errors
    /// What a listener threw.
    pub fn flushed<S: Sessions<Key = K>>(&self, store: &mut S, id: &str) -> Result<(), String> {
        let told = json!({ "event": "session/flush", "session": id });
        let flushed = self.notify(store, told, false);
        self.start_due(store);
        flushed
    }

    /// Nobody hears of a failure.
    pub fn disposed<S: Sessions<Key = K>>(&self, store: &mut S, id: &str) {
        let told = json!({ "event": "session/disposed", "session": id });
        let _ = self.notify(store, told, false);
    }
}
