# SPDX-License-Identifier: MIT
"""Lines that fit a screen: cut to its width, and as many as it has, what is left out being said."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rich.text import Text

CUT = ".."


def fit(line: Text, width: int) -> Text:
    """The line, cut where it is too long for the width."""
    line.rstrip()
    if line.cell_len > width:
        line.truncate(width - len(CUT))
        line.append(CUT)
    return line


def hang(head: Text, body: str, width: int, most: int) -> list[Text]:
    """A head and, beside it, a text in at most so many lines."""
    room = max(width - head.cell_len, 16)
    parts = textwrap.wrap(body, room, break_on_hyphens=False) or [""]
    if len(parts) > most:
        parts[most - 1:] = [" ".join(parts[most - 1:])[:room - len(CUT)].rstrip() + CUT]
    lines = [Text.assemble(head, parts[0])]
    lines += [Text(" " * head.cell_len + part) for part in parts[1:]]
    return [fit(line, width) for line in lines]


def enumerated(head: Text, names: Sequence[str], width: int, most: int) -> list[Text]:
    """Names beside a head, in at most so many lines; those that do not fit are counted."""
    for left in range(len(names)):
        shown = ", ".join(names[:len(names) - left]) + (f" and {left} more" if left else "")
        if len(textwrap.wrap(shown, max(width - head.cell_len, 16), break_on_hyphens=False)) <= most:
            break
    return hang(head, shown if names else "", width, most)


@dataclass
class Section:
    """A part of a screen whose rows can be left out when there is no room for all of them."""
    title: list[Text]
    rows: list[list[Text]]
    more: Callable[[list[int]], list[Text]]     # the lines that say which rows are left out
    least: int = 3                          # lines it has at least, if it needs them
    drop: Sequence[int] = field(default_factory=list)   # rows in the order they give way
    tail: int = 0                           # rows at the end that stand below the lines `more`

    def need(self) -> int:
        return sum(map(len, self.rows))

    def lines(self, room: int) -> list[Text]:
        """The rows in at most so many lines, the last ones of which say what is not shown."""
        left, dropped, more = self.need(), list[int](), list[Text]()
        if left > room:
            for index in self.drop or range(len(self.rows) - 1, -1, -1):    # else from the end
                dropped.append(index)
                left -= len(self.rows[index])
                if left < room and left + len(more := self.more(sorted(dropped))) <= room:
                    break
        kept = [row for index, row in enumerate(self.rows) if index not in dropped]
        if dropped:
            kept.insert(len(kept) - self.tail, more)
        return [line for row in kept for line in row]


def allot(sections: Sequence[Section], room: int) -> list[int]:
    """Lines for each section: its least first, then one by one in turn while there are any."""
    given = [min(section.need(), section.least) for section in sections]
    spare = room - sum(given)
    while spare > 0:
        wanting = [index for index, section in enumerate(sections) if given[index] < section.need()]
        if not wanting:
            break
        for index in wanting[:spare]:
            given[index] += 1
            spare -= 1
    return given
