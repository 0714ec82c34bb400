# SPDX-License-Identifier: MIT
"""Modules out of the package of a kernel, in the order in which they have to be loaded."""

from __future__ import annotations

import lzma
import re
from collections.abc import Iterable
from pathlib import Path

from kernels.errors import Missing, Refused
from kernels.source import image

FILE = re.compile(r"(?:usr/)?lib/modules/[^/]+/kernel/.+/([\w-]+)\.ko(\.xz)?")
BUILT_IN = re.compile(r"(?:usr/)?lib/modules/[^/]+/modules\.builtin")
DEPENDS = re.compile(rb"\0depends=([\w,-]*)\0")
MOST = 16 << 20


def _plain(name: str) -> str:
    """A file may have a dash where the module's own name has an underscore."""
    return name.replace("-", "_")


def _unpacked(data: bytes, packed: bool, name: str) -> bytes:
    try:
        return lzma.LZMADecompressor(memlimit=256 << 20).decompress(data, MOST) if packed else data
    except lzma.LZMAError as error:
        raise Refused(f"module {name}: {error}") from None


def _read(deb: Path) -> tuple[dict[str, bytes], set[str]]:
    """All modules of the package, and the names of what is built in."""
    modules: dict[str, bytes] = {}
    built_in: set[str] = set()
    with image.files(deb) as tar:
        for info in tar:
            path = info.name.removeprefix("./")
            if not info.isreg() or info.size > MOST:
                continue
            if match := FILE.fullmatch(path):
                modules[_plain(match[1])] = _unpacked(tar.extractfile(info).read(), bool(match[2]), match[1])
            elif BUILT_IN.fullmatch(path):
                listed = tar.extractfile(info).read().decode("ascii", "replace").splitlines()
                built_in |= {_plain(Path(line).stem) for line in listed}
    return modules, built_in


def modules(deb: Path, wanted: Iterable[str]) -> list[tuple[str, bytes]]:
    """The modules that must be loaded to have `wanted`, each after those it depends on. What is
    built in is left out. Missing: a module is neither in the package nor built in."""
    there, built_in = _read(deb)
    order: dict[str, bytes] = {}

    def take(name: str, behind: tuple[str, ...]) -> None:
        if name in order or name in built_in or name in behind:
            return
        if name not in there:
            raise Missing(f"{deb.name} has no module {name}")
        match = DEPENDS.search(b"\0" + there[name])
        for one in (match[1].decode().split(",") if match else []):
            if one:
                take(_plain(one), (*behind, name))
        order[name] = there[name]

    for name in wanted:
        take(_plain(name), ())
    return list(order.items())
