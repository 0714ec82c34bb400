# SPDX-License-Identifier: MIT
"""What the pages show: kernels on machines as columns, points as rows, in the order of the pages."""

from __future__ import annotations

import errno
import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy.engine import Connection

from reports import expect, personas, plain, text, wordlist
from reports.catalogue import Catalogue
from reports.database import command, matrix, query, whole
from reports.database.matrix import Column, Matrix
from reports.database.usage import Usage
from reports.declaration import Item, Probe
from reports.site import source

MIXED, SILENT = "mixed", ""
NAME_LIMIT = 80
FIRST = ("x86_64", "aarch64")      # architectures that most people look for
FILE_LIMIT = 100 << 20      # of a database that goes with the site


def slug(said: str) -> str:
    """A file name for a text: readable, and different for different texts."""
    plain = re.sub("[^a-z0-9]+", "-", said.lower()).strip("-")[:60]
    if plain == said:
        return plain
    return f"{plain or 'x'}-{hashlib.sha256(said.encode()).hexdigest()[:6]}"


@dataclass
class Spot:
    """A kernel on a kind of machine: one column of a table for each persona. Where several devices
    ran that kernel, it stands for all of them."""
    key: tuple[str, ...]
    columns: dict[str, list[Column]] = field(default_factory=dict)     # persona -> newest results
    stem: str = ""      # of its files; points name it on each page, so it is short

    @cached_property
    def one(self) -> Column:
        """The newest result, once all columns are there."""
        every = [column for found in self.columns.values() for column in found]
        return max(every, key=lambda each: (each.result.started, each.result.id))

    @property
    def arch(self) -> str:
        return self.one.result.kernel.arch

    @cached_property
    def release(self) -> str:
        return self.one.result.kernel.release

    @cached_property
    def kind(self) -> str:
        return self.one.result.device.kind

    @property
    def row(self) -> str:
        return self.one.result.row

    @cached_property
    def kernel(self) -> str:
        """How the kernel is called: its row of the matrix, or architecture and release."""
        return text.clean(self.row or f"{self.arch} {short(self.release)}", NAME_LIMIT)

    @property
    def level(self) -> str:
        """Its perf_event_paranoid, where nothing is said the one that kernels have."""
        return self.one.result.level or "2"

    @cached_property
    def name(self) -> str:
        """How the column is called: the kernel, and its level if that is unusual."""
        return text.clean(self.kernel + (f" paranoid={self.level}" if self.level != "2" else ""), NAME_LIMIT)

    @property
    def page(self) -> str:
        return f"{self.stem}.html"

    @property
    def suite(self) -> str:
        return self.one.result.suite

    @property
    def devices(self) -> int:
        return len({column.result.device.id for found in self.columns.values() for column in found})


def short(release: str) -> str:
    """A release for a narrow place: its numbers."""
    numbers = re.match(r"[0-9]+(?:\.[0-9]+){0,2}", release)
    return numbers[0] if numbers else text.clean(release, 24)


class Cell(NamedTuple):
    """What a persona on a spot finds. `verdict` is `mixed` where its devices differ; `told` is what the newest
    result says, and `reason` the number of its reason. Equal cells are one object."""
    verdict: str
    told: str
    reason: int | None
    counts: tuple[tuple[str, int], ...]


_ERRNO = re.compile(r"\b(?:" + "|".join(errno.errorcode.values()) + r")\b")
_REFUSES = re.compile(r"\b(?:refused|refuses|denied|may not be)\b")
_EITHER = re.compile(r"\b(?:may be|told (?:apart )?from|told apart)\b")


def is_refusal(meaning: str) -> bool:
    """Whether yes says that the kernel refuses something, as it should."""
    return bool(_REFUSES.search(meaning) or _ERRNO.search(meaning)) and not _EITHER.search(meaning)


@dataclass
class Point:
    """One row: what is asked, and where it stands in the catalogue."""
    key: str
    probe: Probe | None
    item: Item | None

    @property
    def area(self) -> str:
        return self.key.partition(".")[0]

    @property
    def page(self) -> str:
        return f"{self.key}.html" if re.fullmatch("[a-z0-9_.-]{1,150}", self.key) else \
            slug(self.key) + ".html"

    @property
    def meaning(self) -> str:
        return self.item.meaning if self.item else self.key

    @property
    def refuses(self) -> bool:
        return self.key.endswith("refused") or is_refusal(self.meaning)

    @property
    def title(self) -> str:
        return self.probe.title if self.probe else ""

    @cached_property
    def since(self) -> str:
        return self.probe.since_of(self.item) if self.probe and self.item else ""

    @property
    def commits(self) -> list[str]:
        own = self.item.commits if self.item else []
        return own or (self.probe.commits if self.probe else [])

    @property
    def needs(self) -> list[str]:
        return self.probe.needs_of(self.item) if self.probe and self.item else []

    @property
    def short_name(self) -> str:
        return self.key.split(".", 2)[-1] if self.key.count(".") > 1 else self.key


