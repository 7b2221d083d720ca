//! What a backend in its own wasmtime store may use at most, and who keeps count.

use std::time::Duration;

use wasmtime::{ResourceLimiter, Result};

/// Core instances, memories and tables of one backend. Those that carry a JavaScript or Python engine have dozens.
const INSTANCES_MAX: usize = 1024;
const MEMORIES_MAX: usize = 64;
const TABLES_MAX: usize = 256;

/// How long a call may take unless another time is given. While a backend does not answer no lease can be renewed, and
/// others take one over after ten seconds of silence, so it is half of that.
const CALL_MAX: Duration = Duration::from_secs(5);

/// The same of a backend that came with this crate, which does not hang but may have much to write.
const OWN_CALL_MAX: Duration = Duration::from_secs(60);

/// What a backend may use. The defaults are documented at `Place`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Of all its memories together.
    pub(crate) memory_bytes_max: usize,
    /// Of all its tables together.
    pub(crate) table_elements_max: usize,
    /// Open files, streams and sockets.
    pub(crate) handles_max: usize,
    /// That one answer carries.
    pub(crate) page_bytes_max: usize,
    /// For one call; what is usual when none.
    pub(crate) call_max: Option<Duration>,
    /// For all calls that one call of the store makes.
    pub(crate) operation_max: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes_max: 1 << 30,
            table_elements_max: 1 << 20,
            handles_max: 256,
            // The longest record, and what goes with it.
            page_bytes_max: (256 << 20) + (1 << 20),
            call_max: None,
            operation_max: Duration::from_secs(600),
        }
    }
}

impl Limits {
    /// For one call of a backend that came with this crate, or of another one.
    pub(crate) fn call_max(&self, is_own: bool) -> Duration {
        let usual = if is_own { OWN_CALL_MAX } else { CALL_MAX };
        self.call_max.unwrap_or(usual)
    }
}

/// A limit that was reached, and how far it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reached {
    pub(crate) limit: &'static str,
    pub(crate) max: usize,
}

/// Counts what all memories and all tables of one wasmtime store have.
pub(crate) struct Meter {
    memory: Count,
    tables: Count,
}

struct Count {
    limit: &'static str,
    max: usize,
    used: usize,
    /// What was granted last, for when the growth then fails.
    last: usize,
    refused: bool,
}

impl Meter {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            memory: Count::new("memory-bytes-max", limits.memory_bytes_max),
            tables: Count::new("table-elements-max", limits.table_elements_max),
        }
    }

    /// What was refused since this was asked last.
    pub(crate) fn take_refused(&mut self) -> Option<Reached> {
        let of_memory = self.memory.take_refused();
        of_memory.or(self.tables.take_refused())
    }
}

impl Count {
    fn new(limit: &'static str, max: usize) -> Self {
        Self {
            limit,
            max,
            used: 0,
            last: 0,
            refused: false,
        }
    }

    fn grows(&mut self, current: usize, desired: usize) -> bool {
        let more = desired.saturating_sub(current);
        let fits = more <= self.max.saturating_sub(self.used);
        self.last = if fits { more } else { 0 };
        self.used += self.last;
        self.refused |= !fits;
        fits
    }

    fn take_back(&mut self) {
        self.used -= std::mem::take(&mut self.last);
    }

    fn take_refused(&mut self) -> Option<Reached> {
        let (limit, max) = (self.limit, self.max);
        std::mem::take(&mut self.refused).then_some(Reached { limit, max })
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> Result<bool> {
        Ok(self.memory.grows(current, desired))
    }

    fn memory_grow_failed(&mut self, _: wasmtime::Error) -> Result<()> {
        self.memory.take_back();
        Ok(())
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> Result<bool> {
        Ok(self.tables.grows(current, desired))
    }

    fn table_grow_failed(&mut self, _: wasmtime::Error) -> Result<()> {
        self.tables.take_back();
        Ok(())
    }

    fn instances(&self) -> usize {
        INSTANCES_MAX
    }

    fn tables(&self) -> usize {
        TABLES_MAX
    }

    fn memories(&self) -> usize {
        MEMORIES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(memory_bytes_max: usize, table_elements_max: usize) -> Meter {
        Meter::new(&Limits {
            memory_bytes_max,
            table_elements_max,
            ..Limits::default()
        })
    }

    // A limit for each memory is none: a component may have as many memories as it likes.
    #[test]
    fn memories_share_one_limit() {
        let mut meter = meter(100, 10);
        assert!(meter.memory_growing(0, 60, None).unwrap());
        assert!(meter.memory_growing(0, 40, None).unwrap());
        assert_eq!(meter.take_refused(), None);
        assert!(!meter.memory_growing(40, 41, None).unwrap());
        let reached = meter.take_refused().unwrap();
        assert_eq!((reached.limit, reached.max), ("memory-bytes-max", 100));
        assert_eq!(meter.take_refused(), None);
    }

    #[test]
    fn tables_share_one_limit() {
        let mut meter = meter(100, 10);
        assert!(meter.table_growing(0, 6, None).unwrap());
        assert!(!meter.table_growing(0, 5, None).unwrap());
        assert_eq!(meter.take_refused().unwrap().limit, "table-elements-max");
        assert!(meter.table_growing(0, 4, None).unwrap());
    }

    #[test]
    fn what_fails_after_it_was_granted_counts_no_more() {
        let mut meter = meter(100, 10);
        assert!(meter.memory_growing(0, 60, None).unwrap());
        assert!(meter.memory_growing(60, 100, None).unwrap());
        meter
            .memory_grow_failed(wasmtime::Error::msg("full"))
            .unwrap();
        assert!(meter.memory_growing(60, 100, None).unwrap());
        // A refusal had counted nothing.
        assert!(!meter.memory_growing(100, 200, None).unwrap());
        meter
            .memory_grow_failed(wasmtime::Error::msg("full"))
            .unwrap();
        assert!(!meter.memory_growing(100, 101, None).unwrap());
    }
}
