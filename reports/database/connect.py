# SPDX-License-Identifier: MIT
"""Opens a database: a file of SQLite, or a server by its URL (postgresql://...)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Table, create_engine, event, exc, text as sql
from sqlalchemy.engine import Connection, Engine, make_url

from reports import text
from reports.database import tables
from reports.database.tables import Failed
from reports.text import Unusable

DEFAULT = Path("results/results.db")
PATIENCE = 120      # seconds that a writer waits for the others


def _prepare_sqlite(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def connected(connection: Any, _record: Any) -> None:
        connection.isolation_level = None       # transactions begin where begun() says
        connection.execute("PRAGMA foreign_keys=ON")
        # A database that was killed in the middle rolls back when it is opened next.
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA cache_size=-65536")

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        write = connection.get_execution_options().get("write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def is_server(where: str) -> bool:
    """Whether it is the URL of a server and no file."""
    return "://" in where


def shown(where: str) -> str:
    """A file or URL as it may be printed: without a password."""
    if not is_server(where):
        return where
    try:
        return make_url(where).render_as_string(hide_password=True)
    except (exc.ArgumentError, ValueError):
        return f"{where.partition('://')[0]}://..."


def _server(where: str) -> Engine:
    """The engine of a URL. ModuleNotFoundError, for want of a driver, is for the command line to explain."""
    if not where.startswith(("postgresql://", "postgresql+")):
        raise Unusable(text.clean(f"{shown(where)}: neither a file of SQLite nor postgresql://USER@HOST/NAME", 300))
    try:
        return create_engine(where)
    except (exc.ArgumentError, ValueError) as error:
        raise Unusable(text.clean(f"{shown(where)}: no address of a server: postgresql://USER@HOST/NAME", 300)) from error


def open_engine(where: str, create: bool = False) -> Engine:
    """The engine of a file or URL. Raises Unusable when there is none and none is to be made."""
    if is_server(where):
        return _server(where)
    try:
        path = Path(where)
        if create:
            path.parent.mkdir(parents=True, exist_ok=True)
        elif not path.is_file():
            raise Unusable(f"{where}: no database here; make one with `./run.sh report db add RESULT...`")
        engine = create_engine(f"sqlite:///{os.path.abspath(path)}",
                               connect_args={"timeout": PATIENCE})
    except OSError as error:
        raise Unusable(f"{where}: {error.strerror or error}") from error
    _prepare_sqlite(engine)
    return engine


def said(error: exc.SQLAlchemyError) -> str:
    """What a database complains of, in one line without the statement."""
    cause = getattr(error, "orig", None) or error
    return text.clean(str(cause).strip().partition("\n")[0], 200)


def copy_of(file: Path, version: int) -> Path:
    """Where the copy of a file is kept that a newer version takes the place of."""
    return file.with_name(f"{file.name}.v{version}")


def _keep_copy(connection: Connection, version: int) -> None:
    """A copy of a file before it is brought up to date; nobody else writes to it now. A server has its own."""
    if connection.engine.dialect.name != "sqlite" or not 0 < version < tables.current():
        return
    file = Path(str(connection.engine.url.database))
    kept = copy_of(file, version)
    part = kept.with_name(kept.name + ".part")
    try:
        shutil.copyfile(file, part)
        os.replace(part, kept)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise Failed(text.clean(f"{file}: has version {version} and is left as it is, because no copy of it could be "
                                f"made beside it: {error.strerror}", 300)) from error


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes: alone, and whole or not at all. An older file is brought up to date first."""
    with engine.connect().execution_options(write=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            connection.execute(sql("SELECT pg_advisory_xact_lock(775)"))
        _keep_copy(connection, tables.version_of(connection))
        tables.prepare(connection)
        yield connection


def insert(connection: Connection, table: Table, names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    """Insert many small rows. What SQLAlchemy does to each takes longer than SQLite, which needs none of it."""
    if connection.dialect.name == "sqlite":
        marks = ", ".join("?" * len(names))
        connection.exec_driver_sql(f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({marks})", rows)
    else:
        connection.execute(table.insert(), [dict(zip(names, row)) for row in rows])


def _bring_up(engine: Engine, version: int) -> None:
    """Bring an older database up to date, which must be written for that."""
    try:
        with writing(engine):
            pass
    except exc.OperationalError as error:
        if "readonly" not in str(error.orig):
            raise
        raise Failed(text.clean(f"{engine.url.database}: has version {version}, and may not be written to be brought up to "
                                f"version {tables.current()}: use a copy that you may write", 300)) from error


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that reads one state of the database, brought up to date where it is older."""
    # A server lets each statement see the newest state unless it is asked for one.
    one = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    try:
        with engine.connect().execution_options(**one) as connection:
            with connection.begin():
                version = tables.version_of(connection)
            if version != tables.current():
                _bring_up(engine, version)
            with connection.begin():
                yield connection
    except exc.SQLAlchemyError as error:
        raise Failed(text.clean(f"{engine.url.database}: {said(error)}", 300)) from error
