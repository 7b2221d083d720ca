//! What lies under the root besides logs: what writers that died left behind, and what has lost its log.

#[cfg(target_family = "wasm")]
mod component;

use std::collections::HashMap;

use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode, SessionId};

use crate::cut::cut_of;
use crate::files::Kind;
use crate::lease::{Lease, directory_of};
use crate::litter;
use crate::paths::{self, LEASES, LOG_SUFFIX};
use crate::place::{Place, is_bucket};
use crate::root::Root;

const LEASE_SUFFIX: &str = ".lease";
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
    /// Where each session is, by its id.
    places: HashMap<String, Place>,
    /// The names that the leases of stored sessions have.
    leased: HashMap<String, String>,
}

impl Look {
    fn is_full(&self) -> bool {
        self.found.len() >= self.count_max
    }

    fn add(&mut self, litter: Litter) {
        if !self.is_full() {
            self.found.push(litter);
        }
    }
}

impl Root {
    /// At most `count_max` finds; nothing is written.
    pub fn inspect(&mut self, count_max: u32) -> Result<Vec<Litter>> {
        let mut look = Look {
            found: Vec::new(),
            count_max: usize::try_from(count_max).unwrap_or(usize::MAX),
            places: HashMap::new(),
            leased: HashMap::new(),
        };
        let buckets = self.buckets()?;
        let mut beside = Vec::new();
        for bucket in buckets {
            // one that cannot be read is an entry of the listing
            let Ok(mut names) = self.names(&bucket) else {
                continue;
            };
            names.sort_unstable_by(|one, other| one.0.cmp(&other.0));
            for (name, _) in names.into_iter().filter(|(_, kind)| *kind == Kind::File) {
                match name.strip_suffix(LOG_SUFFIX) {
                    Some(log) => self.look_at_log(&mut look, &bucket, log),
                    None => beside.push((bucket.clone(), name)),
                }
            }
        }
        for (bucket, name) in beside {
            if look.is_full() {
                break;
            }
            self.look_beside(&mut look, &bucket, &name)?;
        }
        self.look_at_leases(&mut look)?;
        Ok(look.found)
    }

    /// Removes one find, if it still is one.
    pub fn remove_litter(&mut self, place: &str, token: Option<&str>) -> Result<()> {
        let parts: Vec<&str> = place.split('/').collect();
        // a link could lead anywhere
        for (at, _) in place.match_indices('/') {
            let above = place.get(..at).unwrap_or_default();
            if !matches!(self.kind(above)?, None | Some(Kind::Directory)) {
                return Err(no_litter(place));
            }
        }
        match parts.as_slice() {
            [LEASES, lease] if lease.ends_with(LEASE_SUFFIX) => {
                self.remove_lease_of_nobody(place, lease, token.unwrap_or_default())
            }
            [LEASES, lease, name] if lease.ends_with(LEASE_SUFFIX) && is_temporary(name) => {
                self.remove(place)
            }
            [bucket, name] if is_bucket(bucket) && is_temporary(name) => {
                match self.is_of_a_coming_log(bucket, name)? {
                    false => self.remove(place),
                    true => Err(no_litter(place)),
                }
            }
            [bucket, name] if is_bucket(bucket) => {
                let log = match (name.strip_suffix(SUMMARY_SUFFIX), log_of_cut(name)) {
                    (Some(log), _) | (None, Some(log)) => log,
                    (None, None) => return Err(no_litter(place)),
                };
                match self.kind(&format!("{bucket}/{log}{LOG_SUFFIX}"))? {
                    None => self.remove(place),
                    Some(_) => Err(no_litter(place)),
                }
            }
            _ => Err(no_litter(place)),
        }
    }

    /// Notes whose log it is, and that it is the second one.
    fn look_at_log(&self, look: &mut Look, bucket: &str, name: &str) {
        let place = Place {
            bucket: bucket.to_owned(),
            name: name.to_owned(),
        };
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
        if let Ok(lease) = paths::lease_name(&id) {
            look.leased.insert(lease, id.clone());
        }
        let Some(first) = look.places.get(&id) else {
            look.places.insert(id, place);
            return;
        };
        let note = format!(
            "a second log of this session; the first is {:?}",
            first.log()
        );
        look.add(Litter {
            kind: LitterKind::Duplicate,
            place: place.log(),
            id: Some(id),
            holder: None,
            token: None,
            note,
        });
    }

