//! Waiting for a lease that somebody else holds, on the thread of the caller: that of the components goes on renewing
//! the leases of its own sessions, and serves others.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::error::{Error, Result};
use crate::records::ErrorCode;

/// The first pause between two tries, and the longest: a writer that only appends a turn is done within the first few.
const PAUSE_MIN: Duration = Duration::from_millis(4);
const PAUSE_MAX: Duration = Duration::from_millis(64);

/// How long calls wait for a lease, and whether they still do.
pub(crate) struct Patience {
    wait_max: Duration,
    has_ended: AtomicBool,
}

impl Patience {
    pub(crate) fn new(wait_max: Duration) -> Self {
        Self {
            wait_max,
            has_ended: AtomicBool::new(false),
        }
    }

    /// Whoever waits is answered now, and nobody waits any more.
    pub(crate) fn end(&self) {
        self.has_ended.store(true, Ordering::SeqCst);
    }

    /// Asks until it is not in the way any more that somebody else writes; the last answer when that takes too long.
    pub(crate) fn ask<R>(&self, ask: impl Fn() -> Result<R>) -> Result<R> {
        let started = Instant::now();
        let mut pause = PAUSE_MIN;
        loop {
            let error = match ask() {
                Err(error) if is_worth_waiting(&error) => error,
                answer => return answer,
            };
            let left = self.wait_max.saturating_sub(started.elapsed());
            if left.is_zero() || self.has_ended.load(Ordering::SeqCst) {
                return Err(error);
            }
            thread::sleep(varied(pause).min(left));
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}

/// A lease that was lost never comes back, a session that is live here is ours, and one that was written since it was to
/// be deleted is for the caller to look at.
fn is_worth_waiting(error: &Error) -> bool {
    let is_final = matches!(
        error.reason.as_str(),
        "lease-lost" | "session-live" | SESSION_CHANGED
    );
    error.code == ErrorCode::Busy && !is_final
}

/// The reason of a delete that is refused for what was stored since.
const SESSION_CHANGED: &str = "session-changed";

/// Whether a delete is refused for what was stored since an earlier call.
pub(crate) fn was_asked_before(error: &Error) -> bool {
    let detail: Option<Value> = serde_json::from_str(&error.detail).ok();
    let fact = |detail: Value| detail.get("asked-before")?.as_bool();
    error.reason == SESSION_CHANGED && detail.and_then(fact).unwrap_or(false)
}

/// Half of it to all of it, so that contenders do not try in step.
fn varied(pause: Duration) -> Duration {
    let random = RandomState::new().hash_one(0_u8) % 1024;
    let half = pause / 2;
    half + half * u32::try_from(random).unwrap_or(0) / 1024
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn busy(reason: &str) -> Error {
        Error::new(ErrorCode::Busy, reason, "busy", &[])
    }

    fn tries(patience: &Patience, reason: &str) -> u32 {
        let tried = Cell::new(0);
        let answer: Result<()> = patience.ask(|| {
            tried.set(tried.get() + 1);
            Err(busy(reason))
        });
        assert_eq!(answer, Err(busy(reason)));
        tried.get()
    }

    #[test]
    fn a_lease_is_waited_for_as_long_as_was_said() {
        let patience = Patience::new(Duration::from_millis(300));
        let started = Instant::now();
        assert!(tries(&patience, "lease-held") > 3);
        assert!(started.elapsed() >= Duration::from_millis(300));
        assert_eq!(tries(&patience, "lease-lost"), 1);
        assert_eq!(tries(&patience, "session-live"), 1);
        assert_eq!(tries(&patience, "session-changed"), 1);
        patience.end();
        assert_eq!(tries(&patience, "lease-held"), 1);
        assert_eq!(tries(&Patience::new(Duration::ZERO), "lease-held"), 1);
    }

    #[test]
    fn pauses_vary_within_their_upper_half() {
        for _ in 0..1000 {
            let pause = varied(PAUSE_MAX);
            assert!(pause >= PAUSE_MAX / 2 && pause <= PAUSE_MAX, "{pause:?}");
        }
    }
}
