# SPDX-License-Identifier: MIT
"""What a serial console is connected to here: a tty, a socket of QEMU, a console server."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import socket
import stat
import termios
import tty
from contextlib import suppress

from kernels.errors import Usage
from kernels.place.channel import printable

BAUDS = {rate: getattr(termios, f"B{rate}") for rate in (9600, 57600, 115200, 230400, 460800, 921600, 1500000)}
TCP = re.compile(r"tcp:([\w][\w.-]*|\[[0-9A-Fa-f:.]+\]):(\d{1,5})")
CONNECTING = 15.0


class Line:
    """`address` is PATH[@BAUD]: a tty, or a socket as QEMU makes one for a serial port; or
    tcp:HOST:PORT[@BAUD], a console server. What a server of telnet says besides is noise."""

    def __init__(self, address: str) -> None:
        path, at, baud = address.partition("@")
        self._tcp = TCP.fullmatch(path)
        known = baud in map(str, BAUDS) or (self._tcp and re.fullmatch("[1-9][0-9]{2,7}", baud))
        if not (path.startswith("/") or self._tcp) or (at and not known):
            bauds = " ".join(map(str, BAUDS))
            raise Usage(f"not /PATH[@BAUD] or tcp:HOST:PORT, BAUD of {bauds}: {address!r}")
        self.path, self.baud = path, int(baud or 115200)
        self._socket: socket.socket | None = None
        self._file, self._exclusive = -1, False

    @property
    def names(self) -> list[str]:
        return [self._tcp[1].strip("[]")] if self._tcp else [self.path]

    def open(self) -> int:
        """A file descriptor, until close. Raises OSError."""
        if self._tcp:
            where = (self._tcp[1].strip("[]"), int(self._tcp[2]))
            self._socket = socket.create_connection(where, CONNECTING)
            self._socket.settimeout(None)
            return self._socket.fileno()
        if stat.S_ISSOCK(os.stat(self.path).st_mode):
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.connect(self.path)
            return self._socket.fileno()
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            raise OSError(error.errno, "in use by another program") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.ioctl(self._file, termios.TIOCEXCL)  # who opens it after us is refused, but for root
            self._exclusive = True
        except OSError as error:
            self.close()
            said = "not a serial line" if error.errno in (errno.ENOTTY, errno.EINVAL) else "in use by another program"
            raise OSError(error.errno, said) from None
        tty.setraw(self._file)
        settings = termios.tcgetattr(self._file)
        settings[4] = settings[5] = BAUDS[self.baud]
        termios.tcsetattr(self._file, termios.TCSANOW, settings)
        return self._file

    def close(self) -> None:
        if self._socket:
            self._socket.close()
        elif self._file >= 0:
            if self._exclusive:  # else it stays so while somebody has it open who did before us
                with suppress(OSError):  # unplugged
                    fcntl.ioctl(self._file, termios.TIOCNXCL)
            os.close(self._file)
        self._exclusive = False
        self._socket, self._file = None, -1

    def silence(self, came: bytes) -> str:
        """Why there may be no answer, by what came instead."""
        odd = sum(not 32 <= byte < 127 and byte not in b"\r\n\t\x1b" for byte in came)
        if not came:
            return f"the console is silent: is the device on, and its cable the one of {self.path}?"
        if odd * 4 > len(came):
            return f"only garbage comes from the console: is {self.baud} its speed?"
        return f"no answer at the console; last line: {printable(came[-80:])!r}"
