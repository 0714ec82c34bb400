// SPDX-License-Identifier: MIT
//! libperfmodes: what works of perf_event_open(2) on this kernel, and the way to use it.
//!
//! [`abi`] is the C interface as the headers declare it. Above it are owners, which close what they
//! opened, and [`Error`], whose text is the library's diagnosis.

pub mod abi;
mod counters;
mod error;
mod plan;
mod session;

pub use abi::{PM_ALLOW_ALL, PM_ALL_THREADS};
pub use counters::Counters;
pub use error::{Error, Result};
pub use plan::{event, options, Plan};
pub use session::{Sample, Session, Value};
