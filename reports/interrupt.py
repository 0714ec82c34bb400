# SPDX-License-Identifier: MIT
"""Ctrl-C, from the start of a program on."""

from __future__ import annotations

import signal
from types import FrameType


def _once(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def ends_once() -> None:
    """The first Ctrl-C ends the work; those that follow do not disturb its end. Where the caller ignores it, it is
    ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _once)
