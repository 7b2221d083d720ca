//! The way that the backend takes, and what is left at every stop.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use annals::{Binding, Bound, Error, OpenMode, Session};

use crate::medium::Medium;
use crate::scene::{COLLIDERS, LOOKED_AT, Scene, Stop, options};
use crate::writers::{append, note, store, stream};

/// A session that is closed and opened again at every stop, with the rows that it has there, and is live on the way.
pub const COMMUTER: &str = "commutes";

/// From the first root on.
pub const ROUTE: [Stop; 10] = [
    Stop::Memory,
    Stop::Second,
    Stop::First,
    Stop::Second,
    Stop::Memory,
    Stop::First,
    Stop::Memory,
    Stop::Second,
    Stop::Memory,
    Stop::First,
];

/// Sessions that a change came to, by what became of them; and changes.
#[derive(Default)]
pub struct Tally {
    pub adopted: u64,
    pub stored: u64,
    pub collided: u64,
    pub inspected: u64,
    pub changes: u64,
    /// Of the changes, those without a flush, because one session cannot be flushed where it is.
    pub rescues: u64,
    /// Changes that came to nothing, and were undone.
    pub undone: u64,
}

/// A medium that was left, and how many events of which session it has at least.
pub struct Left {
    pub medium: Medium,
    pub least: BTreeMap<String, u64>,
}

/// Where it is, and where it was.
pub struct Changes<'a> {
    scene: &'a Scene,
    at: Stop,
    commuter: Session,
    pub left: Vec<Left>,
    pub tally: Tally,
}

