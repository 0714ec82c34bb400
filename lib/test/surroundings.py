# SPDX-License-Identifier: MIT
"""Surroundings in which programs are started: filters of system calls and lower limits."""

from __future__ import annotations

import ctypes
import platform
import resource
import struct
from typing import Callable

PERF = {"x86_64": 298, "aarch64": 241}          # number of perf_event_open
PRCTL = {"x86_64": 157, "aarch64": 167}
PTRACE = {"x86_64": 101, "aarch64": 117}
KILL, KILL_THREAD, TRAP = 0x80000000, 0, 0x00030000     # what a filter may answer
ERRNO, ALLOW = 0x00050000, 0x7fff0000


def install_filter(answer: int, call: int) -> None:
    """A filter that answers one system call so, and lets all others pass."""
    def code(operation: int, yes: int, no: int, value: int) -> bytes:
        return struct.pack("HBBI", operation, yes, no, value)

    text = (code(0x20, 0, 0, 0) + code(0x15, 0, 1, call) + code(0x06, 0, 0, answer) +
            code(0x06, 0, 0, ALLOW))
    held = ctypes.create_string_buffer(text)
    program = struct.pack("HP", 4, ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)
    if libc.prctl(22, 2, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


def refuse_request(errno: int, request: int) -> None:
    """A filter that answers that request of ptrace(2) so."""
    code = [(0x20, 0, 0, 0), (0x15, 0, 3, PTRACE[platform.machine()]), (0x20, 0, 0, 16), (0x15, 0, 1, request),
            (0x06, 0, 0, ERRNO | errno), (0x06, 0, 0, ALLOW)]
    held = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in code))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)
    if libc.prctl(22, 2, struct.pack("HP", len(code), ctypes.addressof(held)), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


def refuse_perf(errno: int) -> None:
    """A filter that answers perf_event_open with that errno, as containers have."""
    install_filter(ERRNO | errno, PERF[platform.machine()])


def lower(which: int, value: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(which, (value, value))
