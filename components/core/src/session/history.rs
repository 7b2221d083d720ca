//! Which nodes of the surface show a message, kept up as the surface grows.

use crate::fault::Fault;
use crate::log::no_memory;
use crate::message::MessageSpans;
use crate::surface::{Change, Surface};

/// The nodes that show a message, as far as they were looked at.
///
/// Texts are not kept, a copy of each would double the memory; but where they stand is, so that they are not looked for
/// again.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    shown: Vec<Shown>,
    // The slot to go on from.
    next: usize,
}

/// A node that shows a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    slot: usize,
    pub(super) place: Place,
}

/// Where a message stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The chunk of the log that holds its line.
    pub(super) chunk: u32,
    /// Its members within the chunk.
    pub(super) spans: MessageSpans,
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
                .truncate(self.shown.partition_point(|known| known.slot < slot));
        }
    }

    /// Looks at the nodes that were not looked at before; `find` gives of a node's seq where its message stands, none when
    /// it shows none.
    pub(super) fn catch_up(
        &mut self,
        surface: &Surface,
        find: impl Fn(u64) -> Result<Option<Place>, Fault>,
    ) -> Result<(), Fault> {
        for (slot, seq) in surface.nodes_from(self.next) {
            // after a fault the same node is looked at again
            self.next = slot;
            if let Some(place) = find(seq)? {
                self.shown
                    .try_reserve(1)
                    .map_err(|_| no_memory(size_of::<Shown>()))?;
                self.shown.push(Shown { slot, place });
            }
        }
        self.next = surface.slot_count();
        Ok(())
    }

    /// Each message, in order.
    pub(super) fn shown(&self) -> &[Shown] {
        &self.shown
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::event::{Envelope, Event};
    use crate::json::Value;
    use crate::message::read_message;

    /// Some place of some message.
    fn some_place() -> Place {
        let line = r#"{"type":"user/message","data":{"content":"x"}}"#;
        let message = read_message(&Event::of(&Envelope::read(line).unwrap(), 0));
        let spans = MessageSpans::of(&message.unwrap().unwrap(), line).unwrap();
        Place { chunk: 0, spans }
    }

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
                parts: None,
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
            let find = |seq| {
                looked_at.borrow_mut().push(seq);
                Ok((seq % 3 != 0).then(some_place))
            };
            self.history.catch_up(&self.surface, find).unwrap();
            let shown: Vec<u64> = self
                .history
                .shown()
                .iter()
                .map(|shown| self.surface.nodes_from(shown.slot).next().unwrap().1)
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
        let find = |seq| {
            if seq == 1 {
                Err(fault.clone())
            } else {
                Ok(Some(some_place()))
            }
        };
        assert!(log.history.catch_up(&log.surface, find).is_err());
        assert_eq!(log.history.shown().len(), 1);
        let find = |_| Ok(Some(some_place()));
        log.history.catch_up(&log.surface, find).unwrap();
        let slots: Vec<usize> = log.history.shown().iter().map(|shown| shown.slot).collect();
        assert_eq!(slots, [0, 1, 2]);
    }
}
