//! Random damage: whatever line survives it is in the result, once.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{HEADER, event, lines, log, salvage};
use crate::vectors::fixtures;

const SEED: u64 = 20260726;
const ROUNDS: usize = 1500;

/// Xorshift: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }

    fn range(&mut self, end: usize, length_max: usize) -> std::ops::Range<usize> {
        let start = self.below(end + 1);
        start..(start + self.below(length_max)).min(end)
    }
}

/// Events, messages, rewrites and packed rows.
fn synthetic(random: &mut Random) -> Vec<u8> {
    let (mut all, mut seq, mut nodes) = (Vec::new(), 0, Vec::new());
    while seq < 60 {
        match random.below(5) {
            0 => {
                all.push(format!(
                    r#"{{"type":"text-chunks","seq0":{seq},"time0":9,"data":{{"turn":1,"step":1,"index":0,"dt":[1,0],"texts":["a{{","\"b\"",",{seq}"]}}}}"#
                ));
                seq += 2;
            }
            1 | 2 => {
                nodes.push(seq);
                all.push(format!(
                    r#"{{"type":"user/message","seq":{seq},"time":9,"data":{{"content":"{{\"é\":{seq}"}},"surfaceOp":"append"}}"#
                ));
            }
            3 if nodes.len() > 3 => {
                let gone: Vec<u64> = nodes.splice(1..3, [seq]).collect();
                let (start, end) = (gone[0], gone[1]);
                all.push(format!(
                    r#"{{"type":"user/message","seq":{seq},"time":9,"data":{{"content":"c"}},"sourceEventSeqs":[{start},{end}],"surfaceOp":{{"op":"replace","start":{start},"end":{end}}}}}"#
                ));
            }
            _ => all.push(event(seq)),
        }
        seq += 1;
    }
    log(&all)
}

/// One piece of damage behind the header.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    let from = HEADER.len() + 1;
    let rest = bytes.len() - from.min(bytes.len());
    let piece = random.range(rest, 700);
    let (start, end) = (from + piece.start, from + piece.end);
    match random.below(8) {
        0 => bytes[start..end].fill(0),
        1 => {
            for byte in &mut bytes[start..end] {
                *byte = b"{}\",:0\xff\n"[random.below(8)];
            }
        }
        2 => drop(bytes.drain(start..end)),
        3 => {
            let again = bytes[start..end].to_vec();
            let at = from + random.below(rest + 1);
            bytes.splice(at..at, again);
        }
        4 => {
            for at in (start..end).step_by(40) {
                bytes[at] ^= 1 << random.below(8);
            }
        }
        5 => bytes.truncate(end),
        6 => {
            // a newline that never came
            let newline = bytes[start..].iter().position(|byte| *byte == b'\n');
            if let Some(newline) = newline {
                bytes.remove(start + newline);
            }
        }
        _ => {
            // lines in another order
            let mut all: Vec<&[u8]> = bytes[from..]
                .split_inclusive(|byte| *byte == b'\n')
                .collect();
            let (one, other) = (random.below(all.len()), random.below(all.len()));
            if !all.is_empty() {
                all.swap(one, other);
            }
            let moved = all.concat();
            bytes.truncate(from);
            bytes.extend(moved);
        }
    }
}

fn check(original: &[u8], damaged: &[u8]) {
    let found = lines(&salvage(damaged));
    let mut counts: HashMap<String, u32> = HashMap::new();
    for line in &found {
        let value: Value = serde_json::from_str(line).unwrap();
        let aside = value["data"]["line"]
            .as_str()
            .filter(|_| value["type"] == "salvage/set-aside");
        *counts.entry(aside.unwrap_or(line).to_owned()).or_default() += 1;
    }
    let surviving: HashSet<&[u8]> = damaged.split(|byte| *byte == b'\n').skip(1).collect();
    for line in original
        .split(|byte| *byte == b'\n')
        .skip(1)
        .filter(|line| !line.is_empty())
    {
        if surviving.contains(line) {
            let line = String::from_utf8(line.to_vec()).unwrap();
            let count = counts.get(&line).copied();
            assert_eq!(
                count,
                Some(1),
                "{line}\nof\n{}",
                String::from_utf8_lossy(damaged)
            );
        }
    }
}

#[test]
fn every_line_that_survives_is_there_once() {
    let mut random = Random(SEED);
    for _ in 0..ROUNDS {
        let original = synthetic(&mut random);
        let mut damaged = original.clone();
        for _ in 0..=random.below(4) {
            damage(&mut random, &mut damaged);
        }
        check(&original, &damaged);
    }
}

#[test]
fn every_line_of_a_recorded_log_that_survives_is_there_once() {
    let mut random = Random(SEED);
    for path in fixtures()
        .into_iter()
        .flat_map(|path| std::fs::read_dir(path).unwrap())
    {
        let bytes = std::fs::read(path.unwrap().path()).unwrap();
        let Some(newline) = bytes.iter().position(|byte| *byte == b'\n') else {
            continue;
        };
        let original = [HEADER.as_bytes(), &bytes[newline..]].concat();
        let events = original
            .split(|byte| *byte == b'\n')
            .skip(1)
            .filter(|line| !line.is_empty());
        if events
            .into_iter()
            .any(|line| serde_json::from_slice::<Value>(line).is_err())
        {
            continue;
        }
        for _ in 0..10 {
            let mut damaged = original.clone();
            for _ in 0..=random.below(3) {
                damage(&mut random, &mut damaged);
            }
            check(&original, &damaged);
        }
    }
}
