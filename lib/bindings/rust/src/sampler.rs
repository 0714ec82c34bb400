// SPDX-License-Identifier: MIT
//! Watching other processes. What is heard is borrowed during the callback. A sampler is of one thread,
//! and its callback cannot call it: the compiler says so.

use crate::abi;
use crate::error::{check, diagnosis, sized, Result};
use crate::plan::{text, written, ListedEvent};
use crate::session::Value;
use core::ffi::c_void;
use std::any::Any;
use std::ffi::{CStr, CString};
use std::os::raw::c_char;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr;

/// What a sampler looks at.
pub struct Target {
    raw: abi::pm_target,
    _text: CString, // that raw.text points into
}

impl Target {
    /// Of "any", "pid:42", "cmd:PATTERN", "regex:EXPRESSION", "cgroup:/PATH", "uid:1000", "kernel"; with
    /// "!" in front it excludes.
    pub fn parse(given: &str) -> Result<Target> {
        let (given, mut diag) = (text(given)?, diagnosis());
        let mut raw: abi::pm_target = unsafe { sized() };
        let done = unsafe { abi::pm_target_parse(given.as_ptr(), &mut diag, &mut raw) };
        check(done, "pm_target_parse", Some(&diag))?;
        Ok(Target { raw, _text: given })
    }
}

/// A process; see struct pm_process.
#[derive(Clone, Copy)]
pub struct Process<'a>(&'a abi::pm_process);

impl<'a> Process<'a> {
    /// The structure of the library.
    pub fn raw(&self) -> &'a abi::pm_process {
        self.0
    }
    pub fn pid(&self) -> u32 {
        self.0.pid
    }
    /// Unique in its sampler.
    pub fn serial(&self) -> u64 {
        self.0.serial
    }
    pub fn comm(&self) -> String {
        unsafe { CStr::from_ptr(self.0.comm.as_ptr()) }.to_string_lossy().into_owned()
    }
    /// As /proc/PID/cmdline has them.
    pub fn arguments(&self) -> Vec<&'a [u8]> {
        let all = unsafe { slice(self.0.arguments as *const u8, self.0.arguments_size) };
        all.split_inclusive(|byte| *byte == 0).map(|one| one.strip_suffix(&[0]).unwrap_or(one)).collect()
    }
}

/// An array of the library's; none where it has none.
unsafe fn slice<'a, T>(from: *const T, count: usize) -> &'a [T] {
    if from.is_null() || count == 0 {
        return &[];
    }
    std::slice::from_raw_parts(from, count)
}

/// A sample; see struct pm_sampled.
#[derive(Clone, Copy)]
pub struct Sampled<'a>(&'a abi::pm_sampled);

impl<'a> Sampled<'a> {
    /// The structure of the library.
    pub fn raw(&self) -> &'a abi::pm_sampled {
        self.0
    }
    pub fn process(&self) -> Process<'a> {
        Process(unsafe { &*self.0.process })
    }
    /// With the kernel's context marks.
    pub fn chain(&self) -> &'a [u64] {
        unsafe { slice(self.0.chain, self.0.chain_count) }
    }
    /// One for each bit of `raw().registers_mask`.
    pub fn registers(&self) -> &'a [u64] {
        unsafe { slice(self.0.registers, self.0.registers_count) }
    }
    /// From the stack pointer upward.
    pub fn stack(&self) -> &'a [u8] {
        unsafe { slice(self.0.stack as *const u8, self.0.stack_size) }
    }
    /// Of the group, the leader's first.
    pub fn values(&self) -> &'a [u64] {
        unsafe { slice(self.0.values, self.0.values_count) }
    }
    pub fn raw_data(&self) -> &'a [u8] {
        unsafe { slice(self.0.raw as *const u8, self.0.raw_size) }
    }
    /// What an unwinder takes.
    #[cfg(feature = "stacks")]
    pub fn stack_sample(&self) -> crate::stacks::StackSample<'a> {
        crate::stacks::StackSample {
            pid: self.0.pid as i32,
            tid: self.0.tid as i32,
            time: self.0.time,
            weight: self.0.period,
            ip: self.0.ip,
            callchain: self.chain(),
            regs_abi: self.0.registers_abi,
            regs_mask: self.0.registers_mask,
            regs: self.registers(),
            stack: self.stack(),
            stack_size: 0,
        }
    }
}

