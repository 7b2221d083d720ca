//! Who is told what happens to live sessions.

use annals_sdk::types::Batch;

/// Interface `observer` as a trait. An observer only returns: it cannot call back into the store.
pub trait Observer {
    /// The session is live.
    ///
    /// # Errors
    /// A veto: the creation is rolled back and paired with `disposed`.
    fn created(&mut self, id: &str) -> Result<(), String>;
    /// The events are in the log.
    fn appended(&mut self, id: &str, events: &Batch);
    /// Everything accepted so far is durable.
    ///
    /// # Errors
    /// Handed to the caller of `flush`; nothing is undone.
    fn flushed(&mut self, id: &str) -> Result<(), String>;
    /// The session left the live list.
    fn disposed(&mut self, id: &str);
}

/// Nobody.
impl Observer for () {
    fn created(&mut self, _id: &str) -> Result<(), String> {
        Ok(())
    }

    fn appended(&mut self, _id: &str, _events: &Batch) {}

    fn flushed(&mut self, _id: &str) -> Result<(), String> {
        Ok(())
    }

    fn disposed(&mut self, _id: &str) {}
}
