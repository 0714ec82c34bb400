// SPDX-License-Identifier: MIT
//! Events by the names of libpfm4; ENOSYS where libpfm4 is not.

use crate::abi;
use crate::error::{check, diagnosis, sized, Result};
use crate::plan::{text, written};

/// The event of that name, of every thread of this process.
pub fn event(name: &str) -> Result<abi::pm_event_spec> {
    let (name, mut diag) = (text(name)?, diagnosis());
    let mut spec: abi::pm_event_spec = unsafe { sized() };
    let done = unsafe { abi::pm_pfm_parse(name.as_ptr(), &mut diag, &mut spec) };
    check(done, "pm_pfm_parse", Some(&diag))?;
    spec.tid = abi::PM_ALL_THREADS;
    Ok(spec)
}

/// The name with its PMU and all modifiers.
pub fn full_name(name: &str) -> Result<String> {
    event(name)?; // which has the words for what is wrong
    let name = text(name)?;
    check(unsafe { abi::pm_pfm_name(name.as_ptr(), std::ptr::null_mut(), 0) }, "pm_pfm_name", None)?;
    Ok(written(|to, size| unsafe { abi::pm_pfm_name(name.as_ptr(), to, size) }))
}
