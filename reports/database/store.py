# SPDX-License-Identifier: MIT
"""Adds results to a database, each whole or not at all."""

from __future__ import annotations

import gc
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import Table, exc, func, select
from sqlalchemy.engine import Connection, Engine

from reports import catalogue, expect, result as results, text
from reports.catalogue import Catalogue
from reports.database import connect, machine, pack, plausible, source, tables, valid
from reports.database.connect import Failed
from reports.text import Unusable

ADDED, KNOWN, REJECTED = "added", "known", "rejected"
TOGETHER = 32       # results of one transaction


@dataclass(frozen=True)
class Run:
    """What one persona of a result is written as."""
    records: list[pack.Record]
    digests: list[str]      # of these
    rest: bytes
    transcripts: bytes | None


@dataclass(frozen=True)
class Ready:
    """A result that follows the schema and can be, as it is written."""
    name: str
    identity: dict[str, Any]
    row: dict[str, Any]
    runs: dict[str, Run]

    @property
    def digest(self) -> str:
        return str(self.row["digest"])


@dataclass(frozen=True)
class Outcome:
    """What became of one result, and why where it was rejected."""
    name: str
    what: str
    why: str = ""


@dataclass
class Numbers:
    """The ids of rows, by what makes each unique. They are never removed from a database, so what was
    once seen need not be asked again, unless the transaction that wrote it failed."""
    of: dict[str, dict[Any, int]] = field(default_factory=dict)

    def known(self, table: Table) -> dict[Any, int]:
        return self.of.setdefault(table.name, {})

    def get(self, connection: Connection, table: Table, column: str,
            rows: Iterable[dict[str, Any]]) -> set[Any]:
        """Write the rows that are not there yet; the keys that were new."""
        known = self.known(table)
        wanted = {row[column]: row for row in rows if row[column] not in known}
        if not wanted:
            return set()
        key, number = table.c[column], table.c.id
        for some in pack.some_of(wanted):
            known.update(connection.execute(select(key, number).where(key.in_(some))).all())
        new = {key: row for key, row in wanted.items() if key not in known}
        if new:     # nobody else writes now, so what comes after the last one is of these
            last = connection.execute(select(func.max(number))).scalar() or 0
            connection.execute(table.insert(), list(new.values()))
            known.update(connection.execute(select(key, number).where(number > last)).all())
        return set(new)


