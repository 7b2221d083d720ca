//! Which nodes of the surface show a message, kept up as the surface grows.

use super::read_line;
use crate::fault::Fault;
use crate::log::Log;
use crate::message::is_message;
use crate::surface::{Change, Surface};

/// Positions on the surface of the nodes that show a message, as far as they were looked at.
///
/// Texts are not kept: a message is a short walk over its event's line, and a copy of each would double the memory.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    shown: Vec<usize>,
    looked_at: usize,
}

impl History {
    /// Forgets what a change moves or removes: everything from its place on.
    pub(super) fn forget(&mut self, change: &Change) {
        let Change::Replace { at, .. } = change else {
            return;
        };
        if *at < self.looked_at {
            self.looked_at = *at;
            self.shown
                .truncate(self.shown.partition_point(|place| place < at));
        }
    }

    /// Looks at the nodes that were not looked at before.
    pub(super) fn catch_up(&mut self, surface: &Surface, log: &Log) -> Result<(), Fault> {
        for (place, seq) in surface.nodes().iter().enumerate().skip(self.looked_at) {
            let event = log.line(*seq).and_then(read_line);
            if let Some(event) = event
                && is_message(&event)?
            {
                self.shown.push(place);
            }
            self.looked_at = place + 1;
        }
        Ok(())
    }

    /// The position on the surface of each message.
    pub(super) fn shown(&self) -> &[usize] {
        &self.shown
    }
}
