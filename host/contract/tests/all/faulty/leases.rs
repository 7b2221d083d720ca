//! Faults of leases.

use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode, Eviction, EvictionReason};

use super::{Faulty, detail, error};

impl Faulty {
    pub(super) fn acquired(
        &mut self,
        id: Option<&str>,
        holder: &str,
        evict: Option<&Eviction>,
    ) -> Result<String> {
        self.seen.holders += 1;
        match self.fault {
            "has one lease for all sessions" if self.seen.holders > 1 => {
                return Err(error(ErrorCode::Busy));
            }
            "has a lease where it says none" if self.seen.holders > 1 => {
                return Err(error(ErrorCode::Busy));
            }
            _ => {}
        }
        let answer = self.inner.acquire(id, holder, evict);
        let answer = match (answer, self.fault, evict) {
            (Err(busy), "evicts whoever is there", _)
            | (Err(busy), "lets a stale eviction win", Some(_))
                if busy.code == ErrorCode::Busy =>
            {
                let token = detail(&busy, "token").as_str().unwrap().to_owned();
                let why = EvictionReason::Gone;
                self.inner
                    .acquire(id, holder, Some(&Eviction { token, why }))
            }
            (Err(busy), "hides the holder", _) => Err(Error {
                detail: "{}".to_owned(),
                ..busy
            }),
            (answer, ..) => answer,
        };
        self.seen.token = answer.clone().unwrap_or_default();
        match self.fault {
            "gives one token to all" => answer.map(|_| "token".to_owned()),
            _ => answer,
        }
    }

    pub(super) fn renewed(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        match self.fault {
            "renews any token" => self.inner.renew(id, token).or(Ok(())),
            "renews without a sign" => {
                let probe = self.inner.acquire(id, "{}", None).unwrap_err();
                if detail(&probe, "token") == token {
                    return Ok(());
                }
                self.inner.renew(id, token)
            }
            "keeps leases in the instance" if token != self.seen.token => {
                Err(error(ErrorCode::Busy))
            }
            _ => self.inner.renew(id, token),
        }
    }

    pub(super) fn released(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        let token = match self.fault {
            "never gives a lease back" => return Ok(()),
            "gives back whoever's lease" => self.seen.token.clone(),
            "reads for a holder alone" => {
                self.seen.token.clear();
                token.to_owned()
            }
            _ => token.to_owned(),
        };
        self.inner.release(id, &token)
    }
}
