# SPDX-License-Identifier: MIT
"""A link: one way to run a shell script at a device and to hear what it says.

Whatever the link, the answer is between two lines with a word of its own, made anew for each
script. Login scripts may say what they like before it, an answer that was cut off is noticed, and
an exit status arrives even where the transport has none.
"""

from __future__ import annotations

import os
import re
import secrets
import selectors
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol, TypeVar

from kernels.errors import RowError
from kernels.place.channel import printable

MOST = 4 << 20  # bytes that an answer may have
SAID = 4096  # bytes of messages that are kept
LAST = 100  # bytes at the end of an answer, of which its last line has fewer
GRACE = 0.5  # seconds for messages that come after the end of an answer
T = TypeVar("T")


class Lost(RowError):
    """The link was lost, or the answer was cut off. The device may be well."""


class Flood(RowError):
    """The other end sent more than any answer has."""


@dataclass(frozen=True)
class Answer:
    """What a script printed, how it ended, and what was said besides."""

    status: int
    body: bytes
    said: str = ""

    @property
    def why(self) -> str:
        """The last line of what was said."""
        return last_line(self.said) or f"status {self.status}"


def last_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


class Link(Protocol):
    """`clean`: every byte passes as it is."""

    clean: bool

    @property
    def where(self) -> str:
        """Which device it is, for its lock."""

    @property
    def piece(self) -> int:
        """Bytes to ask for at a time."""

    def execute(
        self, script: str, data: Path | bytes = b"", limit: float = 60, stop: threading.Event | None = None
    ) -> Answer:
        """Run a POSIX shell script there, with `data` as its input. Raises Lost after `limit`
        seconds, Flood, or KeyboardInterrupt when `stop` is set."""

    @property
    def slice(self) -> int:
        """Bytes of a large file to send at a time: what is not lost with the link."""

    def send(
        self, file: Path | bytes, script: str, limit: float = 600, stop: threading.Event | None = None
    ) -> Answer:
        """Run a script whose input is large."""

    def restarted(self) -> None:
        """The device was switched off and on: what it was connected by is gone. Never raises."""

    def close(self) -> None:
        """End every process of ours. Never raises."""


def framed(script: str, word: str) -> str:
    """The script, with a line before and after what it prints."""
    return f"echo '@@{word}'; (\n{script}\n); s=$?; echo; echo \"@@{word} $s\""


def unframed(output: bytes, word: str, said: str) -> Answer:
    """The answer in what came. Raises Lost if either line is missing."""
    mark = re.escape(word.encode())
    first = re.search(rb"(?:^|\n)@@" + mark + rb"\r?\n", output)
    last = None
    for last in re.finditer(rb"\r?\n@@" + mark + rb" (\d{1,3})\r?(?:\n|$)", output):
        pass
    if not first or not last:
        instead = "" if first else last_line(printable(output[-SAID:]))
        raise Lost(last_line(said) or instead or "the connection was closed")
    return Answer(int(last[1]), output[first.end() : last.start()], said)


def new_word() -> str:
    return f"pm-{secrets.token_hex(6)}"


@contextmanager
def as_input(data: Path | bytes) -> Iterator[IO[bytes]]:
    """A file to read the data from. Nobody has to feed a pipe."""
    if isinstance(data, Path):
        with open(data, "rb") as file:
            yield file
        return
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        yield file


# What is entered in this thread while a device is waited for: others may be at work meanwhile.
AWAY: ContextVar[Callable[[], AbstractContextManager[object]]] = ContextVar("away", default=nullcontext)


def patiently(call: Callable[[], T], seconds: float, pause: float, stop: threading.Event) -> tuple[T, int]:
    """What a call returns, and how often it was tried in vain. A link that is lost is tried again
    until patience is at an end; then Lost is raised."""
    try:
        return call(), 0
    except Lost as error:
        lost, last, until = 1, error, time.monotonic() + seconds
    with AWAY.get()():
        while time.monotonic() <= until:
            if stop.wait(min(pause, 2)):
                raise KeyboardInterrupt
            try:
                return call(), lost
            except Lost as error:
                lost, last = lost + 1, error
    raise Lost(f"no connection for {seconds:.0f} s: {last}") from None


class Talk:
    """A program of ours that speaks for a link, with bounds on time and on what it may print. Once the
    last line of a framed answer has come it is not waited for: csh hands descriptors of its own to
    whatever it starts, and the connection would last as long as that."""

    def __init__(self, argv: list[str], limit: float, stop: threading.Event | None, word: str = "") -> None:
        self.argv, self.until = argv, time.monotonic() + limit
        self.last = re.compile(rb"\n@@" + word.encode() + rb" \d{1,3}\r?\n") if word else None
        self.ended = False
        self.stop = stop
        self.limit = limit
        self.output, self.said = bytearray(), bytearray()

    def run(self, data: Path | bytes, env: dict[str, str] | None = None) -> tuple[bytes, str, int]:
        """Its output, messages and exit status."""
        with as_input(data) as source:
            process = subprocess.Popen(
                self.argv,
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=env,
            )
            try:
                self._listen(process)
                status = 0 if self.ended else process.wait(max(self.until - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                raise Lost(f"no answer within {self.limit:.0f} s") from None
            finally:
                _end(process)
        return bytes(self.output), printable(self.said.replace(b"\r", b"")), status

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        """Read until both pipes are closed. A process that ssh leaves behind holds the second."""
        assert process.stdout and process.stderr
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ, self.output)
            selector.register(process.stderr, selectors.EVENT_READ, self.said)
            while process.stdout.fileno() in selector.get_map():
                if self.stop and self.stop.is_set():
                    raise KeyboardInterrupt
                if time.monotonic() > self.until:
                    if self.ended:
                        return
                    raise Lost(f"no answer within {self.limit:.0f} s")
                for key, _ in selector.select(0.2):
                    taken = os.read(key.fd, 1 << 16)
                    if not taken:
                        selector.unregister(key.fileobj)
                    key.data.extend(taken)
                if self.last and not self.ended and self.last.search(self.output, max(len(self.output) - LAST, 0)):
                    self.ended, self.until = True, min(self.until, time.monotonic() + GRACE)
                del self.said[:-SAID]
                if len(self.output) > MOST:
                    raise Flood(f"more than {MOST} bytes in an answer")


@contextmanager
def ending(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """At the end of the body the process has ended, and all that it started in its session."""
    try:
        yield
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe:
            pipe.close()
