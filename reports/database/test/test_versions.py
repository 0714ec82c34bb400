# SPDX-License-Identifier: MIT
"""Databases that earlier code made, and what becomes of an older file."""

from __future__ import annotations

import lzma
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text as sql

from reports.database import connect, matrix, query, store, tables, whole
from reports.database.test.conftest import Database, make
from reports.text import Unusable

MADE = Path(__file__).parent / "made"
COMMITS = sorted(path.name.removesuffix(".db.xz") for path in MADE.glob("*.db.xz"))
NOBODY = 65534


def put(commit: str, folder: Path) -> Path:
    """The database of a commit."""
    file = folder / "old.db"
    file.write_bytes(lzma.decompress((MADE / f"{commit}.db.xz").read_bytes()))
    return file


def of_old(connection: connect.Connection) -> None:
    """A step to a next version, for these tests."""
    connection.execute(sql("ALTER TABLE result ADD COLUMN colour TEXT"))
    connection.execute(sql("UPDATE result SET colour='blue'"))


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may write everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_there_are_some() -> None:
    assert len(COMMITS) >= 3


@pytest.mark.parametrize("commit", COMMITS)
def test_what_earlier_code_made_is_read_and_written(commit: str, tmp_path: Path, database: Database) -> None:
    file = put(commit, tmp_path)
    engine = connect.open_engine(str(file))
    with connect.reading(engine) as connection:
        made = matrix.load(connection)
        digests = sorted({each.result.digest for each in made.columns})
        assert len(digests) == 3
        for digest in digests:
            assert whole.result(connection, digest)["id"] == digest
        assert [each.arch for each in query.history(made, "hw.count.cycles")] == ["aarch64", "x86_64"]
    there = store.Store(engine, database.store.expected)
    there.fallback = database.store.fallback
    assert [each.what for each in there.add([database.write(make()), database.write(make(release="6.18.1"))])] == \
        [store.KNOWN, store.ADDED]
    engine.dispose()


@pytest.mark.parametrize("commit", COMMITS)
def test_a_step_keeps_a_copy(commit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = put(commit, tmp_path)
    before = file.read_bytes()
    monkeypatch.setattr(tables, "STEPS", [of_old])
    engine = connect.open_engine(str(file))
    with connect.reading(engine) as connection:
        assert tables.version_of(connection) == 2
        assert connection.execute(sql("SELECT DISTINCT colour FROM result")).scalars().all() == ["blue"]
    assert connect.copy_of(file, 1).read_bytes() == before and file.read_bytes() != before
    with connect.reading(engine):       # and once only
        pass
    assert connect.copy_of(file, 1).read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir() if "old" in path.name) == ["old.db", "old.db.v1"]
    engine.dispose()


def test_without_room_for_a_copy_it_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = put(COMMITS[0], tmp_path)
    before = file.read_bytes()
    monkeypatch.setattr(tables, "STEPS", [of_old])
    connect.copy_of(file, 1).mkdir()
    (connect.copy_of(file, 1) / "full").touch()
    with pytest.raises(Unusable, match="has version 1 and is left as it is, because no copy"), \
            connect.reading(connect.open_engine(str(file))):
        pass
    assert file.read_bytes() == before and not list(tmp_path.glob("*.part"))


def test_a_file_that_may_not_be_written_is_read_or_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    file = put(COMMITS[0], shared)
    for each, mode in ((file, 0o444), (shared, 0o555)):
        each.chmod(mode)
    opened = [up for up in (tmp_path, *tmp_path.parents) if not up.stat().st_mode & 0o001]
    modes = {up: up.stat().st_mode & 0o7777 for up in opened}
    try:
        for up in opened:
            up.chmod(modes[up] | 0o011)
        with as_nobody():
            with connect.reading(connect.open_engine(str(file))) as connection:
                assert len(matrix.load(connection).columns) > 3
            monkeypatch.setattr(tables, "STEPS", [of_old])
            with pytest.raises(Unusable) as said, connect.reading(connect.open_engine(str(file))):
                pass
        assert "has version 1" in str(said.value) and ("may not be written" in str(said.value) or "no copy" in str(said.value))
    finally:
        for up, mode in modes.items():
            up.chmod(mode)
    assert [path.name for path in shared.iterdir()] == ["old.db"]


def test_a_newer_file_is_told_and_not_touched(tmp_path: Path) -> None:
    file = put(COMMITS[-1], tmp_path)
    with connect.writing(connect.open_engine(str(file))) as connection:
        connection.execute(sql("UPDATE meta SET value='9' WHERE key='version'"))
    before = file.read_bytes()
    with pytest.raises(Unusable, match="has version 9, written by a later perfmodes"), \
            connect.reading(connect.open_engine(str(file))):
        pass
    assert file.read_bytes() == before and [path.name for path in tmp_path.glob("old*")] == ["old.db"]