    fn look_beside(&self, look: &mut Look, bucket: &str, name: &str) -> Result<()> {
        if self.is_of_a_coming_log(bucket, name)? {
            return Ok(());
        }
        let (kind, log, note) = if let Some(log) = litter::log_of(name) {
            let note = "a file that a writer made for itself and did not remove";
            (LitterKind::Temporary, log, note)
        } else if let Some(log) = name.strip_suffix(SUMMARY_SUFFIX) {
            (LitterKind::Orphan, log, "a summary without its log")
        } else if let Some(log) = log_of_cut(name) {
            let note =
                "bytes that were cut from a log that is gone; look through them, then remove them";
            (LitterKind::OrphanedCut, log, note)
        } else {
            return Ok(());
        };
        let place = Place {
            bucket: bucket.to_owned(),
            name: log.to_owned(),
        };
        if kind != LitterKind::Temporary && self.kind(&place.log())?.is_some() {
            return Ok(());
        }
        let id = match self.header_of(&place) {
            Some(header) => Some(header.id),
            None => paths::decode_name(log),
        };
        let lease = match &id {
            Some(id) => self.present(&directory_of(Some(id))?)?,
            None => None,
        };
        look.add(Litter {
            kind,
            place: format!("{bucket}/{name}"),
            id,
            holder: lease
                .filter(|lease| !lease.is_free)
                .map(|lease| lease.holder),
            token: None,
            note: note.to_owned(),
        });
        Ok(())
    }

    /// Whether the file is what tells a log that is not stored yet from a damaged one: its next creation goes on there.
    fn is_of_a_coming_log(&self, bucket: &str, name: &str) -> Result<bool> {
        let Some(log) = litter::log_of(name).filter(|log| litter::is_coming(name, log)) else {
            return Ok(false);
        };
        self.is_coming(&Place {
            bucket: bucket.to_owned(),
            name: log.to_owned(),
        })
    }

    fn look_at_leases(&self, look: &mut Look) -> Result<()> {
        let mut names = self.names(LEASES)?;
        names.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        for (name, _) in names.iter().filter(|(_, kind)| *kind == Kind::Directory) {
            let Some(lease_name) = name.strip_suffix(LEASE_SUFFIX) else {
                continue;
            };
            if look.is_full() {
                break;
            }
            let directory = format!("{LEASES}/{name}");
            let lease = self.present(&directory)?;
            let stored = look.leased.get(lease_name).cloned();
            let is_stored = stored.is_some();
            let id = stored.or_else(|| id_of_lease(lease_name));
            let holding = lease.as_ref().filter(|lease| !lease.is_free);
            let holder = holding.map(|lease| lease.holder.clone());
            for (file, _) in self.names(&directory)? {
                if is_temporary(&file) {
                    let note = "a file that a writer made to take the lease and did not remove";
                    look.add(Litter {
                        kind: LitterKind::Temporary,
                        place: format!("{directory}/{file}"),
                        id: id.clone(),
                        holder: holder.clone(),
                        token: None,
                        note: note.to_owned(),
                    });
                }
            }
            let (kind, note) = match (&holder, is_stored) {
                (Some(_), true) => (LitterKind::Lease, "the lease is held"),
                (Some(_), false) => (
                    LitterKind::Lease,
                    "the lease of a session that is not stored is held",
                ),
                (None, true) => continue,
                (None, false) => (
                    LitterKind::Orphan,
                    "a lease of a session that is not stored",
                ),
            };
            look.add(Litter {
                kind,
                place: directory,
                id,
                holder,
                token: Some(lease.as_ref().map_or_else(String::new, Lease::token)),
                note: note.to_owned(),
            });
        }
        Ok(())
    }

    /// A lease of a session that is not stored, given back or of a holder that is gone.
    fn remove_lease_of_nobody(&mut self, place: &str, name: &str, token: &str) -> Result<()> {
        let lease_name = name.strip_suffix(LEASE_SUFFIX).unwrap_or(name);
        if self.has_session_leased_as(lease_name)? {
            return Err(no_litter(place));
        }
        let lease = self.present(place)?;
        if lease.as_ref().map_or_else(String::new, Lease::token) != token {
            let message = format!("{place:?} has another holder now");
            return Err(Error::new(ErrorCode::Busy, "lease-lost", message));
        }
        let own = lease.map_or(0, |lease| lease.number);
        self.remove_numbers(place, own)
    }

    fn has_session_leased_as(&self, lease_name: &str) -> Result<bool> {
        for bucket in self.buckets()? {
            for (name, _) in self.names(&bucket)? {
                let Some(log) = name.strip_suffix(LOG_SUFFIX) else {
                    continue;
                };
                let place = Place {
                    bucket: bucket.clone(),
                    name: log.to_owned(),
                };
                let id = match self.header_of(&place) {
                    Some(header) => Some(header.id),
                    None if self.is_coming(&place)? => continue,
                    None => paths::decode_name(log),
                };
                // of a log without a readable id nobody knows which lease is its
                let Some(id) = id else { return Ok(true) };
                if paths::lease_name(&id).as_deref() == Ok(lease_name) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

fn no_litter(place: &str) -> Error {
    let message = format!("{place:?} is nothing that may be removed");
    Error::new(ErrorCode::Invalid, "place-no-litter", message)
}

fn id_of_lease(name: &str) -> Option<String> {
    let id = paths::decode(name)?;
    (paths::lease_name(&id).as_deref() == Ok(name)).then_some(id)
}

fn is_temporary(name: &str) -> bool {
    litter::log_of(name).is_some()
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
