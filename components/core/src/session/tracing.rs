//! The optional check of [`crate::trace`], kept up event by event.

use super::Session;
use crate::event::Event;
use crate::fault::Fault;
use crate::trace::Trace;

/// What is known of how the events of a session relate.
#[derive(Clone, Debug)]
pub(super) enum Tracing {
    /// Nobody asked.
    Off,
    /// They fit so far, and what is appended has to.
    On(Trace),
    /// One does not fit, and since a log only grows it never will.
    Broken(Fault),
}

impl Session {
    /// From now on every event has to fit those before it, as [`crate::trace`] has it. The log so far is looked at
    /// once, whatever happens to the session later.
    ///
    /// Fails with the fault of the first event that does not fit: `trace-*` with its `index`, its `seq` and the `line`
    /// where it stands in a stored log, whose header is line 1. Such a session takes no more events until
    /// [`Session::forget_trace`].
    pub fn demand_trace(&mut self) -> Result<(), Fault> {
        if matches!(self.tracing, Tracing::Off) {
            self.tracing = match self.trace() {
                Ok(trace) => Tracing::On(trace),
                Err(fault) => Tracing::Broken(fault),
            };
        }
        match &self.tracing {
            Tracing::Off | Tracing::On(_) => Ok(()),
            Tracing::Broken(fault) => Err(fault.clone()),
        }
    }

    /// Takes back [`Session::demand_trace`].
    pub fn forget_trace(&mut self) {
        self.tracing = Tracing::Off;
    }

    fn trace(&self) -> Result<Trace, Fault> {
        let mut trace = Trace::default();
        for (line, record) in (2u64..).zip(self.log.records_from(0)) {
            trace
                .observe_line(record.text)
                .map_err(|fault| fault.number("line", line))?;
        }
        Ok(trace)
    }

    /// Whether events have to fit those before them.
    pub(super) fn is_traced(&self) -> bool {
        !matches!(self.tracing, Tracing::Off)
    }

    /// Refuses the next event where it does not fit.
    pub(super) fn check_trace(&mut self, event: &Event<'_>) -> Result<(), Fault> {
        match &mut self.tracing {
            Tracing::Off => Ok(()),
            Tracing::On(trace) => trace.observe(event),
            Tracing::Broken(fault) => Err(fault.clone()),
        }
    }

    /// Makes the present state of the trace the one to go back to.
    pub(super) fn mark_trace(&mut self) {
        if let Tracing::On(trace) = &mut self.tracing {
            trace.mark();
        }
    }

    /// The events since [`Session::mark_trace`] stay.
    pub(super) fn keep_trace(&mut self) {
        if let Tracing::On(trace) = &mut self.tracing {
            trace.keep();
        }
    }

    /// The events since [`Session::mark_trace`] were refused.
    pub(super) fn rewind_trace(&mut self) {
        if let Tracing::On(trace) = &mut self.tracing {
            trace.rewind();
        }
    }
}
