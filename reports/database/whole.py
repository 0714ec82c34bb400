# SPDX-License-Identifier: MIT
"""Gives back whole results, and the evidence behind one cell."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.engine import Connection

from reports import text
from reports.database import pack, tables
from reports.text import Unusable

_LINE = re.compile(r"\s*(?:not )?ok \d+ (?:- )?([A-Za-z0-9_.-]+)")


def digest_of(connection: Connection, start: str) -> str:
    """The id of the one result that starts so. Raises Unusable."""
    table = tables.RESULT
    if not re.fullmatch("[0-9a-f]{4,16}", start):
        raise Unusable(text.clean(f"'{start}' is no id of a result: 4 to 16 hex digits", 100))
    found = list(connection.execute(select(table.c.digest).where(table.c.digest.like(f"{start}%"))))
    if len(found) != 1:
        raise Unusable(f"{len(found) or 'no'} results have an id that starts with {start}")
    return str(found[0].digest)


Record = tuple[str, dict[str, Any]]     # probe, content
KEPT = 50_000      # records that a reader keeps


def _records(connection: Connection, numbers: list[int]) -> dict[int, Record]:
    table, answer, reason = tables.RECORD, tables.ANSWER, tables.REASON
    found = {row.id: (row.probe, json.loads(row.rest) | {"points": {}}) for row in connection.execute(
        select(table.c.id, table.c.probe, table.c.rest).where(table.c.id.in_(numbers)))}
    rows = connection.execute(
        select(answer.c.record, tables.POINT.c.key, answer.c.verdict, reason.c.text, answer.c.undeclared)
        .select_from(answer.join(tables.POINT).outerjoin(reason, answer.c.reason == reason.c.id))
        .where(answer.c.record.in_(numbers)))
    for number, key, verdict, said, undeclared in rows:
        probe, content = found[number]
        point = content["points"][key.removeprefix(f"{probe}.")] = {"verdict": verdict}
        if said is not None:
            point["reason"] = said
        if undeclared:
            point["undeclared"] = True
    return found


class Reader:
    """Takes results out of a database. Results share most records, so these are kept."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.records: dict[int, Record] = {}

    def _need(self, numbers: set[int]) -> None:
        if len(self.records) > KEPT:
            self.records.clear()
        for some in pack.some_of(numbers - self.records.keys()):
            self.records |= _records(self.connection, some)

    def result(self, digest: str) -> dict[str, Any]:
        """A result as it was added. Raises Unusable when there is none of that id."""
        table = tables.RESULT
        row = self.connection.execute(select(table.c.id, table.c.head).where(
            table.c.digest == digest_of(self.connection, digest))).one()
        made: dict[str, Any] = pack.unpack(row.head)
        made["personas"] = self._personas(row.id)
        return made

    def _personas(self, number: int) -> dict[str, Any]:
        """The personas of a result."""
        runs = self.connection.execute(
            select(tables.RUN.c.persona, tables.RUN.c.rest, tables.SHEET.c.records).select_from(
                tables.RUN.join(tables.SHEET)).where(tables.RUN.c.result == number)).all()
        sheets = {run.persona: pack.ids_of(run.records) for run in runs}
        self._need({each for sheet in sheets.values() for each in sheet})
        made = {}
        for run in runs:
            rest = pack.unpack(run.rest)
            probes = {}
            for each in sheets[run.persona]:
                probe, content = self.records[each]
                probes[probe] = pack.join(content, rest["loose"].get(probe, {}))
            made[run.persona] = {"environment": rest["environment"], "probes": probes}
        return made


def result(connection: Connection, digest: str) -> dict[str, Any]:
    """A result as it was added. Raises Unusable when there is none of that id."""
    return Reader(connection).result(digest)


@dataclass(frozen=True)
class Evidence:
    """Where a cell comes from: the line that the probe printed, and what stands around it."""
    line: int
    said: str
    lines: tuple[str, ...]


def transcripts(connection: Connection, run: int) -> dict[str, str]:
    """probe -> what it printed, of one run; empty where only a result.json was added."""
    packed = connection.execute(select(tables.RUN.c.transcripts)
                                .where(tables.RUN.c.id == run)).scalar()
    found: dict[str, str] = pack.unpack(packed) if packed else {}
    return found


def loose(connection: Connection, run: int) -> dict[str, Any]:
    """probe -> milliseconds, facts and evidence of one run."""
    packed = connection.execute(select(tables.RUN.c.rest).where(tables.RUN.c.id == run)).scalar()
    found: dict[str, Any] = pack.unpack(packed)["loose"] if packed else {}
    return found


def around(connection: Connection, run: int) -> dict[str, str]:
    """What a run was done in: the machine's environment, its page size, and the persona's own."""
    row = connection.execute(select(tables.RESULT.c.head, tables.RUN.c.rest).select_from(
        tables.RUN.join(tables.RESULT)).where(tables.RUN.c.id == run)).one()
    head, rest = pack.unpack(row.head), pack.unpack(row.rest)
    found = head["environment"] | {"page_size": head["identity"].get("page_size", "")} | rest["environment"]
    return {key: str(value) for key, value in found.items()}


def result_lines(said: str) -> Iterator[tuple[int, str, str]]:
    """(line number, point, line) of each result that a probe printed."""
    for number, line in enumerate(said.split("\n"), 1):
        match = _LINE.match(line)
        if match:
            yield number, match[1].partition(".")[2] or match[1], text.clean(line.strip(), 400)


def line_of(said: str, point: str) -> tuple[int, str] | None:
    """The number and text of the result line of a point in what its probe printed."""
    return next(((number, line) for number, name, line in result_lines(said) if name == point), None)
