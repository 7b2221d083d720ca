//! Where a stored log can be forked: at the ends of its turns.

use annals::Annals;
use annals_core::record::read_record;

/// Bytes asked for at a time.
const PAGE_BYTES: u32 = 1 << 20;

/// How a stored log ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Boundary {
    /// The seq of the last `turn/end`.
    pub last: Option<u64>,
    /// How many events are stored.
    pub events: u64,
}

impl Boundary {
    /// Whether nothing stands behind the last `turn/end`.
    pub fn is_at_end(&self) -> bool {
        self.last.is_some_and(|seq| seq + 1 == self.events)
    }
}

/// How the log ends; none where it cannot be read.
pub fn of_stored(annals: &Annals, id: &str) -> Option<Boundary> {
    let mut found = Boundary::default();
    let mut cursor = Some(0);
    while let Some(at) = cursor {
        let page = annals.read(id, at, PAGE_BYTES).ok()?;
        let records = page.lines.lines().filter_map(|line| read_record(line).ok());
        for record in records {
            found.events = record.first_seq.saturating_add(record.count);
            if record.ends_turn {
                found.last = Some(record.first_seq);
            }
        }
        cursor = page.next;
    }
    Some(found)
}
