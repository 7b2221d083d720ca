//! What costs little to check of a batch before it is stored.

use annals_core::fault::quoted;

use crate::Result;
use crate::types::{Batch, Error, ErrorCode};

impl Batch {
    /// Whether the batch goes on at `next_seq`, in whole lines of at most `record_bytes_max` bytes each. That `count`
    /// and the seqs in the lines are right is for the store to see to.
    ///
    /// # Errors
    /// `seq-conflict`; `invalid`: the lines are not whole; `limit`: a record is longer, its newline included.
    pub fn check(&self, id: &str, next_seq: u64, record_bytes_max: u64) -> Result<()> {
        if self.first_seq != next_seq {
            return Err(Error::seq_conflict(id, next_seq, self.first_seq));
        }
        if self.lines.is_empty() != (self.count == 0)
            || !(self.lines.is_empty() || self.lines.ends_with('\n'))
        {
            let message = format!(
                "the batch for session {} has {} events, and lines that are not whole or not theirs",
                quoted(id),
                self.count
            );
            return Err(Error::new(ErrorCode::Invalid, "batch-invalid", message).fact("id", id));
        }
        let lengths = self.lines.split_inclusive('\n').map(str::len);
        let longest = lengths.max().unwrap_or(0) as u64;
        if longest > record_bytes_max {
            let what = format!("a record for session {}", quoted(id));
            return Err(Error::limit(
                "record-bytes-max",
                &what,
                longest,
                record_bytes_max,
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_whole_lines_of_bounded_length() {
        let batch = |count, lines: &str| Batch {
            first_seq: 3,
            count,
            last_time_ms: 0,
            lines: lines.to_owned(),
        };
        assert!(batch(2, "123\n12\n").check("s", 3, 4).is_ok());
        assert!(batch(0, "").check("s", 3, 0).is_ok());
        for (batch, next_seq, reason) in [
            (batch(2, "12\n123\n"), 3, "limit-reached"),
            (batch(1, "12\n"), 4, "append-seq-mismatch"),
            (batch(1, "12"), 3, "batch-invalid"),
            (batch(1, ""), 3, "batch-invalid"),
            (batch(0, "1\n"), 3, "batch-invalid"),
        ] {
            assert_eq!(batch.check("s", next_seq, 3).unwrap_err().reason, reason);
        }
    }
}
