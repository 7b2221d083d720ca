//! What a host may watch.

use crate::records::Batch;

/// Told by the store what happens to live sessions. Every function has a default that does nothing.
///
/// The callbacks run on the thread of the components, in the middle of the call that caused them. Every call of this
/// crate made from inside one answers `reentrant`, except [`Session::close`](crate::Session::close) and
/// [`Session::detach`](crate::Session::detach), which are done once that call has returned.
pub trait Observer: Send {
    /// The session is live, and announced. An error vetoes that, which is rolled back and paired with `disposed`.
    #[allow(unused_variables)]
    fn created(&mut self, id: &str) -> Result<(), String> {
        Ok(())
    }

    /// The events are in the log; nothing done here can undo them.
    #[allow(unused_variables)]
    fn appended(&mut self, id: &str, events: &Batch) {}

    /// Everything accepted so far is durable. An error is handed to the caller of `flush`; nothing is undone.
    #[allow(unused_variables)]
    fn flushed(&mut self, id: &str) -> Result<(), String> {
        Ok(())
    }

    /// The session left the live list.
    #[allow(unused_variables)]
    fn disposed(&mut self, id: &str) {}
}

/// Watches nothing.
pub(crate) struct Silent;

impl Observer for Silent {}
