# SPDX-License-Identifier: MIT
"""The headers of exactly one kernel, unpacked into the cache so that a module can be built there.

Three packages belong to a kernel image: linux-headers-V-common, linux-headers-V-FLAVOUR and
linux-kbuild-V. They come through the same signed indexes as the image, are of its very version, and
are never installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernels.errors import Missing, Refused
from kernels.source.fetch import Fetcher
from kernels.source.packages import Package, series
from kernels.source.unpacked import unpacked

IMAGE = re.compile(r"linux-(?:image|binary)-(?:unsigned-)?(\d.*?)(?:-unsigned)?")
COMPILER = re.compile(r'CONFIG_CC_VERSION_TEXT="\S*gcc(?:-(\d+))?\b')


@dataclass(frozen=True)
class Tree:
    """Unpacked headers: where make is to be run, and the series of gcc that built the kernel."""

    folder: Path
    kbuild: Path
    gcc: int
    key: str


def release(package: Package) -> str:
    """'6.1.0-56-cloud-amd64', what uname -r says of the kernel in this package."""
    match = IMAGE.fullmatch(package.name)
    if not match:
        raise Missing(f"{package.name}: headers are known for Debian's linux-image packages only")
    return match[1]


def names(kernel: Package, flavour: str) -> tuple[tuple[str, ...], ...]:
    """The packages of its headers; of each the names it may have, the likelier first."""
    full = release(kernel)
    if not flavour or not full.endswith(f"-{flavour}"):
        raise Missing(f"{kernel.name}: not of the flavour {flavour or '?'}")
    version = full.removesuffix(f"-{flavour}")
    kbuild = (f"linux-kbuild-{version}", f"linux-kbuild-{series(kernel.version)}")
    return (f"linux-headers-{full}",), (f"linux-headers-{version}-common",), kbuild


def resolve(kernel: Package, flavour: str, index: list[Package]) -> list[Package]:
    """Those packages, of the kernel's own version."""
    found = []
    for wanted in names(kernel, flavour):
        same = {p.name: p for p in index if p.name in wanted and p.version == kernel.version}
        fitting = [same[name] for name in wanted if name in same]
        if not fitting:
            raise Missing(
                f"no {wanted[0]} {kernel.version} in {kernel.suite}: no module can be built for it"
            )
        found.append(fitting[0])
    return found


def _makefiles(root: Path) -> Iterator[Path]:
    yield from (root / "usr/src").glob("linux-headers-*/Makefile")


def at_home(root: Path) -> None:
    """The makefiles name each other where they would be installed; let them do so where they are."""
    for path in _makefiles(root):
        text = path.read_text(encoding="utf-8")
        mended = re.sub(r"(?<![\w/])/usr/src/", f"{root}/usr/src/", text)
        if mended != text:
            path.write_text(mended, encoding="utf-8")


def gcc_of(folder: Path) -> int:
    """The series of gcc the kernel was built with, as its configuration says; 0 unknown."""
    config = folder / ".config"
    match = COMPILER.search(config.read_text(encoding="utf-8") if config.exists() else "")
    return int(match[1] or 0) if match else 0


def tree(kernel: Package, flavour: str, architecture: str, fetcher: Fetcher) -> Tree:
    """The headers of a kernel, fetched and unpacked."""
    wanted = resolve(kernel, flavour, fetcher.index(kernel.suite, architecture))
    debs = [fetcher.download(package, architecture) for package in wanted]
    root = unpacked(debs, fetcher.cache / "headers")
    if re.search(r"[\s:]", str(root)):
        raise Missing(f"{root}: make takes no folder with a blank or a colon in it")
    at_home(root)
    folder = root / "usr/src" / f"linux-headers-{release(kernel)}"
    kbuild = next(iter((root / "usr/lib").glob("linux-kbuild-*")), None)
    if not (folder / "Makefile").exists() or kbuild is None:
        raise Refused(f"{wanted[0].name} {kernel.version}: no Makefile where one belongs")
    return Tree(folder, kbuild, gcc_of(folder), root.name)
