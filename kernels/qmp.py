# SPDX-License-Identifier: MIT
"""As much of the QEMU monitor protocol as it takes to learn how a guest ended."""

from __future__ import annotations

import json
import socket

MAX_LINE = 1 << 20
REASONS = {"guest-shutdown": "shutdown", "guest-reset": "reset", "guest-panic": "panic"}


class Qmp:
    """Reads events from a connected socket; `ended` becomes shutdown, reset, panic or a reason."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.ended = ""
        self._buffer = b""

    def feed(self, data: bytes) -> None:
        self._buffer += data
        *lines, self._buffer = self._buffer.split(b"\n")
        self._buffer = self._buffer[:MAX_LINE]
        for line in lines:
            self._message(line)

    def _message(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            return
        if not isinstance(message, dict):
            return
        if "QMP" in message:
            self.connection.sendall(b'{"execute": "qmp_capabilities"}\n')
        event = message.get("event")
        if event == "GUEST_PANICKED":
            self.ended = "panic"
        elif event == "SHUTDOWN" and not self.ended:
            reason = str(message.get("data", {}).get("reason", ""))
            self.ended = REASONS.get(reason, reason or "unknown")
