# SPDX-License-Identifier: MIT
"""What a program needs, held against a kernel, as a person reads it: each need in a line, each reason once."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence

from reports import plain, text
from reports.plain import Said
from reports.requirements import Finding

ORDER = (plain.BEST_LAST[-1], plain.INSTEAD, *plain.BEST_LAST[-2::-1])
WIDEST = 100
POINTS = 6      # of a reason that are named


def _wrapped(first: str, words: str, width: int, hang: int) -> Iterator[str]:
    yield from textwrap.wrap(text.clean(words, 2000), min(width, WIDEST), initial_indent=first,
                             subsequent_indent=" " * hang, break_on_hyphens=False, break_long_words=False)


Change = Callable[[Said, Sequence[str]], Sequence[str]]     # of a reason and its points: what to change, in lines


class Reasons:
    """Numbers for reasons, in the order in which they are met."""

    def __init__(self) -> None:
        self._points: dict[Said, dict[str, None]] = {}

    def number(self, said: Said, points: Sequence[str]) -> int:
        self._points.setdefault(said, {}).update(dict.fromkeys(points))
        return [*self._points].index(said) + 1

    def of(self, found: Finding) -> str:
        """"[1]"; "[1] [2]" where two are in the way; "[1], or [2]" of a second way."""
        ways = dict.fromkeys(" ".join(f"[{number}]" for number in sorted(
            self.number(said, points) for said, points in way.lacking)) for way in found.ways)
        return ", or ".join(ways)

    def lines(self, width: int, change: Change) -> Iterator[str]:
        for number, (said, points) in enumerate(self._points.items(), 1):
            yield from _wrapped(f"[{number}] ", str(said), width, 4)
            more = f" and {len(points) - POINTS} more" if len(points) > POINTS else ""
            if points:
                yield from _wrapped("  points  ", ", ".join([*points][:POINTS]) + more, width, 10)
            for words in change(said, [*points]):
                yield from _wrapped("  change  ", words, width, 10)


def _need(found: Finding, reasons: Reasons, mark: bool, width: int) -> Iterator[str]:
    what = found.need.what + (" (optional)" if mark and found.need.optional else "")
    if found.way is not None:
        how = f" (way {found.way + 1})" if found.way else ""
        of_synthetic = f" ({found.answer.why})" if found.answer.why else ""
        yield from _wrapped(f"{plain.YES:10}", what + how + of_synthetic, width, 10)
        return
    yield from _wrapped(f"{found.word:10}", f"{what}, because of {reasons.of(found)}", width, 10)
    if found.used:
        yield from _wrapped(" " * 10, found.used, width, 10)
    elif found.instead:
        yield from _wrapped(" " * 10, f"instead: {found.instead}", width, 10)


def summary(found: Sequence[Finding]) -> str:
    """"10 of 17 as asked, 7 in another way"."""
    if not found:
        return f"{plain.YES}, nothing is asked of perf events"
    words = [each.word for each in found]
    counts = [(f"{words.count(plain.YES)} of {len(words)} as asked", True),
              (f"{words.count(plain.INSTEAD)} in another way", plain.INSTEAD in words),
              (f"{words.count(plain.UNKNOWN)} not known", plain.UNKNOWN in words)]
    return ", ".join(said for said, is_there in counts if is_there)


def screen(about: Sequence[str], title: str, note: str, found: Sequence[Finding], width: int,
           change: Change = lambda said, points: ()) -> Iterator[str]:
    """What the place is; each need, what can be had first; then why the others cannot be, each reason once."""
    for line in about:
        yield from _wrapped(line[:len(line) - len(line.lstrip())], line.lstrip(), width, 2) if line else [""]
    yield from _wrapped("", f"{title}: {summary(found)}", width, 2)
    yield from _wrapped("  ", note, width, 2)
    if found:
        yield ""
    reasons = Reasons()
    mark = not all(each.need.optional for each in found)
    for each in sorted(found, key=lambda each: ORDER.index(each.word)):
        yield from _need(each, reasons, mark, width)
    if lines := [*reasons.lines(width, change)]:
        yield from ("", "Why:", *lines)
