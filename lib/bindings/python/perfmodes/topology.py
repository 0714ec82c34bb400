# SPDX-License-Identifier: MIT
"""Counts of events by hardware thread: which core, cache, package or NUMA node did the work. Over
libperfmodes-topology and hwloc.

    with Machine() as machine, Topology("page-faults", machine) as faults:
        faults.start()
        work()
        faults.read()
        for core in machine.objects("Core"):
            print(core.index, faults.value(0, core.cpus).value)

Times are of CLOCK_MONOTONIC in ns. A Topology is used by one thread at a time: the others wait.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from perfmodes import abi
from perfmodes.abi import TopologyFlags, TopologySource
from perfmodes.event import Described, specs
from perfmodes.library import Error, Handle, check, encoded, part, sized, text_of
from perfmodes.library import lib as _core
from perfmodes.session import Part

lib = _lib = part("topology", abi.TOPOLOGY_FUNCTIONS)
LATEST = abi.TOPOLOGY_LATEST    #: as a time: of the last reading

_POINTER, _TEXT = ctypes.c_void_p, ctypes.c_char_p
for _name, _result, _arguments in (
        ("topology_init", ctypes.c_int, [ctypes.POINTER(_POINTER)]),
        ("topology_load", ctypes.c_int, [_POINTER]), ("topology_destroy", None, [_POINTER]),
        ("topology_set_xml", ctypes.c_int, [_POINTER, _TEXT]),
        ("topology_set_synthetic", ctypes.c_int, [_POINTER, _TEXT]),
        ("topology_export_xmlbuffer", ctypes.c_int,
         [_POINTER, ctypes.POINTER(_POINTER), ctypes.POINTER(ctypes.c_int), ctypes.c_ulong]),
        ("free_xmlbuffer", None, [_POINTER, _POINTER]),
        ("bitmap_alloc", _POINTER, []), ("bitmap_free", None, [_POINTER]),
        ("bitmap_set", ctypes.c_int, [_POINTER, ctypes.c_uint])):
    _function = getattr(_lib, f"hwloc_{_name}")     # hwloc comes with the library
    _function.restype, _function.argtypes = _result, _arguments


@dataclass(frozen=True)
class Object:
    """One of hwloc's: its type ("PU", "Core", "L2Cache", "Package", "NUMANode", "Machine"...), its number
    in the operating system (None: it has none), and its CPUs."""
    type: str
    index: int | None
    cpus: frozenset[int]


def _cpus(mask: str) -> frozenset[int]:
    """Of hwloc's "0x00000001,0x00000003": words of 32 bits, the highest first, empty ones 0."""
    words = enumerate(reversed(mask.split(",")))
    return frozenset(32 * i + bit for i, word in words for bit in range(32)
                     if int(word or "0", 16) >> bit & 1)


class Machine(Handle):
    """hwloc's topology of this machine; else of an XML file, or of a synthetic description. Raises
    Error, and OSError for a file that cannot be read."""

    _destroy = _lib.hwloc_topology_destroy

    def __init__(self, *, xml: str | os.PathLike[str] | None = None, synthetic: str | None = None) -> None:
        made = _POINTER()
        if _lib.hwloc_topology_init(ctypes.byref(made)) < 0:
            raise MemoryError
        super().__init__(made)
        if xml is not None:
            with open(xml, "rb"):       # for the errno: hwloc has none
                pass
        if (xml is not None and _lib.hwloc_topology_set_xml(made, encoded(xml)) < 0 or
                synthetic is not None and _lib.hwloc_topology_set_synthetic(made, encoded(synthetic)) < 0 or
                _lib.hwloc_topology_load(made) < 0):
            self.close()
            raise Error(22, f"hwloc takes no topology of {synthetic or xml or 'this machine'}")

    def xml(self) -> str:
        """All of it, as hwloc writes it."""
        text, size = _POINTER(), ctypes.c_int()
        with self.held() as topology:
            if _lib.hwloc_topology_export_xmlbuffer(topology, ctypes.byref(text), ctypes.byref(size), 0) < 0:
                raise MemoryError
            try:
                return ctypes.string_at(text.value or 0).decode(errors="backslashreplace")
            finally:
                _lib.hwloc_free_xmlbuffer(topology, text)

    def objects(self, type: str | None = None) -> list[Object]:
        """Its objects that have CPUs, all or those of a type, the outermost first."""
        found = ElementTree.fromstring(self.xml()).iter("object")
        return [Object(one.attrib["type"], int(one.attrib["os_index"]) if "os_index" in one.attrib else None,
                       _cpus(one.attrib["cpuset"]))
                for one in found if "cpuset" in one.attrib and type in (None, one.attrib["type"])]


@dataclass(frozen=True)
class TopologyValue:
    """What some hardware threads counted: events, of which `uncertain` may be of others; `time` is that of
    the reading; enabled and running in ns, 0 where they are not known."""
    time: int
    value: int
    enabled: int
    running: int
    uncertain: int
    guess: bool


@contextlib.contextmanager
def _bitmap(cpus: Iterable[int] | None) -> Iterator[Any]:
    """hwloc's set of these CPUs; NULL for all."""
    if cpus is None:
        yield None
        return
    made = _lib.hwloc_bitmap_alloc()
    if not made:
        raise MemoryError
    try:
        for cpu in cpus:
            if not 0 <= cpu < 1 << 16 or _lib.hwloc_bitmap_set(made, cpu) < 0:
                raise ValueError(f"{cpu} is no CPU")
        yield made
    finally:
        _lib.hwloc_bitmap_free(made)


