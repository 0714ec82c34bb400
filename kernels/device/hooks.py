# SPDX-License-Identifier: MIT
"""Programs of a device's owner, run here."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time

from kernels.place.link import ending

LIMIT = 300.0


def run(words: tuple[str, ...], name: str, stop: threading.Event) -> str:
    """Run it and say how that ended. Raises KeyboardInterrupt when `stop` is set."""
    env = {**os.environ, "PERFMODES_DEVICE": name}
    what, until = words[0].rpartition("/")[2], time.monotonic() + LIMIT
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=env, start_new_session=True
            )
        except OSError as error:
            return f"{what} cannot be run: {error.strerror}"
        with ending(process):
            while process.poll() is None:
                if time.monotonic() > until:
                    return f"{what} did not end within {LIMIT:.0f} s"
                if stop.wait(0.1):
                    raise KeyboardInterrupt
        said.seek(0)
        lines = said.read(4096).decode("utf-8", "replace").strip().splitlines()
    return f"{what} ended with {process.returncode}" + (f": {lines[-1][:200]}" if lines and process.returncode else "")
