# SPDX-License-Identifier: MIT
"""A boot loader at a console: any key that comes while it counts down keeps the board from booting."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

# What boot loaders print, and kernels that are about to restart.
BOOTS = re.compile(rb"U-Boot|autoboot|any key|GNU GRUB|barebox|Kernel panic|reboot: |Rebooting|Restarting system", re.I)
ASKS = re.compile(rb"(?:Unknown command '[^'\r\n]{0,40}' - try 'help'|can't find command `[^'\r\n]{0,40}')")
TAIL = 120  # bytes in which a word may be cut
QUIET = 3.0  # seconds: a countdown prints something each second
BETWEEN = 20.0  # seconds in which a kernel that boots may print nothing; a prompt has no end of line
LONGEST = 120.0  # seconds of a boot that is never quiet
NOISE = 6.0  # of a console that prints, but no word of a boot loader
FIRST = 10.0  # seconds until a board that was switched on prints something


@dataclass
class Loader:
    """What was heard, and whether to type nothing for now. `asks`: it takes commands, and will not boot by
    itself."""

    asks: bool = False
    _until: float = 0.0  # the latest
    _quiet_at: float = 0.0  # unless more comes
    _boots: bool = False
    _tail: bytes = field(default=b"", repr=False)

    def listen(self, seconds: float) -> None:
        """Nothing is to be typed for so long, and longer if something comes."""
        self.asks, now = False, time.monotonic()
        self._quiet_at, self._until = max(self._quiet_at, now + seconds), max(self._until, now + seconds + NOISE)

    def heard(self, data: bytes) -> None:
        now = time.monotonic()
        text = self._tail + data
        boots = BOOTS.search(text)
        self.asks = bool(ASKS.search(text, boots.end() if boots else 0)) or (self.asks and not boots)
        self._tail = b"" if boots else text[-TAIL:]
        if boots:
            self._boots, self._until = True, now + LONGEST
        if now < self._until:
            self._quiet_at = now + (BETWEEN if self._boots and data.endswith(b"\n") else QUIET)

    def holds(self) -> bool:
        """Is nothing to be typed now?"""
        if time.monotonic() < min(self._until, self._quiet_at):
            return True
        self._boots, self._until = False, 0.0
        return False
