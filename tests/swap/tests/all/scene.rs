//! A live store, the places that it moves between, and what was planned to be in the way there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, RwLock};
use std::thread;
use std::time::Duration;

use annals::{Annals, Backend, Batch, CreateOptions, Link, OpenMode, Place, Session};

use crate::journal::{Journal, Recorder};

/// Sessions that live from the beginning to the end.
const STEADY: u64 = 8;

/// Live sessions whose ids stand for other logs in the second root, and why they are refused there.
pub const COLLIDERS: [(&str, &str); 2] = [
    ("collides-seed", "live-collision-seed"),
    ("collides-cwd", "live-collision-cwd"),
];

/// A session that is only looked at.
pub const LOOKED_AT: &str = "looked-at";

pub const OUT_OF_BAND: &str = "plugin/aside";

/// Where the sessions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    Memory,
    /// A root of JSON Lines.
    First,
    /// Another one, which packs.
    Second,
}

/// The component of the backend that lets down, built as a stranger's would be.
fn fickle() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--profile", "guest"])
            .args(["--target", "wasm32-wasip2", "--package", "annals-swap"])
            .current_dir(&workspace)
            .status();
        assert!(built.unwrap().success(), "the component cannot be built");
        let target = std::env::var_os("CARGO_TARGET_DIR");
        let target = target.map_or_else(|| workspace.join("target"), PathBuf::from);
        target.join("wasm32-wasip2/guest/annals_swap.wasm")
    })
}

/// How often something happened.
#[derive(Default)]
pub struct Counts(Mutex<BTreeMap<&'static str, u64>>);

impl Counts {
    pub fn add(&self, what: &'static str) {
        *self.0.lock().unwrap().entry(what).or_default() += 1;
    }

    pub fn of(&self, what: &str) -> u64 {
        self.0.lock().unwrap().get(what).copied().unwrap_or(0)
    }
}

/// What all threads share.
pub struct Scene {
    pub annals: Annals,
    pub journal: Journal,
    pub counts: Counts,
    /// What nobody expected.
    pub faults: Mutex<Vec<String>>,
    /// Whoever closes a session reads it; whoever leaves a medium that ends then writes it.
    pub gate: RwLock<()>,
    /// Whoever looks into an older copy of a session reads it, so that none is taken along; whoever moves on writes it
    /// before the gate.
    pub older: RwLock<()>,
    pub steady: Vec<Session>,
    pub colliders: Vec<Session>,
    /// Kept for as long as the store lives.
    _looked_at: Session,
    directory: tempfile::TempDir,
    appends: AtomicU64,
    /// How many there may be by now, so that no change is waited out.
    allowed: AtomicU64,
    tokens: AtomicU64,
    is_over: AtomicBool,
    /// Files of the second root that nobody may touch.
    foreign: Vec<(PathBuf, Vec<u8>)>,
}

impl Scene {
    /// Sessions in the first root, among them those that will collide in the second.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::default();
        let annals = Annals::builder()
            .place(place(directory.path(), Stop::First))
            .link(Link::Dynamic)
            .out_of_band_type(OUT_OF_BAND)
            .observer(Box::new(Recorder(journal.clone())))
            .build()
            .unwrap();
        let create = |id: &str, cwd: Option<&str>| annals.create(options(id, cwd)).unwrap();
        let steady = (0..STEADY).map(|number| create(&format!("steady-{number}"), None));
        let steady: Vec<Session> = steady.collect();
        let colliders = [
            create(COLLIDERS[0].0, None),
            create(COLLIDERS[1].0, Some("/home/ada/website")),
        ];
        let looked_at = create(LOOKED_AT, None);
        for session in steady.iter().chain(&colliders).chain([&looked_at]) {
            let batch = session.append(&turn("of the beginning")).unwrap();
            journal.acknowledge(session.id(), &batch);
            session.flush().unwrap();
        }
        looked_at.close().unwrap();
        let (looked_at, _) = annals.open(LOOKED_AT, OpenMode::Inspect).unwrap();
        let foreign = plan_collisions(directory.path());
        Self {
            annals,
            journal,
            counts: Counts::default(),
            faults: Mutex::default(),
            gate: RwLock::default(),
            older: RwLock::default(),
            steady,
            colliders: colliders.into(),
            _looked_at: looked_at,
            directory,
            appends: AtomicU64::new(0),
            allowed: AtomicU64::new(0),
            tokens: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            foreign,
        }
    }

    pub fn place(&self, stop: Stop) -> Place {
        place(self.directory.path(), stop)
    }

    /// A root of JSON Lines.
    pub fn root(&self, stop: Stop) -> PathBuf {
        root(self.directory.path(), stop)
    }

    /// A place that cannot be had: its root is a file.
    pub fn file(&self) -> Place {
        let file = self.directory.path().join("file");
        fs::write(&file, "no directory").unwrap();
        Place::jsonl(file)
    }

    /// A place that lets down.
    pub fn fickle(fault: &str) -> Place {
        Place::new(Backend::File(fickle().to_owned())).setting("fault", fault)
    }

    /// The other logs of the colliding ids, as they were.
    pub fn check_foreign(&self) {
        for (path, bytes) in &self.foreign {
            assert!(fs::read(path).unwrap() == *bytes, "{}", path.display());
        }
    }

    pub fn appends(&self) -> u64 {
        self.appends.load(Ordering::SeqCst)
    }

    /// So many appends may be made from now on.
    pub fn allow(&self, appends: u64) {
        self.allowed.fetch_max(appends, Ordering::SeqCst);
    }

    /// Whether there are fewer appends than that; waits until more are allowed.
    pub fn goes_on(&self, appends: u64) -> bool {
        while self.appends() < appends && !self.is_over() {
            if self.appends() < self.allowed.load(Ordering::SeqCst) {
                return true;
            }
            thread::sleep(Duration::from_micros(200));
        }
        false
    }

    /// Whether the changes ended in a panic, so that nothing is worth waiting for.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    pub fn token(&self) -> u64 {
        self.tokens.fetch_add(1, Ordering::SeqCst)
    }

    pub fn fault(&self, text: String) {
        self.faults.lock().unwrap().push(text);
    }

    /// A caller of `append` was given that.
    pub fn acknowledge(&self, session: &Session, batch: &Batch) {
        self.journal.acknowledge(session.id(), batch);
        self.appends.fetch_add(1, Ordering::SeqCst);
    }
}

