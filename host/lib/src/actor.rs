//! The one thread that runs the components of an [`Annals`](crate::Annals).
//!
//! Callers send it closures and wait. Between calls, and about once a second at the latest, it renews the leases of
//! open sessions. When a closure panics, whoever sent it is told so, and so is everybody after that: the thread ends.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle, ThreadId};
use std::time::{Duration, Instant};

use crate::error::{Error, Result, words_of_panic};
use crate::link::Linked;
use crate::room::Room;

/// How often the leases of open sessions are renewed.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(1);

/// The same while the backend is slow to renew them or does not answer: well below the time that a lease lives.
const RENEWAL_INTERVAL_MAX: Duration = Duration::from_secs(4);

/// How long either side looks for the other before it sleeps: waking a thread costs more than most calls do. The caller
/// waits out a write and its sync.
const CALLER_SPIN: Duration = Duration::from_micros(500);
const WORKER_SPIN: Duration = Duration::from_micros(100);

type Job = Box<dyn FnOnce(&mut Linked) -> ControlFlow<()> + Send>;

/// The thread, for those who send it work.
pub(crate) struct Actor {
    /// None only while dropping.
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    thread_id: ThreadId,
    /// Why the thread ended, when nobody asked it to.
    fate: Arc<OnceLock<Error>>,
}

impl Actor {
    /// Links the components on the new thread, which keeps them.
    pub(crate) fn start(link: impl FnOnce() -> Result<Linked> + Send + 'static) -> Result<Self> {
        let (jobs, inbox) = mpsc::channel();
        let (reply, answer) = mpsc::sync_channel(1);
        let run = move || match link() {
            Ok(mut linked) => {
                // The caller waits for exactly this.
                let _ = reply.send(Ok(()));
                work(&mut linked, &inbox);
            }
            Err(error) => drop(reply.send(Err(error))),
        };
        let thread = thread::Builder::new()
            .name("annals".to_owned())
            .spawn(run)
            .map_err(|_| Room::Threads.ran_out("that of the components"))?;
        answer.recv().map_err(|_| Error::ended())??;
        let thread_id = thread.thread().id();
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
            thread_id,
            fate: Arc::default(),
        })
    }

    /// Whether the caller is on the thread, that is inside a callback.
    pub(crate) fn is_here(&self) -> bool {
        thread::current().id() == self.thread_id
    }

    /// Has `job` done and waits for its answer.
    pub(crate) fn call<R: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Linked) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        self.call_then(|linked| (job(linked), ControlFlow::Continue(())))
    }

    /// Has `job` done some time.
    pub(crate) fn post(&self, job: impl FnOnce(&mut Linked) + Send + 'static) {
        let fate = Arc::clone(&self.fate);
        let job = Box::new(
            move |linked: &mut Linked| match guarded(&fate, || job(linked)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            },
        );
        // A thread that has ended has nothing left to do.
        let _ = self.jobs.as_ref().map(|jobs| jobs.send(job));
    }

    /// Closes every session; when that went well, the thread ends.
    pub(crate) fn shutdown(&self) -> Result<()> {
        self.call_then(|linked| match linked.close_all() {
            Ok(()) => (Ok(()), ControlFlow::Break(())),
            Err(error) => (Err(error), ControlFlow::Continue(())),
        })
    }

    fn call_then<R: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Linked) -> (Result<R>, ControlFlow<()>) + Send + 'static,
    ) -> Result<R> {
        if self.is_here() {
            return Err(Error::reentrant());
        }
        let (reply, answer) = mpsc::sync_channel(1);
        let fate = Arc::clone(&self.fate);
        let job: Job = Box::new(move |linked| {
            let (result, then) = match guarded(&fate, || job(linked)) {
                Ok(done) => done,
                Err(error) => (Err(error), ControlFlow::Break(())),
            };
            let _ = reply.send(result);
            then
        });
        let jobs = self.jobs.as_ref().ok_or_else(|| self.ended())?;
        jobs.send(job).map_err(|_| self.ended())?;
        match look(&answer, CALLER_SPIN) {
            Some(result) => result,
            None => answer.recv().map_err(|_| self.ended())?,
        }
    }

    /// What a call finds after the thread has ended.
    fn ended(&self) -> Error {
        self.fate.get().cloned().unwrap_or_else(Error::ended)
    }
}

