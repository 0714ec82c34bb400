# SPDX-License-Identifier: MIT
"""A link by a serial console at which a shell waits. The line may drop, double and invent bytes.

A few lines of shell are typed first, and evaluated only if their checksum is right. From then on
each side sends lines with a number and a checksum:

    @d TEXT                     to the device: one more line of a block of a file; no answer
    @c                          to the device: forget the block
    @q NUMBER SUM COMMAND       to the device; COMMAND is one word in escapes of printf's %b
    @n NUMBER                   from the device: that line was damaged
    @a NUMBER SUM ANSWER        from the device

SUM is of md5sum, or of cksum where the device lacks that. A line that brings no answer is sent again.
A number is carried out once, however often it comes, so nothing is done twice. A block is written
only if its own sum is right. All else is noise: echo, messages of the kernel, garbage. Nothing is
typed while a boot loader counts down.

Processes are dear on a small device: a line @d takes none, a block about ten, a question as many.
"""

from __future__ import annotations

import base64
import os
import re
import select
import shlex
import threading
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from kernels.errors import Missing
from kernels.place.channel import printable
from kernels.place.line import Line
from kernels.place.link import MOST, Answer, Flood, Lost, new_word
from kernels.place.loader import FIRST, Loader
from kernels.place.receiver import decoded, escaped, sums, typed

ANSWER = re.compile(rb"@a (\d{1,9}) ([0-9a-f]{1,32}) ([ -~]*)")
LEAST, MOST_BLOCK = 360, 24000  # bytes of a file in one block to the device, or in one answer from it
LINE = 1600  # characters of a line of a block
SHORT = 300  # characters of a script that is sent as one line
AGAIN = 3.0  # seconds after which a line is sent again
NOISE = 16 << 20


