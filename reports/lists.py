# SPDX-License-Identifier: MIT
"""The lists that stand in one place: a second one of the same things, in any language, is found.

Each list is a file of rows that C includes and Python reads as text. A copy is recognised by what
its rows hold: a name beside what the list says of it, several times in one file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
COPIED_ROWS = 4     # fewer are examples


@dataclass(frozen=True)
class OneList:
    """A list, and how a row of a copy looks; the pattern may name groups of the list's own rows."""
    path: str
    of: str
    copy: re.Pattern[str]


LISTS = (
    # { EPERM, "EPERM" }, [EPERM] = "EPERM", case EPERM: return "EPERM", errno.EPERM: "EPERM"
    OneList("lib/errnos.def", "errno names",
            re.compile(r"""\b(E[A-Z0-9]{2,})\b[^\w\n"']{1,8}(?:return\s+)?["']\1["']""")),
)


def copies(path: str, text: str) -> Iterator[tuple[int, str]]:
    """(line, message) of what a file repeats of a list that is another's."""
    for one in LISTS:
        if path == one.path:
            continue
        found = list(one.copy.finditer(text))
        if len(found) >= COPIED_ROWS:
            yield (text.count("\n", 0, found[0].start()) + 1,
                   f"a second list of {one.of}, {len(found)} rows: the one is {one.path}")