class Topology(Handle):
    """Events of one thread or process (all with the same tid), and readings of them by hardware thread, of
    which the last are kept (`readings`, 0: 1024). Counts from start() on. Holds the machine. Raises Error.

    Without SPLIT among the flags the kernel itself tells each CPU's share; with it, samples do
    (`period` or `frequency`), or the CPU where the thread is at each reading.
    """

    _destroy = _lib.pm_topology_destroy

    def __init__(self, events: str | Described | Sequence[Described], machine: Machine, *,
                 flags: TopologyFlags = TopologyFlags(0), allow: abi.Allow = abi.Allow(0), period: int = 0,
                 frequency: int = 0, readings: int = 0) -> None:
        opts, listed = sized(abi.pm_topology_opts), specs(events)
        opts.flags, opts.allow, opts.period, opts.frequency = flags, allow, period, frequency
        opts.readings = readings
        self._open(machine, lambda topology, diag, ret: int(_lib.pm_topology_open(
            topology, listed, len(listed), opts, diag, ret)))

    @classmethod
    def of_parts(cls, names: Sequence[str], machine: Machine, *, readings: int = 0) -> Topology:
        """A set whose readings put() hands in: counts of a session, or of elsewhere."""
        opts, made = sized(abi.pm_topology_opts), cls.__new__(cls)
        opts.readings = readings
        listed = (ctypes.c_char_p * len(names))(*(encoded(name) for name in names))
        made._open(machine, lambda topology, _, ret: int(_lib.pm_topology_open_parts(
            topology, listed, len(names), opts, ret)))
        return made

    def _open(self, machine: Machine, call: Callable[..., int]) -> None:
        self._machine, self._one = machine, threading.Lock()
        made, diag = _POINTER(), sized(abi.pm_diag)
        pointer = machine.hold()
        try:
            check(call(pointer, diag, ctypes.byref(made)), "pm_topology_open", diag)
        except BaseException:
            machine.release()
            raise
        super().__init__(made)

    def _destroyed(self) -> None:
        self._machine.release()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[Any]:
        with self._one, self.held() as topology:
            yield topology

    def start(self) -> None:
        """Counts from 0 from now on; readings are kept."""
        diag = sized(abi.pm_diag)
        with self._alone() as topology:
            check(_lib.pm_topology_start(topology, diag), "pm_topology_start", diag)

    def _reading(self, function: Callable[..., int], *arguments: Any) -> int:
        time = ctypes.c_uint64()
        with self._alone() as topology:
            check(function(topology, *arguments, ctypes.byref(time)), function.__name__)
        return time.value

    def read(self) -> int:
        """A reading of what was counted since start() or accumulate(). Returns the time of it."""
        return self._reading(_lib.pm_topology_read)

    def accumulate(self) -> int:
        """A reading that is added to all earlier ones of this kind; the next read() begins from 0."""
        return self._reading(_lib.pm_topology_accumulate)

    def stop(self) -> int:
        """A last reading, and no more counting; start() begins anew."""
        return self._reading(_lib.pm_topology_stop)

    def put(self, parts: Iterable[Part]) -> int:
        """A reading of a set of_parts: sums by event and CPU, as Session.read_parts() gives them."""
        given = [abi.pm_part(size=ctypes.sizeof(abi.pm_part), event=one.event, tid=one.tid, cpu=one.cpu,
                             value=one.value, enabled=one.enabled, running=one.running) for one in parts]
        return self._reading(_lib.pm_topology_put, (abi.pm_part * max(len(given), 1))(*given), len(given))

    @property
    def source(self) -> TopologySource:
        """Where readings come from."""
        with self._alone() as topology:
            return TopologySource(_lib.pm_topology_source(topology))

    def explain(self) -> str:
        """The plan behind it, as Plan.explain(); "" where there is none."""
        with self._alone() as topology:
            plan = _lib.pm_topology_plan(topology)
            return text_of(lambda to, size: int(_core.pm_plan_explain(plan, to, size))) if plan else ""

    def event(self, index: int) -> str:
        """The name of an event. Raises IndexError beyond the last."""
        with self._alone() as topology:
            name = _lib.pm_topology_event(topology, index) if index >= 0 else None
        if name is None:
            raise IndexError(f"no event {index}")
        return str(name.decode(errors="backslashreplace"))

    def times(self, first: int = 0, last: int = LATEST) -> list[int]:
        """Of the readings that are kept, between two times inclusive, the oldest first."""
        with self._alone() as topology:
            count = check(_lib.pm_topology_times(topology, first, last, None, 0), "pm_topology_times")
            made = (ctypes.c_uint64 * count)()
            check(_lib.pm_topology_times(topology, first, last, made, count), "pm_topology_times")
        return list(made)

    def value(self, event: int, cpus: Iterable[int] | None = None, time: int = LATEST) -> TopologyValue:
        """What these CPUs (None: all) had counted of event number `event` by the reading at that time, or
        the last before it. Raises Error: ENODATA without a reading."""
        return self._value(_lib.pm_topology_value, event, cpus, time)

    def window(self, event: int, cpus: Iterable[int] | None, first: int, last: int = LATEST) -> TopologyValue:
        """What they counted from one reading to another."""
        return self._value(_lib.pm_topology_window, event, cpus, first, last)

    def _value(self, function: Callable[..., int], event: int, cpus: Iterable[int] | None,
               *times: int) -> TopologyValue:
        made = sized(abi.pm_topology_value)
        with _bitmap(cpus) as these, self._alone() as topology:
            check(function(topology, event, these, *times, made), function.__name__)
        return TopologyValue(made.time, made.value, made.enabled, made.running, made.uncertain, made.guess)

    def export(self, path: str | os.PathLike[str]) -> None:
        """Writes the machine with the readings as XML, which Machine(xml=...) and lstopo read."""
        with self._alone() as topology:
            check(_lib.pm_topology_export(topology, encoded(path)), os.fspath(path))