class Store:
    """Writes into one database."""

    def __init__(self, engine: Engine, expected: expect.Expectations) -> None:
        self.engine = engine
        self.expected = expected
        self.numbers = Numbers()
        self.checker = valid.Checker()
        self.catalogues: dict[str, Catalogue] = {}
        self.fallback: Catalogue | None = None
        self.by_key: dict[int, tuple[Catalogue, plausible.Declared]] = {}

    def add(self, paths: Iterable[Path]) -> Iterator[Outcome]:
        """Add all results that the paths hold."""
        return self._add(self._read(paths))

    def add_found(self, found: Iterable[source.Found]) -> Iterator[Outcome]:
        """Add these results, each of which is read when its turn comes."""
        return self._add(map(self._prepare, found))

    def add_one(self, found: source.Found) -> Outcome:
        """Add one result, once. Raises Failed when the database cannot take it."""
        return next(self.add_found([found]))

    def _read(self, paths: Iterable[Path]) -> Iterator[Ready | Outcome]:
        for path in paths:
            try:
                with source.opened(path) as found:
                    yield from map(self._prepare, found)
            except Failed:
                raise
            except Unusable as error:
                yield Outcome(text.clean(str(path), 200), REJECTED, str(error))

    def _add(self, every: Iterable[Ready | Outcome]) -> Iterator[Outcome]:
        """Write what is ready, many in a transaction: what it begins with costs as much as a result."""
        rest = iter(every)
        while some := _some(rest):
            ready = [each for each in some if isinstance(each, Ready)]
            written = self._write_some(ready)
            yield from (next(written) if isinstance(each, Ready) else each for each in some)

    def _prepare(self, found: source.Found) -> Ready | Outcome:
        """Read a result and look whether it can be."""
        try:
            taken = self._taken(found)
            declared = self._declared(found, taken.value)
            why = plausible.problem(taken, self._by_key(declared))
        except Failed:
            raise
        except Unusable as error:
            return Outcome(found.name, REJECTED, str(error).removeprefix(f"{_file(found)}: "))
        if why:
            return Outcome(found.name, REJECTED, text.clean(why, 300))
        return _ready(found, taken)

    def _taken(self, found: source.Found) -> pack.Taken:
        file = _file(found)
        if found.folder and not file.is_file():
            return self.checker.require(results.build(found.path, self.expected), found.name)
        said = text.load_source(file)
        return self.checker.of_text(said) or self.checker.require(text.parse_json(said, file), found.name)

    def _declared(self, found: source.Found, value: dict[str, Any]) -> Catalogue:
        """The declarations of the result: its own, those of its digest, or those of the tree."""
        digest = value["tool"]["catalogue"]
        if digest in self.catalogues:
            return self.catalogues[digest]
        made: Catalogue | None = None
        if found.folder:
            try:
                made = catalogue.read_text(found.folder / "catalogue")
            except OSError:
                pass
        if made is None or made.digest() != digest:
            with connect.reading(self.engine) as connection:
                made = stored_catalogue(connection, digest)
        if made is None:
            made = self._any()
        self.catalogues[digest] = made
        return made

    def _by_key(self, declared: Catalogue) -> plausible.Declared:
        if id(declared) not in self.by_key:
            self.by_key[id(declared)] = declared, plausible.Declared(declared)
        return self.by_key[id(declared)][1]

    def _any(self) -> Catalogue:
        if self.fallback is None:
            try:
                self.fallback = catalogue.gather([catalogue.built(Path("."))])
            except Unusable:
                self.fallback = Catalogue()
        return self.fallback

    def _write_some(self, ready: list[Ready]) -> Iterator[Outcome]:
        """Write these in one transaction; where it fails, each in one of its own, up to the one that fails."""
        try:
            outcomes = self._write(ready) if ready else []
        except (exc.SQLAlchemyError, Unusable) as error:
            self.numbers = Numbers()    # some may be of the transaction that was rolled back
            if len(ready) > 1:
                for each in ready:
                    yield from self._write_some([each])
                return
            why = connect.said(error) if isinstance(error, exc.SQLAlchemyError) else str(error)
            raise Failed(f"{ready[0].name}: not added: {why}") from error
        yield from outcomes

    def _write(self, ready: list[Ready]) -> list[Outcome]:
        with connect.writing(self.engine) as connection:
            self._machines(connection, ready)
            new = self.numbers.get(connection, tables.RESULT, "digest", map(self._result, ready))
            first = {each.digest: each for each in reversed(ready) if each.digest in new}
            for digest in {each.row["catalogue"] for each in first.values()}:
                _keep_catalogue(connection, digest, self.catalogues[digest])
            self._records(connection, first.values())
            self._runs(connection, first.values())
        return [Outcome(each.name, ADDED if first.get(each.digest) is each else KNOWN) for each in ready]

    def _machines(self, connection: Connection, ready: list[Ready]) -> None:
        self.numbers.get(connection, tables.DEVICE, "key", [
            {"key": device.key, "kind": device.kind, "arch": device.arch, "label": device.label}
            for device in (machine.device_of(each.identity) for each in ready)])
        self.numbers.get(connection, tables.KERNEL, "key", [
            {"key": machine.kernel_key(of), "arch": text.clean(of["arch"], 40), "release": of["release"],
             "version": of.get("version", ""), "build_id": of.get("build_id", "")}
            for of in (each.identity for each in ready)])

    def _result(self, ready: Ready) -> dict[str, Any]:
        return ready.row | {
            "device": self.numbers.known(tables.DEVICE)[machine.device_of(ready.identity).key],
            "kernel": self.numbers.known(tables.KERNEL)[machine.kernel_key(ready.identity)]}

    def _records(self, connection: Connection, ready: Iterable[Ready]) -> None:
        """The records that no earlier result had, and their answers."""
        known = self.numbers.known(tables.RECORD)
        records = {digest: record for each in ready for run in each.runs.values()
                   for digest, record in zip(run.digests, run.records) if digest not in known}
        new = self.numbers.get(connection, tables.RECORD, "digest", (
            {"digest": record.digest, "probe": record.probe, "rest": _rest(record)} for record in records.values()))
        fresh = [records[digest] for digest in new]
        points = {f"{probe}.{name}" for probe, names in _named(fresh).items() for name in names}
        self.numbers.get(connection, tables.POINT, "key", ({"key": key} for key in sorted(points)))
        said = {point["reason"] for record in fresh for point in record.content["points"].values() if "reason" in point}
        reasons = {each: pack.digest_of(each.encode()) for each in said}
        self.numbers.get(connection, tables.REASON, "digest", (
            {"digest": digest, "text": each} for each, digest in reasons.items()))
        numbers = {each: self.numbers.known(tables.REASON)[digest] for each, digest in reasons.items()}
        answers = [row for record in fresh for row in self._answers(record, numbers)]
        if answers:
            connect.insert(connection, tables.ANSWER, ("record", "point", "verdict", "reason", "undeclared"), answers)

    def _answers(self, record: pack.Record, reasons: dict[str, int]) -> list[tuple[Any, ...]]:
        number = self.numbers.known(tables.RECORD)[record.digest]
        known, begin = self.numbers.known(tables.POINT), record.probe + "."
        return [(number, known[begin + name], point["verdict"],
                 reasons[point["reason"]] if "reason" in point else None, int("undeclared" in point))
                for name, point in record.content["points"].items()]

    def _runs(self, connection: Connection, ready: Iterable[Ready]) -> None:
        records = self.numbers.known(tables.RECORD)
        rows: list[tuple[str, dict[str, Any]]] = []
        sheets: dict[str, bytes] = {}
        for each in ready:
            for persona, run in each.runs.items():
                packed = pack.numbers(sorted(map(records.__getitem__, run.digests)))
                digest = pack.digest_of(packed)
                sheets[digest] = packed
                rows.append((digest, {"result": self.numbers.known(tables.RESULT)[each.digest], "persona": persona,
                                      "rest": run.rest, "transcripts": run.transcripts}))
        self.numbers.get(connection, tables.SHEET, "digest", (
            {"digest": digest, "records": packed} for digest, packed in sheets.items()))
        if rows:
            known = self.numbers.known(tables.SHEET)
            connection.execute(tables.RUN.insert(), [row | {"sheet": known[digest]} for digest, row in rows])


