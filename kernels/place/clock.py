# SPDX-License-Identifier: MIT
"""Compares the clock of a machine with ours, from readings at both ends of a run."""

from __future__ import annotations


def wrong_clock(clocks: list[tuple[float, float]], early: tuple[float, float] = (0.0, 0.0)) -> str:
    """What is wrong with the machine's clock, or empty. `clocks` are pairs: our reading, its own. Its own
    may have been read so many seconds `early` as the answer was on its way, the first and the last.

    A guest calibrates its clock while it boots. On a starved host the clock may be wrong by a
    factor of ten, and with it every time-out, rate and interval. Emulators that count instructions
    (-icount) run on virtual time and are not to be checked."""
    if len(clocks) < 2:
        return ""
    ours, its = (last - first for first, last in zip(*clocks, strict=True))
    if (ours - early[1]) / 2 - 1 <= its <= (ours + early[0]) * 1.25 + 1:
        return ""
    return f"the clock there went {its:.1f} s while {ours:.1f} s passed"
