# SPDX-License-Identifier: MIT
"""PostgreSQL by the same code: a database that a farm shares. PERFMODES_POSTGRES names an empty database
to use; else a server is started where the package postgresql is installed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select, text as sql

from reports import verbs
from reports.database import connect, matrix, query, store, tables, whole
from reports.database.test import server
from reports.database.test.conftest import Database, make
from reports.test.conftest import TREE

pytest.importorskip("psycopg2", reason="python3-psycopg2 is not installed")
pytestmark = pytest.mark.peer("postgresql")


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    where = os.environ.get("PERFMODES_POSTGRES")
    found = server.programs()
    if where:
        yield where
    elif found:
        with server.running(found) as where:
            yield where
    else:
        pytest.skip("the package postgresql is not installed, and PERFMODES_POSTGRES names no database")


@pytest.fixture
def url(served: str) -> str:
    """The database, without tables."""
    engine = connect.open_engine(served, create=True)
    with engine.begin() as connection:
        tables.METADATA.drop_all(connection)
    engine.dispose()
    return served


def count(where: str) -> int:
    engine = connect.open_engine(where)
    with connect.reading(engine) as connection:
        found = int(connection.execute(select(func.count()).select_from(tables.RESULT)).scalar() or 0)
    engine.dispose()
    return found


def adder(where: str, *files: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", "reports", "db", "add", "--db", where, *files], cwd=TREE,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def many(database: Database, number: int, minute: int) -> list[Path]:
    return [database.write(make(started=f"2026-11-20T10:{minute:02}:{second:02}Z", release=f"6.{second}",
                                reason=f"reason {minute} {second}", personas={"root": {"hw.count.cycles": "blocked"}}))
            for second in range(number)]


def test_a_result_comes_out_as_it_went_in(database: Database, url: str) -> None:
    there = store.Store(connect.open_engine(url, create=True), database.store.expected)
    there.fallback = database.store.fallback
    result = make(personas={"root": {"hw.count.cycles": "broken"}}, reason="\u202e ' \" \\ %s \U0001f600")
    files = [database.write(result), database.write(result)]
    assert [each.what for each in there.add(files)] == [store.ADDED, store.KNOWN]
    with connect.reading(there.engine) as connection:
        assert whole.result(connection, result["id"]) == result
        made = matrix.load(connection)
        assert query.coverage(made)["hw.count.cycles"].hardware == {"broken": 1}
    there.engine.dispose()


def test_the_same_answers_as_a_file_gives(database: Database, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    files = [str(path) for path in many(database, 6, 0)]
    for where in (str(database.file), url):
        assert verbs.main(["db", "add", "--db", where, *files]) == 0
        capsys.readouterr()
        for asked in (("list",), ("coverage",), ("history", "hw.count.cycles"), ("lacking", "hw.count.cycles"),
                      ("classes",), ("backports",), ("point", "hw.count.cycles"), ("changes", "6.1", "6.2")):
            assert verbs.main(["db", *asked, "--json", "--db", where]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]


def test_two_writers_lose_nothing(database: Database, url: str) -> None:
    shared = many(database, 5, 0)
    both = [adder(url, *many(database, 15, minute), *shared) for minute in (1, 2)]
    assert [each.wait(900) for each in both] == [0, 0]
    assert count(url) == 35


def test_a_reader_sees_one_state(database: Database, url: str) -> None:
    """A result that is added meanwhile is in the next transaction, and not in this one."""
    first, second = many(database, 2, 3)
    assert adder(url, first).wait(900) == 0
    engine = connect.open_engine(url)
    of_runs = select(func.count(func.distinct(tables.RUN.c.result)))
    with connect.reading(engine) as connection:
        assert connection.execute(select(func.count()).select_from(tables.RESULT)).scalar() == 1
        assert adder(url, second).wait(900) == 0
        assert connection.execute(of_runs).scalar() == 1
    with connect.reading(engine) as connection:
        assert connection.execute(of_runs).scalar() == 2
    engine.dispose()


def test_killed_while_adding(database: Database, url: str) -> None:
    """What was added before the kill is whole; a second run adds the rest."""
    files = many(database, 40, 1)
    assert adder(url, files[0]).wait(900) == 0
    one = adder(url, *files)
    while one.poll() is None and count(url) < 4:
        pass
    one.send_signal(signal.SIGKILL)
    one.wait(300)
    engine = connect.open_engine(url)
    with connect.reading(engine) as connection:
        for column in matrix.load(connection).columns:
            assert whole.result(connection, column.result.digest)["id"] == column.result.digest
    engine.dispose()
    assert adder(url, *files).wait(900) == 0
    assert count(url) == len(files)


def test_a_server_of_a_later_version_is_not_touched(database: Database, url: str) -> None:
    assert adder(url, database.write(make())).wait(900) == 0
    engine = connect.open_engine(url)
    with engine.begin() as connection:
        connection.execute(sql("UPDATE meta SET value='99' WHERE key='version'"))
    engine.dispose()
    assert adder(url, database.write(make(release="6.2"))).wait(900) == 3
