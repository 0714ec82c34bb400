# SPDX-License-Identifier: MIT
"""Finds the results in what somebody hands in: directories, files, archives of either."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from reports import result as results, text
from reports.text import Unusable

DEPTH = 5                   # of folders below the one that is named
MEMBERS_LIMIT = 200_000     # of an archive
MEMBER_LIMIT = 16 << 20
ARCHIVE_LIMIT = 4 << 30     # bytes unpacked
TRANSCRIPT_LIMIT = 1 << 20  # of one probe
PACKED: tuple[tuple[bytes, Callable[..., Any]], ...] = (
    (b"\x1f\x8b", gzip.open), (b"\xfd7zXZ", lzma.open), (b"BZh", bz2.open))
ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2")


@dataclass(frozen=True)
class Found:
    """A result.json or the directory of a run, and what it is called in messages."""
    path: Path
    name: str

    @property
    def folder(self) -> Path | None:
        """The directory with the output of the probes, where there is one."""
        return self.path if self.path.is_dir() else None


def is_result(path: Path) -> bool:
    """Whether a directory is that of a run."""
    return (path / "result.json").is_file() or ((path / "env").is_file() and (path / "plan").is_file())


def _below(path: Path, name: str, depth: int = DEPTH) -> Iterator[Found]:
    if is_result(path):
        yield Found(path, name)
        return
    for inner in sorted(path.iterdir()) if depth else ():
        if inner.is_symlink():
            continue
        if inner.is_dir():
            yield from _below(inner, f"{name}/{inner.name}", depth - 1)
        elif inner.name.endswith(".result.json"):
            yield Found(inner, f"{name}/{inner.name}")


class _Bounded:
    """The bytes of an archive, unpacked. tarfile reads a header of any length at once, and unpacks all of
    a member that is passed over, so both are bounded here."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream, self._name = stream, name
        self.tell = stream.tell

    def _check(self, within: bool) -> None:
        if not within:
            raise Unusable(f"{self._name}: larger than an archive of results may be")

    def read(self, size: int) -> bytes:
        self._check(size <= MEMBER_LIMIT and self.tell() + size <= ARCHIVE_LIMIT)
        return self._stream.read(size)

    def seek(self, at: int) -> int:
        self._check(at <= ARCHIVE_LIMIT)
        return self._stream.seek(at)


def _unpacked(path: Path) -> BinaryIO:
    with open(path, "rb") as file:
        magic = file.read(8)
    return cast(BinaryIO, next((way for begin, way in PACKED if magic.startswith(begin)), open)(path, "rb"))


def _safe(member: tarfile.TarInfo) -> bool:
    parts = Path(member.name).parts
    return member.isreg() and not member.name.startswith("/") and ".." not in parts \
        and member.size <= MEMBER_LIMIT


def _unpack(path: Path, name: str, into: Path) -> None:
    """The regular files of an archive; links, devices and paths that lead outside stay in it."""
    with _unpacked(path) as plain, \
            tarfile.open(fileobj=cast(BinaryIO, _Bounded(plain, name)), mode="r:") as archive:
        for number, member in enumerate(archive):
            if number >= MEMBERS_LIMIT:
                raise Unusable(f"{name}: more files than an archive of results may have")
            if not _safe(member):
                continue
            target = into / member.name
            target.parent.mkdir(parents=True, exist_ok=True)
            file = archive.extractfile(member)
            if file is not None:
                with open(target, "wb") as copy:
                    copy.write(file.read(MEMBER_LIMIT))


@contextmanager
def opened(path: Path) -> Iterator[list[Found]]:
    """The results of one argument. Raises Unusable when there is none."""
    name = text.clean(path.name or str(path), 120)
    with ExitStack() as scratch:
        try:
            if path.is_dir():
                found = list(_below(path, results.name_of(path)))
            elif not path.exists():
                raise Unusable(text.clean(f"{path}: there is no such file or directory", 300))
            else:
                text.require_file(path)
                found = [Found(path, name)]
            if path.name.endswith(ARCHIVES) and not path.is_dir():
                unpacked = Path(scratch.enter_context(tempfile.TemporaryDirectory(prefix="perfmodes-")))
                _unpack(path, name, unpacked)
                found = list(_below(unpacked, name))
        except (OSError, tarfile.TarError, lzma.LZMAError, EOFError, zlib.error, ValueError) as error:
            why = getattr(error, "strerror", "") or error
            raise Unusable(text.clean(f"{path}: cannot be read: {why}", 300)) from error
        if not found:
            raise Unusable(text.clean(f"{path}: no result in it (no result.json, no env and plan)", 300))
        yield found


def transcripts(folder: Path | None, persona: str, probes: list[str]) -> dict[str, str]:
    """What the probes of a persona printed, as far as the files are there."""
    if folder is None or (folder / persona).is_symlink():
        return {}
    said = {}
    for probe in probes:
        try:
            data, more = text.read_bounded(folder / persona / f"{probe}.ktap", TRANSCRIPT_LIMIT)
        except OSError:
            continue
        if not more:
            said[probe] = text.decode(data)[0]
    return said