impl<'a> Changes<'a> {
    pub fn new(scene: &'a Scene) -> Self {
        Self {
            scene,
            at: Stop::First,
            commuter: scene.annals.create(options(COMMUTER, None)).unwrap(),
            left: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// All of the route while others append, and on the way three places that come to nothing.
    pub fn go(&mut self, appends: u64) {
        let legs = ROUTE.len() as u64 + 1;
        self.scene.allow(appends / legs);
        for (number, stop) in (1..).zip(ROUTE) {
            self.wait(appends * number / legs);
            // the next leg begins while the backend changes
            self.scene.allow(appends * (number + 1) / legs);
            self.commute();
            self.change(stop);
            match number {
                2 => self.fails_at_once(),
                3 => self.fills_up(appends / 500),
                5 => self.fails_when_it_is_its_turn(),
                6 => self.fails_when_it_is_its_turn(),
                _ => {}
            }
        }
        self.scene.allow(appends);
    }

    /// Until so many appends were acknowledged.
    fn wait(&self, appends: u64) {
        while self.scene.appends() < appends {
            thread::sleep(Duration::from_micros(200));
        }
    }

    /// Some of it stored before, some after it was opened again, and some not yet.
    fn commute(&mut self) {
        let scene = self.scene;
        append(scene, &self.commuter, &stream(scene));
        append(scene, &self.commuter, &stream(scene));
        self.commuter.close().unwrap();
        let (session, _) = scene.annals.open(COMMUTER, OpenMode::Resume).unwrap();
        self.commuter = session;
        append(scene, &self.commuter, &stream(scene));
        store(scene, &self.commuter);
        append(scene, &self.commuter, &stream(scene));
        append(scene, &self.commuter, &note(scene));
    }

    fn change(&mut self, to: Stop) {
        // what ends with the change is looked at before, and nobody may close a session in between
        let older = self.scene.older.write().unwrap();
        let gate = (self.at == Stop::Memory).then(|| self.scene.gate.write().unwrap());
        let mut left = self.leave();
        let place = || self.scene.place(to);
        let bound = match self.scene.annals.rebind(place()) {
            Ok(bound) => {
                assert_ne!(self.at, Stop::Second, "what collides there was flushed");
                bound
            }
            // every other session was flushed
            Err(error) if self.at == Stop::Second && is_collision(&error) => {
                self.tally.rescues += 1;
                self.scene.annals.rescue(place()).unwrap()
            }
            Err(error) => panic!("from {:?} to {to:?}: {error:?}", self.at),
        };
        drop((gate, older));
        if self.at != Stop::Memory {
            left.medium = self.files(self.at);
        }
        self.left.push(left);
        self.at = to;
        self.tally.changes += 1;
        self.count(&bound);
        self.scene.check_foreign();
    }

    /// What the present medium has, if it ends with the change, and has to have after it.
    fn leave(&self) -> Left {
        let least = self.due();
        let medium = if self.at == Stop::Memory {
            self.scene.annals.flush().unwrap();
            Medium::of_backend("memory", &self.scene.annals)
        } else {
            self.files(self.at)
        };
        Left { medium, least }
    }

    /// Of the sessions that live throughout and collide nowhere.
    fn due(&self) -> BTreeMap<String, u64> {
        let mut due = self.scene.journal.lengths();
        due.retain(|id, _| id.starts_with("steady") || id == COMMUTER || id == LOOKED_AT);
        if self.at != Stop::First {
            // nothing of it is stored but where it was
            due.remove(LOOKED_AT);
        }
        due
    }

    fn files(&self, stop: Stop) -> Medium {
        Medium::of_files(&format!("{stop:?}").to_lowercase(), &self.scene.root(stop))
    }

    fn count(&mut self, bound: &[Bound]) {
        let mut collided = 0;
        for of in bound {
            let reason = of.error.as_ref().map_or("", |error| &error.reason);
            match of.binding {
                Binding::Adopted => self.tally.adopted += 1,
                Binding::Stored => self.tally.stored += 1,
                Binding::Inspected => self.tally.inspected += 1,
                Binding::Refused if COLLIDERS.contains(&(&of.id, reason)) => collided += 1,
                Binding::Refused => panic!("{:?}: {of:?}", self.at),
            }
        }
        let planned = if self.at == Stop::Second { 2 } else { 0 };
        assert_eq!(collided, planned, "{:?}", self.at);
        self.tally.collided += collided;
    }

    /// A root that is no directory: nothing has changed.
    fn fails_at_once(&mut self) {
        let error = self.scene.annals.rebind(self.scene.file()).unwrap_err();
        assert!(error.message.contains("file"), "{error:?}");
        self.goes_on();
    }

    /// A place that was there when it was tried, and is gone when the sessions are to move: the former one goes on.
    fn fails_when_it_is_its_turn(&mut self) {
        let place = Scene::fickle("second configure");
        let error = self.scene.annals.rebind(place).unwrap_err();
        assert_eq!(error.reason, "medium-gone", "{error:?}");
        assert!(!error.detail.contains("refused"), "{error:?}");
        self.goes_on();
    }

    /// A place that takes some sessions, and then nothing more: everybody goes back to where it came from.
    fn fills_up(&mut self, appends: u64) {
        // what closed there would be stored nowhere else
        let gate = self.scene.gate.write().unwrap();
        let mut left = self.leave();
        let place = Scene::fickle("full");
        let bound = self.scene.annals.rebind(place).unwrap();
        left.medium = self.files(self.at);
        self.left.push(left);
        let is_full = |bound: &&Bound| {
            let error = bound.error.as_ref();
            error.is_some_and(|error| error.reason == "medium-full")
        };
        let is_stored = |bound: &&Bound| bound.binding == Binding::Stored;
        let refused = bound.iter().filter(is_full).count();
        let stored = bound.iter().filter(is_stored).count();
        assert!(refused > 1 && stored > 1, "{bound:?}");
        let appends = self.scene.appends() + appends;
        self.scene.allow(appends);
        self.wait(appends);
        let back = || self.scene.place(self.at);
        let error = self.scene.annals.rebind(back()).unwrap_err();
        assert_eq!(error.reason, "medium-full");
        self.left.push(Left {
            medium: Medium::of_backend("full", &self.scene.annals),
            least: BTreeMap::new(),
        });
        for bound in self.scene.annals.rescue(back()).unwrap() {
            assert_eq!(bound.error, None, "{bound:?}");
        }
        drop(gate);
        self.tally.undone += 1;
    }

    /// After a change that came to nothing.
    fn goes_on(&mut self) {
        let name = self.scene.annals.info().unwrap().name;
        let expected = match self.at {
            Stop::Memory => "memory",
            Stop::First | Stop::Second => "jsonl",
        };
        assert_eq!(name, expected);
        for session in &self.scene.steady {
            session.flush().unwrap();
        }
        self.tally.undone += 1;
    }
}

pub fn is_collision(error: &Error) -> bool {
    error.reason.starts_with("live-collision")
}
