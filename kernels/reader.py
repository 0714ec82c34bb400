# SPDX-License-Identifier: MIT
"""Whether anybody still reads what a command prints, as `head` does not after its last line."""

from __future__ import annotations

import os
import select
import sys

STATUS = 141  # as a shell reports a program that SIGPIPE has ended


def gone() -> bool:
    """The other end of standard output's pipe is closed."""
    poller = select.poll()
    try:
        poller.register(sys.stdout.fileno(), 0)
        return any(event & select.POLLERR for _, event in poller.poll(0))
    except (AttributeError, OSError, ValueError):
        return False


def leave() -> int:
    """Say nothing more, not at the interpreter's end either. Returns the exit status."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return STATUS
