// SPDX-License-Identifier: MIT
//! Events by name, and the choice of a way to observe them.

use crate::abi;
use crate::error::{check, diagnosis, sized, Error, Result};
use std::ffi::{CStr, CString};
use std::os::raw::c_char;
use std::ptr;

/// A text for C.
pub(crate) fn text(given: &str) -> Result<CString> {
    CString::new(given).map_err(|_| Error::of_input(format!("{:?} holds a NUL", given)))
}

/// What a function writes that works as snprintf(3).
pub(crate) fn written(write: impl Fn(*mut c_char, usize) -> i32) -> String {
    let mut text = vec![0u8; write(ptr::null_mut(), 0).max(0) as usize + 1];
    write(text.as_mut_ptr() as *mut c_char, text.len());
    text.pop();
    String::from_utf8_lossy(&text).into_owned()
}

/// The event of that name, of every thread of this process; counted, where the name tells no rate.
pub fn event(name: &str) -> Result<abi::pm_event_spec> {
    let mut spec: abi::pm_event_spec = unsafe { sized() };
    let mut diag = diagnosis();
    let name = text(name)?;
    let done = unsafe { abi::pm_event_parse(name.as_ptr(), &mut diag, &mut spec) };
    check(done, "pm_event_parse", Some(&diag))?;
    spec.tid = abi::PM_ALL_THREADS;
    Ok(spec)
}

/// The name that the library gives an event, with its modes.
pub fn event_name(spec: &abi::pm_event_spec) -> String {
    written(|to, size| unsafe { abi::pm_event_name(spec, to, size) })
}

/// An event of a list, and what the list tells of it.
#[derive(Clone, Copy)]
pub struct ListedEvent {
    pub spec: abi::pm_event_spec,
    pub listed: abi::pm_event_listed,
}

/// The events of a text as perf(1) takes it behind -e, with groups in braces and patterns of
/// tracepoints, of every thread of this process.
pub fn event_list(names: &str) -> Result<Vec<ListedEvent>> {
    let (names, mut diag, mut room) = (text(names)?, diagnosis(), 32);
    loop {
        let mut specs = vec![unsafe { sized::<abi::pm_event_spec>() }; room];
        let mut listed = vec![unsafe { sized::<abi::pm_event_listed>() }; room];
        let done = unsafe {
            let (to, also) = (specs.as_mut_ptr(), listed.as_mut_ptr());
            abi::pm_event_list(names.as_ptr(), &mut diag, to, also, room)
        };
        let count = check(done, "pm_event_list", Some(&diag))? as usize;
        if count > room {
            room = count;
            continue;
        }
        for spec in &mut specs {
            spec.tid = abi::PM_ALL_THREADS;
        }
        let both = specs.into_iter().zip(listed).take(count);
        return Ok(both.map(|(spec, listed)| ListedEvent { spec, listed }).collect());
    }
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

    /// For functions of [`abi`] that have no method here; it stays the owner's.
    pub fn as_ptr(&self) -> *mut abi::pm_plan {
        self.own
    }

    /// Of the chosen strategy, for the threads and CPUs there are now.
    pub fn cost(&self) -> abi::pm_cost {
        let mut cost: abi::pm_cost = unsafe { sized() };
        unsafe { abi::pm_plan_cost(self.own, &mut cost) };
        cost
    }

    /// The chosen strategy by name; after an attach the one in use.
    pub fn strategy(&self) -> &'static str {
        let name = unsafe { abi::pm_strategy_name(abi::pm_plan_strategy(self.own)) };
        unsafe { CStr::from_ptr(name) }.to_str().unwrap_or("")
    }

    /// A line for the choice, and one for each way that was passed over.
    pub fn explain(&self) -> String {
        written(|to, size| unsafe { abi::pm_plan_explain(self.own, to, size) })
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        unsafe { abi::pm_plan_destroy(self.own) }
    }
}
