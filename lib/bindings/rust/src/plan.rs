// SPDX-License-Identifier: MIT
//! Events by name, and the choice of a way to observe them.

use crate::abi;
use crate::error::{check, diagnosis, sized, Error, Result};
use std::ffi::{CStr, CString};
use std::os::raw::c_char;
use std::ptr;

/// The event of that name, of every thread of this process, counted and not sampled.
pub fn event(name: &str) -> Result<abi::pm_event_spec> {
    let mut spec: abi::pm_event_spec = unsafe { sized() };
    let mut diag = diagnosis();
    let name = CString::new(name).map_err(|_| Error {
        errno: 22,
        cause: abi::PM_CAUSE_INPUT,
        text: "a name of an event holds no NUL".into(),
    })?;
    let done = unsafe { abi::pm_event_parse(name.as_ptr(), &mut diag, &mut spec) };
    check(done, "pm_event_parse", Some(&diag))?;
    spec.tid = abi::PM_ALL_THREADS;
    Ok(spec)
}

/// Session options that allow this (`PM_ALLOW_*`), else the defaults.
pub fn options(allow: i32) -> abi::pm_session_opts {
    let mut made: abi::pm_session_opts = unsafe { sized() };
    made.allow = allow as u32;
    made
}

/// Which way to observe works here, why, and at what cost.
pub struct Plan {
    pub(crate) own: *mut abi::pm_plan,
    pub(crate) events: usize,
}

impl Plan {
    pub fn new(events: &[abi::pm_event_spec], options: &abi::pm_session_opts) -> Result<Plan> {
        let mut own = ptr::null_mut();
        let mut diag = diagnosis();
        let count = events.len() as _;
        let done = unsafe {
            abi::pm_plan_make(events.as_ptr(), count, options, ptr::null_mut(), &mut diag, &mut own)
        };
        check(done, "pm_plan_make", Some(&diag))?;
        Ok(Plan { own, events: events.len() })
    }

    /// The chosen strategy by name; after an attach the one in use.
    pub fn strategy(&self) -> &'static str {
        let name = unsafe { abi::pm_strategy_name(abi::pm_plan_strategy(self.own)) };
        unsafe { CStr::from_ptr(name) }.to_str().unwrap_or("")
    }

    /// A line for the choice, and one for each way that was passed over.
    pub fn explain(&self) -> String {
        let length = unsafe { abi::pm_plan_explain(self.own, ptr::null_mut(), 0) };
        let mut text = vec![0u8; length.max(0) as usize + 1];
        let at = text.as_mut_ptr() as *mut c_char;
        unsafe { abi::pm_plan_explain(self.own, at, text.len() as _) };
        text.pop();
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        unsafe { abi::pm_plan_destroy(self.own) }
    }
}
