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


def record_of(connection: Connection, number: int) -> dict[str, Any]:
    """The content of a record."""
    table, answer, reason = tables.RECORD, tables.ANSWER, tables.REASON
    content: dict[str, Any] = json.loads(connection.execute(
        select(table.c.rest).where(table.c.id == number)).scalar() or "{}")
    rows = connection.execute(
        select(tables.POINT.c.key, answer.c.verdict, reason.c.text, answer.c.undeclared, table.c.probe)
        .select_from(answer.join(tables.POINT).join(table)
                     .outerjoin(reason, answer.c.reason == reason.c.id))
        .where(answer.c.record == number))
    points: dict[str, Any] = {}
    for row in rows:
        point = points[row.key.removeprefix(f"{row.probe}.")] = {"verdict": row.verdict}
        if row.text is not None:
            point["reason"] = row.text
        if row.undeclared:
            point["undeclared"] = True
    return content | {"points": points}


def _run(connection: Connection, run: Any) -> dict[str, Any]:
    sheet = connection.execute(select(tables.SHEET.c.records)
                               .where(tables.SHEET.c.id == run.sheet)).scalar()
    rest = pack.unpack(run.rest)
    probes = {}
    for number in pack.ids_of(sheet or b""):
        probe = connection.execute(select(tables.RECORD.c.probe)
                                   .where(tables.RECORD.c.id == number)).scalar()
        probes[probe] = pack.join(record_of(connection, number), rest["loose"].get(probe, {}))
    return {"environment": rest["environment"], "probes": probes}


def result(connection: Connection, digest: str) -> dict[str, Any]:
    """A result as it was added. Raises Unusable when there is none of that id."""
    table = tables.RESULT
    row = connection.execute(select(table.c.id, table.c.head)
                             .where(table.c.digest == digest_of(connection, digest))).one()
    made: dict[str, Any] = pack.unpack(row.head)
    runs = connection.execute(select(tables.RUN).where(tables.RUN.c.result == row.id))
    made["personas"] = {run.persona: _run(connection, run) for run in runs.all()}
    return made


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


def result_lines(said: str) -> Iterator[tuple[int, str, str]]:
    """(line number, point, line) of each result that a probe printed."""
    for number, line in enumerate(said.split("\n"), 1):
        match = _LINE.match(line)
        if match:
            yield number, match[1].partition(".")[2] or match[1], text.clean(line.strip(), 400)


def line_of(said: str, point: str) -> tuple[int, str] | None:
    """The number and text of the result line of a point in what its probe printed."""
    return next(((number, line) for number, name, line in result_lines(said) if name == point), None)
