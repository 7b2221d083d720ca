//! What must hold for a disk whatever a crash left of it.

use annals_crash::{Sim, Tree};
use annals_sdk::types::{EvictionReason, SessionEntry, SessionSummary};
use annals_store::OpenMode;

use crate::process::{Sessions, cut, events, open, options, start, stored, turn};
use crate::story::{Fact, Facts};

macro_rules! ensure {
    ($condition:expr, $($words:tt)+) => {
        if !$condition {
            return Err(format!($($words)+));
        }
    };
}

/// What was acknowledged before the crash, and what might have been with the call that was under way.
pub struct Promise<'a> {
    pub now: &'a Facts,
    pub next: &'a Facts,
}

impl Promise<'_> {
    /// The facts after [`examine`], of which only `after` is known for sure: nobody was told of a title that was under way.
    pub fn kept(&self, after: Facts) -> [Facts; 2] {
        [self.now, self.next].map(|facts| {
            let mut kept = after.clone();
            for (id, fact) in &mut kept {
                // of a session that was being deleted the summary may be gone
                fact.title = facts.get(id).and_then(|known| known.title.clone());
                if fact.first_prompt == ANEW {
                    fact.title = None;
                }
            }
            kept
        })
    }
}

/// What a session says that is made because there is none.
const ANEW: &str = "anew";

/// Opens everything after a crash and goes on with it: what is stored then.
pub fn examine(sim: &Sim, promise: &Promise, why: EvictionReason) -> Result<Facts, String> {
    let mut store = start(sim, 77).map_err(|error| error.message)?;
    let before = sim.changes();
    let listed = list(&mut store)?;
    for entry in &listed {
        ensure!(
            promise.now.contains_key(&entry.id) || promise.next.contains_key(&entry.id),
            "session {:?} was never stored, or is deleted",
            entry.id
        );
    }
    ensure!(sim.changes() == before, "listing writes");
    let mut after = Facts::new();
    let mut ids: Vec<&String> = promise.now.keys().chain(promise.next.keys()).collect();
    ids.sort_unstable();
    ids.dedup();
    for id in ids {
        let entry = listed.iter().find(|entry| entry.id == *id);
        let (now, next) = (promise.now.get(id), promise.next.get(id));
        let of = |error: String| format!("session {id:?}: {error}");
        ensure!(
            store.has(id).unwrap() == entry.is_some(),
            "session {id:?}: has and list differ"
        );
        let fact = match entry {
            Some(entry) => {
                check_summary(entry, now, next).map_err(of)?;
                resume(sim, id, now, next, why).map_err(of)?
            }
            None => {
                ensure!(now.is_none() || next.is_none(), "session {id:?} is lost");
                create(sim, id, why).map_err(of)?
            }
        };
        after.insert(id.clone(), fact);
    }
    Ok(after)
}

fn list(store: &mut Sessions) -> Result<Vec<SessionEntry>, String> {
    let listing = store
        .list(None, 1000)
        .map_err(|error| format!("list: {error:?}"))?;
    Ok(listing.sessions)
}

fn check_summary(
    entry: &SessionEntry,
    now: Option<&Fact>,
    next: Option<&Fact>,
) -> Result<(), String> {
    let known = || now.into_iter().chain(next);
    let title = &entry.summary.title;
    let is_being_deleted = title.is_none() && next.is_none();
    ensure!(
        is_being_deleted || known().any(|fact| fact.title == *title),
        "its title is {title:?}"
    );
    if let Some(prompt) = &entry.summary.first_prompt {
        ensure!(
            known().any(|fact| fact.first_prompt == *prompt),
            "its first prompt is {prompt:?}"
        );
    }
    Ok(())
}

/// The events that are stored whole, and the bytes behind them.
fn check_log(
    bytes: &[u8],
    now: Option<&Fact>,
    next: Option<&Fact>,
) -> Result<(String, Vec<u8>), String> {
    let acknowledged = now.map_or("", |fact| &fact.text);
    let offered = next.or(now).map_or("", |fact| &fact.text);
    ensure!(
        bytes.starts_with(acknowledged.as_bytes()),
        "acknowledged events are lost or changed"
    );
    ensure!(
        now.is_some() || bytes == offered.as_bytes(),
        "the first batch is neither there as a whole nor absent"
    );
    ensure!(
        next.is_some() || bytes == acknowledged.as_bytes(),
        "what is being deleted is changed"
    );
    let offered = if offered.starts_with(acknowledged) {
        offered
    } else {
        acknowledged
    };
    let mut length = 0;
    for line in offered.split_inclusive('\n') {
        if bytes.get(length..length + line.len()) != Some(line.as_bytes()) {
            break;
        }
        length += line.len();
    }
    Ok((offered[..length].to_owned(), bytes[length..].to_vec()))
}

