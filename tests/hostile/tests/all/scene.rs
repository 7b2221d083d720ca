//! A live store over a hostile backend, and what has to be true of it whatever the backend did.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use annals::{Annals, Backend, Cache, CreateOptions, Link, Need, OpenMode, Place, Session};

pub const MIB: usize = 1 << 20;

/// How long one call may take here, and all calls of one operation.
pub const CALL_MS: u64 = 400;
pub const OPERATION_MS: u64 = 1500;

/// Events that every session has before anything happens.
const EVENTS: u64 = 3;

/// The component, built as a stranger's would be.
pub fn component() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--profile", "guest"])
            .args(["--target", "wasm32-wasip2", "--package", "annals-hostile"])
            .current_dir(&workspace)
            .status();
        assert!(built.unwrap().success(), "the component cannot be built");
        let target = std::env::var_os("CARGO_TARGET_DIR");
        let target = target.map_or_else(|| workspace.join("target"), PathBuf::from);
        target.join("wasm32-wasip2/guest/annals_hostile.wasm")
    })
}

/// Machine code for all of a run.
fn cache() -> Cache {
    static DIRECTORY: OnceLock<tempfile::TempDir> = OnceLock::new();
    let directory = DIRECTORY.get_or_init(|| tempfile::tempdir().unwrap());
    Cache::new(directory.path().join("compiled"))
}

/// One turn of three events.
pub fn turn(number: u64) -> String {
    format!(
        concat!(
            r#"{{"type":"turn/start","data":{{"turn":{0}}}}}"#,
            "\n",
            r#"{{"type":"plugin/note","data":{{"text":"of turn {0}"}}}}"#,
            "\n",
            r#"{{"type":"turn/end","data":{{"turn":{0},"reason":"completed"}}}}"#,
            "\n",
        ),
        number
    )
}

/// A live session of one turn, which is stored.
pub fn stored(annals: &Annals, id: &str) -> Session {
    let options = CreateOptions {
        id: Some(id.to_owned()),
        ..CreateOptions::default()
    };
    let session = annals.create(options).unwrap();
    session.append(&turn(1)).unwrap();
    session.flush().unwrap();
    session
}

/// With the limits that hold when no others are given.
pub fn usual(root: &Path, attack: &str) -> Place {
    Place::new(Backend::File(component().to_owned()))
        .root(root)
        .setting("attack", attack)
        .inert(Need::Network)
        .cache(cache())
}

pub struct Scene {
    pub annals: Annals,
    pub victim: Session,
    pub bystander: Session,
    pub directory: tempfile::TempDir,
}

impl Scene {
    /// Two stored sessions of one turn. The backend is not armed.
    pub fn new(attack: &str, grant: impl FnOnce(Place, &Path) -> Place) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let outside = directory.path().join("outside");
        fs::create_dir_all(directory.path().join("root")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "secret").unwrap();
        let pipe = directory.path().join("root/pipe");
        assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());

        let place = Self::place(&directory.path().join("root"), attack);
        let place = place.setting("outside", outside.display().to_string());
        let annals = Annals::builder().link(Link::Dynamic);
        let annals = annals.place(grant(place, &outside)).build().unwrap();
        Self {
            victim: stored(&annals, "victim"),
            bystander: stored(&annals, "bystander"),
            annals,
            directory,
        }
    }

    /// With limits that are reached soon.
    pub fn place(root: &Path, attack: &str) -> Place {
        usual(root, attack)
            .call_ms_max(CALL_MS)
            .operation_ms_max(OPERATION_MS)
            .memory_bytes_max(64 * MIB)
            .page_bytes_max(8 * MIB)
    }

    pub fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    pub fn outside(&self) -> PathBuf {
        self.directory.path().join("outside")
    }

    pub fn arm(&self) {
        fs::write(self.root().join("armed"), "").unwrap();
    }

    /// What has to hold while the backend is still armed: the other session can be read and appended to, and the one that
    /// was attacked has all of its events.
    pub fn goes_on(&self, victim_next_seq: u64) -> Result<(), String> {
        let said = |what: &str, error: annals::Error| format!("{what}: {}", error.message);
        let before = self
            .bystander
            .next_seq()
            .map_err(|error| said("next", error))?;
        let page = self
            .bystander
            .events(0, 1 << 20)
            .map_err(|error| said("read", error))?;
        if page.lines.lines().count() as u64 != before {
            return Err("the other session is not whole".to_owned());
        }
        let turn_number = before / EVENTS + 1;
        let appended = self.bystander.append(&turn(turn_number));
        appended.map_err(|error| said("append", error))?;
        self.bystander
            .flush()
            .map_err(|error| said("flush", error))?;
        let kept = self.victim.next_seq().unwrap_or(victim_next_seq);
        if kept != victim_next_seq {
            return Err(format!("{kept} of {victim_next_seq} events were kept"));
        }
        Ok(())
    }

    /// Disarms, and looks whether everything is there: what was accepted is stored by the next flush, and another process
    /// finds it.
    pub fn ends_well(self, victim_next_seq: u64) -> Result<(), String> {
        let said = |what: &str, error: annals::Error| format!("{what}: {}", error.message);
        fs::remove_file(self.root().join("armed")).unwrap();
        self.annals
            .flush()
            .map_err(|error| said("last flush", error))?;
        let bystander_next_seq = self.bystander.next_seq().unwrap();
        let root = self.root();
        let Self {
            annals,
            victim,
            bystander,
            directory,
        } = self;
        drop((victim, bystander));
        annals.shutdown().map_err(|error| said("shutdown", error))?;

        let again = Annals::builder()
            .place(Self::place(&root, ""))
            .build()
            .unwrap();
        for (id, next_seq) in [
            ("victim", victim_next_seq),
            ("bystander", bystander_next_seq),
        ] {
            let opened = again.open(id, OpenMode::Inspect);
            let (session, repair) = opened.map_err(|error| said("open again", error))?;
            if session.next_seq().unwrap() != next_seq || repair.cut_bytes > 0 {
                return Err(format!("{id} has {} events", session.next_seq().unwrap()));
            }
            let page = session.events(0, 1 << 20).unwrap();
            let turns: String = (1..=next_seq / EVENTS).map(turn).collect();
            let texts = |lines: &str| {
                let of = |line: &str| line.split("of turn ").nth(1).map(str::to_owned);
                lines
                    .lines()
                    .filter_map(of)
                    .map(|text| text[..1].to_owned())
                    .collect::<Vec<_>>()
            };
            if texts(&page.lines) != texts(&turns) {
                return Err(format!("{id} has other events"));
            }
        }
        drop(directory);
        Ok(())
    }
}
