//! The listeners of a store script: what they write down, and what they do besides.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use annals_jsonl::Jsonl;
use annals_sdk::types::Batch;
use annals_store::{Observer, SessionKey};
use serde_json::{Value, json};

use super::{Answered, Scripted, Stop, parsed, refusal, text_field};
use crate::vector::set;

/// What an observer of the store under test shares with the script that runs.
#[derive(Default)]
pub(super) struct Listeners(Rc<Script>);

/// The state of a script.
#[derive(Default)]
pub(super) struct Script {
    /// The clock of the step.
    pub(super) time_ms: Cell<u64>,
    /// Notifications of the step, in the order of their delivery.
    pub(super) emitted: RefCell<Vec<Value>>,
    /// Sessions by their names in the script.
    pub(super) sessions: RefCell<BTreeMap<String, SessionKey>>,
    /// Entered sessions by the names of what detaches them.
    pub(super) handles: RefCell<BTreeMap<String, SessionKey>>,
    /// Sessions by their ids, as of the last notification.
    told: RefCell<BTreeMap<String, SessionKey>>,
    listeners: RefCell<Vec<Listener>>,
    /// Steps that start before the present one is awaited.
    due: RefCell<VecDeque<(usize, Value)>>,
    started: RefCell<BTreeMap<usize, Value>>,
    stop: RefCell<Option<Stop>>,
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

impl Listeners {
    pub(super) fn script(&self) -> Rc<Script> {
        Rc::clone(&self.0)
    }
}

impl Script {
    pub(super) fn listen(&self, step: &Value) -> Result<(), Stop> {
        self.listeners.borrow_mut().push(Listener {
            on: text_field(step, "on")?.to_owned(),
            times: step.get("times").and_then(Value::as_u64).unwrap_or(1),
            step: step.clone(),
        });
        Ok(())
    }

    /// What kept a callback from doing its part.
    pub(super) fn stopped(&self) -> Result<(), Stop> {
        self.stop.take().map_or(Ok(()), Err)
    }

    /// Starts all before any is awaited. Only a flush is awaited here, so the others start from inside the first one.
    pub(super) fn concurrently(&self, store: &mut Scripted, steps: &[Value]) -> Answered {
        self.due
            .borrow_mut()
            .extend(steps.iter().cloned().enumerate());
        self.start_due(store);
        let started = self.started.take();
        Ok(started.into_values().collect())
    }

    fn start_due(&self, store: &mut Scripted) {
        loop {
            let Some((at, step)) = self.due.borrow_mut().pop_front() else {
                return;
            };
            match self.outcome(store, &step) {
                Ok(outcome) => drop(self.started.borrow_mut().insert(at, outcome)),
                Err(stop) => drop(self.stop.borrow_mut().replace(stop)),
            }
        }
    }

    /// Writes the notification down, then calls the listeners one by one: until one throws where that is a veto.
    fn notify(&self, store: &mut Scripted, told: Value, is_veto: bool) -> Result<(), String> {
        let text = |name: &str| told.get(name).and_then(Value::as_str).unwrap_or_default();
        let (on, id, event_type) = (
            text("event").to_owned(),
            text("session").to_owned(),
            text("type").to_owned(),
        );
        self.emitted.borrow_mut().push(told);
        if let Some(key) = store.key_of(&id) {
            self.told.borrow_mut().insert(id.clone(), key);
        }
        let mut failed = Ok(());
        let count = self.listeners.borrow().len();
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
        let mut listeners = self.listeners.borrow_mut();
        let listener = listeners.get_mut(at)?;
        let of = listener.step.get("when_type").and_then(Value::as_str);
        let is_meant = listener.on == on && of.is_none_or(|of| of == event_type);
        if !is_meant || listener.times == 0 {
            return None;
        }
        listener.times -= 1;
        Some(listener.step.clone())
    }

    fn act(&self, store: &mut Scripted, id: &str, step: &Value) -> Ending {
        let act = step.get("do").and_then(Value::as_str).unwrap_or_default();
        let words = || {
            let words = step.get("message").and_then(Value::as_str);
            words.unwrap_or("listener failed").to_owned()
        };
        let acted = match act {
            "throw" => return Ending::Threw(words()),
            "reject" => return Ending::Rejected(words()),
            "append" => self
                .notified(id)
                .and_then(|key| self.append(store, key, step)),
            "detach" => self
                .handle(step)
                .and_then(|key| Ok(store.detach(key).map_err(refusal)?))
                .map(Value::from),
            "announce" => self
                .notified(id)
                .and_then(|key| Ok(store.announce(key).map_err(refusal)?))
                .map(Value::from),
            "create" => self.create(store, step).map(|_| Value::Null),
            _ => Err(Stop::Misread(format!("a listener cannot {act:?}"))),
        };
        let mut outcome = json!({ "listener": act });
        match acted {
            Ok(_) => set(&mut outcome, "ok", true),
            Err(Stop::Refused(refusal)) => set(&mut outcome, "error", refusal.value()),
            Err(stop) => drop(self.stop.borrow_mut().replace(stop)),
        }
        self.emitted.borrow_mut().push(outcome);
        Ending::Ok
    }

    fn notified(&self, id: &str) -> Result<SessionKey, Stop> {
        let key = self.told.borrow().get(id).copied();
        key.ok_or_else(|| Stop::Misread(format!("nothing was told of {id:?}")))
    }
}

impl Observer<Jsonl> for Listeners {
    fn created(&self, store: &mut Scripted, id: &str) -> Result<(), String> {
        let told = json!({ "event": "session/created", "session": id });
        self.0.notify(store, told, true)
    }

    fn appended(&self, store: &mut Scripted, id: &str, events: &Batch) {
        for event in parsed(&events.lines).unwrap_or_default() {
            let told = json!({
                "event": "session/event", "session": id,
                "seq": event.get("seq"), "type": event.get("type"),
            });
            // nobody hears of it
            let _ = self.0.notify(store, told, false);
        }
    }

    fn flushed(&self, store: &mut Scripted, id: &str) -> Result<(), String> {
        let told = json!({ "event": "session/flush", "session": id });
        let flushed = self.0.notify(store, told, false);
        self.0.start_due(store);
        flushed
    }

    fn disposed(&self, store: &mut Scripted, id: &str) {
        let told = json!({ "event": "session/disposed", "session": id });
        let _ = self.0.notify(store, told, false);
    }
}
