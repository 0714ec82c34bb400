# SPDX-License-Identifier: MIT
"""Tests marked `perf` need events: they are skipped, with the errno, where a process may not even count
page faults of its own in user mode (a kernel without perf events, a filter, a high paranoid level)."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import struct

import pytest

CALL = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "s390x": 331, "ppc64le": 319, "i686": 336,
        "armv7l": 364}
SOFTWARE, PAGE_FAULTS, EXCLUDE_KERNEL_AND_HV = 1, 2, 0x60


@functools.cache
def refusal() -> str:
    """Why there are no events here; empty if there are, or if that cannot be asked."""
    if platform.machine() not in CALL:
        return ""
    # perf_event_attr of the first size: type, size, config, four words, the bits, and the rest
    attr = struct.pack("=IIQQQQQ16x", SOFTWARE, 64, PAGE_FAULTS, 0, 0, 0, EXCLUDE_KERNEL_AND_HV)
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(CALL[platform.machine()], attr, 0, -1, -1, 0)
    if descriptor < 0:
        return f"perf_event_open: {errno.errorcode.get(ctypes.get_errno(), '?')}"
    os.close(descriptor)
    return ""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "perf: needs events")
    config.addinivalue_line("markers", "slow: takes a while; runs only when asked for: pytest -m slow")
    config.addinivalue_line("markers", "peer(group): needs a large peer, `.ci/install GROUP`; make check-peers")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "slow" in (config.option.markexpr or ""):
        return
    left = [item for item in items
            if item.get_closest_marker("slow") and "lib/test" in str(item.path)]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("perf") and refusal():
        pytest.skip(f"needs events; {refusal()}")
