// SPDX-License-Identifier: MIT
//! Iterators, sorting and text, most of it inlined: for SECONDS.
use std::collections::HashMap;
use std::time::{Duration, Instant};

fn scrambled(value: u64) -> u64 {
    let value = (value ^ (value >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 29)
}

#[inline(never)]
fn sorted(seed: u64) -> u64 {
    let mut list: Vec<u64> = (0..3000).map(|i| scrambled(seed + i)).collect();
    list.sort_unstable();
    list.iter().step_by(7).fold(0, |sum, value| sum ^ value)
}

#[inline(never)]
fn counted(seed: u64) -> u64 {
    let mut words: HashMap<String, u64> = HashMap::new();
    for i in 0..1000 {
        *words.entry(format!("{}", scrambled(seed + i) % 300)).or_insert(0) += i;
    }
    words.values().copied().max().unwrap_or(0)
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut value = 1u64;
    while Instant::now() < end {
        value = (value + sorted(value % 1000) + counted(value % 1000)) % 1_000_003;
    }
    std::process::exit((value == u64::MAX) as i32);
}
