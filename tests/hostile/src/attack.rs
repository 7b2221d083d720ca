//! What a backend can do to whoever runs it, by name.

use std::fs::{self, File};
use std::hint::black_box;
use std::mem;
use std::thread;
use std::time::Duration;

use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode, Listing, Page, SessionHeader};

use crate::kept::{self, Kept, entry_of};

const MIB: usize = 1 << 20;

/// Instead of storing a batch.
pub fn on_append(attack: &str, kept: &Kept) -> Result<()> {
    match attack {
        "loop" => turn_for_ever(),
        "sleep" => thread::sleep(Duration::from_secs(1 << 30)),
        "pipe" => drop(fs::read(kept.path("pipe"))),
        "memory" => take_memory(),
        "recursion" => _ = black_box(sink(0, black_box(u64::MAX))),
        "recursion in memory" => _ = black_box(sink_with_room(0, black_box(u64::MAX))),
        "trap" => panic!("on purpose"),
        "exit" => std::process::exit(0),
        "handles" => take_handles(kept),
        "long error" => return Err(failure("m".repeat(16 * MIB))),
        "error that is no text" => return Err(failure(no_text())),
        "conflicts" => return Err(Error::seq_conflict("victim", 7, 3)),
        "refuses" => {
            let message = "it does not want to";
            return Err(Error::new(ErrorCode::ReadOnly, "refused", message));
        }
        _ => {}
    }
    Ok(())
}

pub fn turn_for_ever() {
    let mut turns = 0_u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

fn take_memory() {
    let mut taken = Vec::new();
    loop {
        taken.push(black_box(vec![1_u8; MIB]));
    }
}

fn take_handles(kept: &Kept) {
    let mut taken = Vec::new();
    while let Ok(file) = File::open(kept.path("armed")) {
        taken.push(file);
    }
    panic!("{} handles and no more", taken.len());
}

/// Deeper and deeper on the stack of the machine: nothing of it is in the component's memory.
#[inline(never)]
fn sink(depth: u64, bottom: u64) -> u64 {
    if depth == bottom {
        return 0;
    }
    sink(depth + 1, bottom).wrapping_mul(depth | 1) ^ depth
}

/// Deeper and deeper on the stack that the component has in its memory.
#[inline(never)]
fn sink_with_room(depth: u64, bottom: u64) -> u64 {
    let room = black_box([depth; 64]);
    if depth == bottom {
        return 0;
    }
    sink_with_room(depth + 1, bottom).wrapping_add(black_box(room)[3])
}

fn failure(message: String) -> Error {
    Error::new(ErrorCode::Other, "on-purpose", message)
}

#[allow(unsafe_code)]
fn no_text() -> String {
    // SAFETY: it is never looked at here; whoever gets it has to see that it is no UTF-8.
    unsafe { String::from_utf8_unchecked(vec![0xff, 0xfe]) }
}

/// A text of a size that this component does not have: many strings of the same bytes.
#[allow(unsafe_code)]
fn shared(bytes: &mut Vec<u8>) -> String {
    // SAFETY: never dropped where it works: the component is not entered again after such an answer.
    unsafe { String::from_raw_parts(bytes.as_mut_ptr(), bytes.len(), bytes.len()) }
}

/// A page instead of the one that is stored.
pub fn page(attack: &str, id: &str, cursor: u64) -> Option<Page> {
    let header = || (cursor == 0).then(|| header(id, None));
    let note = |seq: u64| {
        let text = "n".repeat(1000);
        format!(r#"{{"type":"plugin/note","seq":{seq},"time":1,"data":"{text}"}}"#) + "\n"
    };
    match attack {
        "log without end" => {
            let lines = (cursor..cursor + 1000).map(note).collect();
            Some(kept::page(header(), lines, Some(cursor + 1000)))
        }
        "slow log without end" => {
            thread::sleep(Duration::from_millis(200));
            Some(kept::page(header(), note(cursor), Some(cursor + 1)))
        }
        "bad end without end" => {
            let mut page = kept::page(header(), String::new(), Some(cursor + 1));
            page.raw = (cursor > 0).then(|| b"x".to_vec());
            Some(page)
        }
        "page too long" => {
            let lines = note(0).repeat(16 * MIB / 1000);
            Some(kept::page(header(), lines, None))
        }
        _ => None,
    }
}

/// The stored page, made wrong.
pub fn spoiled(attack: &str, cursor: u64, mut page: Page) -> Page {
    match attack {
        "relative cwd" => page.header = page.header.map(|of| header(&of.id, Some("here"))),
        "header of another" => page.header = Some(header("bystander", None)),
        "newer version" => {
            if let Some(header) = &mut page.header {
                header.version = 9;
            }
        }
        "no header" => page.header = None,
        "half a line" => drop(page.lines.pop()),
        "cursor stands still" => page.next = Some(cursor),
        "lines and bytes" => page.raw = Some(vec![1]),
        "seqs that lie" => page.lines = page.lines.replace(r#""seq":1"#, r#""seq":4"#),
        "events twice" => page.lines = page.lines.repeat(2),
        "page that is no text" => page.lines = no_text(),
        _ => {}
    }
    page
}

fn header(id: &str, cwd: Option<&str>) -> SessionHeader {
    SessionHeader {
        version: 0,
        id: id.to_owned(),
        created_at_ms: 1,
        cwd: cwd.map(str::to_owned),
        parent_session: None,
        seed_length: None,
        delegation_depth: None,
        extra: None,
    }
}

/// A listing instead of the one of what is stored.
pub fn listing(attack: &str, cursor: Option<&str>, count_max: u32) -> Option<Listing> {
    let start: u64 = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    let ids = |count: u64| start..start + count;
    let entry = |number: u64| entry_of(&format!("{number:020}"), None);
    let count = u64::from(count_max);
    match attack {
        "listing without end" => Some(Listing {
            sessions: ids(count).map(entry).collect(),
            next: Some((start + count).to_string()),
        }),
        "listing in a circle" => Some(Listing {
            sessions: vec![entry(0)],
            next: Some(((start + 1) % 3).to_string()),
        }),
        "listing of too many" => Some(Listing {
            sessions: ids(count + 1).map(entry).collect(),
            next: None,
        }),
        "gigabyte of listing" => {
            let mut bytes = vec![b'n'; MIB];
            let sessions = ids(1000.min(count)).map(|number| {
                let mut entry = entry(number);
                entry.note = Some(shared(&mut bytes));
                entry
            });
            let sessions = sessions.collect();
            mem::forget(bytes);
            Some(Listing {
                sessions,
                next: None,
            })
        }
        _ => None,
    }
}
