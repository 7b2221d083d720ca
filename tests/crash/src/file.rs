//! One file: what is durable, and what was done to it since.

use std::sync::Arc;

use crate::fault::Loss;

/// Blocks of a disk.
pub(crate) const BLOCK_BYTES: usize = 4096;

/// Whether a change is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Not yet known.
    Unsynced,
    Durable,
    /// A sync of it failed: never known.
    Doubtful,
}

/// What a power loss leaves of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Nothing,
    All,
    /// So many bytes of a write, and the file ends there unless it was longer.
    Cut(usize),
    /// So many bytes of a write, and zeros to where it made the file end.
    Zeros(usize),
}

#[derive(Clone, Debug)]
pub(crate) enum Change {
    Write {
        at: usize,
        bytes: Arc<[u8]>,
        length_before: usize,
    },
    Length(usize),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    durable: Arc<Vec<u8>>,
    changes: Vec<(Change, Fate)>,
    seen: Arc<Vec<u8>>,
}

impl File {
    /// A file that is durable as it is.
    pub(crate) fn holding(content: Arc<Vec<u8>>) -> File {
        File {
            durable: Arc::clone(&content),
            changes: Vec::new(),
            seen: content,
        }
    }

    /// The content as everybody sees it.
    pub(crate) fn seen(&self) -> &Arc<Vec<u8>> {
        &self.seen
    }

    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) {
        let change = Change::Write {
            at,
            bytes: bytes.into(),
            length_before: self.seen.len(),
        };
        self.change(change);
    }

    pub(crate) fn set_length(&mut self, length: usize) {
        self.change(Change::Length(length));
    }

    fn change(&mut self, change: Change) {
        change.apply(Arc::make_mut(&mut self.seen), Left::All);
        self.changes.push((change, Fate::Unsynced));
    }

    pub(crate) fn sync(&mut self) {
        for (_, fate) in &mut self.changes {
            if *fate == Fate::Unsynced {
                *fate = Fate::Durable;
            }
        }
        let settled = self
            .changes
            .iter()
            .take_while(|(_, fate)| *fate == Fate::Durable)
            .count();
        for (change, _) in self.changes.drain(..settled) {
            change.apply(Arc::make_mut(&mut self.durable), Left::All);
        }
    }

    pub(crate) fn fail_to_sync(&mut self, loss: Loss) {
        let unsynced = |(_, fate): &(Change, Fate)| *fate == Fate::Unsynced;
        match loss {
            Loss::Kept => {}
            Loss::Zeros => {
                let content = Arc::make_mut(&mut self.seen);
                for (change, _) in self.changes.iter().filter(|change| unsynced(change)) {
                    if let Change::Write { at, bytes, .. } = change {
                        let end = (at + bytes.len()).min(content.len());
                        content[(*at).min(end)..end].fill(0);
                    }
                }
            }
            Loss::Gone => {
                self.changes.retain(|change| !unsynced(change));
                let known = self
                    .changes
                    .iter()
                    .filter(|(_, fate)| *fate == Fate::Durable);
                let mut content = self.durable.to_vec();
                for (change, _) in known {
                    change.apply(&mut content, Left::All);
                }
                self.seen = Arc::new(content);
            }
        }
        for (_, fate) in &mut self.changes {
            if *fate == Fate::Unsynced {
                *fate = Fate::Doubtful;
            }
        }
    }

    /// What a power loss may leave of each change, in their order.
    pub(crate) fn outcomes(&self) -> Vec<Vec<Left>> {
        let of = |(change, fate): &(Change, Fate)| match fate {
            Fate::Durable => vec![Left::All],
            Fate::Unsynced | Fate::Doubtful => change.outcomes(),
        };
        self.changes.iter().map(of).collect()
    }

    /// The content after a power loss that left that of each change.
    pub(crate) fn after(&self, left: &[Left]) -> Arc<Vec<u8>> {
        if self.changes.is_empty() {
            return Arc::clone(&self.durable);
        }
        let mut content = self.durable.to_vec();
        for ((change, _), left) in self.changes.iter().zip(left) {
            change.apply(&mut content, *left);
        }
        Arc::new(content)
    }
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>, left: Left) {
        match (self, left) {
            (_, Left::Nothing) => {}
            (Change::Length(length), _) => content.resize(*length, 0),
            (Change::Write { at, bytes, .. }, Left::All) => put(content, *at, bytes),
            (Change::Write { at, bytes, .. }, Left::Cut(cut)) => put(content, *at, &bytes[..cut]),
            (
                Change::Write {
                    at,
                    bytes,
                    length_before,
                },
                Left::Zeros(cut),
            ) => {
                let end = at + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[(at + cut).max(*length_before).min(end)..end].fill(0);
                put(content, *at, &bytes[..cut]);
            }
        }
    }

    fn outcomes(&self) -> Vec<Left> {
        let mut outcomes = vec![Left::Nothing, Left::All];
        let Change::Write {
            at,
            bytes,
            length_before,
        } = self
        else {
            return outcomes;
        };
        let length = bytes.len();
        let borders = (at / BLOCK_BYTES + 1..).map(|block| block * BLOCK_BYTES - at);
        let mut cuts: Vec<usize> = borders.take_while(|cut| *cut < length).collect();
        cuts.extend([1, length / 2, length.saturating_sub(1)]);
        cuts.retain(|cut| (1..length).contains(cut));
        cuts.sort_unstable();
        cuts.dedup();
        outcomes.extend(cuts.iter().map(|cut| Left::Cut(*cut)));
        if at + length > *length_before {
            outcomes.push(Left::Zeros(0));
            outcomes.extend(cuts.iter().map(|cut| Left::Zeros(*cut)));
        }
        outcomes
    }
}

fn put(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[at..end].copy_from_slice(bytes);
}
