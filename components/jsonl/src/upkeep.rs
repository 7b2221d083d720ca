//! What lies under the root besides logs: what writers that died left behind, and what has lost its log.

mod coming;
#[cfg(target_family = "wasm")]
mod component;
mod leases;

use std::collections::{HashMap, HashSet};

use annals_core::fault::quoted;
use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode, SessionId};

use crate::cut::cut_of;
use crate::fault;
use crate::files::Kind;
use crate::holding::Holding;
use crate::lease::{Lease, directory_of};
use crate::litter::{self, Deleted};
use crate::paths::{self, LEASES, LOG_SUFFIX};
use crate::place::{Place, is_bucket};
use crate::root::Root;
use crate::summary::Stored;

const SUMMARY_SUFFIX: &str = ".summary";
const CUT_SUFFIX: &str = ".torn";

/// What something that is no session's log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LitterKind {
    /// A file that a writer made for itself.
    Temporary,
    /// A lease that is held.
    Lease,
    /// A lease or a summary of a session that is not stored.
    Orphan,
    /// Cut bytes without their log.
    OrphanedCut,
    /// A second log of one session.
    Duplicate,
    /// What stands in the place of a lease and is none.
    DamagedLease,
    /// A summary that cannot be read.
    DamagedSummary,
    /// What was damaged and moved out of the way.
    Kept,
}

impl LitterKind {
    fn at(self, place: String, note: impl Into<String>) -> Litter {
        Litter {
            kind: self,
            place,
            id: None,
            holder: None,
            token: None,
            note: note.into(),
        }
    }
}

/// Something that is no session's log, see `upkeep.wit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Litter {
    /// What it is.
    pub kind: LitterKind,
    /// Where it is, relative to the root.
    pub place: String,
    /// The session that it belongs to, where that is known.
    pub id: Option<SessionId>,
    /// Who holds that session's lease, as JSON.
    pub holder: Option<String>,
    /// The token of a lease.
    pub token: Option<String>,
    /// For people.
    pub note: String,
}

/// What is being looked at, and what was found.
struct Look {
    found: Vec<Litter>,
    count_max: usize,
    /// Sessions that were seen, and those with several logs.
    seen: HashSet<String>,
    several: HashSet<String>,
    /// The names that the leases of stored sessions have.
    leased: HashMap<String, String>,
    holding: Holding,
}

impl Look {
    fn is_full(&self) -> bool {
        self.found.len() >= self.count_max
    }

    /// A lease of this session is one of a session that is there.
    fn note_leased(&mut self, id: Option<SessionId>) {
        if let Some(id) = id
            && let Ok(lease) = paths::lease_name(&id)
        {
            self.leased.insert(lease, id);
        }
    }

    fn add(&mut self, litter: Litter) {
        if !self.is_full() {
            self.found.push(litter);
        }
    }
}

impl Root {
    /// At most `count_max` finds; nothing is written, and nothing that is found keeps from looking on.
    pub fn inspect(&mut self, count_max: u32) -> Result<Vec<Litter>> {
        let mut look = Look {
            found: Vec::new(),
            count_max: usize::try_from(count_max).unwrap_or(usize::MAX),
            seen: HashSet::new(),
            several: HashSet::new(),
            leased: HashMap::new(),
            holding: Holding::default(),
        };
        let mut beside = Vec::new();
        let mut logs = Vec::new();
        for bucket in self.buckets()? {
            // one that cannot be read is an entry of the listing
            let Ok(mut names) = self.names(&bucket) else {
                continue;
            };
            names.sort_unstable_by(|one, other| one.0.cmp(&other.0));
            let of_logs = names
                .iter()
                .filter_map(|(name, _)| name.strip_suffix(LOG_SUFFIX));
            look.holding.add(&bucket, of_logs);
            for (name, kind) in names {
                match name.strip_suffix(LOG_SUFFIX) {
                    Some(log) if kind == Kind::File => logs.push((bucket.clone(), log.to_owned())),
                    // an entry of the listing, too
                    Some(log) => look.note_leased(paths::decode_name(log)),
                    None => beside.push((bucket.clone(), name, kind)),
                }
            }
        }
        for (bucket, log) in logs {
            self.look_at_log(&mut look, bucket, log);
        }
        for (bucket, name, kind) in beside {
            if look.is_full() {
                break;
            }
            self.look_beside(&mut look, &bucket, &name, kind);
        }
        self.look_at_leases(&mut look);
        Ok(look.found)
    }

