# SPDX-License-Identifier: MIT
"""What a reader under fuzz is: it takes bytes and returns, or raises one of the errors that its callers
turn into a sentence. Anything else is a finding."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TREE = Path(__file__).resolve().parents[3]
_MEMORY = "/dev/shm"      # most readers of a file take less time than a disk
FOLDER = tempfile.TemporaryDirectory(prefix="pm-fuzz-", dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None)
tempfile.tempdir = FOLDER.name      # also for what a reader unpacks

# Complaints of each kind, as a log and a console have them.
KERNEL_LOGS = [
    b"<4>[    1.0] WARNING: CPU: 0 PID: 7 at kernel/events/core.c:1 f+0x1/0x2\nRIP: 0010:g+0x1/0x2\n"
    b"<1>[    2.0][  T12] BUG: kernel NULL pointer dereference, address: 8\nperf: interrupt took too long\n",
    b"[    3.0] rcu: INFO: rcu_sched self-detected stall on CPU\n"
    b"INFO: task a:1 blocked for more than 120 seconds.\n[   13.0] Kernel panic - not syncing: x\n"]


@dataclass(frozen=True)
class Reader:
    read: Callable[[bytes], object]
    seeds: Callable[[], list[bytes]]
    answers: tuple[type[Exception], ...] = ()


def in_file(data: bytes, name: str) -> Path:
    """The input as a file below a folder of the run's own."""
    path = Path(FOLDER.name) / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


def some(pattern: str, count: int = 20) -> list[bytes]:
    """A few files of the tree that are not too large."""
    found = [path.read_bytes() for path in sorted(TREE.glob(pattern)) if path.stat().st_size < 60_000]
    return found[:: max(1, len(found) // count)][:count]
