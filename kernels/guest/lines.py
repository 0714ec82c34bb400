# SPDX-License-Identifier: MIT
"""The pipes, files and sockets between this machine and an emulator."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from kernels.guest.machine import Wires
from kernels.matrix import Row


class Lines:
    """Both ends of every line to the emulator, until closed."""

    def __init__(self, row: Row, scratch: Path) -> None:
        self.console, self.guest_console = os.pipe()
        self.guest_work, self.work = os.pipe()
        self.monitor, self.guest_monitor = socket.socketpair()
        os.set_blocking(self.work, False)
        if row.arch.runner == "qemu":
            self.guest_results = os.open(scratch / "results", os.O_CREAT | os.O_WRONLY, 0o600)
            self.results = os.open(scratch / "results", os.O_RDONLY)
            self.wires = Wires(self.guest_console, qmp=self.guest_monitor.fileno())
        else:
            self.results, self.guest_results = os.pipe()
            self.wires = Wires(self.guest_console, self.guest_results)

    def leave(self) -> None:
        """Close our copies of the emulator's ends; otherwise end of file never comes."""
        self._close("guest_console", "guest_results", "guest_work")
        self.guest_monitor.close()

    def _close(self, *names: str) -> None:
        for name in names:
            if getattr(self, name) >= 0:
                os.close(getattr(self, name))
                setattr(self, name, -1)

    def close(self) -> None:
        self.leave()
        self._close("console", "results", "work")
        self.monitor.close()
