# SPDX-License-Identifier: MIT
"""Programs of a device's owner, run here."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kernels.errors import Missing
from kernels.place.link import ending
from kernels.place.owner import Owner

LIMIT = 300.0
WHEN_STOPPED = 10.0  # seconds for `after` when the command is to end


def run(words: tuple[str, ...], name: str, stop: threading.Event) -> str:
    """Run it and say how that ended. Raises KeyboardInterrupt when `stop` is set."""
    return _run(words, name, stop, LIMIT)[1]


def _run(words: tuple[str, ...], name: str, stop: threading.Event, limit: float) -> tuple[bool, str]:
    """Whether it went well, and what is to be said."""
    env = {**os.environ, "PERFMODES_DEVICE": name}
    what, until = words[0].rpartition("/")[2], time.monotonic() + limit
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=env, start_new_session=True
            )
        except OSError as error:
            return False, f"{what} cannot be run: {error.strerror}"
        with ending(process):
            while process.poll() is None:
                if time.monotonic() > until:
                    return False, f"{what} did not end within {limit:.0f} s"
                if stop.wait(0.1):
                    raise KeyboardInterrupt
        said.seek(0)
        lines = said.read(4096).decode("utf-8", "replace").strip().splitlines()
    told = f": {lines[-1][:200]}" if lines and process.returncode else ""
    return process.returncode == 0, f"{what} ended with {process.returncode}{told}"


@contextmanager
def around(owner: Owner, name: str, stop: threading.Event, say: Callable[[str], None]) -> Iterator[None]:
    """The body runs between `before` and `after`, and not at all if `before` failed. `after` is run whatever
    comes of both; an interrupt leaves it a few seconds."""
    try:
        if owner.before:
            well, said = _run(owner.before, name, stop, LIMIT)
            say(f"before: {said}")
            if not well:
                raise Missing(f"before: {said}")
        yield
    finally:
        if owner.after:
            limit = WHEN_STOPPED if stop.is_set() else LIMIT
            say(f"after: {_run(owner.after, name, threading.Event(), limit)[1]}")
