# SPDX-License-Identifier: MIT
"""Debian's adbd for a guest, with the libraries it is linked to. Signed packages, unpacked into the
cache, never installed."""

from __future__ import annotations

from pathlib import Path

from kernels.errors import Refused
from kernels.source.fetch import Fetcher
from kernels.source.unpacked import unpacked

PROGRAM = "usr/lib/android-sdk/platform-tools/adbd"
NEWER = ("bookworm-backports",)
SUITES = ("bookworm-security", "bookworm")
ITS_OWN = ("adbd", "android-libbase", "android-libboringssl", "android-libcutils", "android-liblog")
LIBRARIES = (
    "libbrotli1",
    "libc6",
    "libcap2",
    "libgcc-s1",
    "libgcrypt20",
    "libgpg-error0",
    "liblz4-1",
    "liblzma5",
    "libprotobuf32",
    "libstdc++6",
    "libsystemd0",
    "libzstd1",
    "zlib1g",
)


def files(architecture: str, fetcher: Fetcher) -> dict[str, Path]:
    """adbd, its libraries and the dynamic linker: path in the guest, file or symbolic link here."""
    debs = [fetcher.tool(name, NEWER, architecture) for name in ITS_OWN]
    debs += [fetcher.tool(name, SUITES, architecture) for name in LIBRARIES]
    return chosen(unpacked(debs, fetcher.cache / "adbd"))


def chosen(root: Path) -> dict[str, Path]:
    """Out of unpacked packages: the program, and what the dynamic linker looks at. Subfolders other
    than android/ hold plug-ins, as gconv/ does, that adbd does not load."""
    found = {"bin/adbd": root / PROGRAM}
    for pattern in ("lib/*", "lib64/*", "lib/*/*", "usr/lib/*/*", "usr/lib/*/android/*"):
        for path in sorted(root.glob(pattern)):
            if ".so" in path.name and (path.is_symlink() or path.is_file()):
                found[str(path.relative_to(root))] = path
    if not found["bin/adbd"].is_file():
        raise Refused(f"the package adbd has no {PROGRAM}")
    return found
