# SPDX-License-Identifier: MIT
"""Writes the `newc` archives that initramfs images are.

Ours rather than cpio(1): device nodes without being root, no staging folder, the same bytes for
the same input (times and inode numbers are ours), and one package fewer to install.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True)
class Entry:
    """One member. The type bits of `mode` make it a file, folder, link or device."""

    name: str
    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


def folder(name: str) -> Entry:
    return Entry(name, stat.S_IFDIR | 0o755)


def file(name: str, data: bytes, mode: int = 0o644) -> Entry:
    return Entry(name, stat.S_IFREG | mode, data)


def link(name: str, target: str) -> Entry:
    return Entry(name, stat.S_IFLNK | 0o777, target.encode())


def character(name: str, major: int, minor: int) -> Entry:
    return Entry(name, stat.S_IFCHR | 0o600, b"", (major, minor))


def found(path: Path, name: str) -> Entry:
    """A file or symbolic link of this machine, under another name."""
    if path.is_symlink():
        return link(name, os.readlink(path))
    return file(name, path.read_bytes(), 0o755 if path.stat().st_mode & 0o100 else 0o644)


def tree(source: Path, under: str) -> list[Entry]:
    """Every regular file and symbolic link below `source`, as `under/...`."""
    paths = sorted(path for path in source.rglob("*") if path.is_symlink() or path.is_file())
    return [found(path, f"{under}/{path.relative_to(source)}") for path in paths]


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def _member(number: int, entry: Entry) -> bytes:
    name = entry.name.encode() + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    numbers = (
        number,
        entry.mode,
        0,
        0,
        links,
        0,
        len(entry.data),
        0,
        0,
        *entry.device,
        len(name),
        0,
    )
    head = b"070701" + b"".join(b"%08X" % value for value in numbers)
    return _padded(head + name) + _padded(entry.data)


def _with_parents(entries: Iterable[Entry]) -> list[Entry]:
    """Put parent folders before their first child, because the kernel makes none."""
    seen: dict[str, Entry] = {}
    for entry in entries:
        for parent in reversed(PurePosixPath(entry.name).parents):
            if str(parent) != ".":
                seen.setdefault(str(parent), folder(str(parent)))
        seen[entry.name] = entry
    return list(seen.values())


def archive(entries: Iterable[Entry]) -> bytes:
    members = [*_with_parents(entries), Entry("TRAILER!!!", 0)]
    return b"".join(_member(number, entry) for number, entry in enumerate(members, 1))
