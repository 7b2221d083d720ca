//! The order of the nodes on the surface, kept so that a rewrite costs what it removes and nothing of what it leaves.
//!
//! Whoever joins at the end gets a slot, and slots never move: their seqs ascend, so a node is found by halving. A
//! rewrite lays a patch over a run of slots and shows one event there. Patches do not overlap; a patch over others
//! takes their place.

use std::collections::{BTreeMap, TryReserveError};
use std::iter::Peekable;
use std::ops::Range;

/// Nodes in order. Memory: eight bytes for each event that ever joined, and what each present patch takes.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    slots: Vec<u64>,
    // By the first slot.
    patches: BTreeMap<usize, Patch>,
    // The first slot of the patch that shows an event, by the seq of that.
    patched: BTreeMap<u64, usize>,
    // Nodes, which are slots without a patch and patches.
    len: usize,
}

/// One event over the slots from its key in the map up to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Patch {
    seq: u64,
    end: usize,
}

/// A run of nodes: the slots that they take, and what stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) slots: Range<usize>,
    pub(super) nodes: Vec<u64>,
    patches: Vec<(usize, Patch)>,
}

impl Order {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// How many nodes ever joined at the end.
    pub(super) fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// Room for one node more, so that joining needs no memory.
    pub(super) fn make_room(&mut self) -> Result<(), TryReserveError> {
        self.slots.try_reserve(1)
    }

    /// A node joins at the end. Its seq is greater than all others.
    pub(super) fn push(&mut self, seq: u64) {
        self.slots.push(seq);
        self.len += 1;
    }

    /// Takes the last [`Order::push`] back.
    pub(super) fn pop(&mut self) {
        self.slots.pop();
        self.len -= 1;
    }

    /// The slots of a node; none when it is not there any more, or never was.
    pub(super) fn slots_of(&self, seq: u64) -> Option<Range<usize>> {
        if let Some(first) = self.patched.get(&seq) {
            return Some(*first..self.patches.get(first)?.end);
        }
        let slot = self.slots.binary_search(&seq).ok()?;
        let before = self.patches.range(..=slot).next_back();
        let is_covered = before.is_some_and(|(_, patch)| slot < patch.end);
        (!is_covered).then_some(slot..slot + 1)
    }

    /// The nodes of these slots, which begin with one and end with one.
    pub(super) fn run(&self, slots: Range<usize>) -> Run {
        let nodes = self
            .nodes_from(slots.start)
            .take_while(|(slot, _)| *slot < slots.end)
            .map(|(_, seq)| seq)
            .collect();
        let patches = self.patches.range(slots.clone());
        let patches = patches.map(|(slot, patch)| (*slot, *patch)).collect();
        Run {
            slots,
            nodes,
            patches,
        }
    }

    /// Shows one event where a run stands, which is one of this very order.
    pub(super) fn replace(&mut self, run: &Run, seq: u64) {
        for (slot, patch) in &run.patches {
            self.patches.remove(slot);
            self.patched.remove(&patch.seq);
        }
        let Range { start, end } = run.slots;
        self.patches.insert(start, Patch { seq, end });
        self.patched.insert(seq, start);
        self.len = self.len + 1 - run.nodes.len();
    }

    /// Takes the last [`Order::replace`] back.
    pub(super) fn restore(&mut self, run: &Run) {
        if let Some(patch) = self.patches.remove(&run.slots.start) {
            self.patched.remove(&patch.seq);
        }
        for (slot, patch) in &run.patches {
            self.patches.insert(*slot, *patch);
            self.patched.insert(patch.seq, *slot);
        }
        self.len = self.len + run.nodes.len() - 1;
    }

    /// The first slot of each node, and the node, from one that begins at `slot` on.
    pub(super) fn nodes_from(&self, slot: usize) -> impl Iterator<Item = (usize, u64)> {
        Nodes {
            slots: &self.slots,
            patches: self.patches.range(slot..).peekable(),
            next: slot,
        }
    }
}

struct Nodes<'a, P: Iterator<Item = (&'a usize, &'a Patch)>> {
    slots: &'a [u64],
    patches: Peekable<P>,
    next: usize,
}

impl<'a, P: Iterator<Item = (&'a usize, &'a Patch)>> Iterator for Nodes<'a, P> {
    type Item = (usize, u64);

    fn next(&mut self) -> Option<(usize, u64)> {
        let slot = self.next;
        if let Some((_, patch)) = self.patches.next_if(|(first, _)| **first == slot) {
            self.next = patch.end;
            return Some((slot, patch.seq));
        }
        let seq = *self.slots.get(slot)?;
        self.next += 1;
        Some((slot, seq))
    }
}
