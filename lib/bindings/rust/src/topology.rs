// SPDX-License-Identifier: MIT
//! Counts of events by hardware thread, over an hwloc topology. Times are of CLOCK_MONOTONIC in ns.

use crate::abi;
use crate::error::{check, diagnosis, sized, Error, Result};
use crate::plan::{text, written};
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_uint, c_ulong};
use std::ptr;

/// As a time: of the last reading.
pub const LATEST: u64 = abi::PM_TOPOLOGY_LATEST;

extern "C" {
    fn hwloc_topology_init(topology: *mut *mut abi::hwloc_topology) -> c_int;
    fn hwloc_topology_load(topology: *mut abi::hwloc_topology) -> c_int;
    fn hwloc_topology_destroy(topology: *mut abi::hwloc_topology);
    fn hwloc_topology_set_synthetic(topology: *mut abi::hwloc_topology, text: *const c_char) -> c_int;
    fn hwloc_topology_export_xmlbuffer(
        topology: *mut abi::hwloc_topology,
        text: *mut *mut c_char,
        size: *mut c_int,
        flags: c_ulong,
    ) -> c_int;
    fn hwloc_free_xmlbuffer(topology: *mut abi::hwloc_topology, text: *mut c_char);
    fn hwloc_bitmap_alloc() -> *mut abi::hwloc_bitmap_s;
    fn hwloc_bitmap_free(bitmap: *mut abi::hwloc_bitmap_s);
    fn hwloc_bitmap_set(bitmap: *mut abi::hwloc_bitmap_s, cpu: c_uint) -> c_int;
}

/// One of hwloc's objects: its type ("PU", "Core", "Package", "NUMANode"...), its number in the operating
/// system, and its CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub kind: String,
    pub index: Option<u32>,
    pub cpus: Vec<u32>,
}

/// hwloc's topology.
pub struct Machine(*mut abi::hwloc_topology);

impl Machine {
    /// Of this machine.
    pub fn new() -> Result<Machine> {
        Machine::load(None)
    }

    /// Of a description: "package:2 core:4 pu:2".
    pub fn synthetic(description: &str) -> Result<Machine> {
        Machine::load(Some(text(description)?))
    }

    fn load(description: Option<CString>) -> Result<Machine> {
        let mut made = ptr::null_mut();
        assert!(unsafe { hwloc_topology_init(&mut made) } >= 0, "no memory");
        let machine = Machine(made);
        let set = description.map_or(0, |one| unsafe { hwloc_topology_set_synthetic(made, one.as_ptr()) });
        if set < 0 || unsafe { hwloc_topology_load(made) } < 0 {
            return Err(Error::of_input("hwloc takes no such topology".into()));
        }
        Ok(machine)
    }

    /// All of it, as hwloc writes it.
    pub fn xml(&self) -> String {
        let (mut at, mut size) = (ptr::null_mut(), 0);
        assert!(unsafe { hwloc_topology_export_xmlbuffer(self.0, &mut at, &mut size, 0) } >= 0, "no memory");
        let text = unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned();
        unsafe { hwloc_free_xmlbuffer(self.0, at) };
        text
    }

    /// Its objects of that type, which have CPUs.
    pub fn objects(&self, kind: &str) -> Vec<Object> {
        let text = self.xml();
        let tags = text.split("<object ").skip(1).filter_map(|rest| rest.split('>').next());
        let made = tags.filter_map(|tag| {
            let of = |name: &str| tag.split(&format!("{}=\"", name)).nth(1)?.split('"').next();
            let index = of("os_index").and_then(|number| number.parse().ok());
            Some(Object { kind: of("type")?.into(), index, cpus: cpus_of(of("cpuset")?) })
        });
        made.filter(|one| one.kind == kind).collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        unsafe { hwloc_topology_destroy(self.0) }
    }
}

/// Of hwloc's "0x00000001,0x00000003": words of 32 bits, the highest first, empty ones 0.
fn cpus_of(mask: &str) -> Vec<u32> {
    let words = mask.rsplit(',').map(|word| u32::from_str_radix(word.trim_start_matches("0x"), 16).unwrap_or(0));
    let bits = words.zip(0..).flat_map(|(word, at)| (0..32).map(move |bit| (word >> bit & 1, 32 * at + bit)));
    bits.filter(|(set, _)| *set == 1).map(|(_, cpu)| cpu).collect()
}

struct Bitmap(*mut abi::hwloc_bitmap_s);

impl Bitmap {
    /// Of these CPUs; a null pointer for all.
    fn of(cpus: Option<&[u32]>) -> Result<Bitmap> {
        let made = Bitmap(cpus.map_or(ptr::null_mut(), |_| unsafe { hwloc_bitmap_alloc() }));
        for cpu in cpus.unwrap_or(&[]) {
            if *cpu >= 1 << 16 || unsafe { hwloc_bitmap_set(made.0, *cpu) } < 0 {
                return Err(Error::of_input(format!("{} is no CPU", cpu)));
            }
        }
        Ok(made)
    }
}

impl Drop for Bitmap {
    fn drop(&mut self) {
        if !self.0.is_null() {
            unsafe { hwloc_bitmap_free(self.0) }
        }
    }
}

/// Options of a topology: all 0 but for the size.
pub fn options() -> abi::pm_topology_opts {
    unsafe { sized() }
}