pub fn options(id: &str, cwd: Option<&str>) -> CreateOptions {
    CreateOptions {
        id: Some(id.to_owned()),
        cwd: cwd.map(str::to_owned),
        ..CreateOptions::default()
    }
}

/// One turn of three events.
pub fn turn(text: &str) -> String {
    [
        r#"{"type":"turn/start","data":{"turn":1}}"#,
        &format!(
            r#"{{"type":"user/message","data":{{"content":[{{"type":"text","text":"{text}"}}],"source":{{"kind":"user"}}}},"surfaceOp":"append"}}"#
        ),
        r#"{"type":"turn/end","data":{"turn":1,"reason":"completed"}}"#,
        "",
    ]
    .join("\n")
}

fn root(directory: &Path, stop: Stop) -> PathBuf {
    directory.join(format!("{stop:?}").to_lowercase())
}

/// No power fails here, so nothing is synced.
fn place(directory: &Path, stop: Stop) -> Place {
    let place = Place::jsonl(root(directory, stop)).setting("sync", "never");
    match stop {
        Stop::Memory => Place::new(Backend::Memory),
        Stop::First => place,
        Stop::Second => place.setting("pack-chunks", "true"),
    }
}

/// One log that goes on in another way than the live session, and one of another working directory.
fn plan_collisions(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let (first, second) = (root(directory, Stop::First), root(directory, Stop::Second));
    let [(seed, _), (cwd, _)] = COLLIDERS;
    let file = format!("_no-cwd/{seed}.jsonl");
    fs::create_dir_all(second.join("_no-cwd")).unwrap();
    fs::copy(first.join(&file), second.join(&file)).unwrap();
    let elsewhere = Annals::jsonl(&second).unwrap();
    let (session, _) = elsewhere.open(seed, OpenMode::Resume).unwrap();
    session.append(&turn("that somebody else had")).unwrap();
    session.close().unwrap();
    let session = elsewhere.create(options(cwd, Some("/home/bob/website")));
    let session = session.unwrap();
    session.append(&turn("of somebody else")).unwrap();
    session.close().unwrap();
    let mut files = Vec::new();
    for bucket in fs::read_dir(&second).unwrap() {
        for file in fs::read_dir(bucket.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "jsonl") {
                files.push((path.clone(), fs::read(path).unwrap()));
            }
        }
    }
    assert_eq!(files.len(), COLLIDERS.len());
    files
}

impl Scene {
    /// After the end of the store: what was said, what was counted, and where the files are.
    pub fn into_parts(self) -> (Journal, Counts, tempfile::TempDir) {
        (self.journal, self.counts, self.directory)
    }
}

/// Whoever changes the backend holds it, and a panic there ends the writers too.
pub struct Ending<'a>(pub &'a Scene);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(thread::panicking(), Ordering::SeqCst);
    }
}
