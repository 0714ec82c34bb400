# SPDX-License-Identifier: MIT
"""What an answer means to somebody who asks "does it work there?": four words, and why.

yes means that it was done and seen; no, that the kernel refuses it, or takes it and does it wrong;
blocked, that policy is in the way, which is named; not known, that nobody asked, that the thing was not
there, or that the answer was lost. The verdicts of a result are finer. Nothing but these four words is
said where a program's wishes are held against a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from reports import wordlist

# lint: allow second-list: these are the words for people, not the verdicts they come from
YES, NO, BLOCKED, UNKNOWN = "yes", "no", "blocked", "not known"
WORDS = (YES, NO, BLOCKED, UNKNOWN)
INSTEAD = "instead"     # of a wish: not as asked, and what stands in for it works
BEST_LAST = (NO, BLOCKED, UNKNOWN, YES)
# The ends of reasons by which a probe says that it did not ask.
NOT_ASKED = ("runs only with --may-disturb", "runs only with --hazards")


@dataclass(frozen=True)
class Said:
    """One of the four words, and why it is no yes."""
    word: str
    why: str = ""
    absent: bool = False    # asked, and the thing was not there
    verdict: str = field(default="", compare=False)     # the finer one that it comes from; "" where nobody asked

    def __str__(self) -> str:
        return f"{self.word}: {self.why}" if self.why else self.word


def of_point(point: dict[str, Any]) -> Said:
    """A point of a result."""
    verdict, reason = str(point["verdict"]), str(point.get("reason", ""))
    if verdict == YES:
        return Said(YES, verdict=verdict)
    if reason.endswith(NOT_ASKED) or verdict == "hazard":
        return Said(UNKNOWN, f"nobody asked: {reason}")
    if verdict == BLOCKED:
        return Said(BLOCKED, reason, verdict=verdict)
    if verdict == "absent":
        return Said(UNKNOWN, f"was not there: {reason}", absent=True, verdict=verdict)
    if verdict in wordlist.CONCLUSIVE:
        return Said(NO, reason if verdict == NO else f"{verdict}: {reason}", verdict=verdict)
    return Said(UNKNOWN, f"nobody could tell: {reason}", verdict=verdict)


def is_told(said: Said) -> bool:
    """Whether somebody asked, and could tell."""
    return said.word != UNKNOWN or said.absent


def worst(found: Sequence[Said]) -> Said:
    """What holds where all are needed."""
    return min(found, key=lambda each: BEST_LAST.index(each.word))


def best(found: Sequence[Said]) -> Said:
    """What holds where one is enough; of two that are not known, the one that somebody may yet ask."""
    return max(found, key=lambda each: (BEST_LAST.index(each.word), not each.absent))
