# SPDX-License-Identifier: MIT
"""Stacks of processes, and symbols: the names of addresses. Over libperfmodes-stacks.

    with Symbols() as symbols, Unwinder(pid, symbols=symbols) as unwinder:
        stack = unwinder.stack(sample)          # of perfmodes.sampler, or a StackSample
        for frame in stack.frames:
            print(hex(frame.address), symbols.find(frame.address, frame.bits, unwinder).name)

Addresses are those of the process, times ns, sizes bytes. What comes out is copied: it lasts. Symbols
and their unwinders are used by one thread at a time: the others wait.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from perfmodes import abi
from perfmodes.abi import FrameBits, StackEnd, SymbolSource
from perfmodes.library import Handle, check, encoded, part, sized

lib = _lib = part("stacks", abi.STACKS_FUNCTIONS)
_LINES = 64     # that an address has at most


@dataclass(frozen=True)
class StackSample:
    """What a sample tells about a stack: a chain of the kernel's, registers with a copy of the stack, or
    both. `regs` has a word for each bit of regs_mask, lowest first; stack_size is how many bytes were
    asked for, 0 as many as there are."""
    pid: int
    tid: int
    ip: int = 0
    callchain: tuple[int, ...] = ()
    regs_abi: int = 0
    regs_mask: int = 0
    regs: tuple[int, ...] = ()
    stack: bytes = b""
    stack_size: int = 0
    time: int = 0
    weight: int = 0

    def stack_sample(self) -> StackSample:
        return self


class Sampled(Protocol):
    """What has a StackSample: itself, or a sample of perfmodes.sampler."""

    def stack_sample(self) -> StackSample:
        """What it tells about a stack."""


@dataclass(frozen=True)
class Frame:
    """One of a stack; `bits` say what is known of it, and are handed to Symbols with the address."""
    address: int
    bits: FrameBits


@dataclass(frozen=True)
class Stack:
    """Innermost frame first. `end` says why there are no more."""
    pid: int
    tid: int
    time: int
    weight: int
    frames: tuple[Frame, ...]
    end: StackEnd

    @property
    def end_text(self) -> str:
        return str(_lib.pm_stack_end_text(self.end).decode())


@dataclass(frozen=True)
class Symbol:
    """A name for an address, None where there is none; `module` is a path, or "[kernel]", "[jit]"...;
    `start` is its first address in the process, file_address the address as the file counts."""
    source: SymbolSource
    name: str | None
    raw_name: str | None
    module: str
    start: int
    file_address: int
    build_id: bytes
    map_start: int
    map_end: int
    map_offset: int


@dataclass(frozen=True)
class Line:
    """A function at an address: the one that is called there, or one that is inlined. 0: line unknown."""
    name: str | None
    raw_name: str | None
    file: str | None
    line: int


def _text(given: bytes | None) -> str | None:
    return given.decode(errors="backslashreplace") if given is not None else None


class Symbols(Handle):
    """Files and their symbols, shared by unwinders, which hold it. Raises Error.

    `memory` bounds tables and names (0: 256 MiB); `debug_root` are folders with ":" between.
    """

    _destroy = _lib.pm_symbols_destroy

    def __init__(self, *, memory: int = 0, mangled: bool = False, debuginfod: bool = False,
                 debug_root: str | None = None, kallsyms: str | None = None,
                 perf_cache: str | None = None, without_lines: bool = False) -> None:
        opts = sized(abi.pm_symbols_opts)
        opts.memory, opts.mangled, opts.debuginfod = memory, mangled, debuginfod
        opts.without_lines = without_lines
        for name, value in (("debug_root", debug_root), ("kallsyms", kallsyms),
                            ("perf_cache", perf_cache)):
            setattr(opts, name, encoded(value) if value is not None else None)
        self._one = threading.RLock()
        made = _lib.pm_symbols_create(opts)
        if not made:
            raise MemoryError
        super().__init__(made)

    @contextlib.contextmanager
    def _asked(self, unwinder: Unwinder | None) -> Iterator[tuple[Any, Any]]:
        """Both pointers, for one thread."""
        if unwinder is not None and unwinder.symbols is not self:
            raise ValueError("the unwinder was not opened with these symbols")
        with self._one, self.held() as symbols:
            if unwinder is None:
                yield symbols, None
                return
            with unwinder.held() as process:
                yield symbols, process

    def find(self, address: int, frame: FrameBits = FrameBits(0),
             unwinder: Unwinder | None = None) -> Symbol:
        """The symbol at an address of the unwinder's process, or of the kernel (FrameBits.KERNEL)."""
        one = sized(abi.pm_symbol)
        with self._asked(unwinder) as (symbols, process):
            check(_lib.pm_symbols_find(symbols, process, address, frame, one), "pm_symbols_find")
            return Symbol(SymbolSource(one.source), _text(one.name), _text(one.raw_name),
                          _text(one.module) or "", one.start, one.file_address,
                          bytes(one.build_id[:one.build_id_size]) if one.build_id else b"",
                          one.map_start, one.map_end, one.map_offset)

    def lines(self, address: int, frame: FrameBits = FrameBits(0),
              unwinder: Unwinder | None = None) -> list[Line]:
        """The functions there by DWARF, innermost first; the last is the one that find() names. An
        empty list where there is no DWARF."""
        made, one = (abi.pm_line * _LINES)(), sized(abi.pm_symbol)
        made[0].size = ctypes.sizeof(abi.pm_line)
        with self._asked(unwinder) as (symbols, process):
            check(_lib.pm_symbols_find(symbols, process, address, frame, one), "pm_symbols_find")
            count = check(_lib.pm_symbols_lines(symbols, process, address, frame, made, _LINES),
                          "pm_symbols_lines")
            return [Line(_text(line.name), _text(line.raw_name), _text(line.file), line.line)
                    for line in made[:count]]