    /// Removes one find, if it still is one.
    pub fn remove_litter(&mut self, place: &str, token: Option<&str>) -> Result<()> {
        let parts: Vec<&str> = place.split('/').collect();
        let token = token.unwrap_or_default();
        match parts.as_slice() {
            [LEASES, ..] => return self.remove_below_leases(place, parts.get(1..), token),
            [bucket, _] if is_bucket(bucket) => {}
            _ => return Err(no_litter(place)),
        }
        // a link could lead anywhere
        let [bucket, name] = parts.as_slice() else {
            return Err(no_litter(place));
        };
        if !matches!(self.kind(bucket)?, None | Some(Kind::Directory)) {
            return Err(no_litter(place));
        }
        let place_of = |log: &str| Place {
            bucket: (*bucket).to_owned(),
            name: log.to_owned(),
        };
        if let Some(log) = litter::log_of_lock(name) {
            return self.break_summary_lock(&place_of(log), token);
        }
        if let Some(deleted) = Deleted::parse(name) {
            return match self.is_deleted(&place_of(deleted.log), place, &deleted) {
                true => self.remove(place),
                false => Err(no_litter(place)),
            };
        }
        if is_temporary(name) {
            return match self.coming_log(bucket, name)? {
                Some(log) => self.remove_coming(&log, token),
                None => self.remove(place),
            };
        }
        let log = match (log_of_summary(name), log_of_cut(name)) {
            (Some(log), _) | (None, Some(log)) => log,
            (None, None) => return Err(no_litter(place)),
        };
        match self.kind(&format!("{bucket}/{log}{LOG_SUFFIX}"))? {
            None => self.remove(place),
            Some(_) => Err(no_litter(place)),
        }
    }

    /// Notes whose log it is, and that it is not the only one.
    fn look_at_log(&self, look: &mut Look, bucket: String, name: String) {
        let place = Place { bucket, name };
        let name = place.name.as_str();
        let header = self.header_of(&place);
        if header.is_none() && self.is_coming(&place) == Ok(true) {
            return;
        }
        let own = header.filter(|header| paths::is_name_of(name, &header.id));
        let Some(id) = own
            .map(|header| header.id)
            .or_else(|| paths::decode_name(name))
        else {
            return;
        };
        look.note_leased(Some(id.clone()));
        if look.seen.insert(id.clone()) || !look.several.insert(id.clone()) {
            return;
        }
        let buckets = look.holding.buckets_of(&id);
        let logs = self.search_in(&id, buckets).unwrap_or_default();
        let note = fault::words_of_several(&logs);
        for log in logs.iter().skip(1) {
            look.add(Litter {
                id: Some(id.clone()),
                ..LitterKind::Duplicate.at(log.place.log(), format!("the session {note}"))
            });
        }
    }

