// SPDX-License-Identifier: MIT
//! The optional libraries: what is asked for arrives, and errors have the library's words.
#![cfg(all(feature = "sampler", feature = "stacks", feature = "topology", feature = "pfm"))]

use perfmodes::abi;
use perfmodes::sampler::{self, Heard, Sampler, Target};
use perfmodes::stacks::{registers, Frame, StackSample, Symbols, Unwinder};
use perfmodes::topology::{self, Machine, Topology, LATEST};
use std::io::{BufRead, BufReader, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::{Child, Command, Stdio};

const EINVAL: i32 = 22;

fn this() -> i32 {
    std::process::id() as i32
}

/// An address of the C library.
fn getppid() -> u64 {
    extern "C" {
        fn getppid() -> i32;
    }
    getppid as *const () as u64
}

/// A shell that answers each line, which takes page faults in forks of it.
struct Other(Child);

impl Other {
    fn new() -> Other {
        let script = "while read line; do (true); echo done; done";
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        Other(shell.spawn().unwrap())
    }
    fn works(&mut self) {
        let mut line = String::new();
        self.0.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
        BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "done\n");
    }
    fn faults<'a>(&self, heard: impl FnMut(Heard<'_>) + 'a) -> Sampler<'a> {
        let events = perfmodes::event_list("page-faults/period=1/u").unwrap();
        let mut options = sampler::options();
        options.flags = (abi::PM_SAMPLER_USER_ONLY | abi::PM_SAMPLER_CHILDREN) as u32;
        let target = Target::parse(&format!("pid:{}", self.0.id())).unwrap();
        Sampler::open(&events, &[target], &options, heard).unwrap()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn lists_have_their_groups() {
    let listed = perfmodes::event_list("{cycles/freq=99/,instructions:u}:S, page-faults").unwrap();
    assert_eq!(listed.iter().map(|one| one.listed.leader).collect::<Vec<_>>(), [0, 1, 0]);
    assert_eq!((listed[0].spec.frequency, listed[2].spec.tid), (99, perfmodes::PM_ALL_THREADS));
    assert_eq!(perfmodes::event_name(&listed[1].spec), "instructions:u");
    assert_eq!(perfmodes::event_list(&["page-faults"; 100].join(",")).unwrap().len(), 100);
    let error = perfmodes::event_list("page-faults,nonsense").err().unwrap();
    assert!(error.errno == EINVAL && error.text.contains("nonsense"), "{}", error);
    assert_eq!(perfmodes::event_list("page\0faults").err().unwrap().errno, EINVAL);
}

#[test]
fn counters_begin_anew() {
    let mut event = perfmodes::event("page-faults:u").unwrap();
    event.tid = 0;
    let mut counters = perfmodes::Counters::open(&[event], abi::PM_COUNTERS_MAY_USER_ONLY).unwrap();
    counters.start().unwrap();
    assert!(vec![1u8; 1 << 24][1 << 23] == 1);
    let first = counters.read().unwrap()[0].value;
    counters.reset().unwrap();
    assert!(first > 0 && counters.read().unwrap()[0].value < first);
    assert_eq!(unsafe { abi::pm_counters_read_one(counters.as_ptr(), 1, &mut std::mem::zeroed()) }, -EINVAL);
}

#[test]
fn plans_have_costs() {
    let event = perfmodes::event("page-faults/period=1/u").unwrap();
    let mut plan = perfmodes::Plan::new(&[event], &perfmodes::options(0)).unwrap();
    let (cost, mut tax) = (plan.cost(), 1);
    assert!(cost.threads >= 1 && cost.cpus >= 1 && cost.opens >= 1);
    assert!(unsafe { abi::pm_plan_thread_tax(plan.as_ptr(), &mut tax) } <= 0);
    let mut session = perfmodes::Session::new(&mut plan, |_| ());
    assert_eq!(session.fd().err().unwrap().errno, 107); // ENOTCONN
    session.attach().unwrap();
    assert!(session.fd().unwrap() >= 0);
    let parts = unsafe { abi::pm_session_read_parts(session.as_ptr(), std::ptr::null_mut(), 0) };
    assert!(parts > 0, "{}", parts);
}

#[test]
fn addresses_have_names() {
    let (names, others) = (Symbols::new(), Symbols::new());
    let unwinder = Unwinder::open(this(), &names).unwrap();
    let found = names.find(getppid(), 0, Some(&unwinder)).unwrap();
    assert_eq!((found.name.as_deref(), found.start), (Some("getppid"), getppid()));
    assert!(found.module.contains("libc") && found.build_id.len() == 20);
    assert!(names.find(16, 0, Some(&unwinder)).unwrap().name.is_none());
    let error = others.find(getppid(), 0, Some(&unwinder)).err().unwrap();
    assert!(error.errno == EINVAL && error.text.contains("these symbols"));
    assert_eq!(Unwinder::open(1 << 23, &names).err().unwrap().errno, 3);
    drop(names); // they last as long as their unwinder
    let frame = Frame { address: getppid(), bits: 0 };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..200 {
                    assert_eq!(unwinder.find(frame).unwrap().name.as_deref(), Some("getppid"));
                    Unwinder::open(this(), &others).unwrap().refresh().unwrap();
                }
            });
        }
    });
}

