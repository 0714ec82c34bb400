# SPDX-License-Identifier: MIT
"""One lock for each device, among the commands of one user: files below ~/.local/state/perfmodes. Who
else uses a device is for the device to say (agent), and for a serial line its kernel."""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kernels.place.claim import state_folder

AGAIN = 0.5


@contextmanager
def locked(address: str, stop: threading.Event, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Have the lock of a device while the body runs. `waiting` is called while another command has it.
    Raises KeyboardInterrupt when `stop` is set. Where no lock can be made there is none."""
    name = hashlib.sha256(address.encode()).hexdigest()[:20]
    try:
        folder = state_folder() / "locks"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        yield
        return
    try:
        while not _taken(file):
            waiting()
            if stop.wait(AGAIN):
                raise KeyboardInterrupt
        yield
    finally:
        os.close(file)


def _taken(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        pass
    return True
