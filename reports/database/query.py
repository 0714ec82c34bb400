# SPDX-License-Identifier: MIT
"""Questions to a matrix: since when, where not, where it came back, what the lacking ones share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from reports import expect, text, wordlist
from reports.catalogue import Catalogue
from reports.database.matrix import Answer, Column, Device, Kernel, Matrix
from reports.database.plausible import Declared
from reports.database.usage import Usage
from reports.difference import LACKING, Change, in_order
from reports.text import Unusable

BEST_FIRST = ("yes", *(word for word in wordlist.WORST_FIRST if word not in ("yes", "unknown")))


@dataclass
class Step:
    """What the runs of one release say of a point."""
    release: str
    order: tuple[expect.Release, str]
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def works(self) -> bool:
        return self.counts["yes"] > 0

    @property
    def lacks(self) -> bool:
        """Whether the kernel lacks it or gets it wrong, wherever somebody could tell."""
        return not self.works and any(self.counts[word] for word in LACKING)


@dataclass
class Span:
    """Between which releases a point came or went. `before` is the last tested release without it,
    '' when none was; whether a release between the two has it was not tested."""
    at: str
    before: str = ""

    def __str__(self) -> str:
        return f"after {self.before}, by {self.at}" if self.before else f"{self.at} or earlier"


@dataclass
class History:
    """A point on one architecture over releases."""
    key: str
    arch: str
    steps: list[Step]

    def first(self) -> Span | None:
        """Since when it works."""
        good = [step for step in self.steps if step.works]
        if not good:
            return None
        without = [step for step in self.steps if step.lacks and step.order < good[0].order]
        return Span(good[0].release, without[-1].release if without else "")

    def last(self) -> Span | None:
        """The first release after the last good one that lacks it, or gets it wrong."""
        good = [step for step in self.steps if step.works]
        if not good:
            return None
        gone = [step for step in self.steps if step.lacks and step.order > good[-1].order]
        return Span(gone[0].release, good[-1].release) if gone else None


def history(matrix: Matrix, key: str) -> list[History]:
    """The point on each architecture, releases in order."""
    steps: dict[str, dict[str, Step]] = defaultdict(dict)
    for column, answer in matrix.of_point(key):
        kernel = column.result.kernel
        step = steps[kernel.arch].setdefault(kernel.release, Step(kernel.release, kernel.order))
        step.counts[answer.verdict] += 1
    return [History(key, arch, sorted(found.values(), key=lambda step: step.order))
            for arch, found in sorted(steps.items())]


@dataclass
class Backport:
    """A point that works on kernels older than its release."""
    key: str
    since: str
    kernels: list[str]


def backports(matrix: Matrix, declared: Catalogue) -> list[Backport]:
    """Points that work on kernels older than the release that upstream has them since."""
    asked = Declared(declared).asked
    found: dict[str, dict[Kernel, None]] = defaultdict(dict)
    for kernel, columns in by_kernel(matrix.columns).items():
        if expect.release_of(kernel.release) is None:
            continue        # nobody can tell what is newer
        for (point, verdict), _count in matrix.count(columns).items():
            known = asked.get(matrix.points[point])
            if verdict == "yes" and known and (known.release or (0, 0, 0)) > kernel.order[0]:
                found[matrix.points[point]][kernel] = None
    return [Backport(key, asked[key].since, [f"{kernel.arch} {kernel.release}" for kernel in
                                       sorted(found[key], key=lambda each: (each.arch, each.order))])
            for key in sorted(found)]


def by_kernel(columns: Iterable[Column]) -> dict[Kernel, list[Column]]:
    found: dict[Kernel, list[Column]] = {}
    for column in columns:
        found.setdefault(column.result.kernel, []).append(column)
    return found


def by_device(columns: Iterable[Column]) -> dict[Device, list[Column]]:
    found: dict[Device, list[Column]] = {}
    for column in columns:
        found.setdefault(column.result.device, []).append(column)
    return found


@dataclass
class Covered:
    """How many devices said what of a point, by their newest result. Only real hardware is hardware."""
    hardware: Counter[str] = field(default_factory=Counter)
    other: Counter[str] = field(default_factory=Counter)
    used: dict[str, float] = field(default_factory=dict)     # verdict -> weight of the devices that say so

    def share(self) -> float | None:
        """The part of the hardware that could tell on which it works."""
        told = sum(self.hardware[word] for word in wordlist.CONCLUSIVE)
        return self.hardware["yes"] / told if told else None

    def in_use(self) -> float | None:
        """The part of what is in use, of that which could tell, on which it works."""
        told = sum(self.used.get(word, 0.0) for word in wordlist.CONCLUSIVE)
        return self.used.get("yes", 0.0) / told if told else None


def best(verdicts: Iterable[str]) -> str:
    """What a device says: that it works for somebody, else the worst that is certain."""
    found = set(verdicts)
    return next((word for word in BEST_FIRST if word in found), "unknown")


def coverage(matrix: Matrix, usage: Usage | None = None) -> dict[str, Covered]:
    """The points over devices. A device counts once, with the newest result that asked the point."""
    found: dict[str, Covered] = defaultdict(Covered)
    devices = by_device(matrix.columns)
    weights = usage.weights({device: max((column.result for column in columns),
                                         key=lambda each: (each.started, each.id))
                             for device, columns in devices.items()}) if usage else {}
    for device, columns in devices.items():
        for point, said in matrix.best_of(columns).items():
            counts, verdict = found[matrix.points[point]], best(said)
            (counts.hardware if device.kind == "hardware" else counts.other)[verdict] += 1
            if device.id in weights:
                counts.used[verdict] = counts.used.get(verdict, 0.0) + weights[device.id]
    return dict(found)


def _traits(column: Column) -> dict[str, str]:
    result = column.result
    return {"architecture": result.kernel.arch, "series": result.kernel.series,
            "kind of machine": result.device.kind, "device": result.device.label,
            "persona": column.persona, "perf_event_paranoid": result.level}


@dataclass
class Lacking:
    """Columns without a point, and what they share that no column with it has."""
    key: str
    without: list[tuple[Column, Answer]]
    shared: list[str]
    by_reason: Counter[str]


def lacking(matrix: Matrix, key: str) -> Lacking:
    """The negative set of a point. Who could not tell is in neither set."""
    told = [pair for pair in matrix.of_point(key) if pair[1].verdict != "unknown"]
    without = [pair for pair in told if pair[1].verdict != "yes"]
    traits = [_traits(column) for column, answer in told if answer.verdict == "yes"]
    lost = [_traits(column) for column, _answer in without]
    shared = []
    for name in lost[0] if lost else ():
        values = {each[name] for each in lost} - {each[name] for each in traits}
        explained = sum(each[name] in values for each in lost)
        if values and values != {""}:
            shared.append(f"{name} {', '.join(sorted(values))}: {explained} of {len(lost)}, and none "
                          "that has it")
    reasons = Counter(f"{answer.verdict}: {matrix.reason(answer)}" for _column, answer in without)
    return Lacking(key, without, shared, reasons)


def classes(matrix: Matrix) -> list[tuple[list[Device], list[str]]]:
    """Devices whose newest results lack the same points, and these points; the largest class first."""
    groups: dict[tuple[str, ...], list[Device]] = defaultdict(list)
    for device, columns in by_device(matrix.columns).items():
        missing = tuple(sorted(matrix.points[point] for point, words in matrix.best_of(columns).items()
                               if best(words) in LACKING))
        groups[missing].append(device)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return [(devices, list(missing)) for missing, devices in ordered]


def changed(matrix: Matrix, before: Sequence[Column], after: Sequence[Column]) -> list[Change]:
    """What changed from one result to another; records that both have are not looked at."""
    changes = []
    old = {column.persona: set(matrix.records(column)) for column in before}
    for column in after:
        records = set(matrix.records(column))
        was, now = ({point: answer for record in some for point, answer in matrix.answers(record)}
                    for some in (old.get(column.persona, records) - records,
                                 records - old.get(column.persona, records)))
        changes += [Change(column.persona, matrix.points[point], was[point].verdict, now[point].verdict,
                           matrix.reason(now[point]))
                    for point in was.keys() & now.keys() if was[point].verdict != now[point].verdict]
    return in_order(changes)


Told = dict[tuple[str, int], Answer]     # (persona, point) -> the worst that devices say


def _worst(sides: Iterable[Told]) -> Told:
    """What several say together."""
    found: Told = {}
    for key, answer in (each for side in sides for each in side.items()):
        found[key] = min((found.get(key, answer), answer), key=lambda each: wordlist.WORST_FIRST.index(each.verdict))
    return found


def _levels(matrix: Matrix, name: str) -> dict[str, Told]:
    """What a kernel says at each level of perf_event_paranoid that it was asked at; by release, row or result. Raises
    Unusable."""
    found: dict[str, list[Told]] = defaultdict(list)
    for column in matrix.columns:
        if name in (column.result.kernel.release, column.result.row, column.result.digest):
            found[column.result.level].append({(column.persona, point): answer for point, answer in matrix.of(column).items()})
    if not found:
        raise Unusable(text.clean(f"{name}: no result is of this kernel; `db list` tells which there are", 300))
    return {level: _worst(sides) for level, sides in found.items()}


def between(matrix: Matrix, before: str, after: str) -> list[Change]:
    """What changed from one kernel to another, where each says one thing: at the levels that both were asked at, or
    at whatever levels they were where there is none. Raises Unusable where one of them has no result."""
    old, new = _levels(matrix, before), _levels(matrix, after)
    pairs = [(old[level], new[level]) for level in sorted(old.keys() & new.keys())] or [(_worst(old.values()), _worst(new.values()))]
    changes: dict[tuple[str, ...], Change] = {}     # once, at however many levels
    for was, now in pairs:
        for persona, point in sorted(was.keys() & now.keys()):
            words = was[persona, point].verdict, now[persona, point].verdict
            if words[0] != words[1]:
                key = matrix.points[point]
                changes.setdefault((persona, key, *words), Change(persona, key, *words, matrix.reason(now[persona, point])))
    return in_order(changes.values())
