# SPDX-License-Identifier: MIT
"""Between which two kernels of the matrix an answer changed: a binary search over rows.

The rows are those that differ from the first in their kernel alone, in the order of their series.
The search takes the answer to change once. Whatever contradicts that among the answers it has seen is
said, and so are the rows it has not asked.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kernels.errors import Missing, Usage
from kernels.matrix import Matrix, Row
from reports import speak, wordlist
from reports.text import Unusable, clean, load_json

POINT = re.compile(r"([a-z0-9_]+\.[a-z0-9_]+)\.([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)")


@dataclass(frozen=True)
class Answer:
    """What one row said. An empty verdict: it gave no result, for this reason."""

    row: str
    release: str
    verdict: str
    reason: str = ""

    def __str__(self) -> str:
        why = f": {clean(self.reason, 300)}" if self.reason else ""
        return f"{self.row:<22} {self.release:<28} {self.verdict or 'no result'}{why}"


@dataclass
class Search:
    """The rows in order, and a way to ask one; each is asked once."""

    rows: list[str]
    ask: Callable[[str], Answer]
    seen: dict[str, Answer] = field(default_factory=dict)

    def at(self, index: int) -> Answer:
        name = self.rows[index]
        if name not in self.seen:
            self.seen[name] = self.ask(name)
        return self.seen[name]

    def told(self, answer: Answer) -> bool:
        return answer.verdict in wordlist.CONCLUSIVE

    def _middle(self, low: int, high: int) -> int | None:
        """The row nearest to the middle that tells anything."""
        middle = (low + high) // 2
        for index in sorted(range(low + 1, high), key=lambda index: abs(index - middle)):
            if self.told(self.at(index)):
                return index
        return None

    def run(self) -> tuple[Answer, Answer]:
        """The last row that answers as the first one, and the next that does not."""
        low, high = 0, len(self.rows) - 1
        old, new = self.at(low), self.at(high)
        for end in (old, new):
            if not self.told(end):
                raise Missing(f"{end.row} does not tell: {end.verdict or 'no result'}, {end.reason}")
        if old.verdict == new.verdict:
            raise Missing(f"{old.row} and {new.row} both say {old.verdict}: nothing to search for")
        while (index := self._middle(low, high)) is not None:
            if self.at(index).verdict == old.verdict:
                low = index
            else:
                high = index
        return self.at(low), self.at(high)

    def contradictions(self, last: Answer, first: Answer) -> list[str]:
        """Answers that do not fit one change from the one verdict to the other."""
        found, border = [], self.rows.index(first.row)
        old, new = self.seen[self.rows[0]].verdict, self.seen[self.rows[-1]].verdict
        for index, name in enumerate(self.rows):
            answer = self.seen.get(name)
            if not answer or not self.told(answer):
                continue
            want = old if index < border else new
            if answer.verdict != want:
                found.append(f"{name} says {answer.verdict}, where one change would have {want}")
        return found

    @property
    def unasked(self) -> list[str]:
        return [name for name in self.rows if name not in self.seen]


def _kind(row: Row) -> tuple[object, ...]:
    """What rows have in common that differ in their kernel alone."""
    return (row.arch.name, row.flavour, row.machine, row.cpu, row.accel, row.cpus, row.pmu, row.dtb,
            row.append, bool(row.package))  # fmt: skip


def _series(row: Row) -> tuple[int, ...]:
    return (1 << 30,) if row.series == "newest" else tuple(map(int, row.series.split(".")))


def between(listed: Matrix, first: str, last: str, alone: bool = False) -> list[Row]:
    """The rows from one to the other, the older first; one row is enough where it may be `alone`."""
    for name in (first, last):
        if name not in listed.rows:
            raise Usage(speak.among("kernel", name, listed.rows))
    one, two = sorted((listed.rows[first], listed.rows[last]), key=_series)
    if one.name == two.name and alone:
        return [one]
    if _kind(one) != _kind(two):
        raise Usage(f"{one.name} and {two.name} differ in more than their kernel")
    alike = [row for row in listed.rows.values() if _kind(row) == _kind(one) and not row.unavailable]
    found = [row for row in alike if _series(one) <= _series(row) <= _series(two)]
    if _series(one) == _series(two):
        raise Usage(f"{one.name} and {two.name} are kernels of one series")
    return sorted(found, key=_series)


def split(point: str) -> tuple[str, str]:
    """The probe and the name of a point."""
    match = POINT.fullmatch(point)
    if not match:
        raise Usage(f"{point!r} is no point: PROBE.POINT, as in sw.clocks.cpu")
    return match[1], match[2]


def answer_of(folder: Path, row: str, persona: str, point: str) -> Answer:
    """What the result of a row says about a point."""
    probe, name = split(point)
    try:
        told = load_json(folder / "result.json")
        release = str(told["identity"]["release"])
        points = told["personas"][persona]["probes"][probe]["points"]
    except (Unusable, KeyError, TypeError) as error:
        return Answer(row, "", "", f"nothing about {probe} as {persona}: {clean(str(error), 200)}")
    if name not in points:
        raise Usage(f"{probe} has no point {name!r}; it has: {' '.join(sorted(points))}")
    said = points[name]
    return Answer(row, release, str(said["verdict"]), str(said.get("reason", "")))


def cache(base: Path, bundle: Path, probe: str, persona: str) -> Path:
    """Where answers of this very program are kept: another build asks again."""
    program = bundle / "bin" / "probes" / probe.replace(".", "/", 1)
    try:
        digest = hashlib.sha256(program.read_bytes()).hexdigest()[:12]
    except OSError:
        raise Usage(f"there is no probe {probe!r}") from None
    return base / "bisect" / f"{probe}-{persona}-{digest}"


def report(search: Search, last: Answer, first: Answer, point: str) -> list[str]:
    """The answer of a search, in lines."""
    lines = [f"{point} changed between these two:", f"  {last}", f"  {first}"]
    lines += [f"not one change: {what}" for what in search.contradictions(last, first)]
    silent = [answer for answer in search.seen.values() if not search.told(answer)]
    lines += [f"does not tell: {answer}" for answer in silent]
    if search.unasked:
        lines.append(f"not asked: {' '.join(search.unasked)}; a change there and back would be missed "
                     "(--all asks them)")  # fmt: skip
    return lines
