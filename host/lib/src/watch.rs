//! Holders of leases that others want, as this host sees them from one `busy` to the next: gone, silent, or alive.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bindings::store::annals::session::types::EvictionReason;
use crate::holder;

/// How long a holder may be silent where the backend does not say.
const TTL_MS: u64 = 10_000;

/// How many leases are watched at a time.
const SEEN_MAX: usize = 4096;

/// What a `busy` says about who is in the way.
pub(crate) struct Busy {
    /// Names the lease.
    pub(crate) token: String,
    holder: Value,
    /// None where the backend does not count them: then nobody is ever silent.
    renewals: Option<u64>,
    ttl: Duration,
}

impl Busy {
    /// None where the detail names no lease.
    pub(crate) fn parse(detail: &str) -> Option<Self> {
        let detail: Value = serde_json::from_str(detail).ok()?;
        let number = |name: &str| detail.get(name).and_then(Value::as_u64);
        let holder = detail.get("holder").cloned().unwrap_or_default();
        Some(Self {
            token: detail.get("token")?.as_str()?.to_owned(),
            holder: match holder.as_str() {
                Some(text) => serde_json::from_str(text).unwrap_or_default(),
                None => holder,
            },
            renewals: number("renewals"),
            ttl: Duration::from_millis(number("lease-ttl-ms").unwrap_or(TTL_MS)),
        })
    }
}

/// Leases that were seen in the way.
#[derive(Default)]
pub(crate) struct Watch {
    /// The present one of each session.
    seen: HashMap<String, Seen>,
}

struct Seen {
    token: String,
    renewals: u64,
    /// When its renewals were first seen where they are: by the clock of this process that only goes forward.
    since: Instant,
}

impl Watch {
    /// Why the lease may be taken from its holder; none while it may not. `asked` is when the call began that found it.
    pub(crate) fn judge(
        &mut self,
        id: &str,
        busy: &Busy,
        asked: Instant,
    ) -> Option<EvictionReason> {
        if holder::is_gone(&busy.holder) {
            return Some(EvictionReason::Gone);
        }
        if holder::is_of_an_earlier_boot(&busy.holder) {
            return Some(EvictionReason::Silent);
        }
        let renewals = busy.renewals?;
        let silent_for = self.silent_for(id, busy, asked);
        if silent_for.is_some_and(|silent| silent >= busy.ttl) {
            return Some(EvictionReason::Silent);
        }
        if silent_for.is_none() {
            if self.seen.len() >= SEEN_MAX {
                self.seen.clear();
            }
            let seen = Seen {
                token: busy.token.clone(),
                renewals,
                since: Instant::now(),
            };
            self.seen.insert(id.to_owned(), seen);
        }
        None
    }

    /// For how long the holder has shown no sign of life before `now`; none where it has shown one since it was last
    /// looked at, or was never looked at.
    pub(crate) fn silent_for(&self, id: &str, busy: &Busy, now: Instant) -> Option<Duration> {
        let seen = self.seen.get(id)?;
        let is_unchanged = seen.token == busy.token && Some(seen.renewals) == busy.renewals;
        is_unchanged.then(|| now.saturating_duration_since(seen.since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(token: &str, renewals: u64) -> Busy {
        let detail = format!(
            r#"{{"holder":{{"host":"elsewhere"}},"token":"{token}","renewals":{renewals},"lease-ttl-ms":10000}}"#
        );
        Busy::parse(&detail).unwrap()
    }

    #[test]
    fn a_holder_is_silent_when_nothing_changed_for_the_whole_time_to_live() {
        let mut watch = Watch::default();
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        assert_eq!(watch.judge("a", &busy("7", 3), start), None);
        // seen a little later than asked
        assert_eq!(watch.judge("a", &busy("7", 3), at(9_999)), None);
        assert_eq!(watch.judge("b", &busy("7", 3), at(20_000)), None);
        let silent = watch.judge("a", &busy("7", 3), at(11_000));
        assert_eq!(silent, Some(EvictionReason::Silent));
    }

    #[test]
    fn every_sign_of_life_counts_from_the_beginning() {
        let mut watch = Watch::default();
        let later = Instant::now() + Duration::from_secs(20);
        assert_eq!(watch.judge("a", &busy("7", 3), later), None);
        assert_eq!(watch.judge("a", &busy("7", 4), later), None);
        assert_eq!(watch.judge("a", &busy("8", 4), later), None);
        let silent = watch.judge("a", &busy("8", 4), later);
        assert_eq!(silent, Some(EvictionReason::Silent));
    }

    #[test]
    fn who_does_not_count_is_never_silent() {
        let mut watch = Watch::default();
        let later = Instant::now() + Duration::from_secs(20);
        let silent = Busy::parse(r#"{"token":"7"}"#).unwrap();
        for _ in 0..2 {
            assert_eq!(watch.judge("a", &silent, later), None);
        }
        assert!(Busy::parse(r#"{"holder":{}}"#).is_none());
    }
}
