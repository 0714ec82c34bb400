# SPDX-License-Identifier: MIT
"""Another processor version register (PVR) for a Power guest that has not started yet.

A kernel of Power chooses the driver of its PMU, and what it promises in AT_HWCAP2, by the PVR. With that of
an older CPU it behaves as on that one, and programs built for the newer one still run. QEMU has no option for
it; its GDB stub writes any register of a guest that was started with -S. Only the packets for that are here.
"""

from __future__ import annotations

import re
import socket
import time
from pathlib import Path

from kernels.errors import Missing

PATIENCE = 20.0
PIECE = 0x800  # bytes of a description asked for at once
LARGEST = 1 << 20


def options(folder: Path) -> list[str]:
    """What QEMU needs on its command line; `folder` gets the socket."""
    chardev = f"socket,id=stub,path={folder / 'stub'},server=on,wait=off"
    return ["-S", "-chardev", chardev, "-gdb", "chardev:stub"]


def set_and_start(folder: Path, value: int) -> None:
    """Write the PVR of the stopped guest, and let it run. Missing when the stub does not play along."""
    try:
        with _connect(folder / "stub") as connection:
            stub = _Stub(connection)
            stub.ask("qSupported:xmlRegisters=powerpc")
            if stub.ask(f"P{stub.number('pvr'):x}={value:016x}") != b"OK":
                raise Missing("the emulator does not let its PVR be written")
            stub.ask("D")
    except (OSError, ValueError) as error:
        raise Missing(f"the emulator's GDB stub: {error}") from None


def _connect(path: Path) -> socket.socket:
    end = time.monotonic() + PATIENCE
    while True:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE)
        try:
            connection.connect(str(path))
            return connection
        except OSError:
            connection.close()
            if time.monotonic() > end:
                raise
        time.sleep(0.05)


class _Stub:
    """Asks one thing at a time."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._buffer = b""

    def ask(self, text: str) -> bytes:
        """The answer to a packet, unescaped."""
        data = text.encode()
        self.connection.sendall(b"$%b#%02x" % (data, sum(data) % 256))
        while not (found := re.search(rb"\$([^#]*)#..", self._buffer, re.DOTALL)):
            more = self.connection.recv(65536)
            if not more or len(self._buffer) > LARGEST:
                raise ValueError("it went away, or said too much")
            self._buffer += more
        self._buffer = self._buffer[found.end() :]
        self.connection.sendall(b"+")
        return _unescape(found[1])

    def number(self, name: str) -> int:
        """The number of a register: they are counted through the descriptions in their order."""
        target, count = self._describe("target.xml"), 0
        for part in re.findall(r'xi:include href="([\w.-]+)"', target):
            for attributes in re.findall(r"<reg ([^>]*)>", self._describe(part)):
                given = re.search(r'regnum="(\d+)"', attributes)
                count = int(given[1]) if given else count
                if f'name="{name}"' in attributes:
                    return count
                count += 1
        raise ValueError(f"it knows no register {name}")

    def _describe(self, name: str) -> str:
        text = b""
        while len(text) < LARGEST:
            piece = self.ask(f"qXfer:features:read:{name}:{len(text):x},{PIECE:x}")
            if piece[:1] not in (b"l", b"m") or piece == b"m":
                raise ValueError(f"it has no description {name}")
            text += piece[1:]
            if piece[:1] == b"l":
                break
        return text.decode("utf-8", "replace")


def _unescape(data: bytes) -> bytes:
    """Resolve } before a byte, and * with a count, which repeats the byte before."""
    text, at = bytearray(), 0
    while at < len(data):
        if data[at] == ord("}") and at + 1 < len(data):
            at += 1
            text.append(data[at] ^ 0x20)
        elif data[at] == ord("*") and at + 1 < len(data) and text:
            at += 1
            text += text[-1:] * max(0, data[at] - 29)
        else:
            text.append(data[at])
        at += 1
    return bytes(text)
