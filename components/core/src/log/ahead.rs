//! Lines that are copied into the log all at once, before they are added one by one: a copy for each costs more.

use super::Log;

impl Log {
    /// Copies lines all at once: what is added next are these lines, one after the other, and then [`Log::end_ahead`]
    /// is called. Does nothing where there is no room for them: each is copied when it is added then.
    pub(crate) fn begin_ahead(&mut self, lines: &str) {
        let mut chunk = String::new();
        let bytes = self.bytes.saturating_add(lines.len()) as u64;
        let has_room =
            bytes < self.limits.log_bytes_max && chunk.try_reserve_exact(lines.len() + 1).is_ok();
        if !has_room {
            return;
        }
        chunk.push_str(lines);
        if !lines.ends_with('\n') {
            chunk.push('\n');
        }
        self.chunks.push(chunk);
        self.ahead = Some(0);
    }

    /// Drops the lines that were copied ahead and not added.
    pub(crate) fn end_ahead(&mut self) {
        let Some(end) = self.ahead.take() else {
            return;
        };
        if end == 0 {
            self.chunks.pop();
        } else if let Some(chunk) = self.chunks.last_mut() {
            chunk.truncate(end);
        }
    }
}
