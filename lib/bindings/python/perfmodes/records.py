# SPDX-License-Identifier: MIT
"""What a sampler reports, copied out of the library's structures: it lasts."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perfmodes.abi import SideKind

if TYPE_CHECKING:
    from perfmodes.stacks import StackSample

_UNKNOWN = 0xffffffff


@dataclass(frozen=True)
class Process:
    """A process. `serial` is no other process's; `started` in clock ticks since boot, `begin` and `end` of
    the records' clock, 0: not known, or not yet; `uid` None: unknown; `pidfd`, -1 where there is none,
    is the sampler's; `arguments` are up to 4095 bytes of them, the last one cut there; `inner_pids` in PID namespaces below
    ours."""
    serial: int
    pid: int
    parent: int
    started: int
    begin: int
    end: int
    execs: int
    uid: int | None
    pidfd: int
    watched: bool
    kernel: bool
    gone: bool
    comm: str
    cmdline: str
    arguments: tuple[bytes, ...]
    inner_pids: tuple[int, ...]


@dataclass(frozen=True)
class Sampled:
    """A sample of a watched process; what was not wanted is 0 or empty. `mode` is 1 kernel, 2 user;
    `exact`: ip caused the event; `values` are those of its group, the leader's first, enabled and running
    in ns; `branches` are as the kernel's struct perf_branch_entry has them, 24 bytes each; `stack` is from the
    stack pointer upward, `stack_cut`: there was more."""
    event: int
    process: Process
    pid: int
    tid: int
    cpu: int
    mode: int
    exact: bool
    time: int
    ip: int
    address: int
    period: int
    chain: tuple[int, ...]
    registers_abi: int
    registers_mask: int
    registers: tuple[int, ...]
    stack: bytes
    stack_cut: bool
    values: tuple[int, ...]
    enabled: int
    running: int
    branches: bytes
    raw: bytes
    weight: int
    source: int
    cgroup: int

    def stack_sample(self) -> StackSample:
        """What Unwinder.stack of perfmodes.stacks takes."""
        from perfmodes.stacks import StackSample     # of another optional library
        return StackSample(self.pid, self.tid, self.ip, self.chain, self.registers_abi, self.registers_mask,
                           self.registers, self.stack, len(self.stack), self.time, self.period)


@dataclass(frozen=True)
class Side:
    """One record of side-band; fields that its kind does not have are 0, "" or empty. `process` is None for
    what is of none. See struct pm_side for what each kind tells."""
    kind: SideKind
    process: Process | None
    pid: int
    tid: int
    cpu: int
    time: int
    exec: bool
    end: bool
    preempted: bool
    parent: int
    parent_tid: int
    address: int
    length: int
    offset: int
    major: int
    minor: int
    protection: int
    map_flags: int
    inode: int
    generation: int
    build_id: bytes
    id: int
    text: str
    chain: tuple[int, ...]


def _text(given: bytes | None) -> str:
    return (given or b"").decode(errors="backslashreplace")


def _words(pointer: Any, count: int) -> tuple[int, ...]:
    return tuple(pointer[:count]) if count and pointer else ()


def _bytes(pointer: Any, size: int) -> bytes:
    return ctypes.string_at(pointer, size) if size and pointer else b""


def _plain(made: type, given: Any, /, **others: Any) -> Any:
    """That class, with the members of the same name but for `others`."""
    names = made.__dataclass_fields__.keys() - others.keys()    # type: ignore[attr-defined]
    return made(**{name: getattr(given, name) for name in names}, **others)


def _arguments(given: bytes) -> tuple[bytes, ...]:
    """Each ends with a 0 byte, but for one that is cut."""
    return tuple(given.removesuffix(b"\0").split(b"\0")) if given else ()


def process_of(one: Any) -> Process:
    """Of a struct pm_process."""
    # As bytes: a text of C would end at the first argument.
    at = type(one).arguments.offset
    arguments = ctypes.c_void_p.from_buffer(one, at).value
    made: Process = _plain(
        Process, one, uid=None if one.uid == _UNKNOWN else one.uid, comm=_text(one.comm),
        cmdline=_text(one.cmdline), arguments=_arguments(_bytes(arguments, one.arguments_size)),
        inner_pids=tuple(pid for pid in one.inner_pids if pid))
    return made


def sampled_of(one: Any) -> Sampled:
    """Of a struct pm_sampled."""
    made: Sampled = _plain(
        Sampled, one, process=process_of(one.process.contents), chain=_words(one.chain, one.chain_count),
        registers=_words(one.registers, one.registers_count), stack=_bytes(one.stack, one.stack_size),
        values=_words(one.values, one.values_count), raw=_bytes(one.raw, one.raw_size),
        branches=_bytes(one.branches, 24 * one.branches_count))
    return made


def side_of(one: Any) -> Side:
    """Of a struct pm_side."""
    made: Side = _plain(
        Side, one, kind=SideKind(one.kind), process=process_of(one.process.contents) if one.process else None,
        build_id=_bytes(one.build_id, one.build_id_size), text=_text(one.text),
        chain=_words(one.chain, one.chain_count))
    return made
