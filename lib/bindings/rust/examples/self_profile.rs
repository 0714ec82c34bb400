// SPDX-License-Identifier: MIT
//! A program that profiles itself: samples of the CPU clock of all its threads, by thread.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

static SAMPLES: AtomicU32 = AtomicU32::new(0);

/// Until there are samples enough; on a busy machine a fixed time gives few of them.
fn busy() {
    let end = Instant::now() + Duration::from_secs(10);
    while SAMPLES.load(Relaxed) < 100 && Instant::now() < end {
        std::hint::spin_loop();
    }
}

fn profile() -> perfmodes::Result<BTreeMap<u32, u32>> {
    let mut by_thread = BTreeMap::new();
    let mut cycles = perfmodes::event("cycles")?;
    cycles.frequency = 500;
    let mut plan = perfmodes::Plan::new(&[cycles], &perfmodes::options(perfmodes::PM_ALLOW_ALL))?;
    {
        let mut session = perfmodes::Session::new(&mut plan, |sample| {
            SAMPLES.fetch_add(1, Relaxed);
            *by_thread.entry(sample.tid()).or_insert(0) += 1;
        });
        session.attach()?;
        let worker = std::thread::spawn(busy);
        while !worker.is_finished() {
            session.poll(10)?;
        }
        worker.join().unwrap();
        session.detach()?;
    }
    eprint!("{}", plan.explain());
    Ok(by_thread)
}

fn main() {
    match profile() {
        Ok(by_thread) => {
            for (tid, count) in &by_thread {
                println!("thread-{} {}", tid, count);
            }
            std::process::exit(by_thread.is_empty() as i32);
        }
        Err(error) => {
            eprintln!("self_profile: {}", error);
            std::process::exit(2);
        }
    }
}
