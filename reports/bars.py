# SPDX-License-Identifier: MIT
"""A bar of verdicts: how large a part of an area says what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rich.text import Text

from reports import wordlist

# Where UTF-8 is read, signs of what is common are shades.
SHADES = {"#": "\u2588", "-": "\u2592", ":": "\u2591", ".": "\u00b7"}
# In the order of a bar: what is `not ok` stands at its end.
SIGNS = {word: (SHADES.get(sign, sign), sign) for word, sign in sorted(
    wordlist.SIGNS.items(), key=lambda item: item[0] in wordlist.NOT_OK)}


def shares(counts: Counter[str], width: int) -> dict[str, int]:
    """Cells of each verdict: in proportion, but whatever occurs has one, the worst first."""
    present = [word for word in SIGNS if counts[word]]
    if len(present) > width:
        worst = sorted(present, key=wordlist.WORST_FIRST.index)[:width]
        return {word: 1 for word in present if word in worst}
    total = sum(counts[word] for word in present)
    ideal = {word: counts[word] * width / total for word in present}
    cells = {word: max(1, int(ideal[word])) for word in present}
    while sum(cells.values()) > width:
        cells[max((word for word in present if cells[word] > 1),
                  key=lambda word: cells[word] - ideal[word])] -= 1
    while present and sum(cells.values()) < width:
        cells[max(present, key=lambda word: ideal[word] - cells[word])] += 1
    return cells


def bar(counts: Counter[str], width: int, unicode: bool) -> Text:
    """The bar, empty where nothing was asked."""
    made = Text()
    for word, count in shares(counts, width).items():
        made.append(SIGNS[word][not unicode] * count, wordlist.STYLES[word])
    made.append(" " * (width - len(made)))
    return made


def legend(words: Iterable[str], unicode: bool) -> Text:
    """What the signs of these verdicts mean."""
    made = Text()
    wanted = set(words)
    for word, signs in SIGNS.items():
        if word in wanted:
            made.append("  " if made else "")
            made.append(signs[not unicode], wordlist.STYLES[word])
            made.append(f" {word}")
    return made
