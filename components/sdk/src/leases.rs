//! Who may write what: numbered tokens, one at a time for each session and one for the whole root. In memory, for a
//! medium that no other process can reach; leases on a shared medium have to be on that medium.

use std::collections::BTreeMap;

use annals_core::fault::quoted;

use crate::Result;
use crate::types::{Error, ErrorCode, Eviction};

/// Leases by session id, or none for the whole root.
#[derive(Default)]
pub struct Leases {
    by_id: BTreeMap<Option<String>, Lease>,
    last_token: u64,
}

struct Lease {
    token: String,
    holder: String,
    renewals: u64,
}

impl Leases {
    /// A new token; no id means the whole root.
    ///
    /// # Errors
    /// `busy`: there is a holder that is not the evicted one.
    pub fn acquire(
        &mut self,
        id: Option<&str>,
        holder: &str,
        evict: Option<&Eviction>,
    ) -> Result<String> {
        let key = id.map(str::to_owned);
        match self.by_id.get(&key) {
            Some(lease) if evict.is_none_or(|evict| evict.token != lease.token) => {
                return Err(busy(id, Some(lease)));
            }
            Some(_) | None => {}
        }
        self.last_token += 1;
        let token = self.last_token.to_string();
        let lease = Lease {
            token: token.clone(),
            holder: holder.to_owned(),
            renewals: 0,
        };
        self.by_id.insert(key, lease);
        Ok(token)
    }

    /// Shows that the holder is alive.
    ///
    /// # Errors
    /// `busy`: the token is not the lease.
    pub fn renew(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        match self.by_id.get_mut(&id.map(str::to_owned)) {
            Some(lease) if lease.token == token => {
                lease.renewals += 1;
                Ok(())
            }
            lease => Err(busy(id, lease.as_deref())),
        }
    }

    /// Gives the lease back; nothing is done when the token is not the lease.
    pub fn release(&mut self, id: Option<&str>, token: &str) {
        let key = id.map(str::to_owned);
        if self
            .by_id
            .get(&key)
            .is_some_and(|lease| lease.token == token)
        {
            self.by_id.remove(&key);
        }
    }

    /// Forgets the lease of a session that is no more.
    pub fn remove(&mut self, id: &str) {
        self.by_id.remove(&Some(id.to_owned()));
    }

    /// Lets the holder of the session's lease pass, and that of the whole root's.
    ///
    /// # Errors
    /// `busy`: the token is neither.
    pub fn check(&self, id: &str, token: &str) -> Result<()> {
        let of_session = self.by_id.get(&Some(id.to_owned()));
        let mut leases = [of_session, self.by_id.get(&None)].into_iter().flatten();
        let is_held = leases.any(|lease| lease.token == token);
        if is_held {
            Ok(())
        } else {
            Err(busy(Some(id), of_session))
        }
    }
}

fn busy(id: Option<&str>, lease: Option<&Lease>) -> Error {
    let what = id.map_or("the whole root".to_owned(), |id| {
        format!("session {}", quoted(id))
    });
    let Some(lease) = lease else {
        let message = format!("{what} is not leased to this token; open it again");
        return Error::new(ErrorCode::Busy, "lease-lost", message);
    };
    let message = format!("{what} has another writer; wait for it, or fork the session");
    let as_text = |_| serde_json::Value::from(lease.holder.as_str());
    let holder: serde_json::Value = serde_json::from_str(&lease.holder).unwrap_or_else(as_text);
    Error::new(ErrorCode::Busy, "lease-held", message)
        .fact("holder", holder)
        .fact("token", lease.token.as_str())
        .fact("renewals", lease.renewals)
}
