//! What lies among the leases: leases that are held, those of nobody, and what is no lease at all. Each is one find,
//! whatever it is, and keeps nobody from the others.

use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode};

use super::{Litter, LitterKind, Look, is_temporary, no_litter};
use crate::fault;
use crate::files::Kind;
use crate::lease::Lease;
use crate::leases::number_named;
use crate::litter;
use crate::paths::{self, LEASES, LOG_SUFFIX};
use crate::place::Place;
use crate::publish;
use crate::root::Root;

const LEASE_SUFFIX: &str = ".lease";
/// What was moved away.
const AWAY_SUFFIX: &str = ".bad";

impl Root {
    pub(super) fn look_at_leases(&self, look: &mut Look) {
        let found = self
            .check_leases_directory()
            .and_then(|()| self.names(LEASES));
        let mut names = match found {
            Ok(names) => names,
            Err(error) => {
                look.add(LitterKind::DamagedLease.at(LEASES.to_owned(), error.message));
                return;
            }
        };
        names.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        for (name, kind) in names {
            if look.is_full() {
                return;
            }
            if name == publish::NO_LINKS {
                continue;
            }
            let directory = format!("{LEASES}/{name}");
            if name.ends_with(AWAY_SUFFIX) {
                look.add(match self.is_empty_file(&directory) {
                    true => LitterKind::Temporary.at(directory, "nothing, moved out of the way"),
                    false => LitterKind::Kept.at(
                        directory,
                        "what stood in the place of a lease and was moved out of the way",
                    ),
                });
                continue;
            }
            let lease_name = name.strip_suffix(LEASE_SUFFIX);
            let (Some(lease_name), Kind::Directory) = (lease_name, kind) else {
                let note = format!(
                    "{}, and no session's leases; --fix moves it away",
                    kind.words()
                );
                look.add(LitterKind::DamagedLease.at(directory, note));
                continue;
            };
            if let Err(error) = self.look_at_lease(look, &directory, lease_name) {
                let note = format!("{}; its session cannot be opened", error.message);
                look.add(Litter {
                    id: look.id_leased_as(lease_name),
                    ..LitterKind::DamagedLease.at(directory, note)
                });
            }
        }
    }

    fn check_leases_directory(&self) -> Result<()> {
        match self.kind(LEASES)? {
            None | Some(Kind::Directory) => Ok(()),
            Some(kind @ (Kind::File | Kind::Link | Kind::Other)) => {
                Err(fault::of_no_directory(LEASES, kind))
            }
        }
    }

    fn look_at_lease(&self, look: &mut Look, directory: &str, lease_name: &str) -> Result<()> {
        let names = self.names(directory)?;
        let lease = self.present(directory)?;
        let id = look.id_leased_as(lease_name);
        let is_stored = look.leased.contains_key(lease_name);
        let holding = lease.as_ref().filter(|lease| !lease.is_free);
        let holder = holding.map(|lease| lease.holder.clone());
        let token = lease.as_ref().map_or_else(String::new, Lease::token);
        for (file, _) in names {
            let place = format!("{directory}/{file}");
            if is_temporary(&file) {
                let note = "a file that a writer made to take the lease and did not remove";
                look.add(Litter {
                    id: id.clone(),
                    holder: holder.clone(),
                    ..LitterKind::Temporary.at(place, note)
                });
            } else if number_named(&file).is_none() {
                look.add(Litter {
                    id: id.clone(),
                    ..LitterKind::DamagedLease.at(place, "no lease; --fix moves it away")
                });
            }
        }
        if let Some(damaged) = lease.as_ref().filter(|lease| !lease.is_whole) {
            let note = "a lease that no writer made so, and that nobody renews; the session can be written once it was waited for, or after --fix, which moves it away";
            look.add(Litter {
                id,
                token: Some(token),
                ..LitterKind::DamagedLease.at(format!("{directory}/{}", damaged.number), note)
            });
            return Ok(());
        }
        let renewals = lease.as_ref().map_or(0, |lease| lease.renewals);
        let (kind, note) = match (&holder, is_stored) {
            (Some(_), true) => (
                LitterKind::Lease,
                format!("the lease, renewed {renewals} times, is held"),
            ),
            (Some(_), false) => (
                LitterKind::Lease,
                format!(
                    "the lease of a session that is not stored, renewed {renewals} times, is held"
                ),
            ),
            (None, true) => return Ok(()),
            (None, false) => (
                LitterKind::Orphan,
                "a lease of a session that is not stored".to_owned(),
            ),
        };
        look.add(Litter {
            id,
            holder,
            token: Some(token),
            ..kind.at(directory.to_owned(), note)
        });
        Ok(())
    }