#[test]
fn registers_fit_their_mask() {
    let unwinder = Unwinder::open(this(), &Symbols::new()).unwrap();
    let short = StackSample { regs_abi: 2, regs_mask: 3, regs: &[1], ..StackSample::default() };
    assert_eq!(unwinder.stack(&short).err().unwrap().errno, EINVAL);
    let chain = [-512i64 as u64, 0x1000, 0x2000];
    let stack = unwinder.stack(&StackSample { callchain: &chain, ..StackSample::default() }).unwrap();
    assert_eq!(stack.frames.iter().map(|one| one.address).collect::<Vec<_>>(), [0x1000, 0x2000]);
    assert_eq!(stack.end, abi::PM_END_UNTOLD);
}

#[test]
fn another_process_is_sampled() {
    let mut other = Other::new();
    let (pid, mut seen, mut changes) = (other.0.id(), 0, Vec::new());
    let counted = std::cell::Cell::new(0);
    {
        let mut sampler = other.faults(|heard| match heard {
            Heard::Sample(sample) => {
                assert!(sample.raw().period == 1 && sample.process().raw().watched);
                seen += 1;
                counted.set(seen);
            }
            Heard::Process(process, change, _) if process.pid() == pid => {
                changes.push((change, process.comm(), process.arguments().len()))
            }
            _ => (),
        });
        assert_eq!(sampler.poll(0).err().unwrap().errno, 107); // ENOTCONN
        sampler.start().unwrap();
        other.works();
        while counted.get() < 20 {
            sampler.poll(100).unwrap();
        }
        assert!(sampler.stats().samples >= 20 && sampler.read().unwrap()[0].value >= 20);
        assert!(sampler.explain().contains("event 0: page-faults"));
        sampler.stop().unwrap();
    }
    assert_eq!(changes[0], (abi::PM_PROCESS_FOUND, "sh".into(), 3));
    assert!(Target::parse("nonsense").err().unwrap().text.contains("nonsense"));
}

#[test]
fn a_panic_goes_on_in_the_call() {
    let mut other = Other::new();
    let mut sampler = other.faults(|heard| {
        if let Heard::Sample(_) = heard {
            panic!("mine");
        }
    });
    sampler.start().unwrap();
    other.works();
    let told = catch_unwind(AssertUnwindSafe(|| loop {
        sampler.poll(100).unwrap();
    }));
    assert_eq!(told.err().unwrap().downcast_ref::<&str>(), Some(&"mine"));
}

