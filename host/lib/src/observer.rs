//! What a host may watch.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::words_of_panic;
use crate::records::Batch;

/// Told by the store what happens to live sessions. Every function has a default that does nothing.
///
/// The callbacks run on the thread of the components, in the middle of the call that caused them. Every call of this
/// crate made from inside one answers `reentrant`, except [`Session::close`](crate::Session::close) and
/// [`Session::detach`](crate::Session::detach), which are done once that call has returned.
///
/// A callback that panics is contained: where it can answer, the words of its panic are its error, and elsewhere it is
/// as if it had returned. The store and the other observers go on.
///
/// An observer lives as long as the store. One that keeps a handle ([`Annals`](crate::Annals) or
/// [`Session`](crate::Session)) keeps the store alive, so that it ends only by
/// [`Annals::shutdown`](crate::Annals::shutdown) or when the observer lets go of its handle.
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

/// All observers, told one after the other.
#[derive(Default)]
pub(crate) struct Observers {
    all: Vec<Box<dyn Observer>>,
    /// A session whose creation was vetoed, and how many were told of it: so many are told of its end.
    vetoed: Option<(String, usize)>,
}

impl Observers {
    pub(crate) fn add(&mut self, observer: Box<dyn Observer>) {
        self.all.push(observer);
    }

    /// The first veto ends it: those after are told of neither edge.
    pub(crate) fn created(&mut self, id: &str) -> Result<(), String> {
        for (observer, told) in self.all.iter_mut().zip(1..) {
            if let Err(words) = contained(|| observer.created(id)).unwrap_or_else(Err) {
                self.vetoed = Some((id.to_owned(), told));
                return Err(words);
            }
        }
        Ok(())
    }

    pub(crate) fn appended(&mut self, id: &str, events: &Batch) {
        for observer in &mut self.all {
            // The events are in the log whatever becomes of this; a panic was printed by its hook.
            let _ = contained(|| observer.appended(id, events));
        }
    }

    /// Every one is told before the first error is answered.
    pub(crate) fn flushed(&mut self, id: &str) -> Result<(), String> {
        let mut first = Ok(());
        for observer in &mut self.all {
            let answer = contained(|| observer.flushed(id)).unwrap_or_else(Err);
            first = first.and(answer);
        }
        first
    }

    pub(crate) fn disposed(&mut self, id: &str) {
        let told = match self.vetoed.take_if(|(vetoed, _)| vetoed == id) {
            Some((_, told)) => told,
            None => self.all.len(),
        };
        for observer in self.all.iter_mut().take(told) {
            let _ = contained(|| observer.disposed(id));
        }
    }
}

/// What a callback answers, or the words of its panic.
fn contained<R>(call: impl FnOnce() -> R) -> Result<R, String> {
    // What a panic leaves half done is the observer's own; nothing of the store is borrowed.
    catch_unwind(AssertUnwindSafe(call))
        .map_err(|panic| format!("an observer panicked: {}", words_of_panic(&*panic)))
}
