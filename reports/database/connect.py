# SPDX-License-Identifier: MIT
"""Opens a database: a file of SQLite, or a server by its URL (postgresql://...)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, event, exc, text as sql
from sqlalchemy.engine import Connection, Engine

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


def open_engine(where: str, create: bool = False) -> Engine:
    """The engine of a file or URL. Raises Unusable when there is none and none is to be made."""
    try:
        if is_server(where):
            return create_engine(where)
        path = Path(where)
        if create:
            path.parent.mkdir(parents=True, exist_ok=True)
        elif not path.is_file():
            raise Unusable(f"{where}: no database here; make one with `./run.sh report db add RESULT...`")
        engine = create_engine(f"sqlite:///{os.path.abspath(path)}",
                               connect_args={"timeout": PATIENCE})
    except (exc.ArgumentError, ImportError) as error:
        raise Unusable(text.clean(f"{where}: {error}", 300)) from error
    except OSError as error:
        raise Unusable(f"{where}: {error.strerror or error}") from error
    _prepare_sqlite(engine)
    return engine


def said(error: exc.SQLAlchemyError) -> str:
    """What a database complains of, in one line without the statement."""
    cause = getattr(error, "orig", None) or error
    return text.clean(str(cause).strip().partition("\n")[0], 200)


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes: alone, and whole or not at all."""
    with engine.connect().execution_options(write=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            connection.execute(sql("SELECT pg_advisory_xact_lock(775)"))
        tables.prepare(connection)
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that reads one state of the database, brought up to date where it is older."""
    try:
        with engine.connect() as connection:
            with connection.begin():
                version = tables.version_of(connection)
            if version != tables.current():
                with writing(engine):
                    pass
            with connection.begin():
                yield connection
    except exc.SQLAlchemyError as error:
        raise Failed(f"database: {said(error)}") from error
