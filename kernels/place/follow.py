# SPDX-License-Identifier: MIT
"""Follows one run at a device, piece by piece. The run goes on there while the link is away."""

from __future__ import annotations

import base64
import binascii
import re
import shlex
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from kernels.errors import RowError
from kernels.place import work
from kernels.place.bring import LEASE
from kernels.place.channel import Channel, cksum, printable
from kernels.place.clock import wrong_clock
from kernels.place.link import Answer, Flood, Link, Lost, T, new_word, patiently
from kernels.place.outcome import Outcome
from kernels.place.place import Order

HEAD = re.compile(
    rb"([\w-]{1,64}) (\d{1,9}\.\d\d|-) (\d{1,7}|-) (-?\d{0,3}) (restarted|over|running|gone)"
    rb" (\d{1,3}) (raw|gzip64|base64|hex) (\d{1,10}) (\d{1,9})\r?\n"
)
BOOT_ID = "/proc/sys/kernel/random/boot_id"
EMPTY = 9  # a status that the agent does not have: it is not there


@dataclass(frozen=True)
class Pace:
    """Seconds: between two questions; that the device holds one back for something new; that an
    answer may take besides; without a new file before a run is given up."""

    pause: float = 1.0
    wait: int = 10
    answer: float = 45.0
    stall: float = 600.0


@dataclass(frozen=True)
class Piece:
    """A part of a file there, and the state of the device."""

    boot: str
    uptime: str
    heat: str
    battery: str
    state: str
    status: int
    data: bytes
    asked: float = 0.0  # our clock when it was asked for, and when it was here: its own was read between
    came: float = 0.0


def parse(answer: Answer, most: int) -> Piece:
    """Raises Lost if the piece is not what its first line says."""
    head = HEAD.match(answer.body)
    if not head:
        raise Lost(f"no piece of a file came: {answer.why}")
    size, crc = int(head[9]), int(head[8])
    coded = answer.body[head.end() :]
    try:
        data = _decode(coded, head[7].decode(), most) if size else b""
    except (ValueError, binascii.Error, zlib.error):
        raise Lost("a piece that cannot be decoded") from None
    if len(data) != size or (size and cksum(data) != crc):
        raise Lost("a piece with a wrong checksum")
    boot, uptime, heat, battery, state = (head[at].decode() for at in range(1, 6))
    return Piece(boot, uptime, heat, battery, state, int(head[6]), data)


def _decode(coded: bytes, code: str, most: int) -> bytes:
    if code == "raw":
        return coded
    if code == "hex":
        return bytes.fromhex(coded.decode("ascii"))
    data = base64.b64decode(b"".join(coded.split()), validate=True)
    return zlib.decompressobj(31).decompress(data, most + 1) if code == "gzip64" else data


class Gone(RowError):
    """The run's folder is not there any more. `boot`: the boot id of the device now, empty if there is none."""

    def __init__(self, boot: str) -> None:
        super().__init__("the run's folder is gone")
        self.boot = boot


@dataclass
class Reader:
    """Reads files of a run in a folder at the device. Raises Gone if nothing is left of it."""

    link: Link
    folder: str
    pace: Pace = Pace()

    def agent(self, words: str, **more: object) -> Answer:
        there = f"[ -e {self.folder}/agent ] || {{ echo gone $(cat {BOOT_ID}); exit {EMPTY}; }}"
        answer = self.link.execute(f"{there}; sh {self.folder}/agent {words}", **more)  # type: ignore[arg-type]
        gone = re.fullmatch(rb"gone ?([\w-]{0,64})\s*", answer.body)
        if answer.status == EMPTY and gone:
            raise Gone(gone[1].decode())
        return answer

    def piece(
        self, name: str, offset: int, wait: int = 0, stop: threading.Event | None = None
    ) -> Piece:
        most = self.link.piece
        code = "raw" if self.link.clean else "text"
        words = f"read {shlex.quote(name)} {offset} {most} {wait} {code}"
        asked = time.monotonic()
        answer = self.agent(words, limit=wait + self.pace.answer, stop=stop)
        return replace(parse(answer, most), asked=asked, came=time.monotonic())

    def whole(self, name: str, limit: int) -> bytes:
        """A file as far as the limit, and one byte more if there is more."""
        data = b""
        while len(data) <= limit:
            more = self.piece(name, len(data)).data
            if not more:
                break
            data += more
        return data[: limit + 1]


