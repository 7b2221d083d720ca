//! What tells a file from what it becomes when somebody goes on with it.

use annals_sdk::Result;

use crate::fault;
use crate::files::Kind;
use crate::lines;
use crate::paths;
use crate::root::Root;

/// How much of a file's beginning counts, and how much of its end: a log only grows, and only at its end.
const HEAD_BYTES: usize = 4 << 10;
const TAIL_BYTES: u64 = 64 << 10;

impl Root {
    /// Sixteen hex digits out of a file's length, beginning and end.
    pub(crate) fn identity_of(&self, relative: &str) -> Result<String> {
        let failed = |error| fault::of_reading(relative, &error);
        let mut file = self.open_to_read(relative)?;
        let bytes = file.bytes().map_err(failed)?;
        let mut content = bytes.to_le_bytes().to_vec();
        lines::read_more(file.as_mut(), 0, HEAD_BYTES, &mut content).map_err(failed)?;
        let tail = bytes.saturating_sub(TAIL_BYTES);
        let tail_bytes = lines::usize_of(TAIL_BYTES);
        lines::read_more(file.as_mut(), tail, tail_bytes, &mut content).map_err(failed)?;
        Ok(paths::hash_hex(&content, 16))
    }

    /// The same of a session's log; none where there is none that can be read.
    pub(crate) fn identity_of_log(&mut self, id: &str) -> Option<String> {
        let place = self.find(id).ok()??;
        self.identity_of(&place.log()).ok()
    }

    /// Whether a file is what its name says of it, or has nothing in it.
    pub(crate) fn is_identity_of(&self, relative: &str, identity: &str) -> bool {
        let is_file = || self.kind(relative) == Ok(Some(Kind::File));
        is_file()
            && (self.identity_of(relative).as_deref() == Ok(identity)
                || self.bytes_of(relative) == Ok(Some(0)))
    }
}