#[test]
fn samples_have_stacks() {
    if registers() == 0 {
        return; // not unwound on this machine
    }
    let mut other = Other::new();
    let names = Symbols::new();
    let events = perfmodes::event_list("page-faults/period=1/u").unwrap();
    let mut options = sampler::options();
    options.flags = abi::PM_SAMPLER_USER_ONLY as u32;
    options.want = (abi::PM_WANT_REGISTERS | abi::PM_WANT_STACK) as u32;
    (options.registers, options.stack) = (registers(), 16384);
    let target = Target::parse(&other.0.id().to_string()).unwrap();
    let unwinder = Unwinder::open(other.0.id() as i32, &names).unwrap();
    let complete = std::cell::Cell::new(0);
    let mut sampler = Sampler::open(&events, &[target], &options, |heard| {
        if let Heard::Sample(sample) = heard {
            let stack = unwinder.stack(&sample.stack_sample()).unwrap();
            let outer = stack.frames.iter().any(|one| {
                unwinder.find(*one).unwrap().name.map_or(false, |name| name.contains("libc_start"))
            });
            complete.set(complete.get() + (stack.end == abi::PM_END_COMPLETE && outer) as u32);
        }
    })
    .unwrap();
    sampler.start().unwrap();
    while complete.get() == 0 {
        other.works();
        sampler.poll(100).unwrap();
    }
}

#[test]
fn counts_roll_up() {
    let machine = Machine::synthetic("package:2 core:2 pu:2").unwrap();
    let mut fruit = Topology::of_parts(&machine, &["apples", "pears"]).unwrap();
    assert_eq!(fruit.value(0, None, LATEST).err().unwrap().errno, 61); // ENODATA
    let values: Vec<_> = (0..8).map(|cpu| (0, cpu, cpu as u64 + 1)).collect();
    let time = fruit.put(&values).unwrap();
    let package = &machine.objects("Package")[1];
    assert_eq!(package.cpus, [4, 5, 6, 7]);
    assert_eq!(fruit.value(0, Some(&package.cpus), time).unwrap().value, 5 + 6 + 7 + 8);
    assert_eq!((fruit.value(0, None, LATEST).unwrap().value, fruit.source()), (36, abi::PM_TOPOLOGY_PARTS));
    assert_eq!(fruit.value(0, Some(&[1 << 20]), LATEST).err().unwrap().errno, EINVAL);
    assert_eq!(Machine::synthetic("package:1 pu:70").unwrap().objects("Package")[0].cpus.len(), 70);
    assert_eq!(Machine::synthetic("nonsense").err().unwrap().errno, EINVAL);
}

#[test]
fn hardware_threads_have_counted() {
    let machine = Machine::new().unwrap();
    let mut event = perfmodes::event("page-faults:u").unwrap();
    event.tid = 0;
    let mut faults = Topology::open(&machine, &[event], &topology::options()).unwrap();
    assert_eq!(faults.read().err().unwrap().errno, 107);
    faults.start().unwrap();
    let first = faults.read().unwrap();
    let area = vec![1u8; 1 << 22];
    let last = faults.stop().unwrap();
    assert!(area[1 << 21] == 1 && faults.window(0, None, first, last).unwrap().value > 0);
    let each = machine.objects("PU").iter().map(|one| faults.value(0, Some(&one.cpus), last).unwrap().value).sum();
    assert_eq!(faults.value(0, None, last).unwrap().value, each);
    assert!(faults.explain().contains("chosen: "));
}

#[test]
fn names_of_libpfm4() {
    match perfmodes::pfm::event("perf::PAGE-FAULTS:u") {
        Ok(spec) => assert_eq!(spec.config, abi::PM_SW_PAGE_FAULTS as u64),
        Err(error) => return assert_eq!(error.errno, 38), // ENOSYS: it is not here
    }
    assert!(perfmodes::pfm::full_name("page-faults").unwrap().starts_with("perf::PERF_COUNT_SW"));
    assert!(perfmodes::pfm::full_name("perf::NO_SUCH").err().unwrap().text.contains("NO_SUCH"));
}
