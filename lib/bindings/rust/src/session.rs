// SPDX-License-Identifier: MIT
//! Events attached to threads.

use crate::abi;
use crate::error::{check, diagnosis, sized, Result};
use crate::plan::Plan;
use core::ffi::c_void;
use std::any::Any;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

/// One sample, valid during the callback.
pub struct Sample<'a>(&'a abi::pm_observed);

impl Sample<'_> {
    /// The structure of the library.
    pub fn raw(&self) -> &abi::pm_observed {
        self.0
    }
    pub fn tid(&self) -> u32 {
        self.0.tid
    }
    pub fn ip(&self) -> u64 {
        self.0.ip
    }
    /// The return addresses, with the kernel's context marks; empty unless wanted.
    pub fn callchain(&self) -> &[u64] {
        if self.0.callchain_count == 0 || self.0.callchain.is_null() {
            return &[];
        }
        unsafe { std::slice::from_raw_parts(self.0.callchain, self.0.callchain_count as usize) }
    }
}

/// The sum of one event.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    pub value: u64,
    pub enabled: u64,
    pub running: u64,
}

struct Listener<'a> {
    sample: Box<dyn FnMut(Sample<'_>) + 'a>,
    panic: Option<Box<dyn Any + Send>>,
}

/// A session of a plan, which it borrows: a plan belongs to one session at a time.
pub struct Session<'a> {
    own: *mut abi::pm_session,
    plan: &'a mut Plan,
    listener: Box<Listener<'a>>,
}

/// A panic cannot pass through C: the call that delivered the sample goes on with it.
unsafe extern "C" fn on_sample(context: *mut c_void, sample: *const abi::pm_observed) {
    let listener = &mut *(context as *mut Listener<'_>);
    if listener.panic.is_none() {
        let call = &mut listener.sample;
        listener.panic = catch_unwind(AssertUnwindSafe(|| call(Sample(&*sample)))).err();
    }
}

impl<'a> Session<'a> {
    /// `sample` is called by poll, attach, read and detach; what it panics with, these go on with.
    pub fn new(plan: &'a mut Plan, sample: impl FnMut(Sample<'_>) + 'a) -> Session<'a> {
        let mut listener = Box::new(Listener { sample: Box::new(sample), panic: None });
        let mut calls: abi::pm_listener = unsafe { sized() };
        calls.sample = Some(on_sample);
        let context = &mut *listener as *mut Listener<'_> as *mut c_void;
        let own = unsafe { abi::pm_session_create(plan.own, &calls, context) };
        assert!(!own.is_null(), "no memory");
        Session { own, plan, listener }
    }

    fn done(&mut self, result: i32, call: &str, diag: Option<&abi::pm_diag>) -> Result<i32> {
        if let Some(panic) = self.listener.panic.take() {
            resume_unwind(panic);
        }
        check(result, call, diag)
    }

    /// For functions of [`abi`] that have no method here; it stays the owner's.
    pub fn as_ptr(&self) -> *mut abi::pm_session {
        self.own
    }

    /// All events or none; proven.
    pub fn attach(&mut self) -> Result<()> {
        let mut diag = diagnosis();
        let result = unsafe { abi::pm_session_attach(self.own, &mut diag) };
        self.done(result, "pm_session_attach", Some(&diag)).map(|_| ())
    }

    /// Waits for records (-1: without limit) and delivers them. Returns how many.
    pub fn poll(&mut self, timeout_ms: i32) -> Result<i32> {
        let result = unsafe { abi::pm_session_poll(self.own, timeout_ms) };
        self.done(result, "pm_session_poll", None)
    }

    /// For event loops: readable when poll has something to do.
    pub fn fd(&mut self) -> Result<i32> {
        check(unsafe { abi::pm_session_fd(self.own) }, "pm_session_fd", None)
    }

    /// The sums of all events.
    pub fn read(&mut self) -> Result<Vec<Value>> {
        let count = self.plan.events;
        let mut values = vec![unsafe { sized::<abi::pm_value>() }; count];
        let result = unsafe { abi::pm_session_read(self.own, values.as_mut_ptr(), count as _) };
        self.done(result, "pm_session_read", None)?;
        let each = values.iter();
        Ok(each.map(|v| Value { value: v.value, enabled: v.enabled, running: v.running }).collect())
    }

    pub fn stats(&self) -> abi::pm_stats {
        let mut stats: abi::pm_stats = unsafe { sized() };
        unsafe { abi::pm_session_stats(self.own, &mut stats) };
        stats
    }

    /// Delivers what is left; nothing stays behind.
    pub fn detach(&mut self) -> Result<()> {
        let result = unsafe { abi::pm_session_detach(self.own) };
        self.done(result, "pm_session_detach", None).map(|_| ())
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        unsafe { abi::pm_session_destroy(self.own) }
    }
}
