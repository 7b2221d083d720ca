//! Which nodes of the surface show a message, kept up as the surface grows.

use crate::fault::Fault;
use crate::log::no_memory;
use crate::surface::{Change, Surface};

/// Slots of the nodes that show a message, as far as they were looked at.
///
/// Texts are not kept: a message is a short walk over its event's line, and a copy of each would double the memory.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    shown: Vec<usize>,
    // The slot to go on from.
    next: usize,
}

impl History {
    /// Forgets what a change moves or removes: everything from its place on.
    pub(super) fn forget(&mut self, change: &Change) {
        let Change::Replace(rewrite) = change else {
            return;
        };
        let slot = rewrite.slot();
        if slot < self.next {
            self.next = slot;
            self.shown
                .truncate(self.shown.partition_point(|known| *known < slot));
        }
    }

    /// Looks at the nodes that were not looked at before; `is_shown` says of a node whether it shows a message.
    pub(super) fn catch_up(
        &mut self,
        surface: &Surface,
        is_shown: impl Fn(u64) -> Result<bool, Fault>,
    ) -> Result<(), Fault> {
        for (slot, seq) in surface.nodes_from(self.next) {
            // after a fault the same node is looked at again
            self.next = slot;
            if is_shown(seq)? {
                self.shown
                    .try_reserve(1)
                    .map_err(|_| no_memory(size_of::<usize>()))?;
                self.shown.push(slot);
            }
        }
        self.next = surface.slot_count();
        Ok(())
    }

    /// The slot of each message, in order.
    pub(super) fn shown(&self) -> &[usize] {
        &self.shown
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::event::Event;
    use crate::json::Value;

    /// A surface and its history, and the nodes that were looked at since they were last asked for.
    #[derive(Default)]
    struct Watched {
        surface: Surface,
        history: History,
        seq: u64,
    }

    impl Watched {
        fn add(&mut self, op: &str, sources: &str) {
            let checked = |text| Some(Value::parse(text).unwrap());
            let event = Event {
                event_type: "user/message".into(),
                seq: self.seq,
                time_ms: 0,
                data: None,
                surface_op: checked(op),
                source_event_seqs: checked(sources).filter(|_| !sources.starts_with("[]")),
                last_source: None,
            };
            let change = self.surface.check(&event, |_| None).unwrap();
            self.surface.apply(&change);
            self.history.forget(&change);
            self.seq += 1;
        }

        fn append(&mut self, count: u64) {
            (0..count).for_each(|_| self.add("\"append\"", "[]"));
        }

        fn replace(&mut self, start: u64, end: u64, sources: &[u64]) {
            let op = format!(r#"{{"op":"replace","start":{start},"end":{end}}}"#);
            self.add(&op, &format!("{sources:?}"));
        }

        fn looked_at(&mut self) -> Vec<u64> {
            let looked_at = RefCell::new(Vec::new());
            let is_shown = |seq| {
                looked_at.borrow_mut().push(seq);
                Ok(seq % 3 != 0)
            };
            self.history.catch_up(&self.surface, is_shown).unwrap();
            let shown: Vec<u64> = self
                .history
                .shown()
                .iter()
                .map(|slot| self.surface.node(*slot).unwrap())
                .collect();
            let due: Vec<u64> = self.surface.nodes().filter(|seq| seq % 3 != 0).collect();
            assert_eq!(shown, due);
            looked_at.into_inner()
        }
    }

    #[test]
    fn an_append_costs_the_new_nodes_and_a_rewrite_what_follows_it() {
        let mut log = Watched::default();
        log.append(1000);
        assert_eq!(log.looked_at().len(), 1000);
        log.append(2);
        assert_eq!(log.looked_at(), [1000, 1001]);
        assert_eq!(log.looked_at(), []);
        log.replace(990, 992, &[990, 991, 992]);
        assert_eq!(
            log.looked_at(),
            [1002, 993, 994, 995, 996, 997, 998, 999, 1000, 1001]
        );
        // a rewrite of the end, over the rewrite before it
        log.replace(
            1002,
            1001,
            &[1002, 993, 994, 995, 996, 997, 998, 999, 1000, 1001],
        );
        assert_eq!(log.looked_at(), [1003]);
        log.append(1);
        assert_eq!(log.looked_at(), [1004]);
        log.replace(1003, 1003, &[1003]);
        assert_eq!(log.looked_at(), [1005, 1004]);
    }

    #[test]
    fn a_node_that_cannot_be_judged_is_asked_for_again() {
        let mut log = Watched::default();
        log.append(3);
        let fault = Fault::new(crate::fault::Reason::MessageInvalid, "no data");
        let is_shown = |seq| {
            if seq == 1 {
                Err(fault.clone())
            } else {
                Ok(true)
            }
        };
        assert!(log.history.catch_up(&log.surface, is_shown).is_err());
        assert_eq!(log.history.shown(), [0]);
        log.history.catch_up(&log.surface, |_| Ok(true)).unwrap();
        assert_eq!(log.history.shown(), [0, 1, 2]);
    }
}
