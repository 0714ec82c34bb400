# SPDX-License-Identifier: MIT
"""Reads the stream of results that a place sends. Whatever comes in is treated as hostile.

    @@ready RELEASE             the guest has booted and waits for work
    @@init RELEASE              it has its work
    @@clock SECONDS             the uptime of the guest, by its own clock
    @@run NAME                  the files that follow belong below NAME
    @@refused NAME              this kernel does not allow that run
    @@file PATH BYTES CRC       followed by exactly BYTES bytes and a newline; CRC as of POSIX cksum
    @@end FILES                 run.sh is done and has sent that many files in this run
    @@exit STATUS               exit status of the last run.sh; nothing follows

Anything between frames is noise, which is skipped, counted and bounded. After a frame with a wrong
checksum, reading goes on behind its bytes, so that no content of a file is taken for a frame.
"""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

PART = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,119}"
PATH = re.compile(rf"{PART}(?:/{PART}){{0,2}}")
FILE = re.compile(rb"@@file (\S{1,400}) (\d{1,10}) (\d{1,10})")
HOST_FILES = frozenset({"console.log", "boot.json", "result.json", "profile.json"})
REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
LINE = 1024


def cksum(data: bytes) -> int:
    """POSIX cksum: the CRC of zlib with the bits of every byte and of the result mirrored."""
    length = len(data)
    tail = length.to_bytes((length.bit_length() + 7) // 8, "little")
    crc = zlib.crc32((data + tail).translate(REVERSED), 0xFFFFFFFF)
    return int(f"{crc:032b}"[::-1], 2)


def printable(data: bytes) -> str:
    """Output of a place, made safe for a terminal."""
    text = data.decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)


def safe_path(name: str) -> bool:
    """True for a relative path of at most three plain parts, none the name of a file we write."""
    return bool(PATH.fullmatch(name)) and HOST_FILES.isdisjoint(name.split("/"))


@dataclass(frozen=True)
class Limits:
    file: int = 5 << 20
    total: int = 96 << 20
    files: int = 20_000
    noise: int = 256 << 10


@dataclass
class Run:
    """One run.sh: how many files came, and how many were announced."""

    frames: int = 0
    announced: int | None = None


