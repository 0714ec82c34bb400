# SPDX-License-Identifier: MIT
"""The table behind all views: points as rows; kernels on devices, asked as a persona, as columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.engine import Connection

from reports import expect, personas, text
from reports.database import pack, tables


class Answer(NamedTuple):
    """What a record says of a point."""
    verdict: str
    reason: int | None
    record: int


@dataclass(frozen=True)
class Device:
    """A make of machine."""
    id: int
    key: str
    kind: str
    arch: str
    label: str


@dataclass(frozen=True)
class Kernel:
    """A build of a kernel."""
    id: int
    arch: str
    release: str
    version: str
    build_id: str

    @cached_property
    def order(self) -> tuple[expect.Release, str]:
        """Sorts by release; a vendor's suffix comes last."""
        return expect.release_of(self.release) or (0, 0, 0), self.release

    @cached_property
    def series(self) -> str:
        """The first two numbers of the release."""
        numbers = expect.release_of(self.release)
        return f"{numbers[0]}.{numbers[1]}" if numbers else self.release


@dataclass(frozen=True)
class Result:
    """One result, without its answers."""
    id: int
    digest: str
    device: Device
    kernel: Kernel
    started: str
    suite: str
    row: str
    level: str
    catalogue: str
    source: str


@dataclass(frozen=True)
class Column:
    """What one persona of one result was asked."""
    run: int
    result: Result
    persona: str
    sheet: int

    @property
    def place(self) -> tuple[Any, ...]:
        """Sorts columns: architecture, release, device, level, persona."""
        kernel = self.result.kernel
        return kernel.arch, kernel.order, self.result.device.label, self.result.level, self.persona


@dataclass
class Filter:
    """Which columns are meant; an empty glob fits all."""
    kernel: str = ""
    arch: str = ""
    device: str = ""
    persona: str = ""
    kind: str = ""
    after: str = ""         # results that started on this day or later
    newest: bool = True     # only the newest result of a kernel on a device

    def fits(self, column: Column) -> bool:
        result = column.result
        pairs = ((self.kernel, (result.kernel.release, result.row)), (self.arch, (result.kernel.arch,)),
                 (self.device, (result.device.label,)), (self.persona, (column.persona,)),
                 (self.kind, (result.device.kind,)))
        return all(not glob or any(fnmatchcase(value, glob) for value in values) for glob, values in pairs) \
            and result.started >= self.after


@dataclass
class Matrix:
    """The columns of a database and, by sheet, what they say."""
    connection: Connection
    columns: list[Column]
    points: dict[int, str] = field(default_factory=dict)
    _answers: dict[int, list[tuple[int, Answer]]] = field(default_factory=dict)
    _sheets: dict[int, Any] = field(default_factory=dict)

    @cached_property
    def ids(self) -> dict[str, int]:
        return {key: number for number, key in self.points.items()}

    @cached_property
    def reasons(self) -> dict[int, str]:
        table = tables.REASON
        return {row.id: row.text for row in self.connection.execute(select(table.c.id, table.c.text))}

    def records(self, column: Column) -> Any:
        """The records of a column."""
        return self._sheets[column.sheet]

    def answers(self, record: int) -> list[tuple[int, Answer]]:
        return self._answers.get(record, [])

    @cached_property
    def probes(self) -> dict[int, str]:
        """record -> the probe that it is of."""
        table = tables.RECORD
        return {row.id: row.probe for row in self.connection.execute(select(table.c.id, table.c.probe))}

    def best_of(self, columns: Iterable[Column]) -> dict[int, list[str]]:
        """point -> what the personas of the newest result that asked its probe say. All columns are of
        one device."""
        newest: dict[str, int] = {}
        said: dict[int, list[str]] = {}
        for column in sorted(columns, key=lambda each: (each.result.started, each.result.id), reverse=True):
            for record in self._sheets[column.sheet]:
                if newest.setdefault(self.probes[record], column.result.id) == column.result.id:
                    for point, answer in self._answers.get(record, ()):
                        said.setdefault(point, []).append(answer.verdict)
        return said

    def of(self, column: Column) -> dict[int, Answer]:
        """point -> what the column says of it."""
        return {point: answer for record in self._sheets[column.sheet]
                for point, answer in self._answers.get(record, ())}

    def of_point(self, key: str) -> Iterator[tuple[Column, Answer]]:
        """The columns that were asked this point."""
        number = self.ids.get(key)
        told = {record: answer for record, rows in self._answers.items()
                for point, answer in rows if point == number}
        by_sheet: dict[int, Answer | None] = {}
        for column in self.columns:
            if column.sheet not in by_sheet:
                hits = told.keys() & set(self._sheets[column.sheet])
                by_sheet[column.sheet] = told[min(hits)] if hits else None
            answer = by_sheet[column.sheet]
            if answer is not None:
                yield column, answer

    def count(self, columns: Iterable[Column]) -> Counter[tuple[int, str]]:
        """How often each point has each verdict over these columns."""
        sheets = Counter(column.sheet for column in columns)
        records: Counter[int] = Counter()
        for sheet, times in sheets.items():
            for record in self._sheets[sheet]:
                records[record] += times
        counts: Counter[tuple[int, str]] = Counter()
        for record, times in records.items():
            for point, answer in self._answers.get(record, ()):
                counts[point, answer.verdict] += times
        return counts

    def reason(self, answer: Answer) -> str:
        return self.reasons.get(answer.reason, "") if answer.reason is not None else ""


