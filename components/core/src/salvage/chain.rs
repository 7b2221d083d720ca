//! Which records stand: of those that contradict each other, as many events as possible in the order of the file.

use std::cmp::Reverse;

/// One record's place: the seq of its first event, and how many it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) seq: u64,
    pub(super) count: u64,
}

impl Span {
    fn end(self) -> u64 {
        self.seq.saturating_add(self.count)
    }
}

/// The best chain that ends with one record, or of a prefix of the ends: its events, and the record.
#[derive(Clone, Copy, Debug)]
struct Best {
    events: u64,
    end: u64,
    last: usize,
}

/// For each span whether it is in the heaviest chain: in the given order, each beginning at or behind the end of the
/// one before it. Of equally heavy chains the one that ends lower, and then the one of earlier spans.
pub(super) fn chain(spans: &[Span]) -> Vec<bool> {
    let ascends = spans
        .array_windows()
        .all(|[one, next]| one.end() <= next.seq);
    if ascends {
        return vec![true; spans.len()];
    }
    let mut ends: Vec<u64> = spans.iter().map(|span| span.end()).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut bests = Prefixes(vec![None; ends.len()]);
    let mut previous: Vec<Option<usize>> = Vec::with_capacity(spans.len());
    for (position, span) in spans.iter().enumerate() {
        let before = bests.best(ends.partition_point(|end| *end <= span.seq));
        previous.push(before.map(|before| before.last));
        let best = Best {
            events: before.map_or(0, |before| before.events) + span.count,
            end: span.end(),
            last: position,
        };
        bests.add(ends.partition_point(|end| *end < span.end()), best);
    }
    let mut is_in = vec![false; spans.len()];
    let mut last = bests.best(ends.len()).map(|best| best.last);
    while let Some(position) = last {
        if let Some(mark) = is_in.get_mut(position) {
            *mark = true;
        }
        last = previous.get(position).copied().flatten();
    }
    is_in
}

/// Best chains by their ends, asked for prefixes: a Fenwick tree of maxima.
struct Prefixes(Vec<Option<Best>>);

impl Prefixes {
    fn add(&mut self, position: usize, best: Best) {
        let mut node = position + 1;
        while let Some(known) = self.0.get_mut(node - 1) {
            *known = Some(better(*known, best));
            node += node & node.wrapping_neg();
        }
    }

    /// The best of the first `count` ends.
    fn best(&self, count: usize) -> Option<Best> {
        let mut node = count;
        let mut found = None;
        while node > 0 {
            if let Some(best) = self.0.get(node - 1).copied().flatten() {
                found = Some(better(found, best));
            }
            node &= node - 1;
        }
        found
    }
}

fn better(known: Option<Best>, other: Best) -> Best {
    // A seq that is too high by damage makes a chain that ends high, and holes.
    let rank = |best: Best| (Reverse(best.events), best.end, best.last);
    match known {
        Some(known) if rank(known) <= rank(other) => known,
        Some(_) | None => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(seqs: &[u64]) -> Vec<usize> {
        let spans: Vec<Span> = seqs
            .iter()
            .map(|seq| Span {
                seq: *seq,
                count: 1,
            })
            .collect();
        let is_in = chain(&spans);
        (0..seqs.len())
            .filter(|position| is_in[*position])
            .collect()
    }

    #[test]
    fn the_longest_order_stands_and_of_equal_ones_the_first() {
        assert_eq!(kept(&[]), [] as [usize; 0]);
        assert_eq!(kept(&[0, 1, 3]), [0, 1, 2]);
        assert_eq!(kept(&[0, 1, 2, 1, 2, 3]), [0, 1, 2, 5]);
        assert_eq!(kept(&[0, 900, 2, 3]), [0, 2, 3]);
        assert_eq!(kept(&[5, 0, 1, 2]), [1, 2, 3]);
        assert_eq!(kept(&[0, 1, 500, 3]), [0, 1, 3]);
        assert_eq!(kept(&[7, 1]), [1]);
        assert_eq!(kept(&[0, 0]), [0]);
    }

    #[test]
    fn a_row_weighs_as_much_as_its_events() {
        let spans = [
            Span { seq: 0, count: 1 },
            Span { seq: 1, count: 5 },
            Span { seq: 2, count: 1 },
            Span { seq: 3, count: 1 },
            Span { seq: 6, count: 1 },
        ];
        assert_eq!(chain(&spans), [true, true, false, false, true]);
    }

    #[test]
    fn no_chain_is_heavier() {
        let mut state = 7u64;
        for _ in 0..2000 {
            let mut spans = Vec::new();
            for _ in 0..8 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                let (seq, count) = ((state >> 33) % 10, (state >> 50) % 3 + 1);
                spans.push(Span { seq, count });
            }
            let weight = |is_in: &dyn Fn(usize) -> bool| {
                let (mut end, mut sum) = (0, 0);
                for (position, span) in spans.iter().enumerate() {
                    if is_in(position) {
                        if span.seq < end {
                            return None;
                        }
                        (end, sum) = (span.end(), sum + span.count);
                    }
                }
                Some(sum)
            };
            let best = (0u32..256)
                .filter_map(|bits| weight(&|position| bits >> position & 1 == 1))
                .max();
            let found = chain(&spans);
            assert_eq!(weight(&|position| found[position]), best, "{spans:?}");
        }
    }
}