    fn look_beside(&mut self, look: &mut Look, bucket: &str, name: &str, kind: Kind) {
        let at = format!("{bucket}/{name}");
        let place = |log: &str| Place {
            bucket: bucket.to_owned(),
            name: log.to_owned(),
        };
        let is_stored = |log: &str| !matches!(self.kind(&place(log).log()), Ok(None));
        let mut token = None;
        let (log, mut litter) = if let Some(log) = litter::log_of_lock(name) {
            token = self.summary_holder(&place(log)).ok().flatten();
            let note = "who changes the summary just now, or died while changing it; others wait two seconds for it at most";
            (log, LitterKind::Temporary.at(at, note))
        } else if let Some(deleted) = Deleted::parse(name) {
            let is_deleted = self.is_deleted(&place(deleted.log), &at, &deleted);
            (deleted.log, litter_of_delete(is_deleted, at))
        } else if let Some(log) = litter::log_of(name) {
            let note = match self.coming_log(bucket, name) {
                Ok(Some(_)) => {
                    "a session that was being made and is not stored yet: its empty log beside goes first"
                }
                Ok(None) | Err(_) => "a file that a writer made for itself and did not remove",
            };
            (log, LitterKind::Temporary.at(at, note))
        } else if let Some(log) = log_of_summary(name) {
            let (kind, note) = match (is_stored(log), name.ends_with(SUMMARY_SUFFIX)) {
                (false, _) => (LitterKind::Orphan, "a summary without its log"),
                (true, false) => (
                    LitterKind::Kept,
                    "a damaged summary, kept when a new one was made; it goes with its session",
                ),
                (true, true) if self.has_damaged_summary(&place(log)) => (
                    LitterKind::DamagedSummary,
                    "the summary is damaged; --fix makes a new one and keeps this one beside it",
                ),
                (true, _) => return,
            };
            (log, kind.at(at, note))
        } else if let Some(log) = log_of_cut(name).filter(|log| !is_stored(log)) {
            let note =
                "bytes that were cut from a log that is gone; look through them, then remove them";
            (log, LitterKind::OrphanedCut.at(at, note))
        } else {
            return;
        };
        let is_of_any_kind = matches!(litter.kind, LitterKind::DamagedSummary | LitterKind::Kept);
        if kind != Kind::File && !is_of_any_kind {
            return;
        }
        litter.id = self.id_of(bucket, log, name);
        let directory = litter.id.as_ref().map(|id| directory_of(Some(id)));
        let lease = directory.and_then(|directory| self.present(&directory.ok()?).ok()?);
        if self.coming_log(bucket, name).is_ok_and(|log| log.is_some()) {
            token = Some(lease.as_ref().map_or_else(String::new, Lease::token));
        }
        litter.token = token;
        litter.holder = lease
            .filter(|lease| !lease.is_free)
            .map(|lease| lease.holder);
        look.add(litter);
    }

    fn has_damaged_summary(&self, place: &Place) -> bool {
        matches!(self.summary(place), Ok(Stored::Damaged(_)))
    }

    /// Whether nobody can have gone on with the session after the holder of a lease moved a file of it away: that lease is
    /// the last one. Or it is what was to be deleted, and not missed: a later log has its name, or there is no lease.
    fn is_deleted(&self, place: &Place, at: &str, deleted: &Deleted<'_>) -> bool {
        let Some(id) = self.id_of(&place.bucket, &place.name, paths::file_name(at)) else {
            return false;
        };
        let numbers = directory_of(Some(&id)).and_then(|directory| self.numbers(&directory));
        numbers.is_ok_and(|numbers| {
            let is_missed =
                || !numbers.is_empty() && self.kind(&place.log()) != Ok(Some(Kind::File));
            numbers.last() == Some(&deleted.number)
                || (self.is_identity_of(at, deleted.identity) && !is_missed())
        })
    }
}

fn no_litter(place: &str) -> Error {
    let message = format!("{} is nothing that may be removed", quoted(place));
    Error::new(ErrorCode::Invalid, "place-no-litter", message)
}

fn is_temporary(name: &str) -> bool {
    litter::log_of(name).is_some()
}

/// The name of the log that a summary belongs to, damaged and kept ones included.
fn log_of_summary(name: &str) -> Option<&str> {
    name.strip_suffix(SUMMARY_SUFFIX)
        .or_else(|| litter::log_of_damaged(name))
}

/// The name of the log that a file of cut bytes belongs to.
fn log_of_cut(name: &str) -> Option<&str> {
    let (one, _) = name.strip_suffix(CUT_SUFFIX)?.rsplit_once('.')?;
    let two = one.rsplit_once('.').map(|(two, _)| two);
    [Some(one), two]
        .into_iter()
        .flatten()
        .find(|log| cut_of(name, log).is_some())
}

fn litter_of_delete(is_deleted: bool, at: String) -> Litter {
    match is_deleted {
        true => LitterKind::Temporary.at(at, "what a delete that did not end was to delete"),
        false => LitterKind::OrphanedCut.at(
            at,
            "what a delete that did not end had in hand, and nobody knows whether it was to: remove it, or rename it back",
        ),
    }
}
