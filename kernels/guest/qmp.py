# SPDX-License-Identifier: MIT
"""The part of the QEMU monitor protocol that saves a guest and tells how it ended."""

from __future__ import annotations

import json
import shlex
import socket
from pathlib import Path
from typing import Any

MAX_LINE = 1 << 20
FAILED = "migration failed"
REASONS = {"guest-shutdown": "shutdown", "guest-reset": "reset", "guest-panic": "panic"}


class Qmp:
    """Reads events from a connected socket.

    ended      becomes shutdown, reset, panic, or QEMU's word for why it stopped
    running    the guest's CPUs run: at once after a cold start, otherwise when its state is loaded
    saved      becomes "done", or why the guest could not be saved
    """

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.ended = ""
        self.running = False
        self.saved = ""
        self._asked = False
        self._buffer = b""

    def save(self, state: Path) -> None:
        """Write the guest's state to a file. Sets `saved` when done; the guest stands until
        go_on()."""
        self._say("migrate-set-parameters", {"max-bandwidth": 1 << 34})
        self._say("migrate", {"uri": f"exec:cat > {shlex.quote(str(state))}"})

    def go_on(self) -> None:
        self._say("cont")

    def wake(self) -> None:
        """Ask for the state, once the last answer is here: only a main loop that is awake moves the
        clock of a guest on whose CPUs are idle (-icount, sleep=off)."""
        if not self._asked:
            self._asked = True
            self._say("query-status")

    def _say(self, command: str, arguments: dict[str, Any] | None = None) -> None:
        message = {"execute": command, "id": command, "arguments": arguments or {}}
        try:
            self.connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            self.ended = self.ended or "no monitor"

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
            self._greeted()
        data = message.get("data")
        data = data if isinstance(data, dict) else {}
        event = message.get("event")
        if event == "GUEST_PANICKED":
            self.ended = "panic"
        elif event == "SHUTDOWN" and not self.ended:
            reason = str(data.get("reason", ""))
            self.ended = REASONS.get(reason, reason or "unknown")
        elif event in ("RESUME", "STOP"):
            self.running = event == "RESUME"
        elif event == "MIGRATION" and data.get("status") in ("completed", "failed"):
            self.saved = "done" if data["status"] == "completed" else FAILED
        else:
            self._answer(message)

    def _greeted(self) -> None:
        self._say("qmp_capabilities")
        events = [{"capability": "events", "state": True}]
        self._say("migrate-set-capabilities", {"capabilities": events})
        self._say("query-status")

    def _answer(self, message: dict[str, Any]) -> None:
        """Read the answer to a command."""
        asked, error = message.get("id"), message.get("error")
        self._asked = self._asked and asked != "query-status"
        if asked == "query-status" and isinstance(message.get("return"), dict):
            self.running = bool(message["return"].get("running"))
        elif asked == "migrate" and isinstance(error, dict):
            self.saved = str(error.get("desc", "migrate was refused"))[:200]
