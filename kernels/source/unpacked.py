# SPDX-License-Identifier: MIT
"""Packages unpacked into the cache, never installed."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from kernels.errors import Refused
from kernels.source import apt
from kernels.source.fetch import Deb


def _unpack(deb: Deb, folder: Path) -> None:
    argv = ["dpkg-deb", "-x", str(deb.path), str(folder)]
    done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise Refused(f"{deb.path.name} is not a readable package: {done.stderr.strip()[:200]}")


def unpacked(debs: list[Deb], place: Path) -> Path:
    """All of them in one folder below `place`, made once; it appears by rename."""
    digest = hashlib.sha256("".join(deb.package.sha256 for deb in debs).encode()).hexdigest()[:16]
    target = place / digest
    with apt.locked(place):
        if not target.exists():
            part = place / f"{digest}.part"
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            for deb in debs:
                _unpack(deb, part)
            part.rename(target)
    return target
