// SPDX-License-Identifier: MIT
//! libperfmodes: what works of perf_event_open(2) on this kernel, and the way to use it.
//!
//! [`abi`] is the C interface as the headers declare it: perfmodes.h, and those of the features. Above it
//! are owners, which close what they opened, and [`Error`], whose text is the library's diagnosis. What they
//! have no method for, `as_ptr` and a function of [`abi`] do: profiles, tracepoints, clocks, records in the
//! order of time, the broker; of sessions other callbacks, parts and interrupts; workers and outputs of
//! stacks. An owner is of one thread, as the compiler says, but for those of `stacks`.
//!
//! Features, each an optional library: `sampler` (other processes), `stacks` (their stacks, symbols of
//! addresses), `topology` (counts by hardware thread), `pfm` (events by names of libpfm4).

pub mod abi;
mod counters;
mod error;
#[cfg(feature = "pfm")]
pub mod pfm;
mod plan;
#[cfg(feature = "sampler")]
pub mod sampler;
mod session;
#[cfg(feature = "stacks")]
pub mod stacks;
#[cfg(feature = "topology")]
pub mod topology;

pub use abi::{PM_ALLOW_ALL, PM_ALL_THREADS};
pub use counters::Counters;
pub use error::{Error, Result};
pub use plan::{event, event_list, event_name, options, ListedEvent, Plan};
pub use session::{Sample, Session, Value};
