//! Damage of a few bytes.

use crate::random::Random;

/// What damage writes over a byte.
const DAMAGE: &[u8] = b"\"{}[],:\\\n\r 019-.eE\0\xff\xe9tn";

/// Breaks some bytes: one is written over, left out or put in, a line comes twice or not at all, the end is missing.
pub(in crate::fuzzed) fn damage(log: &mut Vec<u8>, random: &mut Random) {
    if log.is_empty() {
        return;
    }
    let at = random.below(log.len());
    let line_start = log[..at]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    let line_end = log[at..]
        .iter()
        .position(|byte| *byte == b'\n')
        .map_or(log.len(), |end| at + end + 1);
    match random.below(7) {
        0 => log[at] = DAMAGE[random.below(DAMAGE.len())],
        1 => drop(log.remove(at)),
        2 => log.insert(at, DAMAGE[random.below(DAMAGE.len())]),
        3 => {
            let line = log[line_start..line_end].to_vec();
            log.splice(line_start..line_start, line);
        }
        4 => drop(log.drain(line_end - 1..line_end)),
        5 => drop(log.drain(line_start..line_end)),
        _ => log.truncate(at),
    }
}
