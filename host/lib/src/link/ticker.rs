//! The clock by which a call is interrupted.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use wasmtime::Engine;

use crate::error::Result;
use crate::room::Room;

/// How exactly the deadline of a call is kept.
pub(super) const TICK: Duration = Duration::from_millis(50);

/// Moves an engine's epoch on until it is dropped.
pub(super) struct Ticker {
    _stop: Sender<()>,
}

impl Ticker {
    pub(super) fn start(engine: &Engine) -> Result<Self> {
        let (stop, stopped) = mpsc::channel::<()>();
        let engine = engine.clone();
        let tick = move || {
            while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                engine.increment_epoch();
            }
        };
        thread::Builder::new()
            .name("annals-deadline".to_owned())
            .spawn(tick)
            .map_err(|_| Room::Threads.ran_out("that for deadlines"))?;
        Ok(Self { _stop: stop })
    }
}
