// SPDX-License-Identifier: MIT
//! Counters of one thread.

use crate::abi;
use crate::error::{check, diagnosis, sized, Result};
use crate::session::Value;
use std::ptr;

/// Events counted together on one thread; the calling one where the events' tid is 0.
pub struct Counters {
    own: *mut abi::pm_counters,
    events: usize,
    user_only: bool,
}

impl Counters {
    /// `flags` are `PM_COUNTERS_*`; not started.
    pub fn open(events: &[abi::pm_event_spec], flags: i32) -> Result<Counters> {
        let (mut own, mut diag) = (ptr::null_mut(), diagnosis());
        let count = events.len();
        let done = unsafe {
            let known = ptr::null_mut();
            abi::pm_counters_open(events.as_ptr(), count as _, flags as u32, known, &mut diag, &mut own)
        };
        let user_only = check(done, "pm_counters_open", Some(&diag))? == 1;
        Ok(Counters { own, events: count, user_only })
    }

    /// Whether only user mode is counted, because the kernel may not be observed.
    pub fn user_only(&self) -> bool {
        self.user_only
    }

    /// For functions of [`abi`] that have no method here; it stays the owner's.
    pub fn as_ptr(&self) -> *mut abi::pm_counters {
        self.own
    }

    fn done(&self, result: i32) -> Result<i32> {
        let mut diag = diagnosis();
        if result < 0 {
            unsafe { abi::pm_counters_diagnose(self.own, result, &mut diag) };
        }
        check(result, "counters", Some(&diag))
    }

    pub fn start(&mut self) -> Result<()> {
        self.done(unsafe { abi::pm_counters_start(self.own) }).map(|_| ())
    }

    /// The values stay.
    pub fn stop(&mut self) -> Result<()> {
        self.done(unsafe { abi::pm_counters_stop(self.own) }).map(|_| ())
    }

    /// Values and times count from 0 from now on.
    pub fn reset(&mut self) -> Result<()> {
        self.done(unsafe { abi::pm_counters_reset(self.own) }).map(|_| ())
    }

    /// The values since they were opened or reset, in the order of the events.
    pub fn read(&mut self) -> Result<Vec<Value>> {
        let mut values = vec![unsafe { sized::<abi::pm_value>() }; self.events];
        let count = self.events as _;
        self.done(unsafe { abi::pm_counters_read(self.own, values.as_mut_ptr(), count) })?;
        let each = values.iter();
        Ok(each.map(|v| Value { value: v.value, enabled: v.enabled, running: v.running }).collect())
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        unsafe { abi::pm_counters_destroy(self.own) }
    }
}
