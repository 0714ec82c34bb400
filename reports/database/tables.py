# SPDX-License-Identifier: MIT
"""The tables, and the steps that bring an older database up to date.

Most of a result is the same on every run of a kernel, so it is stored by content, as git stores
trees: a record is what one probe concluded (status, verdicts, reasons), a sheet is the list of
records of one persona, and a run points to its sheet. What differs each time (milliseconds, facts,
evidence) lies beside it, packed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import (Column, ForeignKey, Index, Integer, LargeBinary, MetaData,
                        SmallInteger, String, Table, Text, inspect, select)
from sqlalchemy.engine import Connection

from reports.text import Unusable


class Failed(Unusable):
    """Raised when the database itself is of no use."""

METADATA = MetaData()


def _table(name: str, *columns: Column[object] | Index, **options: Any) -> Table:
    return Table(name, METADATA, *columns, **options)


def _to(name: str) -> ForeignKey:
    return ForeignKey(f"{name}.id")


META = _table("meta", Column("key", String(40), primary_key=True), Column("value", Text))
CATALOGUE = _table("catalogue", Column("digest", String(12), primary_key=True),
                   Column("packed", LargeBinary, nullable=False))
DEVICE = _table("device", Column("id", Integer, primary_key=True),
                Column("key", String(32), unique=True, nullable=False),
                Column("kind", String(16), nullable=False), Column("arch", Text, nullable=False),
                Column("label", Text, nullable=False))
KERNEL = _table("kernel", Column("id", Integer, primary_key=True),
                Column("key", String(32), unique=True, nullable=False),
                Column("arch", Text, nullable=False), Column("release", Text, nullable=False),
                Column("version", Text, nullable=False), Column("build_id", Text, nullable=False))
RESULT = _table("result", Column("id", Integer, primary_key=True),
                Column("digest", String(16), unique=True, nullable=False),
                Column("device", Integer, _to("device"), nullable=False, index=True),
                Column("kernel", Integer, _to("kernel"), nullable=False, index=True),
                Column("started", String(20), nullable=False), Column("suite", Text, nullable=False),
                Column("row", Text, nullable=False), Column("level", Text, nullable=False),
                Column("catalogue", String(12), nullable=False),
                Column("source", Text, nullable=False),
                Column("head", LargeBinary, nullable=False))
SHEET = _table("sheet", Column("id", Integer, primary_key=True),
               Column("digest", String(32), unique=True, nullable=False),
               Column("records", LargeBinary, nullable=False))
RUN = _table("run", Column("id", Integer, primary_key=True),
             Column("result", Integer, _to("result"), nullable=False, index=True),
             Column("persona", String(32), nullable=False),
             Column("sheet", Integer, _to("sheet"), nullable=False, index=True),
             Column("rest", LargeBinary, nullable=False),
             Column("transcripts", LargeBinary))
RECORD = _table("record", Column("id", Integer, primary_key=True),
                Column("digest", String(32), unique=True, nullable=False),
                Column("probe", String(100), nullable=False),
                Column("rest", Text, nullable=False))
POINT = _table("point", Column("id", Integer, primary_key=True),
               Column("key", Text, unique=True, nullable=False))
REASON = _table("reason", Column("id", Integer, primary_key=True),
                Column("digest", String(32), unique=True, nullable=False),
                Column("text", Text, nullable=False))
# Most rows are of this table, and they come in the order of their key: it is kept in that order, without
# an index beside it. Files made before have both, and work alike.
ANSWER = _table("answer", Column("record", Integer, _to("record"), primary_key=True, autoincrement=False),
                Column("point", Integer, _to("point"), primary_key=True, autoincrement=False),
                Column("verdict", String(16), nullable=False),
                Column("reason", Integer, _to("reason"), nullable=True),
                Column("undeclared", SmallInteger, nullable=False), sqlite_with_rowid=False)

# STEPS[n] brings a database of version n + 1 to version n + 2. Each runs in the transaction of the
# update, so a killed one leaves the old version.
STEPS: list[Callable[[Connection], None]] = []


def current() -> int:
    """The version that this code reads and writes."""
    return len(STEPS) + 1


def version_of(connection: Connection) -> int:
    """The version of a database; 0 when it is empty. Raises Failed for a file of another kind."""
    names = set(inspect(connection).get_table_names())
    if not names:
        return 0
    if "meta" not in names:
        raise Failed("this database was not made by perfmodes")
    found = connection.execute(select(META.c.value).where(META.c.key == "version")).scalar()
    if found is None or not found.isdecimal():
        raise Failed("this database does not say its version")
    return int(found)


def prepare(connection: Connection) -> None:
    """Create the tables, or bring them to the current version. Raises Failed for a later one."""
    version = version_of(connection)
    if version > current():
        raise Failed(f"this database has version {version}, written by a later perfmodes; "
                       f"this one reads up to {current()}")
    if version == 0:
        METADATA.create_all(connection)
        connection.execute(META.insert().values(key="version", value=str(current())))
        return
    for step in STEPS[version - 1:]:
        step(connection)
    if version < current():
        connection.execute(META.update().where(META.c.key == "version")
                           .values(value=str(current())))