/// What a sampler tells.
pub enum Heard<'a> {
    Sample(Sampled<'a>),
    /// One record of side-band, as asked for by the option `side`.
    Side(&'a abi::pm_side),
    /// A process, what became of it (`PM_PROCESS_*`), and when.
    Process(Process<'a>, i32, u64),
    /// The kernel dropped so many records of that CPU's ring.
    Lost { cpu: u32, count: u64 },
}

struct Listener<'a> {
    heard: Box<dyn FnMut(Heard<'_>) + 'a>,
    panic: Option<Box<dyn Any + Send>>,
}

impl Listener<'_> {
    /// A panic cannot pass through C: the call that delivers goes on with it.
    unsafe fn hear(context: *mut c_void, what: Heard<'_>) {
        let listener = &mut *(context as *mut Listener<'_>);
        if listener.panic.is_none() {
            let call = &mut listener.heard;
            listener.panic = catch_unwind(AssertUnwindSafe(|| call(what))).err();
        }
    }
}

unsafe extern "C" fn on_sample(context: *mut c_void, sample: *const abi::pm_sampled) {
    Listener::hear(context, Heard::Sample(Sampled(&*sample)));
}

unsafe extern "C" fn on_side(context: *mut c_void, side: *const abi::pm_side) {
    Listener::hear(context, Heard::Side(&*side));
}

unsafe extern "C" fn on_process(context: *mut c_void, one: *const abi::pm_process, change: i32, time: u64) {
    Listener::hear(context, Heard::Process(Process(&*one), change, time));
}

unsafe extern "C" fn on_lost(context: *mut c_void, cpu: u32, count: u64) {
    Listener::hear(context, Heard::Lost { cpu, count });
}

/// Options of a sampler: all 0 but for the size.
pub fn options() -> abi::pm_sampler_opts {
    unsafe { sized() }
}

/// Events of processes that targets describe; without a target that includes, of every process.
pub struct Sampler<'a> {
    own: *mut abi::pm_sampler,
    events: usize,
    listener: Box<Listener<'a>>,
}

impl<'a> Sampler<'a> {
    /// Events as of [`crate::event_list`], with their groups; what else is told of them beside their specs
    /// does not count. `heard` is called by start, poll and stop; what it panics with, these go on with.
    pub fn open(
        events: &[ListedEvent],
        targets: &[Target],
        options: &abi::pm_sampler_opts,
        heard: impl FnMut(Heard<'_>) + 'a,
    ) -> Result<Sampler<'a>> {
        let mut listener = Box::new(Listener { heard: Box::new(heard), panic: None });
        let context = &mut *listener as *mut Listener<'_> as *mut c_void;
        let mut calls: abi::pm_sampler_listener = unsafe { sized() };
        calls.sample = Some(on_sample);
        calls.side = Some(on_side);
        calls.process = Some(on_process);
        calls.lost = Some(on_lost);
        let raw: Vec<_> = targets.iter().map(|one| one.raw).collect();
        let made = events.iter().map(|one| {
            let mut event: abi::pm_sampler_event = unsafe { sized() };
            (event.spec, event.leader) = (&one.spec, one.listed.leader);
            event
        });
        let (made, mut own, mut diag) = (made.collect::<Vec<_>>(), ptr::null_mut(), diagnosis());
        let done = unsafe {
            let (at, targets) = (made.as_ptr(), raw.as_ptr());
            let known = ptr::null_mut();
            abi::pm_sampler_open(
                at, made.len(), targets, raw.len(), options, known, &calls, context, &mut diag, &mut own,
            )
        };
        check(done, "pm_sampler_open", Some(&diag))?;
        Ok(Sampler { own, events: made.len(), listener })
    }

    /// For functions of [`abi`] that have no method here; it stays the owner's.
    pub fn as_ptr(&self) -> *mut abi::pm_sampler {
        self.own
    }

    fn done(&mut self, result: i32, call: &str, diag: Option<&abi::pm_diag>) -> Result<i32> {
        if let Some(panic) = self.listener.panic.take() {
            resume_unwind(panic);
        }
        check(result, call, diag)
    }

    /// Enables the events and tells the processes that there are.
    pub fn start(&mut self) -> Result<()> {
        let mut diag = diagnosis();
        let result = unsafe { abi::pm_sampler_start(self.own, &mut diag) };
        self.done(result, "pm_sampler_start", Some(&diag)).map(|_| ())
    }

    /// Waits for records (-1: without limit) and delivers them. Returns how many.
    pub fn poll(&mut self, timeout_ms: i32) -> Result<i32> {
        let result = unsafe { abi::pm_sampler_poll(self.own, timeout_ms) };
        self.done(result, "pm_sampler_poll", None)
    }

    /// Disables the events and delivers what is left. Returns how many records.
    pub fn stop(&mut self) -> Result<i32> {
        let result = unsafe { abi::pm_sampler_stop(self.own) };
        self.done(result, "pm_sampler_stop", None)
    }

    /// Another rate of an event, whichever it was asked for; the other is 0.
    pub fn rate(&mut self, event: usize, period: u64, frequency: u64) -> Result<()> {
        let result = unsafe { abi::pm_sampler_rate(self.own, event, period, frequency) };
        self.done(result, "pm_sampler_rate", None).map(|_| ())
    }

    /// For event loops: readable when poll has something to do.
    pub fn fd(&self) -> Result<i32> {
        check(unsafe { abi::pm_sampler_fd(self.own) }, "pm_sampler_fd", None)
    }

    /// The sums of all events since the start.
    pub fn read(&mut self) -> Result<Vec<Value>> {
        let mut values = vec![unsafe { sized::<abi::pm_value>() }; self.events];
        let result = unsafe { abi::pm_sampler_read(self.own, values.as_mut_ptr(), self.events) };
        self.done(result, "pm_sampler_read", None)?;
        let each = values.iter();
        Ok(each.map(|v| Value { value: v.value, enabled: v.enabled, running: v.running }).collect())
    }

    /// The way and why not the others; the clock; a line for each event.
    pub fn explain(&self) -> String {
        written(|to: *mut c_char, size| unsafe { abi::pm_sampler_explain(self.own, to, size) })
    }

    pub fn stats(&self) -> abi::pm_sampler_stats {
        let mut stats: abi::pm_sampler_stats = unsafe { sized() };
        unsafe { abi::pm_sampler_stats(self.own, &mut stats) };
        stats
    }
}

impl Drop for Sampler<'_> {
    fn drop(&mut self) {
        unsafe { abi::pm_sampler_destroy(self.own) }
    }
}
