# SPDX-License-Identifier: MIT
"""A row of the matrix as a LAVA job boots it: its kernel, an initramfs with the bundle in it that waits
with a prompt, and the job."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kernels.errors import Missing, Usage
from kernels.guest import initramfs, machine, setup
from kernels.matrix import Row
from kernels.place.bundle import find_bundle
from kernels.source import fetch, image

PROMPT = "lava#"
BUNDLE = "/perfmodes"  # where it is in the initramfs


@dataclass(frozen=True)
class Boot:
    """Files for `deploy`, and the kernel's command line."""

    kernel: Path
    ramdisk: Path
    append: str


def written(row: Row, folder: Path, build: bool, install: bool, say: Callable[[str], None]) -> Boot:
    """Write both files into a folder. Raises RowError."""
    if row.unavailable or row.pmu or row.dtb:
        raise Usage(f"{row.name}: only a kernel that needs nothing besides an initramfs")
    fetcher = fetch.fetcher("", False, say)
    bundle = find_bundle(row.arch.bundle, build, install)
    if isinstance(bundle, str):
        raise Missing(bundle)
    kernel = setup.find_kernel(row, fetcher)
    busybox = image.member(fetcher.busybox(row).path, image.BUSYBOX)
    made = initramfs.build(busybox, bundle, row.arch.console, prompt=PROMPT)
    folder.mkdir(parents=True, exist_ok=True)
    boot = Boot(folder / "kernel", folder / "ramdisk.cpio.gz", without_quiet(machine.cmdline(row)))
    shutil.copyfile(kernel.path, boot.kernel)
    boot.ramdisk.write_bytes(gzip.compress(made, 6, mtime=0))
    return boot


def without_quiet(append: str) -> str:
    """The command line of a kernel that prints its messages: LAVA waits for the first of them."""
    return " ".join(word for word in append.split() if word != "quiet")