    /// `parts`: the names of the place below the directory of all leases.
    pub(super) fn remove_below_leases(
        &mut self,
        place: &str,
        parts: Option<&[&str]>,
        token: &str,
    ) -> Result<()> {
        let kind = self.kind(LEASES)?;
        let parts = parts.unwrap_or_default();
        if kind != Some(Kind::Directory) {
            return match (kind, parts) {
                (None, _) => Ok(()),
                (Some(_), []) => self.move_away(place),
                (Some(_), _) => Err(no_litter(place)),
            };
        }
        match parts {
            [name] => match (self.kind(place)?, name.strip_suffix(LEASE_SUFFIX)) {
                (None, _) => Ok(()),
                (Some(Kind::Directory), Some(lease_name)) => {
                    self.remove_lease_of_nobody(place, lease_name, token)
                }
                (Some(_), _) if name.ends_with(AWAY_SUFFIX) && self.is_empty_file(place) => {
                    self.remove(place)
                }
                (Some(_), _) if *name == publish::NO_LINKS || name.ends_with(AWAY_SUFFIX) => {
                    Err(no_litter(place))
                }
                (Some(_), _) => self.move_away(place),
            },
            [lease, name] if lease.ends_with(LEASE_SUFFIX) => {
                let directory = format!("{LEASES}/{lease}");
                match (self.kind(&directory)?, number_named(name)) {
                    (None, _) => Ok(()),
                    (Some(Kind::File | Kind::Link | Kind::Other), _) => Err(no_litter(place)),
                    (Some(Kind::Directory), _) if is_temporary(name) => self.remove(place),
                    (Some(Kind::Directory), None) => self.move_away(place),
                    (Some(Kind::Directory), Some(number)) => {
                        self.replace_damaged(&directory, number, token)
                    }
                }
            }
            _ => Err(no_litter(place)),
        }
    }

    /// A damaged lease is followed by one that is given back and owes a fence: whose it was may still wake up.
    fn replace_damaged(&mut self, directory: &str, number: u64, token: &str) -> Result<()> {
        let place = format!("{directory}/{number}");
        let Some(present) = self.present(directory)? else {
            return Ok(());
        };
        if present.is_whole || present.number != number {
            return Err(no_litter(&place));
        }
        let followed = Lease {
            number: number + 1,
            renewals: 0,
            is_free: true,
            is_fence_due: true,
            holder: "{}".to_owned(),
            taking: litter::digits(),
            is_whole: true,
        };
        if present.token() != token || !self.take(directory, &followed, Some(&present))? {
            return Err(has_another_holder(&place));
        }
        self.move_away(&place)?;
        let _ = self.remove_passed(directory, followed.number);
        let lease_name = paths::file_name(directory).strip_suffix(LEASE_SUFFIX);
        match lease_name {
            Some(name) if !self.has_session_leased_as(name)? => {
                self.remove_numbers(directory, &followed.token())
            }
            Some(_) | None => Ok(()),
        }
    }

    fn is_empty_file(&self, place: &str) -> bool {
        self.bytes_of(place) == Ok(Some(0))
    }

    /// Keeps what is no lease, where it is in nobody's way, unless there is nothing in it.
    fn move_away(&self, place: &str) -> Result<()> {
        if self.kind(place)?.is_none() {
            return Ok(());
        }
        if self.is_empty_file(place) {
            return self.remove(place);
        }
        let below = place.split_once('/').map(|(_, below)| below);
        let name = match below {
            Some(below) => format!("{LEASES}/{}", below.replace('/', ".")),
            None => place.to_owned(),
        };
        let away = format!("{name}.{}{AWAY_SUFFIX}", litter::digits());
        self.files
            .rename(&self.path(place), &self.path(&away))
            .map_err(|error| fault::of_files("move away", place, &error))
    }

    /// A lease of a session that is not stored, given back or of a holder that is gone.
    fn remove_lease_of_nobody(&mut self, place: &str, lease_name: &str, token: &str) -> Result<()> {
        if self.has_session_leased_as(lease_name)? {
            return Err(no_litter(place));
        }
        let lease = self.present(place)?;
        if lease.as_ref().map_or_else(String::new, Lease::token) != token {
            return Err(has_another_holder(place));
        }
        self.remove_numbers(place, token)
    }

    fn has_session_leased_as(&self, lease_name: &str) -> Result<bool> {
        for bucket in self.buckets()? {
            for (name, _) in self.names(&bucket)? {
                let Some(log) = name.strip_suffix(LOG_SUFFIX) else {
                    continue;
                };
                let place = || Place {
                    bucket: bucket.clone(),
                    name: log.to_owned(),
                };
                // read only where the name does not say whose it is
                let id = match paths::decode_name(log) {
                    Some(id) => Some(id),
                    None => self.header_of(&place()).map(|header| header.id),
                };
                let lease = id.map(|id| paths::lease_name(&id));
                // of a log without a readable id nobody knows which lease is its
                let is_leased = lease.is_none_or(|lease| lease.as_deref() == Ok(lease_name));
                if is_leased && !self.is_coming(&place())? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

impl Look {
    fn id_leased_as(&self, lease_name: &str) -> Option<String> {
        let stored = self.leased.get(lease_name).cloned();
        stored.or_else(|| {
            let id = paths::decode(lease_name)?;
            (paths::lease_name(&id).as_deref() == Ok(lease_name)).then_some(id)
        })
    }
}

fn has_another_holder(place: &str) -> Error {
    let message = format!("{place:?} has another holder now");
    Error::new(ErrorCode::Busy, "lease-lost", message)
}
