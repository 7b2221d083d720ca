//! For callers that are inside an asynchronous runtime, whose threads may not wait for another one.

use std::panic::resume_unwind;
use std::thread;

use crate::error::{Error, Result};
use crate::records::ErrorCode;

/// Does the work here, or on a thread of its own where this one belongs to a runtime.
pub(crate) fn apart<R: Send>(work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
    if tokio::runtime::Handle::try_current().is_err() {
        return work();
    }
    thread::scope(|scope| {
        let started = thread::Builder::new().spawn_scoped(scope, work);
        let started = started.map_err(|error| {
            let message = format!("a thread for a backend cannot be started: {error}; try again");
            Error::new(ErrorCode::Other, "thread-not-started", message, &[])
        })?;
        started.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}