impl Drop for Actor {
    /// Without senders the thread closes what is open and ends.
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take()
            && !self.is_here()
        {
            let _ = thread.join();
        }
    }
}

/// What the work came to; a panic is the thread's fate, and is noted before anybody is told.
fn guarded<R>(fate: &OnceLock<Error>, work: impl FnOnce() -> R) -> Result<R> {
    // After a panic the thread ends, and what it was in the middle of is not looked at again.
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let error = Error::panicked(words_of_panic(&*panic));
        fate.get_or_init(|| error).clone()
    })
}

fn work(linked: &mut Linked, inbox: &Receiver<Job>) {
    let mut renewed = Instant::now();
    let mut interval = RENEWAL_INTERVAL;
    loop {
        let next = if let Some(job) = look(inbox, WORKER_SPIN) {
            Ok(job)
        } else if linked.needs_renewal() {
            inbox.recv_timeout(interval.saturating_sub(renewed.elapsed()))
        } else {
            inbox.recv().map_err(RecvTimeoutError::from)
        };
        match next {
            Ok(job) => {
                if job(linked).is_break() {
                    return;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                // Nobody is left to hear of errors.
                linked.forget_all();
                return;
            }
        }
        if renewed.elapsed() >= interval {
            let began = Instant::now();
            let is_answered = linked.renew();
            renewed = Instant::now();
            interval = interval_after(interval, is_answered, renewed - began);
        }
    }
}

/// Until the next renewals, after some that took so long: calls get half of the time, as far as leases that are renewed
/// allow.
fn interval_after(interval: Duration, is_answered: bool, took: Duration) -> Duration {
    match is_answered {
        true => took
            .min(RENEWAL_INTERVAL_MAX.saturating_sub(took))
            .max(RENEWAL_INTERVAL),
        false => RENEWAL_INTERVAL_MAX.min(interval * 2),
    }
}

/// What is there within `spin`; after that the caller sleeps.
fn look<T>(inbox: &Receiver<T>, spin: Duration) -> Option<T> {
    let started = Instant::now();
    loop {
        match inbox.try_recv() {
            Ok(found) => return Some(found),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => {}
        }
        if started.elapsed() >= spin {
            return None;
        }
        // Lets the other side run where there is one processor for both.
        thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::Link;
    use crate::link::Plan;
    use crate::observer::Observers;
    use crate::place::{Backend, Place};
    use crate::records::StoreOptions;

    fn started() -> Actor {
        let plan = Plan {
            chosen: Place::new(Backend::None).choose().unwrap(),
            link: Link::Dynamic,
            options: StoreOptions {
                out_of_band_types: Vec::new(),
                strict: false,
            },
            observers: Observers::default(),
        };
        Actor::start(move || Linked::new(plan, 0)).unwrap()
    }

    #[test]
    fn renewals_leave_time_for_calls() {
        let seconds = Duration::from_secs;
        for (interval, is_answered, took, next) in [
            (1, true, 0, 1),
            (4, true, 0, 1),
            (1, true, 2, 2),
            (1, true, 3, 1),
            (1, true, 9, 1),
            (1, false, 0, 2),
            (2, false, 2, 4),
            (4, false, 2, 4),
        ] {
            let after = interval_after(seconds(interval), is_answered, seconds(took));
            assert_eq!(after, seconds(next));
        }
    }

    // A panic was told as a shutdown.
    #[test]
    fn whoever_calls_after_a_panic_hears_of_it() {
        let actor = started();
        let panicked = |_: &mut Linked| -> Result<()> { panic!("out of {}", "luck") };
        for error in [
            actor.call(panicked).unwrap_err(),
            actor.call(|_| Ok(())).unwrap_err(),
        ] {
            assert_eq!(error.reason, "store-panicked");
            assert!(error.message.contains("out of luck"), "{}", error.message);
        }
        let actor = started();
        actor.post(|_| panic!("unheard"));
        assert_eq!(actor.call(|_| Ok(())).unwrap_err().reason, "store-panicked");
        let actor = started();
        actor.shutdown().unwrap();
        assert_eq!(
            actor.call(|_| Ok(())).unwrap_err().reason,
            "store-shut-down"
        );
    }
}
