# SPDX-License-Identifier: MIT
"""Debian packages for tests of what is taken out of them."""

from __future__ import annotations

import subprocess
from pathlib import Path


def make_deb(folder: Path, files: dict[str, bytes]) -> Path:
    """A Debian package with these files."""
    root = folder / "root"
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    (root / "DEBIAN").mkdir()
    fields = "Package: x\nVersion: 1\nArchitecture: all\nMaintainer: x <x@example.org>\nDescription: x\n"
    (root / "DEBIAN" / "control").write_text(fields)
    argv = ["dpkg-deb", "--root-owner-group", "-b", str(root), str(folder / "x.deb")]
    subprocess.run(argv, check=True, capture_output=True)
    return folder / "x.deb"
