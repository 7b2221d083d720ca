//! Lines that the log takes over as they came, before they are added one by one: a copy of each costs more.

use std::sync::Arc;

use super::Log;

/// A chunk to be: what is added next are its lines.
#[derive(Clone, Debug)]
pub(super) struct Ahead {
    lines: Arc<String>,
    end: usize,
}

impl Ahead {
    /// The next line, of so many bytes with its newline, is added: where it begins.
    pub(super) fn take(&mut self, bytes: usize) -> usize {
        let start = self.end;
        self.end += bytes;
        start
    }

    /// The lines that were added.
    pub(super) fn added(&self) -> &str {
        self.lines.get(..self.end).unwrap_or_default()
    }
}

impl Log {
    /// Takes over lines, each ended by a newline: what is added next are these, one after the other, and then
    /// [`Log::end_ahead`] is called. Does nothing where the log has no room for them: each is copied when it is added
    /// then, as far as there is room.
    pub(crate) fn begin_ahead(&mut self, lines: &Arc<String>) {
        if self.has_room_ahead(lines.len()) {
            let lines = Arc::clone(lines);
            self.ahead = Some(Ahead { lines, end: 0 });
        }
    }

    /// Like [`Log::begin_ahead`], of a copy; where there is no memory for one, each line is copied when it is added.
    pub(crate) fn begin_copied_ahead(&mut self, lines: &str) {
        let mut copy = String::new();
        if self.has_room_ahead(lines.len()) && copy.try_reserve_exact(lines.len() + 1).is_ok() {
            copy.push_str(lines);
            if !lines.ends_with('\n') {
                copy.push('\n');
            }
            self.begin_ahead(&Arc::new(copy));
        }
    }

    fn has_room_ahead(&self, bytes: usize) -> bool {
        (self.bytes.saturating_add(bytes) as u64) < self.limits.log_bytes_max
    }

    /// Drops the lines that were taken over and not added. Nobody else should hold them any more: they are copied then.
    pub(crate) fn end_ahead(&mut self) {
        let Some(Ahead { lines, end }) = self.ahead.take() else {
            return;
        };
        if end > 0 {
            let mut lines = Arc::unwrap_or_clone(lines);
            lines.truncate(end);
            if end < lines.capacity() / 2 {
                lines.shrink_to_fit();
            }
            self.chunks.push(lines);
        }
    }
}
