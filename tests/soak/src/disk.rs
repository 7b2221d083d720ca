//! A small disk, and somebody who fills it.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::counts::Counts;
use crate::random::Random;

/// How large the disk is: the logs of a few rounds, and copies of them.
pub const DISK_BYTES: u64 = 128 << 20;

/// What is left to others while the disk is full.
const LEFT_BYTES: [u64; 8] = [0, 0, 4096, 8192, 16_384, 32_768, 65_536, 150_000];

/// Until `is_over`, writes and removes a file that takes all the room.
pub fn fill(directory: &Path, random: &mut Random, counts: &Counts, is_over: &AtomicBool) {
    let path = directory.join("filler");
    while !is_over.load(Ordering::Relaxed) {
        doze(700 + random.below(2500), is_over);
        let until = Instant::now() + Duration::from_millis(100 + random.below(1200));
        if let Ok(mut file) = File::create(&path) {
            counts.filled.add(1);
            let left = random.pick(&LEFT_BYTES).copied().unwrap_or(0);
            take(&mut file, left);
            while Instant::now() < until && !is_over.load(Ordering::Relaxed) {
                // what others freed meanwhile
                if let Ok(mut more) = OpenOptions::new().append(true).open(&path)
                    && left == 0
                {
                    take(&mut more, 0);
                }
                thread::sleep(Duration::from_millis(10));
            }
        }
        let _ = fs::remove_file(&path);
    }
}

fn take(file: &mut File, left: u64) {
    for bytes in [1 << 20, 64 << 10, 4096] {
        let zeros = vec![0; bytes];
        while file.write_all(&zeros).is_ok() {}
    }
    if let Ok(taken) = file.metadata() {
        let _ = file.set_len(taken.len().saturating_sub(left));
    }
}

/// Sleeps in short pieces.
pub fn doze(milliseconds: u64, is_over: &AtomicBool) {
    let until = Instant::now() + Duration::from_millis(milliseconds);
    while Instant::now() < until && !is_over.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(5));
    }
}