@dataclass
class Site:
    """All that the pages are made of."""
    connection: Connection
    matrix: Matrix
    declared: Catalogue
    expected: expect.Expectations
    spots: list[Spot]
    points: list[Point]
    personas: list[str]
    sources: source.Sources
    usage: Usage | None = None
    issues: str = ""        # where errors are reported
    said: dict[Cell, plain.Said] = field(default_factory=dict)      # what a cell means to people
    _cells: dict[tuple[int, ...], dict[int, Cell]] = field(default_factory=dict)     # by the sheets of a column
    _of_spot: dict[tuple[int, str], dict[int, Cell]] = field(default_factory=dict)   # of a spot of this site
    _known: dict[Cell, Cell] = field(default_factory=dict)
    _records: dict[int, dict[int, Cell]] = field(default_factory=dict)
    _shared: dict[tuple[int, int], dict[int, Cell]] = field(default_factory=dict)   # by record and number of devices
    _reasons: dict[int, str] = field(default_factory=dict)

    @cached_property
    def catalogue(self) -> str:
        """The digest of what the newest result of a whole suite was asked. The declarations are those of the tree."""
        return max(self.matrix.columns, key=_weight).result.catalogue

    @cached_property
    def areas(self) -> dict[str, list[Point]]:
        found: dict[str, list[Point]] = {}
        for point in self.points:
            found.setdefault(point.area, []).append(point)
        return found

    def cells(self, spot: Spot, persona: str) -> dict[int, Cell]:
        """point id -> cell, of one column."""
        found = self._of_spot.get((id(spot), persona))
        if found is None:
            columns = sorted(spot.columns.get(persona, []), key=lambda each: (each.result.started, each.result.id))
            at = tuple(each.sheet for each in columns)
            if at not in self._cells:
                self._cells[at] = self._column(columns)
            found = self._of_spot[id(spot), persona] = self._cells[at]
        return found

    def _one(self, *values: Any) -> Cell:
        made = Cell(*values)
        return self._known.setdefault(made, made)

    def _record(self, record: int) -> dict[int, Cell]:
        """point -> cell, of a record, which many columns share."""
        if record not in self._records:
            self._records[record] = {
                point: self._one(answer.verdict, answer.verdict, answer.reason, ((answer.verdict, 1),))
                for point, answer in self.matrix.answers(record)}
        return self._records[record]

    def _of_all(self, record: int, times: int) -> dict[int, Cell]:
        """The cells of a record that so many devices have."""
        if (record, times) not in self._shared:
            self._shared[record, times] = {point: self._one(cell.verdict, cell.told, cell.reason, ((cell.verdict, times),))
                                           for point, cell in self._record(record).items()}
        return self._shared[record, times]

    def _column(self, columns: list[Column]) -> dict[int, Cell]:
        """What the newest, the last, says; several devices are counted."""
        found: dict[int, Cell] = {}
        for record in self.matrix.records(columns[-1]) if columns else ():
            found.update(self._record(record))
        if len(columns) < 2:
            return found
        counts: dict[int, Counter[str]] = {}
        # What all have alike is there already but for its number: of many devices, most records are.
        for record, times in Counter(chain.from_iterable(map(self.matrix.records, columns))).items():
            if times == len(columns):
                found.update(self._of_all(record, times))
                continue
            for point, answer in self.matrix.answers(record):
                counts.setdefault(point, Counter())[answer.verdict] += times
        for point, each in counts.items():
            one = found.get(point)
            verdict = next(iter(each)) if len(each) == 1 else MIXED
            found[point] = self._one(verdict, one.told if one else "", one.reason if one else None,
                                     tuple(each.most_common()))
        return found

    def cell(self, point: Point, spot: Spot, persona: str) -> Cell | None:
        return self.cells(spot, persona).get(self.matrix.ids.get(point.key, -1))

    def reason(self, cell: Cell) -> str:
        if cell.reason is None:
            return ""
        if cell.reason not in self._reasons:
            self._reasons[cell.reason] = text.clean(self.matrix.reasons.get(cell.reason, ""), 1000)
        return self._reasons[cell.reason]

    @cached_property
    def held_back(self) -> set[int]:
        """The reasons of probes that would have disturbed or endangered the machine."""
        return {number for number, said in self.matrix.reasons.items() if said.endswith(plain.NOT_ASKED)}

    @cached_property
    def file(self) -> Path | None:
        """The database, where it is a file that is small enough to go with the site."""
        url = self.connection.engine.url
        path = Path(url.database or "")
        fits = url.get_backend_name() == "sqlite" and path.is_file() and path.stat().st_size <= FILE_LIMIT
        return path if fits else None

    @cached_property
    def coverage(self) -> dict[str, query.Covered]:
        return query.coverage(self.matrix, self.usage)

    @cached_property
    def reader(self) -> whole.Reader:
        return whole.Reader(self.connection)

    def pmu(self, spot: Spot) -> str:
        """Whether the PMU of the CPU counts there: 'counts', 'synthetic', or 'none'."""
        if spot.kind == "synthetic":
            return "synthetic"
        counts = any(cell.verdict == "yes" and self.matrix.points[point].startswith("hw.")
                     for persona in spot.columns for point, cell in self.cells(spot, persona).items())
        return "counts" if counts else "none"

    @cached_property
    def deviations(self) -> dict[str, list[expect.Deviation]]:
        found: dict[str, list[expect.Deviation]] = {}
        for each in self.expected.deviations:
            found.setdefault(each.probe, []).append(each)
        return found


