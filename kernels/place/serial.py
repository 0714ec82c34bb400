# SPDX-License-Identifier: MIT
"""A link by a serial console at which a shell waits. The line may drop, double and invent bytes.

A few lines of shell are typed first, and evaluated only if their checksum is right. From then on
each side sends lines with a number and a checksum:

    @q NUMBER CRC COMMAND       to the device; COMMAND is one word in escapes of printf's %b
    @n NUMBER                   from the device: that line was damaged
    @a NUMBER CRC ANSWER        from the device

A line that brings no answer is sent again. A number is carried out once, however often it comes, so
nothing is done twice. All else on the line is noise: echo, messages of the kernel, garbage.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import select
import socket
import stat
import termios
import threading
import time
import tty
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from kernels.errors import Missing, Usage
from kernels.place.channel import cksum, printable
from kernels.place.link import MOST, Answer, Flood, Lost, new_word

# No single quote and no line break: it is typed as R='...'.
RECEIVER = (
    'i=0;a=;stty -echo 2>/dev/null;while IFS= read -r l;do set -f;set -- $l;[ "$1" = @q ]||continue;'
    'k=$(printf "%s" "$2 $4"|cksum);[ "${k%% *}" = "$3" ]||{ echo "@n $2";continue;};'
    '[ "$2" = $i ]||{ i=$2;a=$(eval "$(printf "%b" "$4")" 2>/dev/null </dev/null|tr "\\n" " ");a=${a% };};'
    'k=$(printf "%s" "$i $a"|cksum);echo;echo "@a $i ${k%% *} $a";done'
)
ANSWER = re.compile(rb"@a (\d{1,9}) (\d{1,10}) ([ -~]*)")
BAUDS = {rate: getattr(termios, f"B{rate}") for rate in (9600, 57600, 115200, 230400, 460800, 921600, 1500000)}
LEAST, BIT, CHUNK = 360, 2400, 3000  # bytes to the device in one line, which a terminal cuts at 4096; from it
AGAIN = 3.0  # seconds after which a line is sent again
NOISE = 16 << 20
TCP = re.compile(r"tcp:([\w][\w.-]*|\[[0-9A-Fa-f:.]+\]):(\d{1,5})")
CONNECTING = 15.0


@dataclass
class SerialLink:
    """`address` is PATH[@BAUD]: a tty, or a socket as QEMU makes one for a serial port; or
    tcp:HOST:PORT[@BAUD], a console server. What a server of telnet says besides is noise."""

    address: str
    clean: bool = False
    piece: int = 6000
    again: float = AGAIN
    _line: int = -1
    _socket: socket.socket | None = None
    _buffer: bytearray = field(default_factory=bytearray)
    _number: int = 0
    _ready: bool = False
    _base: str = ""
    _noise: int = 0
    _bit: int = BIT  # halved when a line has to be sent again: a short one is spoilt less often
    _tail: bytes = b""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        path, at, baud = self.address.partition("@")
        self._tcp = TCP.fullmatch(path)
        known = baud in map(str, BAUDS) or (self._tcp and re.fullmatch("[1-9][0-9]{2,7}", baud))
        if not (path.startswith("/") or self._tcp) or (at and not known):
            bauds = " ".join(map(str, BAUDS))
            raise Usage(f"not /PATH[@BAUD] or tcp:HOST:PORT, BAUD of {bauds}: {self.address!r}")
        self.path, self.baud = path, int(baud or 115200)

    @property
    def names(self) -> list[str]:
        return [self._tcp[1].strip("[]")] if self._tcp else [self.path]

    def execute(
        self, script: str, data: Path | bytes = b"", limit: float = 60, stop: threading.Event | None = None
    ) -> Answer:
        if isinstance(data, Path):
            return self.send(data, script, limit)
        with self._lock:
            try:
                self._until, self._stop, self._noise = time.monotonic() + limit, stop, 0
                self._open()
                return self._run(script, data)
            except (Lost, OSError) as error:
                self._ready = False
                if isinstance(error, Lost):
                    raise
                self._shut()
                raise Lost(f"{self.path}: {error.strerror or error}") from None

    def send(self, file: Path, script: str, limit: float = 600) -> Answer:
        """A line of 115200 baud carries a megabyte in three minutes: the limit follows the size."""
        limit = max(limit, file.stat().st_size / (self.baud / 40) + 60)
        return self.execute(script, file.read_bytes(), limit)

    # -- a script is a few commands --------------------------------------------------------------

    def _run(self, script: str, data: bytes) -> Answer:
        name = f"{self._base}/.{new_word()}"
        self._put(script.encode(), f"{name}.s")
        self._put(data, f"{name}.i")
        run = f"sh {name}.s <{name}.i >{name}.o 2>{name}.e"
        told = self._ask(f"{run}; echo $? $(wc -c <{name}.o); head -c {CHUNK} {name}.o|base64")
        words = told.split()
        if len(words) < 2 or not (words[0].isdigit() and words[1].isdigit()):
            raise Lost(f"the shell at the console says: {printable(told[:100])}")
        size, output = int(words[1]), _decoded(b"".join(words[2:]))
        if size > MOST:
            raise Flood(f"more than {MOST} bytes in an answer")
        while len(output) < size:
            block = f"tail -c +{len(output) + 1} {name}.o|head -c {CHUNK}|base64"
            more = _decoded(b"".join(self._ask(block).split()))
            if not more:
                raise Lost("the answer is shorter than it was")
            output += more
        said = self._ask(f"tail -c 300 {name}.e|base64; rm -f {name}.s {name}.i {name}.o {name}.e")
        return Answer(int(words[0]), output, printable(_decoded(b"".join(said.split()))))

    def _put(self, data: bytes, name: str) -> None:
        """Write a file there, compressed on the way if that helps. An answer says how much is there."""
        packed = zlib.compressobj(9, wbits=31)
        small = packed.compress(data) + packed.flush()
        use = small if len(small) + 60 < len(data) else data
        text = base64.b64encode(use).decode()
        self._ask(f": >{name}")
        at = 0
        while at < len(text):
            part = text[at : at + self._bit * 4 // 3]
            at += len(part)
            have = min(at * 3 // 4, len(use))
            told = self._ask(f"echo {part}|base64 -d >>{name};wc -c <{name}").strip()
            if told.decode() != str(have):
                raise Missing(f"{name} cannot be written there (disk full, or no base64?)")
        if use is small:
            self._ask(f"gzip -dc <{name} >{name}z;mv {name}z {name}")

    # -- one command -----------------------------------------------------------------------------

    def _ask(self, command: str) -> bytes:
        """Have the device evaluate a command, once, and return what it prints on one line."""
        self._number += 1
        word = "".join(
            char if char.isalnum() or char in "+/=,.:_-" else f"\\0{ord(char):03o}" for char in command
        )
        crc = cksum(f"{self._number} {word}".encode())
        line = f"\n@q {self._number} {crc} {word}\n".encode()
        pause = self.again
        while True:
            self._write(line)
            answer = self._hear(self._number, time.monotonic() + pause)
            if answer is not None:
                return answer
            self._bit = max(self._bit // 2, LEAST)
            pause = min(pause * 1.5, 20.0)

    def _hear(self, number: int, until: float) -> bytes | None:
        """The answer of that number; None if the line is to be sent again."""
        while True:
            while (end := self._buffer.find(b"\n")) >= 0:
                line = bytes(self._buffer[:end]).strip(b"\r")
                del self._buffer[: end + 1]
                if line == b"@n %d" % number:
                    return None
                match = ANSWER.search(line)
                if match and int(match[1]) == number and cksum(match[1] + b" " + match[3]) == int(match[2]):
                    return match[3]
                self._tail = line or self._tail
            if not self._read(until):
                return None

    def _read(self, until: float) -> bool:
        """Read what comes until then. False when the time is over."""
        now = time.monotonic()
        if self._stop and self._stop.is_set():
            raise KeyboardInterrupt
        if now > self._until:
            raise Lost(f"no answer at the console; last line: {printable(self._tail[-80:])!r}")
        if now > until:
            return False
        if select.select([self._line], [], [], min(0.2, until - now + 0.01))[0]:
            taken = os.read(self._line, 1 << 16)
            if not taken:
                raise OSError(0, "the other end of the line was closed")
            self._buffer += taken
            self._noise += len(taken)
            del self._buffer[: -(1 << 16)]
            if self._noise > NOISE:
                raise Flood(f"more than {NOISE} bytes on the console for one answer")
        return True

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
            if self._tcp:
                where = (self._tcp[1].strip("[]"), int(self._tcp[2]))
                self._socket = socket.create_connection(where, CONNECTING)
                self._socket.settimeout(None)
                self._line = self._socket.fileno()
            elif stat.S_ISSOCK(os.stat(self.path).st_mode):
                self._socket = socket.socket(socket.AF_UNIX)
                self._socket.connect(self.path)
                self._line = self._socket.fileno()
            else:
                self._line = os.open(self.path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
                tty.setraw(self._line)
                settings = termios.tcgetattr(self._line)
                settings[4] = settings[5] = BAUDS[self.baud]
                termios.tcsetattr(self._line, termios.TCSANOW, settings)
        if not self._ready:
            self._meet()

    def _meet(self) -> None:
        """Have the receiver run: it may still be there, or is typed until its checksum is right."""
        self._number = time.monotonic_ns() // 1_000_000 % 100_000_000
        crc, size = cksum(RECEIVER.encode()), len(RECEIVER)
        typed = [f"R='{RECEIVER}'", f'[ "$(printf "%s" "$R"|cksum)" = "{crc} {size}" ]&&eval "$R"']
        ping = f"\n@q {self._number} {cksum(f'{self._number} echo'.encode())} echo\n"
        while True:
            self._write(ping.encode())
            if self._hear(self._number, time.monotonic() + self.again / 2) is not None:
                break
            if re.search(rb"(?i)login: *$|password: *$", bytes(self._buffer[-80:])):
                raise Missing("the console asks for a login: log in there first")
            for line in ("\x03", *typed):
                self._write(f"{line}\n".encode())
                self._hear(-1, time.monotonic() + 0.3)
        self._base = ""
        for base in ("/tmp", "/data/local/tmp", "/dev/shm", "/var/tmp"):
            if self._ask(f"[ -w {base} ]&&echo y") == b"y":
                self._base = base
                break
        if not self._base:
            raise Missing("no folder for files: /tmp is not writable")
        self._ready = True

    def _shut(self) -> None:
        if self._socket:
            self._socket.close()
        elif self._line >= 0:
            os.close(self._line)
        self._line, self._socket, self._ready = -1, None, False

    def close(self) -> None:
        """Leave the shell as it was."""
        with self._lock:
            try:
                if self._ready:
                    self._write(b"\n\x03\nstty echo\n")
            except (OSError, Lost):
                pass
            self._shut()


def _decoded(text: bytes) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        raise Lost("an answer that cannot be decoded") from None
