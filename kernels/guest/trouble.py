# SPDX-License-Identifier: MIT
"""What is heard of a guest's kernel on its console while probes run: its complaints, and whether it is spoilt."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernels.place.channel import Channel, printable
from reports import complaints

CHUNK = 1 << 16
UNKILLABLE = b"launch: a process of the probe cannot be killed"


@dataclass
class Trouble:
    """`heard` is kept with the file that had come last, which tells the probe that ran then.

    spoilt  what makes this kernel a bad witness from now on, or empty
    """

    channel: Channel
    heard: list[str] = field(default_factory=list)
    spoilt: str = ""
    _sound: int = 0  # files that had come before
    _rest: bytes = b""

    def listen(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[-CHUNK:]
        text = b"\n".join(lines)
        last = next(reversed(self.channel.files), "the start")
        if UNKILLABLE in text:
            self._spoil(f"after {last}: a process of the probe could not be killed")
        for line in lines if complaints.possible(text) else ():
            one = complaints.of_message(printable(line.strip(b"\r"))[:400])
            if one and one.spoils:
                self._spoil(f"after {last}: {one.message}")
            if one and len(self.heard) < complaints.LIMIT:
                self.heard.append(f"after {last}: {one.message}")

    def _spoil(self, why: str) -> None:
        if not self.spoilt:
            self.spoilt, self._sound = why, self.channel.frames

    @property
    def answered(self) -> bool:
        """The probe that spoilt it has answered."""
        return bool(self.spoilt) and self.channel.frames > self._sound