def _spots(columns: Iterable[Column]) -> list[Spot]:
    """Columns by kernel and kind of machine, each device with its newest result."""
    newest: dict[tuple[object, ...], Column] = {}
    for column in columns:
        result = column.result
        key = (result.kernel.arch, result.kernel.release, result.device.kind, result.row, result.level)
        at = (key, result.device.id, column.persona)
        old = newest.get(at)
        if old is None or _weight(column) > _weight(old):
            newest[at] = column
    found: dict[tuple[str, ...], Spot] = {}
    for (key, _device, persona), column in newest.items():     # type: ignore[misc]
        spot = found.setdefault(key, Spot(key))                 # type: ignore[arg-type]
        spot.columns.setdefault(str(persona), []).append(column)
    spots = sorted(found.values(), key=lambda spot: (
        FIRST.index(spot.arch) if spot.arch in FIRST else len(FIRST), spot.arch, spot.one.result.kernel.order, spot.kind, spot.row, spot.one.result.level))
    _name_files(spots)
    return spots


def _name_files(spots: list[Spot]) -> None:
    """A file name for each: its name, and a hash where two would be called the same."""
    plain = [re.sub("[^a-z0-9.]+", "-", spot.name.lower()).strip("-.")[:40] for spot in spots]
    often = Counter(plain)
    for spot, name in zip(spots, plain, strict=True):
        digest = hashlib.sha256(repr(spot.key).encode()).hexdigest()[:6]
        spot.stem = name if name and often[name] == 1 else f"{name or 'x'}-{digest}"


def _weight(column: Column) -> tuple[bool, str, int]:
    """A whole suite says more than a part of it that ran later."""
    return column.result.suite == "default", column.result.started, column.result.id


def load(connection: Connection, wanted: matrix.Filter) -> Site:
    """The site of a database."""
    made = matrix.load(connection, wanted)
    declared = command.declarations(connection)
    used = {key for key in made.points.values() if not key.startswith("meta.")}
    known = {f"{probe.id}.{item.name}": Point(f"{probe.id}.{item.name}", probe, item)
             for probe in declared.probes.values() for item in probe.points()}
    points = [known.get(key, Point(key, None, None)) for key in sorted(used)]
    order = personas.in_order({column.persona for column in made.columns})
    return Site(connection, made, declared, expect.read(expect.FOLDER), _spots(made.columns), points,
                order, source.read())


def totals(site: Site, spot: Spot, persona: str) -> Counter[str]:
    return Counter(cell.verdict for cell in site.cells(spot, persona).values())


def by_area(site: Site, spot: Spot, persona: str, asked: bool = False) -> dict[str, Counter[str]]:
    """The verdicts of each area in one column; `asked`: without those of probes that were held back."""
    found: dict[str, Counter[str]] = {}
    for point, cell in site.cells(spot, persona).items():
        if asked and cell.reason in site.held_back:
            continue
        area = site.matrix.points[point].partition(".")[0]
        found.setdefault(area, Counter())[cell.verdict] += 1
    return found


def differing(verdict: str, newer: bool | None) -> str:
    """How a cell differs from upstream of its series: 'backport', 'lacks', 'wrong', or ''. `newer`: upstream has it later."""
    if verdict == "broken":
        return "wrong"
    if newer is None:
        return ""
    if verdict == "yes" and newer:
        return "backport"
    return "lacks" if verdict == "no" and not newer else ""


def letters() -> dict[str, str]:
    """The sign of each verdict in the data of the scripts."""
    return {word: str(number) for number, word in enumerate(wordlist.EVERY)} | {MIXED: "m", SILENT: "-"}


