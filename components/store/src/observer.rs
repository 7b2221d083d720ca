//! Who is told what happens to live sessions.

use annals_sdk::types::Batch;

use crate::Store;

/// Interface `observer` as a trait.
///
/// One in the same program may call the store from inside a callback: an append to a session whose events are being
/// told is refused (`append-reentrant`), and what leaves the live list while its creation is being told leaves when
/// that is done. Across a component border an observer only returns.
pub trait Observer<P>: Sized {
    /// The session is live.
    ///
    /// # Errors
    /// A veto: the creation is rolled back and paired with `disposed`.
    fn created(&self, store: &mut Store<P, Self>, id: &str) -> Result<(), String>;
    /// The events are in the log.
    fn appended(&self, store: &mut Store<P, Self>, id: &str, events: &Batch);
    /// Everything accepted so far is durable.
    ///
    /// # Errors
    /// Handed to the caller of `flush`; nothing is undone.
    fn flushed(&self, store: &mut Store<P, Self>, id: &str) -> Result<(), String>;
    /// The session left the live list.
    fn disposed(&self, store: &mut Store<P, Self>, id: &str);
}

/// Nobody.
impl<P> Observer<P> for () {
    fn created(&self, _store: &mut Store<P, Self>, _id: &str) -> Result<(), String> {
        Ok(())
    }

    fn appended(&self, _store: &mut Store<P, Self>, _id: &str, _events: &Batch) {}

    fn flushed(&self, _store: &mut Store<P, Self>, _id: &str) -> Result<(), String> {
        Ok(())
    }

    fn disposed(&self, _store: &mut Store<P, Self>, _id: &str) {}
}
