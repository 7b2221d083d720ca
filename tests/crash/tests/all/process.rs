//! A process: a store over the backend on a simulated disk, and what its agent does with it.

use annals_crash::Sim;
use annals_jsonl::Jsonl;
use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode, Eviction, EvictionReason};
use annals_store::{CreateOptions, OpenMode, Repair, SessionKey, Store, StoreOptions};

pub type Sessions = Store<Jsonl, ()>;

pub const ROOT: &str = "/srv/annals";

/// A new process of that number.
pub fn start(sim: &Sim, number: u32) -> Result<Sessions> {
    let mut store = Store::new(Jsonl::over(std::rc::Rc::new(sim.clone())), ());
    let holder = format!("{{\"host\":\"h\",\"pid\":{number},\"since\":{number}}}");
    let settings = vec![("root".to_owned(), ROOT.to_owned())];
    store.configure(&holder, StoreOptions::default(), Some(settings))?;
    Ok(store)
}

pub fn options(id: &str, cwd: Option<&str>) -> CreateOptions {
    CreateOptions {
        id: Some(id.to_owned()),
        cwd: cwd.map(str::to_owned),
        parent_session: None,
        seed_length: None,
        delegation_depth: None,
        created_at_ms: None,
        seed: None,
        extra: None,
    }
}

/// Opens a session as a host does that knows why its holder does not matter any more.
pub fn open(
    store: &mut Sessions,
    id: &str,
    mode: OpenMode,
    why: EvictionReason,
) -> Result<(SessionKey, Repair)> {
    with_lease(store, id, why, |store| store.open(id, mode))
}

/// Does what needs a lease, and evicts the holder that is in the way.
pub fn with_lease<T>(
    store: &mut Sessions,
    id: &str,
    why: EvictionReason,
    mut call: impl FnMut(&mut Sessions) -> Result<T>,
) -> Result<T> {
    match call(store) {
        Err(busy) if busy.reason == "lease-held" => {
            let token = fact(&busy, "token").as_str().unwrap().to_owned();
            store.evict(id, Eviction { token, why })?;
            call(store)
        }
        done => done,
    }
}

pub fn fact(error: &Error, name: &str) -> serde_json::Value {
    let detail: serde_json::Value = serde_json::from_str(&error.detail).unwrap();
    detail[name].clone()
}

/// All events of a live session.
pub fn events(store: &Sessions, key: SessionKey) -> String {
    let mut text = String::new();
    let mut next = Some(0);
    while let Some(start) = next {
        let page = store.events(key, start, 1 << 20).unwrap();
        text.push_str(&page.lines);
        next = page.next;
    }
    text
}

/// The bytes of a stored log behind its header, unjudged.
pub fn stored(store: &mut Sessions, id: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut next = Some(0);
    while let Some(cursor) = next {
        let page = store.read(id, cursor, 1 << 20)?;
        bytes.extend_from_slice(page.lines.as_bytes());
        bytes.extend(page.raw.unwrap_or_default());
        next = page.next;
    }
    Ok(bytes)
}

/// What was cut from a log.
pub fn cut(store: &mut Sessions, id: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut next = Some(0);
    while let Some(cursor) = next {
        let page = store.read_cut(id, cursor, 1 << 20)?;
        bytes.extend(page.raw.unwrap_or_default());
        next = page.next;
    }
    Ok(bytes)
}

/// The start of a turn of that number: two lines to append.
pub fn turn_begun(turn: u32, text: &str) -> String {
    let start = format!(
        r#"{{"type":"turn/start","data":{{"turn":{turn},"trigger":{{"kind":"message","source":{{"kind":"user"}}}}}}}}"#
    );
    let message = format!(
        r#"{{"type":"user/message","data":{{"content":[{{"type":"text","text":"{text}"}}],"source":{{"kind":"user"}}}},"surfaceOp":"append"}}"#
    );
    format!("{start}\n{message}\n")
}

/// Its end.
pub fn turn_ended(turn: u32) -> String {
    format!(
        "{{\"type\":\"turn/end\",\"data\":{{\"turn\":{turn},\"reason\":{{\"kind\":\"completed\"}}}}}}\n"
    )
}

/// A whole turn of three lines to append.
pub fn turn(turn: u32, text: &str) -> String {
    format!("{}{}", turn_begun(turn, text), turn_ended(turn))
}

/// Whether an error is one that says what the disk said.
pub fn is_typed(error: &Error) -> bool {
    let is_lower = |text: &str| {
        text.chars()
            .next()
            .is_some_and(|first| !first.is_uppercase())
    };
    matches!(
        error.code,
        ErrorCode::NoSpace | ErrorCode::ReadOnly | ErrorCode::Other | ErrorCode::Unavailable
    ) && !error.reason.is_empty()
        && is_lower(&error.message)
        && serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&error.detail).is_ok()
}
