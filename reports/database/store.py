# SPDX-License-Identifier: MIT
"""Adds results to a database, each in a transaction of its own."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
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

Parts = dict[str, list[tuple[pack.Record, dict[str, Any]]]]


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

    def _ask(self, connection: Connection, table: Table, column: str, keys: list[Any]) -> None:
        known = self.known(table)
        for some in pack.some_of(keys):
            for row in connection.execute(select(table.c[column], table.c.id)
                                          .where(table.c[column].in_(some))):
                known[row[0]] = row[1]

    def get(self, connection: Connection, table: Table, column: str,
            rows: Iterable[dict[str, Any]]) -> set[Any]:
        """Write the rows that are not there yet; the keys that were new."""
        known = self.known(table)
        wanted = {row[column]: row for row in rows if row[column] not in known}
        if not wanted:
            return set()
        self._ask(connection, table, column, list(wanted))
        new = [row for key, row in wanted.items() if key not in known]
        if new:
            connection.execute(table.insert(), new)
            self._ask(connection, table, column, [row[column] for row in new])
        return {row[column] for row in new}


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
        for path in paths:
            try:
                with source.opened(path) as found:
                    for each in found:
                        yield self.add_one(each)
            except Failed:
                raise
            except Unusable as error:
                yield Outcome(text.clean(str(path), 200), REJECTED, str(error))

    def add_one(self, found: source.Found) -> Outcome:
        """Add one result, once. Raises Failed when the database cannot take it."""
        try:
            value = self._load(found)
            parts = self.checker.require(value, found.name)
            declared = self._declared(found, value)
            why = plausible.problem(value, self._by_key(declared))
        except Failed:
            raise
        except Unusable as error:
            return Outcome(found.name, REJECTED, str(error))
        if why:
            return Outcome(found.name, REJECTED, text.clean(why, 300))
        try:
            return self._write(found, value, parts, declared)
        except (exc.SQLAlchemyError, Unusable) as error:
            self.numbers = Numbers()    # some may be of the transaction that was rolled back
            why = connect.said(error) if isinstance(error, exc.SQLAlchemyError) else str(error)
            raise Failed(f"{found.name}: not added: {why}") from error

    def _load(self, found: source.Found) -> Any:
        file = found.path / "result.json" if found.folder else found.path
        if found.folder and not file.is_file():
            return results.build(found.path, self.expected)
        return text.load_json(file)

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
            return self._any()
        self.catalogues[digest] = made
        return made

    def _by_key(self, declared: Catalogue) -> plausible.Declared:
        if id(declared) not in self.by_key:
            self.by_key[id(declared)] = declared, plausible.declared_by(declared)
        return self.by_key[id(declared)][1]

    def _any(self) -> Catalogue:
        if self.fallback is None:
            try:
                self.fallback = catalogue.gather([catalogue.built(Path("."))])
            except Unusable:
                self.fallback = Catalogue()
        return self.fallback

    def _write(self, found: source.Found, value: dict[str, Any], parts: Parts,
               declared: Catalogue) -> Outcome:
        with connect.writing(self.engine) as connection:
            there = select(tables.RESULT.c.id).where(tables.RESULT.c.digest == value["id"])
            if connection.execute(there).scalar() is not None:
                return Outcome(found.name, KNOWN)
            if declared.digest() == value["tool"]["catalogue"]:
                _keep_catalogue(connection, declared)
            number = self._result(connection, found, value)
            self._records(connection, parts)
            for persona, rows in parts.items():
                self._run(connection, found, value, number, persona, rows)
        return Outcome(found.name, ADDED)

    def _result(self, connection: Connection, found: source.Found, value: dict[str, Any]) -> int:
        identity = value["identity"]
        device = machine.device_of(identity)
        kernel = {"key": machine.kernel_key(identity), "arch": text.clean(identity["arch"], 40),
                  "release": identity["release"], "version": identity.get("version", ""),
                  "build_id": identity.get("build_id", "")}
        self.numbers.get(connection, tables.DEVICE, "key", [
            {"key": device.key, "kind": device.kind, "arch": device.arch, "label": device.label}])
        self.numbers.get(connection, tables.KERNEL, "key", [kernel])
        head = {key: part for key, part in value.items() if key != "personas"}
        made = connection.execute(tables.RESULT.insert().values(
            digest=value["id"], device=self.numbers.known(tables.DEVICE)[device.key],
            kernel=self.numbers.known(tables.KERNEL)[kernel["key"]],
            started=value.get("started", ""), suite=value["suite"],
            row=_one(value["environment"].get("kernel_row", "")),
            level=_one(value["environment"].get("paranoid", "")),
            catalogue=value["tool"]["catalogue"], source=text.clean(found.name, 200),
            head=pack.pack(head)))
        return int(made.inserted_primary_key[0])

    def _records(self, connection: Connection, parts: Parts) -> None:
        """The records that no earlier result had, and their answers."""
        records = {record.digest: record for rows in parts.values() for record, _loose in rows}
        new = self.numbers.get(connection, tables.RECORD, "digest", (
            {"digest": record.digest, "probe": record.probe, "rest": _rest(record)}
            for record in records.values()))
        fresh = [records[digest] for digest in new]
        points = {f"{record.probe}.{name}" for record in fresh for name in record.content["points"]}
        self.numbers.get(connection, tables.POINT, "key", ({"key": key} for key in sorted(points)))
        reasons = {pack.digest_of(said.encode()): said for record in fresh
                   for said in _reasons(record)}
        self.numbers.get(connection, tables.REASON, "digest", (
            {"digest": digest, "text": said} for digest, said in reasons.items()))
        answers = [row for record in fresh for row in self._answers(record)]
        if answers:
            connection.execute(tables.ANSWER.insert(), answers)

    def _answers(self, record: pack.Record) -> Iterator[dict[str, Any]]:
        number = self.numbers.known(tables.RECORD)[record.digest]
        for name, point in record.content["points"].items():
            reason = point.get("reason")
            known = self.numbers.known(tables.REASON)
            yield {"record": number, "verdict": point["verdict"],
                   "point": self.numbers.known(tables.POINT)[f"{record.probe}.{name}"],
                   "reason": known[pack.digest_of(reason.encode())] if reason else None,
                   "undeclared": int(point.get("undeclared", False))}

    def _run(self, connection: Connection, found: source.Found, value: dict[str, Any], number: int,
             persona: str, rows: list[tuple[pack.Record, dict[str, Any]]]) -> None:
        known = self.numbers.known(tables.RECORD)
        packed = pack.numbers(sorted(known[record.digest] for record, _loose in rows))
        sheet = pack.digest_of(packed)
        self.numbers.get(connection, tables.SHEET, "digest", [{"digest": sheet, "records": packed}])
        rest = {"environment": value["personas"][persona]["environment"],
                "loose": {record.probe: loose for record, loose in rows if loose}}
        said = source.transcripts(found.folder, persona, [record.probe for record, _ in rows])
        connection.execute(tables.RUN.insert().values(
            result=number, persona=persona, sheet=self.numbers.known(tables.SHEET)[sheet],
            rest=pack.pack(rest), transcripts=pack.pack(said) if said else None))


def _one(value: str | list[str]) -> str:
    """The value of a key that should occur once."""
    return text.clean(value if isinstance(value, str) else value[0], 80)


def _reasons(record: pack.Record) -> Iterator[str]:
    return (point["reason"] for point in record.content["points"].values() if "reason" in point)


def _rest(record: pack.Record) -> str:
    """What a record has besides its points."""
    return pack.canonical({key: part for key, part in record.content.items()
                           if key != "points"}).decode()


def _keep_catalogue(connection: Connection, declared: Catalogue) -> None:
    table = tables.CATALOGUE
    digest = declared.digest()
    if connection.execute(select(table.c.digest).where(table.c.digest == digest)).scalar() is None:
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