/// Opens a stored session twice and goes on with it.
fn resume(
    sim: &Sim,
    id: &str,
    now: Option<&Fact>,
    next: Option<&Fact>,
    why: EvictionReason,
) -> Result<Fact, String> {
    let said = |what: &str, error: annals_sdk::types::Error| format!("{what}: {}", error.message);
    let mut store = start(sim, 78).map_err(|error| error.message)?;
    let before = sim.changes();
    let bytes = stored(&mut store, id).map_err(|error| said("read", error))?;
    let (whole, rest) = check_log(&bytes, now, next)?;
    let (key, _) = store
        .open(id, OpenMode::Inspect)
        .map_err(|error| said("inspect", error))?;
    ensure!(
        events(&store, key) == whole,
        "inspecting shows other events than are stored"
    );
    store.close(key).unwrap();
    ensure!(sim.changes() == before, "inspecting writes");

    let (key, repair) =
        open(&mut store, id, OpenMode::Resume, why).map_err(|error| said("open", error))?;
    let text = events(&store, key);
    ensure!(text.starts_with(&whole), "opening changes events");
    ensure!(
        repair.cut_bytes == rest.len() as u64,
        "{} bytes were cut, not {}",
        repair.cut_bytes,
        rest.len()
    );
    let is_open = !whole.is_empty()
        && !whole
            .lines()
            .last()
            .unwrap_or_default()
            .contains("\"turn/end\"");
    let closers = text[whole.len()..].lines().count();
    ensure!(
        closers == repair.closers as usize && (closers > 0) == is_open,
        "{closers} closers"
    );
    let saved = cut(&mut store, id).map_err(|error| said("read cut", error))?;
    let is_saved = rest.is_empty() || saved.windows(rest.len()).any(|part| part == rest);
    ensure!(is_saved, "the bytes that were cut are not saved");
    store.close(key).map_err(|error| said("close", error))?;

    // another process, for which there is nothing to do
    let mut store = start(sim, 79).map_err(|error| error.message)?;
    let files = session_files(sim);
    let (key, repair) = store
        .open(id, OpenMode::Resume)
        .map_err(|error| said("open again", error))?;
    ensure!(
        (repair.cut_bytes, repair.closers) == (0, 0),
        "the second open repairs"
    );
    ensure!(session_files(sim) == files, "the second open writes");
    ensure!(
        events(&store, key) == text,
        "the second open shows other events"
    );
    store.append(key, &turn(9, "onward"), 3000).unwrap();
    store.flush(key).map_err(|error| said("append", error))?;
    let text = events(&store, key);
    store
        .close(key)
        .map_err(|error| said("close again", error))?;
    let bytes = stored(&mut store, id).map_err(|error| said("read again", error))?;
    ensure!(bytes == text.as_bytes(), "the log is not what was flushed");
    check_seqs(&text)?;
    update_past_locks(sim, &mut store, id)?;
    let fact = next.or(now).cloned().unwrap_or_default();
    Ok(Fact { text, ..fact })
}

/// Who died while it changed the summary left a lock, which keeps nobody from changing it.
fn update_past_locks(sim: &Sim, store: &mut Sessions, id: &str) -> Result<(), String> {
    let is_locked = || {
        let lock = format!("/{id}.summary.lock");
        let files = sim.tree().files();
        let mut paths = files.iter().map(|(path, _)| path.to_string_lossy());
        paths.any(|path| path.ends_with(&lock))
    };
    if !is_locked() {
        return Ok(());
    }
    let summary = |store: &mut Sessions| -> Result<SessionSummary, String> {
        let entry = list(store)?.into_iter().find(|entry| entry.id == id);
        Ok(entry.ok_or("it is not listed")?.summary)
    };
    let before = summary(store)?;
    let nothing = SessionSummary {
        title: None,
        first_prompt: None,
    };
    store
        .update(id, &nothing)
        .map_err(|error| format!("update: {}", error.message))?;
    ensure!(!is_locked(), "the lock stays");
    ensure!(summary(store)? == before, "an update of nothing changes it");
    Ok(())
}

/// What is not stored can be made, and inherits nothing.
fn create(sim: &Sim, id: &str, why: EvictionReason) -> Result<Fact, String> {
    let said = |what: &str, error: annals_sdk::types::Error| format!("{what}: {}", error.message);
    let mut store = start(sim, 78).map_err(|error| error.message)?;
    let key = store
        .create(options(id, None), 5)
        .map_err(|error| said("create", error))?;
    store.append(key, &turn(1, ANEW), 6).unwrap();
    crate::process::with_lease(&mut store, id, why, |store| store.flush(key))
        .map_err(|error| said("first flush", error))?;
    let text = events(&store, key);
    store.close(key).map_err(|error| said("close", error))?;
    let bytes = stored(&mut store, id).map_err(|error| said("read", error))?;
    ensure!(
        bytes == text.as_bytes(),
        "the new log is not what was flushed"
    );
    let entry = list(&mut store)?.into_iter().find(|entry| entry.id == *id);
    let summary = entry.ok_or("the new session is not listed")?.summary;
    let prompt = summary.first_prompt.as_deref();
    ensure!(
        summary.title.is_none() && prompt == Some(ANEW),
        "it inherits {summary:?}"
    );
    let saved = cut(&mut store, id).map_err(|error| said("read cut", error))?;
    ensure!(saved.is_empty(), "it inherits cut bytes");
    Ok(Fact {
        text,
        title: None,
        first_prompt: ANEW.to_owned(),
    })
}

fn check_seqs(text: &str) -> Result<(), String> {
    for (seq, line) in text.lines().enumerate() {
        let event: serde_json::Value =
            serde_json::from_str(line).map_err(|error| error.to_string())?;
        ensure!(
            event["seq"] == seq,
            "seq {} where {seq} is due",
            event["seq"]
        );
    }
    Ok(())
}

/// Every file but leases.
fn session_files(sim: &Sim) -> Vec<(std::path::PathBuf, std::sync::Arc<Vec<u8>>)> {
    let mut files = sim.tree().files();
    files.retain(|(path, _)| !path.to_string_lossy().contains("/_leases/"));
    files
}

/// [`examine`] for a disk that is not looked at otherwise.
pub fn examine_tree(tree: Tree, promise: &Promise, why: EvictionReason) -> Result<Facts, String> {
    let sim = Sim::over(tree);
    let after = examine(&sim, promise, why)?;
    ensure!(sim.misuse().is_empty(), "{:?}", sim.misuse());
    Ok(after)
}
