# SPDX-License-Identifier: MIT
"""Debian packages of another machine, unpacked into a folder: headers and libraries to build against,
and what runs in a guest. They come through the same signed indexes as kernels do; nothing is installed.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from kernels.errors import Usage
from kernels.matrix import Matrix
from kernels.source import cross, fetch
from kernels.source.fetch import Fetcher
from kernels.source.mirror import codename
from kernels.source.unpacked import unpacked


def link(root: Path, folder: Path) -> None:
    """`folder` becomes a name of `root`; an older link is replaced, anything else is kept."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        raise Usage(f"{folder} is there and is no link")
    folder.symlink_to(root)


def relative(root: Path) -> None:
    """Links to absolute paths lead to the same file below `root`."""
    for path in root.rglob("*"):
        if path.is_symlink() and (target := os.readlink(path)).startswith("/"):
            path.unlink()
            path.symlink_to(os.path.relpath(root / target[1:], path.parent))


def make(architecture: str, names: list[str], suite: str, fetcher: Fetcher) -> Path:
    """The packages of `suite`, all in one folder of the cache."""
    if not names:
        raise Usage("sysroot: no package is named")
    debs = [fetcher.tool(name, (suite,), architecture) for name in names]
    root = unpacked(debs, fetcher.cache / "sysroots")
    relative(root)
    return root


def verb(args: argparse.Namespace, listed: Matrix) -> int:
    """`python3 -m kernels sysroot MACHINE FOLDER PACKAGE...`: the release of this system."""
    arch = cross.target(listed, args.machine)
    say = lambda text: print(f"perfmodes: {text}", file=sys.stderr)  # noqa: E731
    fetcher = fetch.fetcher(args.mirror, say=say)
    link(make(arch.apt, args.packages, codename(), fetcher), args.folder)
    return 0
