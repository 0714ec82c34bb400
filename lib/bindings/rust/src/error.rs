// SPDX-License-Identifier: MIT
//! Failures of the library's calls.

use crate::abi;
use std::ffi::CStr;
use std::fmt;

/// A failed call: the errno, who decided (a `PM_CAUSE_*`), and the line that says what to change.
#[derive(Clone, Debug)]
pub struct Error {
    pub errno: i32,
    pub cause: i32,
    pub text: String,
}

impl Error {
    /// What the caller handed in is wrong (EINVAL).
    pub(crate) fn of_input(text: String) -> Error {
        Error { errno: 22, cause: abi::PM_CAUSE_INPUT, text }
    }
}

pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

/// A structure of the library, 0 but for its size.
///
/// # Safety
/// `T` is a structure of [`abi`], for which all zeroes are a value, and whose first member is its size.
pub(crate) unsafe fn sized<T: Copy>() -> T {
    let mut made: T = std::mem::zeroed();
    *(&mut made as *mut T as *mut usize) = std::mem::size_of::<T>();
    made
}

pub(crate) fn diagnosis() -> abi::pm_diag {
    unsafe { sized() }
}

/// The result, unless it is a failure.
pub(crate) fn check(result: i32, call: &str, diag: Option<&abi::pm_diag>) -> Result<i32> {
    if result >= 0 {
        return Ok(result);
    }
    let told = diag.map(|one| unsafe { CStr::from_ptr(one.text.as_ptr()) }.to_string_lossy());
    let text = match told {
        Some(line) if !line.is_empty() => line.into_owned(),
        _ => format!("{}: {}", call, std::io::Error::from_raw_os_error(-result)),
    };
    Err(Error { errno: -result, cause: diag.map_or(abi::PM_CAUSE_NONE, |one| one.cause), text })
}
