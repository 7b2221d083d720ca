//! Taking a lease to delete alone: on a full medium too, and only of what the caller saw when it asked.
//!
//! Where there is no room for the next number, the present lease, free or its holder's evicted, is written over in place
//! with the new holder, which needs no room; so a contender that built on it sees that it is another one, and gives up.
//! Where there is no lease at all, nothing is written: the claim is good as long as none is taken. A delete looks at its
//! lease after it has moved each file out of the way, so that is enough for it, and for nothing else.

use annals_core::fault::quoted;
use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode, Eviction};

use crate::fault;
use crate::files::Mode;
use crate::lease::{Asked, Lease};
use crate::leases::shown;
use crate::litter;
use crate::root::Root;

/// The token of who may delete as long as nobody takes a lease.
pub(crate) const UNLEASED: &str = "0.unleased";

impl Root {
    /// A lease that is good to delete with. What was appended since the caller first asked is not to be deleted.
    pub(crate) fn acquire_to_delete(
        &mut self,
        id: &str,
        directory: &str,
        asked: &Asked,
        evict: Option<&Eviction>,
    ) -> Result<String> {
        let stored = asked.stored.clone().or_else(|| self.identity_of_log(id));
        let taken = match self.take_lease(Some(id), directory, asked, evict) {
            Err(error) if error.code != ErrorCode::Busy => self
                .claim_lease(id, directory, asked, evict)
                .map_err(|busy| match busy.code {
                    ErrorCode::Busy => busy,
                    // of the two the first says what is the matter
                    _ => error,
                }),
            taken => taken,
        };
        let token = taken.map_err(|error| match &stored {
            Some(stored) => error.fact("stored", stored.as_str()),
            None => error,
        })?;
        let now = self.identity_of_log(id);
        if now.is_none() || stored.is_none() || now == stored {
            return Ok(token);
        }
        let _ = self.release(Some(id), &token);
        let message = format!(
            "session {} was written since it was to be deleted; look at it and delete it again",
            quoted(id)
        );
        Err(Error::new(ErrorCode::Busy, "session-changed", message).fact("id", id))
    }

    fn claim_lease(
        &mut self,
        id: &str,
        directory: &str,
        asked: &Asked,
        evict: Option<&Eviction>,
    ) -> Result<String> {
        let Some(present) = self.present(directory)? else {
            return Ok(UNLEASED.to_owned());
        };
        self.check_may_follow(Some(id), directory, &present, evict)?;
        let claimed = Lease {
            number: present.number,
            renewals: 0,
            is_free: false,
            // the holder before may still have the log open
            is_fence_due: true,
            holder: asked.holder.clone(),
            taking: litter::digits(),
            is_whole: true,
        };
        self.overwrite(directory, &claimed)?;
        let token = claimed.token();
        if self.holds(directory, &token)? {
            self.forget_unused(directory);
            self.forget_end(id);
            // whoever writes with this token all the same pays the debt first
            self.doubt(id);
            return Ok(token);
        }
        let is_ours = self.lease(directory, claimed.number)?;
        if is_ours.is_some_and(|lease| lease.is_same_as(&claimed)) {
            let free = Lease {
                is_free: true,
                ..claimed
            };
            self.write_state(directory, free.number, &free.state())?;
        }
        let message = format!("{} is being taken by others; try again", shown(Some(id)));
        Err(Error::new(ErrorCode::Busy, "lease-contended", message))
    }

    fn overwrite(&self, directory: &str, lease: &Lease) -> Result<()> {
        let relative = format!("{directory}/{}", lease.number);
        let failed = |error| fault::of_files("write", &relative, &error);
        let text = lease.text();
        let mut file = self.open_to_write(&relative, Mode::Overwrite)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        let bytes = text.len() as u64;
        if file.bytes().map_err(failed)? > bytes {
            file.set_bytes(bytes).map_err(failed)?;
        }
        Ok(())
    }

    /// Whether nobody has a lease, as who deletes without one needs it.
    pub(crate) fn is_unleased(&self, directory: &str) -> Result<bool> {
        Ok(self.numbers(directory)?.is_empty())
    }
}