def _results(connection: Connection) -> dict[int, Result]:
    devices = {row.id: Device(row.id, row.key, row.kind, row.arch, row.label)
               for row in connection.execute(select(tables.DEVICE))}
    kernels = {row.id: Kernel(row.id, row.arch, row.release, row.version, row.build_id)
               for row in connection.execute(select(tables.KERNEL))}
    table = tables.RESULT
    columns = [column for column in table.c if column.name != "head"]
    return {row.id: Result(row.id, row.digest, devices[row.device], kernels[row.kernel], row.started,
                           row.suite, row.row, row.level, row.catalogue, row.source)
            for row in connection.execute(select(*columns))}


def newest(columns: Iterable[Column]) -> list[Column]:
    """Of each persona on a kernel of a device at a level, the column of the newest result. A later
    result of a smaller suite does not hide an earlier one of another suite."""
    found: dict[tuple[Any, ...], Column] = {}
    for column in sorted(columns, key=lambda each: (each.result.started, each.result.id)):
        result = column.result
        found[result.device.id, result.kernel.id, result.level, result.row, result.suite,
              column.persona] = column
    return list(found.values())


def load(connection: Connection, wanted: Filter | None = None) -> Matrix:
    """The columns that a filter lets through, in order, and what they say."""
    wanted = wanted or Filter()
    results = _results(connection)
    table = tables.RUN
    rows = connection.execute(select(table.c.id, table.c.result, table.c.persona, table.c.sheet))
    columns = [Column(row.id, results[row.result], row.persona, row.sheet) for row in rows]
    if wanted.newest:
        columns = newest(columns)
    order = {name: number for number, name in enumerate(personas.names())}
    columns = sorted(filter(wanted.fits, columns), key=lambda each: (
        each.place[:-1], order.get(each.persona, len(order)), each.persona, each.run))
    made = Matrix(connection, columns)
    made.points = {row.id: row.key for row in connection.execute(select(tables.POINT))}
    used = {column.sheet for column in columns}
    made._sheets = {row.id: pack.ids_of(row.records)
                    for row in connection.execute(select(tables.SHEET.c.id, tables.SHEET.c.records))
                    if row.id in used}
    made._answers = _answers(connection)
    return made


def _answers(connection: Connection) -> dict[int, list[tuple[int, Answer]]]:
    """What each record says. A million rows: they come as the driver gives them, since a row of SQLAlchemy takes longer
    than all else that is done to it; and most points of a record say the same."""
    table = tables.ANSWER
    wanted = select(table.c.record, table.c.point, table.c.verdict, table.c.reason).order_by(table.c.record, table.c.point)
    found: dict[int, list[tuple[int, Answer]]] = {}
    known: dict[tuple[str, int | None], Answer] = {}
    now: int | None = None
    said: list[tuple[int, Answer]] = []
    with text.uncollected(), closing(connection.connection.cursor()) as cursor:
        cursor.execute(str(wanted.compile(connection)))
        for record, point, verdict, reason in cursor:
            if record != now:
                now, said, known = record, found.setdefault(record, []), {}
            answer = known.get((verdict, reason))
            if answer is None:
                answer = known[verdict, reason] = Answer(verdict, reason, record)
            said.append((point, answer))
    return found