@dataclass
class Follow:
    """One run: begun, read to its end, ended."""

    reader: Reader
    channel: Channel
    stop: threading.Event
    patience: int
    limit: int
    pace: Pace = Pace()
    boot: str = ""
    clear: bool = False  # security.perf_harden, while it runs
    outcome: Outcome = field(default_factory=lambda: Outcome(stage="init"))
    heats: list[int] = field(default_factory=list)
    battery: list[str] = field(default_factory=list)
    early: tuple[float, float] = (0.0, 0.0)  # seconds that the first and the last answer took
    lost: int = 0
    _offset: int = 0
    _sign: float = 0.0

    def whole(self, order: Order) -> Outcome:
        self._began = self._sign = time.monotonic()
        try:
            self._begin(work.text(order))
            while not self._over(self._next()):
                self.stop.wait(self.pace.pause)
        except Flood as error:
            self._end("flood", str(error))
        except Lost as error:
            self._end("dropped", str(error))
        except Gone as error:
            self._emptied(error.boot)
        finally:
            self._leave()
        self.outcome.wall = self._now()
        return self.outcome

    def _begin(self, task: bytes) -> None:
        """Start the run. If the answer was lost, ask whether it was started, and do not start it
        again: it may have brought the device down."""
        name, harden = new_word(), "clear" if self.clear else "keep"
        lease = max(LEASE, 2 * self.patience)

        def ask() -> Answer:
            more = {"limit": self.pace.answer, "stop": self.stop}
            if self.reader.agent(f"begun {name}", **more).status == 0:
                return Answer(0, b"")
            return self.reader.agent(f"begin {lease} {name} {harden}", data=task, **more)

        begun = self._patiently(ask)
        if begun.status:
            raise Lost(f"run.sh cannot be started: {begun.why}")

    def _patiently(self, call: Callable[[], T]) -> T:
        made, lost = patiently(call, self.patience, self.pace.pause, self.stop)
        self.lost += lost
        return made

    def _now(self) -> float:
        return round(time.monotonic() - self._began, 2)

    def _end(self, ended: str, reason: str) -> bool:
        self.outcome.ended, self.outcome.reason = ended, reason
        return True

    def _next(self) -> Piece:
        """The next piece, once there is a connection."""
        wait, stop = self.pace.wait, self.stop
        return self._patiently(lambda: self.reader.piece("stream", self._offset, wait, stop))

    def _over(self, piece: Piece) -> bool:
        self._note(piece)
        self._offset += len(piece.data)
        self.channel.feed(piece.data)
        if piece.data:
            self._sign = time.monotonic()
        if self.channel.probing and self.outcome.stage != "probes":
            self.outcome.stage = "probes"
            self.outcome.times["probes"] = self._now()
        if self.stop.is_set():
            raise KeyboardInterrupt
        if self.channel.flood:
            return self._end("flood", self.channel.flood)
        if piece.data:
            return self._late()
        return self._state(piece) or self._late()

    def _note(self, piece: Piece) -> None:
        self.boot = self.boot or piece.boot
        if re.fullmatch(r"\d+\.\d\d", piece.uptime):
            self.channel.clocks = [*self.channel.clocks[:1], (piece.came, float(piece.uptime))]
            early = piece.came - piece.asked
            self.early = (self.early[0] if len(self.channel.clocks) > 1 else early, early)
        if piece.heat.isdecimal():
            self.heats = [*self.heats, int(piece.heat) // 1000][-10_000:]
        if piece.battery.strip("-"):
            self.battery = [*self.battery[:1], piece.battery]

    def _state(self, piece: Piece) -> bool:
        """Nothing more has come: is there a reason?"""
        last = next(reversed(self.channel.files), "none")
        if piece.state == "restarted" or piece.boot != self.boot:
            return self._end("shutdown", f"the device restarted by itself; last file: {last}")
        if piece.state == "gone":
            return self._end("died", f"somebody killed the run at the device; last file: {last}")
        if piece.state != "over":
            return False
        wrong = wrong_clock(self.channel.clocks, self.early)
        if piece.status == 0 and self.channel.complete:
            return self._end("clock" if wrong else "done", wrong)
        said = printable(self._log()[-2000:]).strip().splitlines()
        why = said[-1][:200] if said else "no message"
        if self.channel.refused:
            why = f"refused: {self.channel.refused[0]}"
        return self._end("incomplete", f"run.sh ended with status {piece.status}: {why}")

    def _emptied(self, boot: str) -> bool:
        """What a file system in memory loses with a restart, or what somebody removed."""
        last = next(reversed(self.channel.files), "none")
        if boot and boot != self.boot:
            return self._end("shutdown", f"the device restarted by itself, and its folder is gone; last file: {last}")
        why = "somebody removed the folder of the run at the device" if boot else \
            "the folder of the run is gone, and whether the device restarted is not known"
        return self._end("died", f"{why}; last file: {last}")

    def _late(self) -> bool:
        if self._now() > self.limit:
            return self._end("hang", f"not done after {self.limit} s")
        if time.monotonic() - self._sign > self.pace.stall:
            last = next(reversed(self.channel.files), "none")
            return self._end("hang", f"no file for {self.pace.stall:.0f} s, last one: {last}")
        return False

    def _log(self) -> bytes:
        """The end of what run.sh said."""
        try:
            return self.reader.agent("said", limit=self.pace.answer).body
        except RowError:
            return b""

    def _leave(self) -> None:
        """Leave nothing running there. Without a link the agent ends the run by itself."""
        try:
            self.reader.agent("end", limit=self.pace.answer)
            self.channel.log.write_bytes(self.channel.clean(self._log()))
        except RowError:
            self.channel.log.touch()