@dataclass
class SerialLink:
    """`address` is that of a line."""

    address: str
    clean: bool = False
    slice: int = 1 << 18  # half a minute at 115200 baud
    again: float = AGAIN
    _line: int = -1
    _buffer: bytearray = field(default_factory=bytearray)
    _number: int = 0
    _ready: bool = False
    _base: str = ""
    _noise: int = 0
    _block: int = 6000  # halved when a block comes damaged, since a small one is spoilt less often
    _sums: str = ""  # the device's program for sums
    _tail: bytes = b""
    _loader: Loader = field(default_factory=Loader)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._at = Line(self.address)
        self.names, self.where = self._at.names, self._at.path

    @property
    def piece(self) -> int:
        return max(6000, self._block)

    def execute(
        self, script: str, data: Path | bytes = b"", limit: float = 60, stop: threading.Event | None = None
    ) -> Answer:
        if isinstance(data, Path):
            return self.send(data, script, limit, stop)
        with self._lock:
            try:
                self._until, self._stop, self._noise = time.monotonic() + limit, stop, 0
                self._open()
                return self._run(script, data)
            except Lost:
                self._ready = False
                raise
            except OSError as error:
                self._shut()
                raise Lost(f"{self._at.path}: {error.strerror or error}") from None

    def send(
        self, file: Path | bytes, script: str, limit: float = 600, stop: threading.Event | None = None
    ) -> Answer:
        """A line of 115200 baud carries a megabyte in three minutes: the limit follows the size."""
        data = file.read_bytes() if isinstance(file, Path) else file
        return self.execute(script, data, max(limit, len(data) / (self._at.baud / 40) + 60), stop)

    # -- a script is a few commands --------------------------------------------------------------

    def _run(self, script: str, data: bytes) -> Answer:
        name = f"{self._base}/.{new_word()}"
        run = f"sh -c {shlex.quote(script)}"
        if len(script) > SHORT:
            self._put(script.encode(), f"{name}.s")
            run = f"sh {name}.s"
        if data:
            self._put(data, f"{name}.i")
        run += f" <{f'{name}.i' if data else '/dev/null'} >{name}.o 2>{name}.e"
        told = self._ask(f"{run}; echo $? $(wc -c <{name}.o); head -c {LEAST} {name}.o|base64")
        words = told.split()
        if len(words) < 2 or not (words[0].isdigit() and words[1].isdigit()):
            raise Lost(f"the shell at the console says: {printable(told[:100])}")
        size, output = int(words[1]), decoded(b"".join(words[2:]))
        if size > MOST:
            raise Flood(f"more than {MOST} bytes in an answer")
        while len(output) < size:
            output += self._part(f"{name}.o", len(output))
        said = self._ask(f"tail -c 300 {name}.e|base64; rm -f {name}.s {name}.i {name}.o {name}.e")
        return Answer(int(words[0]), output, printable(decoded(b"".join(said.split()))))

    def _part(self, name: str, offset: int) -> bytes:
        """The next part of a file there, a smaller one if it comes damaged."""
        while True:
            asked = self._block
            command = f"tail -c +{offset + 1} {name}|head -c {asked}|base64"
            told = self._answer(self._question(command), self.again) if asked > LEAST else self._ask(command)
            if told is not None:
                break
            self._block = max(asked // 2, LEAST)
        self._block = min(self._block * 5 // 4, MOST_BLOCK)
        more = decoded(b"".join(told.split()))
        if not more:
            raise Lost("the answer is shorter than it was")
        return more

    def _put(self, data: bytes, name: str) -> None:
        """Write a file there, compressed on the way if that helps."""
        packed = zlib.compressobj(9, wbits=31)
        small = packed.compress(data) + packed.flush()
        use = small if len(small) + 60 < len(data) else data
        at = 0
        while at < len(use):
            part = use[at : at + self._block]
            if self._sent(part, name, at + len(part)):
                at += len(part)
                self._block = min(self._block * 5 // 4, MOST_BLOCK)
            else:
                self._block = max(self._block // 2, LEAST)
        if use is small:
            self._ask(f"gzip -dc <{name} >{name}z;mv {name}z {name}")

    def _sent(self, part: bytes, name: str, size: int) -> bool:
        """Append a block to a file there, which then has that size. False if it came damaged."""
        text = base64.b64encode(part).decode()
        lines = [f"@d {text[at : at + LINE]}\n" for at in range(0, len(text), LINE)]
        self._write(f"\n@c\n{''.join(lines)}".encode())
        told = self._ask(
            f'c "$b";[ $k != {self._sum(text.encode())} ]||printf "%s" "$b"|base64 -d >>{name};'
            f"[ ! -e {name} ]&&echo 0||wc -c <{name}"
        )
        have = told.strip().decode()
        if have == str(size - len(part)):
            return False
        if have != str(size):
            raise Missing(f"{name} cannot be written there (disk full, or no base64?)")
        return True

    def _sum(self, data: bytes) -> str:
        return sums(data)[self._sums]

    def _ask(self, command: str) -> bytes:
        """Have the device evaluate a command, once, and return what it prints on one line."""
        line, pause = self._question(command), self.again
        while (answer := self._answer(line, pause)) is None:
            pause = min(pause * 1.5, 20.0)
        return answer

    def _question(self, command: str) -> bytes:
        self._number += 1
        asked = f"{self._number} {escaped(command)}"
        return f"\n@q {self._number} {self._sum(asked.encode())} {escaped(command)}\n".encode()

    def _answer(self, line: bytes, pause: float) -> bytes | None:
        self._type(line)
        return self._hear(self._number, time.monotonic() + pause)

    def _hear(self, number: int, until: float) -> bytes | None:
        """The answer of that number; None if the line is to be sent again."""
        while True:
            while (end := self._buffer.find(b"\n")) >= 0:
                line = bytes(self._buffer[:end]).strip(b"\r")
                del self._buffer[: end + 1]
                if line == b"@n %d" % number:
                    return None
                match = ANSWER.search(line)
                if match and int(match[1]) == number and self._right(match):
                    return match[3]
                self._tail = line or self._tail
            if not self._read(until):
                return None

    def _right(self, match: re.Match[bytes]) -> bool:
        """Is the sum of an answer right? The first answer of all tells which program makes them."""
        told, text = match[2].decode(), match[1] + b" " + match[3]
        if self._sums:
            return told == self._sum(text)
        self._sums = {made: name for name, made in sums(text).items()}.get(told, "")
        return bool(self._sums)

    def _read(self, until: float) -> bool:
        """Read what comes until then. False when the time is over."""
        now = time.monotonic()
        if self._stop and self._stop.is_set():
            raise KeyboardInterrupt
        if now > self._until:
            raise Lost(self._at.silence(self._tail + bytes(self._buffer)))
        if now > until:
            return False
        if select.select([self._line], [], [], min(0.2, until - now + 0.01))[0]:
            taken = os.read(self._line, 1 << 16)
            if not taken:
                raise OSError(0, "the other end of the line was closed")
            self._buffer += taken
            self._loader.heard(taken)
            self._noise += len(taken)
            del self._buffer[: -(1 << 16)]
            if self._noise > NOISE:
                raise Flood(f"more than {NOISE} bytes on the console for one answer")
        return True

    def _type(self, data: bytes) -> None:
        while self._loader.holds():
            self._read(time.monotonic() + 0.2)
        self._write(data)

    def _write(self, data: bytes) -> None:
        while data:
            if not select.select([], [self._line], [], 1.0)[1]:
                if time.monotonic() > self._until:
                    raise Lost("the console takes nothing")
                continue
            data = data[os.write(self._line, data[:64]) :]

    # -- the line --------------------------------------------------------------------------------

    def _open(self) -> None:
        if self._line < 0:
            self._line = self._at.open()
        if not self._ready:
            self._meet()

    def _meet(self) -> None:
        """Have the receiver run: it may still be there, or is typed until its checksum is right."""
        self._number, self._sums = time.monotonic_ns() // 1_000_000 % 100_000_000, ""
        text = f"{self._number} echo".encode()
        ping = "".join(f"\n@q {self._number} {made} echo\n" for made in sums(text).values())
        wait = self.again / 2
        self._loader.listen(wait)
        while True:
            self._type(ping.encode())
            if self._hear(self._number, time.monotonic() + wait) is not None:
                break
            if re.search(rb"(?i)login: *$|password: *$", bytes(self._buffer[-80:])):
                raise Missing("the console asks for a login: log in there first")
            if self._loader.asks:
                raise Missing("a boot loader asks for commands at the console: boot the board there, or by its power")
            for line in ("\x03", *typed()):
                self._type(f"{line}\n".encode())
                self._hear(-1, time.monotonic() + wait / 5)
            wait = min(wait * 1.5, 20.0)
        folders = ("/tmp", "/data/local/tmp", "/dev/shm", "/var/tmp")
        self._base = next((base for base in folders if self._ask(f"[ -w {base} ]&&echo y") == b"y"), "")
        if not self._base:
            raise Missing("no folder for files: /tmp is not writable")
        self._ready = True

    def _shut(self) -> None:
        self._at.close()
        self._line, self._ready = -1, False

    def restarted(self) -> None:
        with self._lock:
            self._shut()
            self._loader.listen(FIRST)

    def close(self) -> None:
        """Leave the shell as it was."""
        with self._lock:
            try:
                if self._ready:
                    self._write(b"\n\x03\nstty echo\n")
            except (OSError, Lost):
                pass
            self._shut()

