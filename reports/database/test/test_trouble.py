# SPDX-License-Identifier: MIT
"""A writer is killed between two transactions and within one, beside a reader: on a file, and on a server of PostgreSQL.
`trouble.py` does it at random, with larger results."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select

from reports.database import connect, matrix, store, tables, whole
from reports.database.test import server, trouble
from reports.database.test.conftest import Database, make
from reports.test.conftest import TREE

# Adds results, says where it is, and goes on when it is told to.
WRITER = """
import sys
from pathlib import Path
from reports import expect
from reports.database import connect, store
where, *files = sys.argv[1:]
write, runs = store.Store._write, store.Store._runs

def stop(said):
    print(said, flush=True)
    sys.stdin.readline()

def wrote(self, ready):
    made = write(self, ready)
    stop("between")
    return made

def within(self, connection, ready):
    runs(self, connection, ready)
    stop("within")

store.Store._write, store.Store._runs = wrote, within
list(store.Store(connect.open_engine(where, create=True), expect.Expectations()).add(map(Path, files)))
"""


@pytest.fixture(params=["file", pytest.param("server", marks=pytest.mark.peer("postgresql"))])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "file":
        yield str(tmp_path / "shared.db")
        return
    pytest.importorskip("psycopg2", reason="python3-psycopg2 is not installed")
    found = server.programs()
    if not found:
        pytest.skip("the package postgresql is not installed")
    with server.running(found) as url:
        yield url


class Writer:
    """The program, and where it is."""

    def __init__(self, where: str, files: list[Path]) -> None:
        self.program = subprocess.Popen([sys.executable, "-c", WRITER, where, *files], cwd=TREE, text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def at(self) -> str:
        """Where it waits next; '' when it is done."""
        assert self.program.stdout is not None
        return self.program.stdout.readline().strip()

    def go(self) -> None:
        assert self.program.stdin is not None
        self.program.stdin.write("\n")

    def kill(self) -> None:
        self.program.kill()
        assert self.program.wait(900) < 0


def count(connection: connect.Connection) -> int:
    return int(connection.execute(select(func.count()).select_from(tables.RESULT)).scalar() or 0)


def test_what_is_there_stays_and_is_whole(database: Database, where: str) -> None:
    """The first transaction is committed, the second is cut in the middle twice, before a reader's eyes."""
    files = [database.write(make(started=f"2026-11-20T10:00:{number % 60:02}Z", release=f"6.{number}", reason=f"reason {number}"))
             for number in range(2 * store.TOGETHER)]
    connect.open_engine(where, create=True).dispose()
    one = Writer(where, files)
    assert one.at() == "within"
    one.go()
    assert one.at() == "between"
    one.kill()                                          # between two transactions
    assert trouble.look(where)[0] == store.TOGETHER
    for _time in range(2):
        one = Writer(where, files)
        for stage in ("within", "between"):             # finds the results of the first transaction there
            assert one.at() == stage
            one.go()
        assert one.at() == "within"
        engine = connect.open_engine(where)
        with connect.reading(engine) as connection:
            assert count(connection) == store.TOGETHER
            one.kill()                                  # within the second, and the reader reads on
            assert count(connection) == store.TOGETHER
        engine.dispose()
        assert trouble.look(where)[0] == store.TOGETHER
    one = Writer(where, files)
    while one.at():
        one.go()
    assert one.program.wait(900) == 0 and trouble.look(where)[0] == len(files)
    engine = connect.open_engine(where)
    with connect.reading(engine) as connection:
        found = {column.result.digest for column in matrix.load(connection).columns}
        assert len(found) == len(files) and all(whole.result(connection, digest)["id"] == digest for digest in found)
    engine.dispose()


def test_a_reader_sees_one_state_while_a_writer_commits(database: Database, where: str) -> None:
    """A server shows it the state that it began with; a file lets the writer wait until it is done."""
    files = [database.write(make(release=f"6.{number}")) for number in range(store.TOGETHER + 1)]
    connect.open_engine(where, create=True).dispose()
    one = Writer(where, files)
    for stage in ("within", "between"):
        assert one.at() == stage
        one.go()
    assert one.at() == "within"
    engine = connect.open_engine(where)
    with connect.reading(engine) as connection:
        assert count(connection) == store.TOGETHER
        one.go()
        if engine.dialect.name == "postgresql":
            assert one.at() == "between"                # committed
        assert count(connection) == store.TOGETHER
    if engine.dialect.name != "postgresql":
        assert one.at() == "between"
    one.go()
    assert one.program.wait(900) == 0
    with connect.reading(engine) as connection:
        assert count(connection) == len(files)
    engine.dispose()