def _given(sample: StackSample) -> tuple[Any, tuple[Any, ...]]:
    """struct pm_stack_sample, and what has to live as long."""
    if sample.regs_abi and len(sample.regs) != sample.regs_mask.bit_count():   # 0: there are none
        raise ValueError(f"{len(sample.regs)} registers for a mask of {sample.regs_mask.bit_count()}")
    made = sized(abi.pm_stack_sample)
    for name in ("pid", "tid", "ip", "regs_abi", "regs_mask", "time", "weight"):
        setattr(made, name, getattr(sample, name))
    chain = (ctypes.c_uint64 * len(sample.callchain))(*sample.callchain)
    regs = (ctypes.c_uint64 * len(sample.regs))(*sample.regs)
    stack = ctypes.create_string_buffer(sample.stack, len(sample.stack)) if sample.stack else None
    made.callchain, made.callchain_count, made.regs = chain, len(chain), regs
    made.stack = ctypes.cast(stack, ctypes.c_void_p) if stack is not None else None
    made.stack_used = len(sample.stack)
    made.stack_size = max(sample.stack_size, len(sample.stack))
    return made, (chain, regs, stack)


class Unwinder(Handle):
    """The stacks of one process, whose maps are read now. Raises Error.

    ESRCH: no such process; EACCES or EPERM: it is not ours to read; ENOTSUP: an architecture that is not
    unwound. `frames` and `time_limit` (ns of CPU time) bound a stack, 0: 512, 100 ms. Without symbols
    it has some of its own, `symbols`, which end with it.
    """

    _destroy = _lib.pm_unwinder_destroy

    def __init__(self, pid: int, *, symbols: Symbols | None = None, frames: int = 0,
                 time_limit: int = 0) -> None:
        self._own_symbols = symbols is None
        self.symbols = Symbols() if symbols is None else symbols
        opts, made = sized(abi.pm_unwinder_opts), ctypes.c_void_p()
        opts.frames, opts.time_limit = frames, time_limit
        opts.symbols = self.symbols.hold()
        try:
            with self.symbols._one:
                check(_lib.pm_unwinder_open(pid, opts, ctypes.byref(made)), f"process {pid}")
        except BaseException:
            self._destroyed()
            raise
        super().__init__(made)

    def _destroy_unused(self) -> None:
        if self._pointer:       # else it was never opened
            with self.symbols._one:     # it hands files back to them
                super()._destroy_unused()

    def _destroyed(self) -> None:
        self.symbols.release()
        if self._own_symbols:
            self.symbols.close()

    def stack(self, sample: Sampled) -> Stack:
        """The stack of a sample; an incomplete one has an `end` that says why."""
        given, kept = _given(sample.stack_sample())
        made = sized(abi.pm_stack)
        with self.symbols._one, self.held() as unwinder:
            check(_lib.pm_unwinder_stack(unwinder, given, made), "pm_unwinder_stack")
            frames = zip(made.addresses[:made.count], made.frames[:made.count]) if made.count else ()
            del kept
            return Stack(made.pid, made.tid, made.time, made.weight,
                         tuple(Frame(address, FrameBits(bits)) for address, bits in frames),
                         StackEnd(made.end))

    def refresh(self) -> None:
        """Reads the maps anew, after an exec for example. Raises Error (ESRCH) when the process ended."""
        with self.symbols._one, self.held() as unwinder:
            check(_lib.pm_unwinder_refresh(unwinder), "pm_unwinder_refresh")

    def find(self, frame: Frame) -> Symbol:
        """Symbols.find() of a frame."""
        return self.symbols.find(frame.address, frame.bits, self)

    def lines(self, frame: Frame) -> list[Line]:
        """Symbols.lines() of a frame."""
        return self.symbols.lines(frame.address, frame.bits, self)


def registers() -> int:
    """The registers, as a mask by the kernel's numbers, that unwinding needs here; 0: none."""
    return int(_lib.pm_unwinder_registers())
