//! Copies of stored bytes: of a whole log, to fence off a writer that may wake up, and of its end, to save what is cut.

use annals_sdk::Result;

use crate::fault;
use crate::files::Mode;
use crate::lines;
use crate::root::Root;

/// How much is copied at a time.
const PIECE_BYTES: usize = 1 << 20;

impl Root {
    /// Puts a copy of the log in its place, so that a writer which still has the old one open writes where nobody
    /// reads. Nothing to do where there is no log.
    pub(crate) fn fence(&mut self, id: &str) -> Result<()> {
        let Some(place) = self.find(id)? else {
            return Ok(());
        };
        let (log, temporary) = (place.log(), self.temporary(&place));
        let copied = self.copy(&log, 0, None, &temporary).and_then(|()| {
            self.files
                .rename(&self.path(&temporary), &self.path(&log))
                .map_err(|error| fault::of_files("rename", &temporary, &error))
        });
        if copied.is_err() {
            self.discard(&temporary);
        }
        copied?;
        self.settle_names(&place)
    }

    /// Copies the bytes of `from` that begin at `start` and end at `end` (none: where the file ends) to the new file
    /// `to`, and syncs it whatever `sync` says: the copy takes the place of bytes that may be durable long since.
    pub(crate) fn copy(&self, from: &str, start: u64, end: Option<u64>, to: &str) -> Result<()> {
        let mut source = self.open_to_read(from)?;
        let mut target = self.open_to_write(to, Mode::New)?;
        let mut at = start;
        let mut bytes = Vec::new();
        loop {
            let left = end.map_or(u64::MAX, |end| end.saturating_sub(at));
            let piece = lines::usize_of(left.min(PIECE_BYTES as u64));
            bytes.clear();
            let read = lines::read_more(source.as_mut(), at, piece, &mut bytes)
                .map_err(|error| fault::of_reading(from, &error))?;
            if read == 0 {
                return target
                    .sync()
                    .map_err(|error| fault::of_files("sync", to, &error));
            }
            target
                .write_all(&bytes)
                .map_err(|error| fault::of_files("write", to, &error))?;
            at += read as u64;
        }
    }
}