def _file(found: source.Found) -> Path:
    return found.path / "result.json" if found.folder else found.path


def _some(rest: Iterator[Ready | Outcome]) -> list[Ready | Outcome]:
    with text.uncollected():
        some = list(islice(rest, TOGETHER))
        gc.collect()
        gc.freeze()     # what was learnt of them is a million objects, which need no second look
    return some


def _run(found: source.Found, taken: pack.Taken, persona: str) -> Run:
    records = [part.record for part, _loose in taken.parts[persona]]
    said = source.transcripts(found.folder, persona, [record.probe for record in records])
    return Run(records, taken.digests[persona], taken.rest(persona), pack.pack(said) if said else None)


def _ready(found: source.Found, taken: pack.Taken) -> Ready:
    value = taken.value
    return Ready(found.name, value["identity"], {
        "digest": value["id"], "started": value.get("started", ""), "suite": value["suite"],
        "row": _one(value["environment"].get("kernel_row", "")),
        "level": _one(value["environment"].get("paranoid", "")),
        "catalogue": value["tool"]["catalogue"], "source": text.clean(found.name, 200), "head": taken.head},
        {persona: _run(found, taken, persona) for persona in taken.parts})


def _one(value: str | list[str]) -> str:
    """The value of a key that should occur once."""
    return text.clean(value if isinstance(value, str) else value[0], 80)


def _named(records: Iterable[pack.Record]) -> dict[str, set[str]]:
    """Probe -> the names of its points."""
    found: dict[str, set[str]] = {}
    for record in records:
        found.setdefault(record.probe, set()).update(record.content["points"])
    return found


def _rest(record: pack.Record) -> str:
    """What a record has besides its points."""
    return pack.canonical({key: part for key, part in record.content.items()
                           if key != "points"}).decode()


def _keep_catalogue(connection: Connection, digest: str, declared: Catalogue) -> None:
    """Keep the declarations that results of this digest came with."""
    table = tables.CATALOGUE
    if connection.execute(select(table.c.digest).where(table.c.digest == digest)).scalar() is None \
            and declared.digest() == digest:
        packed = zlib.compress(declared.text.encode("utf-8", "surrogateescape"), 6)
        connection.execute(table.insert().values(digest=digest, packed=packed))


def declarations(connection: Connection) -> Catalogue:
    """What the results declare: each probe as the newest that came with it has it. A run of a small suite
    comes with the declarations of that suite alone."""
    table, kept = tables.RESULT, tables.CATALOGUE
    newest = func.max(table.c.started)
    rows = connection.execute(
        select(table.c.catalogue, newest).join(kept, kept.c.digest == table.c.catalogue)
        .group_by(table.c.catalogue).order_by(newest.desc(), table.c.catalogue))
    found = [made for row in rows.all() if (made := stored_catalogue(connection, row.catalogue))]
    if not found:
        return Catalogue()
    whole = Catalogue(text=found[0].text)
    for made in found:
        whole.probes = made.probes | whole.probes
    return whole


def stored_catalogue(connection: Connection, digest: str) -> Catalogue | None:
    """The catalogue of that digest, where a result came with it."""
    table = tables.CATALOGUE
    packed = connection.execute(select(table.c.packed).where(table.c.digest == digest)).scalar()
    return None if packed is None else \
        catalogue.parse(zlib.decompress(packed).decode("utf-8", "surrogateescape"))
