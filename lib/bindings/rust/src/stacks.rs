// SPDX-License-Identifier: MIT
//! Stacks of processes, and the names of addresses. What comes out is copied. Symbols and their unwinders
//! may be used by several threads, which wait for each other; symbols last as long as their unwinders.

use crate::abi;
use crate::error::{check, sized, Error, Result};
use std::ffi::CStr;
use std::os::raw::c_char;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard};

/// A frame: its address in the process, and `PM_FRAME_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub address: u64,
    pub bits: u32,
}

/// Innermost frame first; `end`, a `PM_END_*`, says why there are no more. Times are ns.
#[derive(Clone, Debug)]
pub struct Stack {
    pub pid: i32,
    pub tid: i32,
    pub time: u64,
    pub weight: u64,
    pub frames: Vec<Frame>,
    pub end: i32,
}

/// A name for an address; `source` is a `PM_SYMBOL_*`. The rest is as struct pm_symbol has it.
#[derive(Clone, Debug)]
pub struct Symbol {
    pub source: i32,
    pub name: Option<String>,
    pub raw_name: Option<String>,
    pub module: String,
    pub start: u64,
    pub file_address: u64,
    pub build_id: Vec<u8>,
    pub map_start: u64,
    pub map_end: u64,
    pub map_offset: u64,
}

/// A function at an address, called there or inlined; line 0 is not known.
#[derive(Clone, Debug)]
pub struct Line {
    pub name: Option<String>,
    pub raw_name: Option<String>,
    pub file: Option<String>,
    pub line: u32,
}

/// What a sample tells about a stack: a chain of the kernel's, registers with a copy of the stack, or
/// both. `regs` has a word for each bit of `regs_mask`; `stack_size` bytes were asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct StackSample<'a> {
    pub pid: i32,
    pub tid: i32,
    pub time: u64,
    pub weight: u64,
    pub ip: u64,
    pub callchain: &'a [u64],
    pub regs_abi: u64,
    pub regs_mask: u64,
    pub regs: &'a [u64],
    pub stack: &'a [u8],
    pub stack_size: usize,
}

struct Inner {
    own: *mut abi::pm_symbols,
    one: Mutex<()>,
}

// All calls that use them hold the mutex.
unsafe impl Send for Inner {}
unsafe impl Sync for Inner {}

impl Inner {
    fn alone(&self) -> MutexGuard<'_, ()> {
        self.one.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        unsafe { abi::pm_symbols_destroy(self.own) }
    }
}

fn text(given: *const c_char) -> Option<String> {
    if given.is_null() {
        return None;
    }
    Some(unsafe { CStr::from_ptr(given) }.to_string_lossy().into_owned())
}

/// `count` elements; none where there is no array.
unsafe fn copied<T: Copy>(from: *const T, count: usize) -> Vec<T> {
    if from.is_null() {
        return Vec::new();
    }
    std::slice::from_raw_parts(from, count).to_vec()
}

/// Files and their symbols, which unwinders share.
#[derive(Clone)]
pub struct Symbols(Arc<Inner>);

impl Symbols {
    /// With the defaults.
    pub fn new() -> Symbols {
        Symbols::with(&unsafe { sized() })
    }

    /// With these options, whose size is set; texts of them are copied.
    pub fn with(options: &abi::pm_symbols_opts) -> Symbols {
        let own = unsafe { abi::pm_symbols_create(options) };
        assert!(!own.is_null(), "no memory");
        Symbols(Arc::new(Inner { own, one: Mutex::new(()) }))
    }

    /// For functions of [`abi`] that have no method here, as pm_folded_add, which no other thread may use it
    /// beside; it stays the owner's.
    pub fn as_ptr(&self) -> *mut abi::pm_symbols {
        self.0.own
    }

    fn process(&self, of: Option<&Unwinder>) -> Result<*mut abi::pm_unwinder> {
        match of {
            None => Ok(ptr::null_mut()),
            Some(one) if Arc::ptr_eq(&one.names, &self.0) => Ok(one.own),
            Some(_) => Err(Error::of_input("the unwinder was not opened with these symbols".into())),
        }
    }

    fn found(&self, address: u64, bits: u32, process: *mut abi::pm_unwinder) -> Result<abi::pm_symbol> {
        let mut made: abi::pm_symbol = unsafe { sized() };
        let done = unsafe { abi::pm_symbols_find(self.0.own, process, address, bits, &mut made) };
        check(done, "pm_symbols_find", None).map(|_| made)
    }

    /// The symbol of an address of the unwinder's process, or of the kernel (`PM_FRAME_KERNEL`).
    pub fn find(&self, address: u64, bits: u32, of: Option<&Unwinder>) -> Result<Symbol> {
        let process = self.process(of)?;
        let _alone = self.0.alone();
        let made = self.found(address, bits, process)?;
        Ok(Symbol {
            source: made.source,
            name: text(made.name),
            raw_name: text(made.raw_name),
            module: text(made.module).unwrap_or_default(),
            start: made.start,
            file_address: made.file_address,
            build_id: unsafe { copied(made.build_id, made.build_id_size) },
            map_start: made.map_start,
            map_end: made.map_end,
            map_offset: made.map_offset,
        })
    }