/// Events of one tid, and readings of them by hardware thread.
pub struct Topology<'a> {
    own: *mut abi::pm_topology,
    _machine: &'a Machine,
}

impl<'a> Topology<'a> {
    /// Not started.
    pub fn open(
        machine: &'a Machine,
        events: &[abi::pm_event_spec],
        options: &abi::pm_topology_opts,
    ) -> Result<Topology<'a>> {
        let (mut own, mut diag) = (ptr::null_mut(), diagnosis());
        let done = unsafe {
            let at = events.as_ptr();
            abi::pm_topology_open(machine.0, at, events.len(), options, &mut diag, &mut own)
        };
        check(done, "pm_topology_open", Some(&diag))?;
        Ok(Topology { own, _machine: machine })
    }

    /// Events of these names, whose readings [`Topology::put`] hands in.
    pub fn of_parts(machine: &'a Machine, names: &[&str]) -> Result<Topology<'a>> {
        let texts = names.iter().map(|name| text(name)).collect::<Result<Vec<_>>>()?;
        let at: Vec<_> = texts.iter().map(|one| one.as_ptr()).collect();
        let (mut own, opts) = (ptr::null_mut(), options());
        let done = unsafe {
            abi::pm_topology_open_parts(machine.0, at.as_ptr(), at.len(), &opts, &mut own)
        };
        check(done, "pm_topology_open_parts", None)?;
        Ok(Topology { own, _machine: machine })
    }

    /// For functions of [`abi`] that have no method here; it stays the owner's.
    pub fn as_ptr(&self) -> *mut abi::pm_topology {
        self.own
    }

    /// Counts from 0 from now on; readings are kept.
    pub fn start(&mut self) -> Result<()> {
        let mut diag = diagnosis();
        check(unsafe { abi::pm_topology_start(self.own, &mut diag) }, "pm_topology_start", Some(&diag))?;
        Ok(())
    }

    /// A reading; returns the time of it.
    pub fn read(&mut self) -> Result<u64> {
        let mut time = 0;
        check(unsafe { abi::pm_topology_read(self.own, &mut time) }, "pm_topology_read", None)?;
        Ok(time)
    }

    /// A reading that is added to all earlier ones of this kind; the next read begins from 0.
    pub fn accumulate(&mut self) -> Result<u64> {
        let mut time = 0;
        check(unsafe { abi::pm_topology_accumulate(self.own, &mut time) }, "pm_topology_accumulate", None)?;
        Ok(time)
    }

    /// A last reading, and no more counting.
    pub fn stop(&mut self) -> Result<u64> {
        let mut time = 0;
        check(unsafe { abi::pm_topology_stop(self.own, &mut time) }, "pm_topology_stop", None)?;
        Ok(time)
    }

    /// A reading of a set of parts: values by event and CPU.
    pub fn put(&mut self, values: &[(usize, i32, u64)]) -> Result<u64> {
        let mut time = 0;
        let part = |(event, cpu, value): &(usize, i32, u64)| {
            let mut one: abi::pm_part = unsafe { sized() };
            (one.event, one.cpu, one.value) = (*event, *cpu, *value);
            one
        };
        let parts: Vec<_> = values.iter().map(part).collect();
        let done = unsafe { abi::pm_topology_put(self.own, parts.as_ptr(), parts.len(), &mut time) };
        check(done, "pm_topology_put", None)?;
        Ok(time)
    }

    /// What these CPUs (None: all) had counted by the reading at that time ([`LATEST`]: the last).
    pub fn value(&self, event: usize, cpus: Option<&[u32]>, time: u64) -> Result<abi::pm_topology_value> {
        let (these, mut made) = (Bitmap::of(cpus)?, unsafe { sized::<abi::pm_topology_value>() });
        let done = unsafe { abi::pm_topology_value(self.own, event, these.0, time, &mut made) };
        check(done, "pm_topology_value", None).map(|_| made)
    }

    /// What they counted from one reading to another.
    pub fn window(
        &self,
        event: usize,
        cpus: Option<&[u32]>,
        from: u64,
        to: u64,
    ) -> Result<abi::pm_topology_value> {
        let (these, mut made) = (Bitmap::of(cpus)?, unsafe { sized::<abi::pm_topology_value>() });
        let done = unsafe { abi::pm_topology_window(self.own, event, these.0, from, to, &mut made) };
        check(done, "pm_topology_window", None).map(|_| made)
    }

    /// A `PM_TOPOLOGY_*`: where its readings come from.
    pub fn source(&self) -> i32 {
        unsafe { abi::pm_topology_source(self.own) }
    }

    /// The plan behind it; empty where there is none.
    pub fn explain(&self) -> String {
        let plan = unsafe { abi::pm_topology_plan(self.own) };
        if plan.is_null() {
            return String::new();
        }
        written(|to, size| unsafe { abi::pm_plan_explain(plan, to, size) })
    }

    /// Writes the machine with the readings as XML, which hwloc and lstopo read.
    pub fn export(&self, path: &str) -> Result<()> {
        let file = text(path)?;
        check(unsafe { abi::pm_topology_export(self.own, file.as_ptr()) }, path, None).map(|_| ())
    }
}

impl Drop for Topology<'_> {
    fn drop(&mut self) {
        unsafe { abi::pm_topology_destroy(self.own) }
    }
}