@dataclass
class Channel:
    """Takes bytes, writes whole and checked files below `target`, and keeps count."""

    target: Path
    limits: Limits = Limits()
    on_file: Callable[[str], None] = lambda name: None
    clean: Callable[[bytes], bytes] = bytes  # what of a file is written down
    ready: bool = False
    probing: bool = False
    release: str = ""
    runs: dict[str, Run] = field(default_factory=lambda: {"": Run()})
    missing_runs: list[str] = field(default_factory=list)
    files: dict[str, int] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    received: int = 0
    noise: int = 0
    exit_status: int | None = None
    clocks: list[tuple[float, float]] = field(default_factory=list)  # (ours, its): first, last
    flood: str = ""
    _buffer: bytearray = field(default_factory=bytearray)
    _frame: tuple[str, int, int] | None = None
    _scanned: int = 0

    @property
    def started(self) -> bool:
        return bool(self.release)

    @property
    def complete(self) -> bool:
        """True if the end marker of every run came, and every announced file."""
        whole = all(run.announced == run.frames for run in self.runs.values())
        return whole and not self.refused

    @property
    def frames(self) -> int:
        return sum(run.frames for run in self.runs.values())

    @property
    def announced(self) -> int | None:
        """How many files there are in all; None while a run has not ended."""
        said = [run.announced for run in self.runs.values()]
        return None if None in said else sum(count or 0 for count in said)

    @property
    def log(self) -> Path:
        """The file for output that is not a result: the console, or messages of run.sh."""
        return self.target / "console.log"

    def take(self, name: str, data: bytes) -> None:
        """Take a whole file that did not come in the stream. It is checked like all others."""
        self.received += len(data)
        if self.flood or self.received > self.limits.total:
            self.flood = self.flood or f"more than {self.limits.total} bytes of results"
        elif len(data) > self.limits.file:
            self._refuse(name, f"{len(data)} bytes, limit {self.limits.file}")
        else:
            self._store(name, data)

    def _run(self, name: str) -> None:
        if list(self.runs) == [""] and not self.runs[""].frames:
            del self.runs[""]
        self.runs.setdefault(name, Run())

    @property
    def _here(self) -> str:
        return next(reversed(self.runs), "")

    def feed(self, data: bytes) -> None:
        if self.flood:
            return
        self.received += len(data)
        if self.received > self.limits.total:
            self.flood = f"more than {self.limits.total} bytes on the results line"
            return
        self._buffer += data
        while not self.flood and (self._payload() if self._frame else self._line()):
            pass

    def _take(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        self._scanned = 0
        return taken

    def _payload(self) -> bool:
        name, size, crc = self._frame or ("", 0, 0)
        if len(self._buffer) < size + 1:
            return False
        data = self._take(size)
        if self._buffer[:1] == b"\n":
            self._take(1)
        self._frame = None
        if cksum(data) != crc:
            self._refuse(name, "wrong checksum")
        else:
            self._store(name, data)
        return True

    def _line(self) -> bool:
        end = self._buffer.find(b"\n", self._scanned)
        if end < 0 and len(self._buffer) <= LINE:
            self._scanned = len(self._buffer)
            return False
        line = self._take(end + 1 if end >= 0 else LINE).rstrip(b"\r\n")
        if len(line) > LINE or not self._word(line):
            self._noise(len(line) + 1)
        return True

    def _word(self, line: bytes) -> bool:
        """Read one line outside a frame. False if it is noise."""
        frame = FILE.fullmatch(line)
        if frame:
            return self._open(printable(frame[1]), int(frame[2]), int(frame[3]))
        match = re.fullmatch(rb"@@(ready|init|clock|run|refused|end|exit) ([\w.+~-]{1,100})", line)
        if not match:
            return False
        self._means(match[1], match[2].decode("ascii", "replace"))
        return True

    def _means(self, word: bytes, value: str) -> None:
        if word == b"ready":
            self.ready = True
        elif word == b"init" and not self.release:
            self.release = value
        elif word == b"clock" and re.fullmatch(r"\d{1,9}\.\d\d", value):
            self.clocks = [*self.clocks[:1], (time.monotonic(), float(value))]
        elif word == b"run" and len(self.runs) < 20 and safe_path(value):
            self._run(value)
        elif word == b"refused" and len(self.missing_runs) < 20:
            self.missing_runs.append(value)
        elif word == b"end" and value.isdecimal() and len(value) < 9:
            self.runs[self._here].announced = int(value)
        elif word == b"exit" and value.isdecimal() and len(value) < 4:
            self.exit_status = int(value)

    def _open(self, name: str, size: int, crc: int) -> bool:
        if size > self.limits.file:
            self._refuse(name, f"{size} bytes announced, limit {self.limits.file}")
            return True
        self._frame = (name, size, crc)
        return True

    def _store(self, name: str, data: bytes) -> None:
        if not safe_path(name):
            return self._refuse(name, "not an acceptable path")
        self.probing = self.probing or "/" in name  # a persona's file: the launcher runs
        name = f"{self._here}/{name}".lstrip("/")
        if self.frames >= self.limits.files:
            self.flood = f"more than {self.limits.files} files on the results line"
            return None
        path = self.target / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f".{path.name}.part")
            part.write_bytes(self.clean(data))
            part.rename(path)
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            return self._refuse(name, f"{type(error).__name__} among the files received")
        self.files[name] = len(data)
        self.runs[self._here].frames += 1
        self.on_file(name)
        return None

    def _refuse(self, name: str, why: str) -> None:
        if len(self.refused) < 20:
            self.refused.append(f"{name[:200]}: {why}")
        self._noise(0)

    def _noise(self, count: int) -> None:
        self.noise += count
        if self.noise > self.limits.noise:
            self.flood = f"more than {self.limits.noise} bytes of noise on the results line"