    /// The functions there by DWARF, innermost first; none where there is no DWARF.
    pub fn lines(&self, address: u64, bits: u32, of: Option<&Unwinder>) -> Result<Vec<Line>> {
        let process = self.process(of)?;
        let mut made = vec![unsafe { sized::<abi::pm_line>() }; 64]; // there are no more
        let _alone = self.0.alone();
        self.found(address, bits, process)?;
        let done = unsafe {
            abi::pm_symbols_lines(self.0.own, process, address, bits, made.as_mut_ptr(), 64)
        };
        made.truncate(check(done, "pm_symbols_lines", None)? as usize);
        let line = |one: &abi::pm_line| Line {
            name: text(one.name),
            raw_name: text(one.raw_name),
            file: text(one.file),
            line: one.line,
        };
        Ok(made.iter().map(line).collect())
    }
}

impl Default for Symbols {
    fn default() -> Symbols {
        Symbols::new()
    }
}

/// The stacks of one process, whose maps are read when it is opened.
pub struct Unwinder {
    own: *mut abi::pm_unwinder,
    names: Arc<Inner>,
}

// All calls that use it hold the mutex of its symbols.
unsafe impl Send for Unwinder {}
unsafe impl Sync for Unwinder {}

impl Unwinder {
    /// ESRCH: no such process; EACCES or EPERM: it is not ours to read; ENOTSUP: an architecture that
    /// is not unwound.
    pub fn open(pid: i32, symbols: &Symbols) -> Result<Unwinder> {
        let mut options: abi::pm_unwinder_opts = unsafe { sized() };
        let mut own = ptr::null_mut();
        options.symbols = symbols.0.own;
        let _alone = symbols.0.alone();
        check(unsafe { abi::pm_unwinder_open(pid, &options, &mut own) }, "pm_unwinder_open", None)?;
        Ok(Unwinder { own, names: symbols.0.clone() })
    }

    /// As [`Symbols::as_ptr`].
    pub fn as_ptr(&self) -> *mut abi::pm_unwinder {
        self.own
    }

    /// The stack of a sample. An incomplete one has an `end` that says why.
    pub fn stack(&self, sample: &StackSample<'_>) -> Result<Stack> {
        let none = sample.regs_abi == 0; // of a thread of the kernel, say
        if !none && sample.regs.len() != sample.regs_mask.count_ones() as usize {
            let counts = (sample.regs.len(), sample.regs_mask.count_ones());
            return Err(Error::of_input(format!("{} registers for a mask of {}", counts.0, counts.1)));
        }
        let mut given: abi::pm_stack_sample = unsafe { sized() };
        (given.pid, given.tid, given.time, given.weight) =
            (sample.pid, sample.tid, sample.time, sample.weight);
        (given.ip, given.callchain, given.callchain_count) =
            (sample.ip, sample.callchain.as_ptr(), sample.callchain.len());
        (given.regs_abi, given.regs_mask, given.regs) =
            (sample.regs_abi, sample.regs_mask, sample.regs.as_ptr());
        given.stack = sample.stack.as_ptr() as *const _;
        given.stack_used = sample.stack.len();
        given.stack_size = sample.stack_size.max(sample.stack.len());
        let mut made: abi::pm_stack = unsafe { sized() };
        let _alone = self.names.alone();
        check(unsafe { abi::pm_unwinder_stack(self.own, &given, &mut made) }, "pm_unwinder_stack", None)?;
        let addresses = unsafe { copied(made.addresses, made.count) };
        let bits = unsafe { copied(made.frames, made.count) };
        let frame = |(address, bits): (u64, u8)| Frame { address, bits: bits.into() };
        Ok(Stack {
            pid: made.pid,
            tid: made.tid,
            time: made.time,
            weight: made.weight,
            frames: addresses.into_iter().zip(bits).map(frame).collect(),
            end: made.end,
        })
    }

    /// [`Symbols::find`] of a frame.
    pub fn find(&self, frame: Frame) -> Result<Symbol> {
        Symbols(self.names.clone()).find(frame.address, frame.bits, Some(self))
    }

    /// [`Symbols::lines`] of a frame.
    pub fn lines(&self, frame: Frame) -> Result<Vec<Line>> {
        Symbols(self.names.clone()).lines(frame.address, frame.bits, Some(self))
    }

    /// Reads the maps anew, after an exec for example.
    pub fn refresh(&self) -> Result<()> {
        let _alone = self.names.alone();
        check(unsafe { abi::pm_unwinder_refresh(self.own) }, "pm_unwinder_refresh", None).map(|_| ())
    }
}

impl Drop for Unwinder {
    fn drop(&mut self) {
        let _alone = self.names.alone();
        unsafe { abi::pm_unwinder_destroy(self.own) }
    }
}

/// The registers that unwinding needs here, as a mask by the kernel's numbers; 0: none.
pub fn registers() -> u64 {
    unsafe { abi::pm_unwinder_registers() }
}
