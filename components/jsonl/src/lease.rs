//! One lease as a file: its state in place, its holder behind it.

use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode};
use serde_json::{Map, Value};

use crate::fault;
use crate::paths::{self, LEASES};

/// The longest JSON of a holder.
pub const HOLDER_BYTES_MAX: usize = 16 << 10;

/// The member of a stored holder with the digits that tell one taking of a lease from every other; not shown.
const TAKING: &str = "taking";

/// How much longer a holder is at most with it.
pub(crate) const TAKING_BYTES: usize = 32;

/// `renewals`, `held` or `free`, `due ` or `done`: of one length, so that it is written over in place.
pub(crate) const STATE_BYTES: usize = 31;

/// No lease has a higher number: as many writers never come.
pub(crate) const NUMBER_MAX: u64 = 1_000_000_000_000_000;

/// A lease as it stands on the medium.
pub(crate) struct Lease {
    pub(crate) number: u64,
    pub(crate) renewals: u64,
    pub(crate) is_free: bool,
    pub(crate) is_fence_due: bool,
    pub(crate) holder: String,
    /// Digits of this taking alone; empty in a lease without.
    pub(crate) taking: String,
    /// Whether it is what a writer makes.
    pub(crate) is_whole: bool,
}

impl Lease {
    // A file that is still being written, or that a crash cut short, is held by nobody known: its holder is judged by
    // its silence, and it may owe a fence.
    pub(crate) fn parse(number: u64, text: &str) -> Lease {
        let state = text.get(..STATE_BYTES).unwrap_or_default();
        let mut words = state.split_ascii_whitespace();
        let rest = text.get(STATE_BYTES..).unwrap_or_default().trim_end();
        let object = serde_json::from_str::<Map<String, Value>>(rest).ok();
        let is_object = object.is_some();
        let taken = object.and_then(|mut object| {
            let taking = object.shift_remove(TAKING)?.as_str()?.to_owned();
            Some((Value::Object(object).to_string(), taking))
        });
        let (holder, taking) = taken.unwrap_or_else(|| (rest.to_owned(), String::new()));
        let mut lease = Lease {
            number,
            renewals: words.next().and_then(|word| word.parse().ok()).unwrap_or(0),
            is_free: words.next() == Some("free"),
            is_fence_due: words.next() != Some("done"),
            holder,
            taking,
            is_whole: false,
        };
        lease.is_whole = lease.state() == state && is_object;
        lease
    }

    pub(crate) fn state(&self) -> String {
        let use_now = if self.is_free { "free" } else { "held" };
        let fence = if self.is_fence_due { "due " } else { "done" };
        format!("{:020} {use_now} {fence}\n", self.renewals)
    }

    /// The whole file: the holder's object has the digits as one member more.
    pub(crate) fn text(&self) -> String {
        let mut object: Map<String, Value> = serde_json::from_str(&self.holder).unwrap_or_default();
        object.insert(TAKING.to_owned(), Value::from(self.taking.as_str()));
        format!("{}{}\n", self.state(), Value::Object(object))
    }

    // The number alone would do among leases of one session's life; the hash tells a number taken again after a
    // delete from the one before, also when the same holder takes it.
    pub(crate) fn token(&self) -> String {
        format!("{}.{}", self.number, self.hash())
    }

    pub(crate) fn hash(&self) -> String {
        paths::hash_hex(format!("{}{}", self.holder, self.taking).as_bytes(), 16)
    }

    pub(crate) fn is_same_as(&self, other: &Lease) -> bool {
        self.number == other.number
            && (&self.holder, &self.taking) == (&other.holder, &other.taking)
    }
}

/// The directory of a session's leases, relative to the root; without an id, of the root's.
pub(crate) fn directory_of(id: Option<&str>) -> Result<String> {
    match id {
        // no id has this name: a `~` is followed by four upper case digits
        None => Ok(format!("{LEASES}/~root.lease")),
        Some(id) => {
            let name = paths::lease_name(id).map_err(fault::of_empty_id)?;
            Ok(format!("{LEASES}/{name}.lease"))
        }
    }
}

/// The number that a token names.
pub(crate) fn number_of(token: &str) -> Option<u64> {
    let (number, _) = token.split_once('.')?;
    number.parse().ok().filter(|number| *number <= NUMBER_MAX)
}

/// What is asked for with a lease.
pub(crate) struct Asked {
    /// The holder's JSON, on one line.
    pub(crate) holder: String,
    /// Whether the session is to be deleted, and nothing else.
    pub(crate) is_to_delete: bool,
    /// What was stored when that was first asked for, as a `busy` said it.
    pub(crate) stored: Option<String>,
}

impl Asked {
    /// Refuses what is no small JSON object.
    pub(crate) fn parse(holder: &str) -> Result<Asked> {
        let invalid = |message: String| Error::new(ErrorCode::Invalid, "holder-invalid", message);
        let mut parsed: Value = serde_json::from_str(holder)
            .map_err(|error| invalid(format!("the holder must be a JSON object: {error}")))?;
        let Some(object) = parsed.as_object_mut() else {
            return Err(invalid("the holder must be a JSON object".to_owned()));
        };
        // that member is this backend's own
        object.shift_remove(TAKING);
        // on one line, whatever it came as
        let holder = parsed.to_string();
        if holder.len() > HOLDER_BYTES_MAX {
            let bytes = holder.len() as u64;
            return Err(fault::of_limit(
                "holder-bytes-max",
                "the holder",
                bytes,
                HOLDER_BYTES_MAX as u64,
            ));
        }
        let text = |name: &str| parsed.get(name).and_then(Value::as_str);
        Ok(Asked {
            is_to_delete: text("task") == Some("delete"),
            stored: text("stored").map(str::to_owned),
            holder,
        })
    }
}
