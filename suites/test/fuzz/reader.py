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
