# SPDX-License-Identifier: MIT
"""What goes into a database comes out again, once, whole, or with a reason why not."""

from __future__ import annotations

import bz2
import copy
import gc
import gzip
import io
import lzma
import os
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies
from sqlalchemy import func, select, text as sql
from sqlalchemy.exc import OperationalError

from reports import answers, catalogue, expect
from reports.database import connect, matrix, pack, plausible, ship, source, store, tables, valid, whole
from reports.database.test.conftest import CATALOGUE, POINTS, Database, make, sealed
from reports.test.conftest import TREE, MakeRun
from reports.text import Unusable


def count(database: Database, table: str = "result") -> int:
    with connect.reading(database.engine) as connection:
        return int(connection.execute(select(func.count()).select_from(tables.METADATA.tables[table]))
                   .scalar() or 0)


def test_a_result_comes_out_as_it_went_in(database: Database) -> None:
    result = make(personas={"root": {"hw.count.cycles": "broken"}, "user": {"task.two.moves": "blocked"}})
    assert [each.what for each in database.add(result, result)] == [store.ADDED, store.KNOWN]
    with connect.reading(database.engine) as connection:
        assert whole.result(connection, result["id"]) == result
        assert whole.result(connection, result["id"][:6]) == result
        with pytest.raises(Unusable, match="no results"):
            whole.result(connection, "0000ffff")


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(strategies.dictionaries(
    strategies.sampled_from([f"{probe}.{name}" for probe, names in POINTS.items() for name in names]),
    strategies.sampled_from(["yes", "no", "broken", "blocked", "hazard", "unknown"])),
    strategies.text(strategies.characters(blacklist_categories=("Cs", "Cc")), min_size=1))
def test_any_result_comes_out_as_it_went_in(tmp_path: Path, verdicts: dict[str, str], why: str) -> None:
    database = Database(tmp_path)
    result = make(personas={"root": verdicts}, reason=why)
    assert database.add(result)[0].what in (store.ADDED, store.KNOWN)
    with connect.reading(database.engine) as connection:
        assert whole.result(connection, result["id"]) == result


def test_what_repeats_is_stored_once(database: Database) -> None:
    database.add(*(make(started=f"2026-11-20T10:00:{second:02}Z") for second in range(20)))
    assert count(database) == 20
    assert count(database, "record") == len(POINTS)
    assert count(database, "sheet") == 1


def test_the_id_is_made_of_what_results_share() -> None:
    """It is the hash of the whole result, which is not written out again for it."""
    result = make(personas={"root": {"hw.count.cycles": "broken"}, "user": {"task.two.moves": "blocked"}}, reason="a \u20ac \" \\ z")
    probes = result["personas"]["root"]["probes"]
    probes["hw.count"] |= {"facts": {"b": True, "a": -3, "c": "\u00fc \"", "z.y": 0}, "leftover": 2, "warnings": ["one"]}
    probes["task.two"] = {"status": "crashed", "signal": 11, "facts": {}, "points": probes["task.two"]["points"]}
    checker = valid.Checker()
    for made in (sealed(result), *(each for name in answers.names()[:3] for each in ship._results(name, expect.Expectations()))):
        for _again in range(2):
            taken = checker.require(made, "a result")
            assert taken.content_id == made["id"]
            assert pack.unpack(taken.head) == {key: value for key, value in made.items() if key != "personas"}


def test_what_repeats_is_looked_at_once(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither taken apart nor judged again; and there is one transaction for many results."""
    seen: list[str] = []
    with connect.writing(database.engine):
        pass    # the tables are there
    for where, name in ((pack, "part_of"), (plausible.Declared, "_tell"), (connect, "writing")):
        def called(*args: Any, _was: Any = getattr(where, name), _name: str = name) -> Any:
            seen.append(_name)
            return _was(*args)
        monkeypatch.setattr(where, name, called)
    outcomes = database.add(*(make(started=f"2026-11-20T10:00:{second:02}Z") for second in range(store.TOGETHER + 3)))
    assert [each.what for each in outcomes] == [store.ADDED] * len(outcomes)
    assert [each.name for each in outcomes] == [f"{number}.result.json" for number in range(1, len(outcomes) + 1)]
    assert {name: seen.count(name) for name in seen} == {"part_of": len(POINTS), "_tell": len(POINTS), "writing": 2}


@pytest.mark.parametrize("points", [{}, 0, [], None, {"cycles": {}}, {"cycles": {"verdict": "yes", "more": 1}}], ids=repr)
def test_what_is_known_of_a_probe_says_nothing_of_its_points(points: Any) -> None:
    """Nor the other way round: where all else was in an earlier result."""
    checker, made = valid.Checker(), make()
    checker.require(copy.deepcopy(made), "a result")
    made["personas"]["root"]["probes"]["hw.count"]["points"] = points
    if points == {}:
        checker.require(made, "a result")
    else:
        with pytest.raises(Unusable, match="points"):
            checker.require(made, "a result")
    made = make()
    made["personas"]["root"]["probes"]["hw.count"]["status"] = "well"
    with pytest.raises(Unusable, match="status"):
        checker.require(made, "a result")


def test_what_was_learnt_is_not_collected_again(database: Database) -> None:
    """The collector of cycles would look at all of it after each transaction, and find none."""
    gc.unfreeze()
    database.add(make())
    known = [*database.store.checker.parts.values()]
    assert gc.get_freeze_count() > 0 and known
    assert not {id(part.record.content) for part in known} & {id(each) for each in gc.get_objects()}


def test_what_goes_in_circles_is_not_kept(database: Database) -> None:
    """What is frozen is never collected again."""
    class Circle:
        def __init__(self) -> None:
            self.self = self

    def found() -> Iterator[source.Found]:
        for result in (make(), make(release="6.1.2")):
            made.append(weakref.ref(Circle()))
            yield source.Found(database.write(result), "a result")
    made: list[weakref.ref[Circle]] = []
    assert len(list(database.store.add_found(found()))) == len(made) == 2
    gc.collect()
    assert [each() for each in made] == [None, None]


def test_one_that_fails_takes_no_other_with_it(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes before it in its transaction is written in transactions of its own."""
    good, bad, later = (make(release=release) for release in ("6.1.1", "6.1.2", "6.1.3"))
    real = store.Store._runs

    def runs(self: store.Store, connection: connect.Connection, ready: Any) -> None:
        if any(each.digest == bad["id"] for each in ready):
            raise OperationalError("insert", {}, Exception("the disk is full"))
        real(self, connection, ready)

    monkeypatch.setattr(store.Store, "_runs", runs)
    outcomes = database.store.add([database.write(each) for each in (good, bad, later)])
    assert next(outcomes).what == store.ADDED
    with pytest.raises(Unusable, match="^2.result.json: not added: the disk is full"):
        next(outcomes)
    assert count(database) == 1
    monkeypatch.undo()
    assert [each.what for each in database.add(good, bad, later)] == [store.KNOWN, store.ADDED, store.ADDED]


def test_what_a_probe_found_besides_is_that_of_its_run(database: Database) -> None:
    """Each of two results, and of two personas, with a fact of its own."""
    made = [make("6.1.0-1-amd64"), make("6.12.0-1-amd64")]
    for number, each in enumerate(made):
        for persona in ("root", "user"):
            each["personas"][persona]["probes"]["ring.write_backward"]["facts"] = {"max_pages": 10 * number + (persona == "user")}
        sealed(each)
    assert [each.what for each in database.add(*made)] == [store.ADDED] * 2
    with connect.reading(database.engine) as connection:
        found = {(column.result.kernel.release, column.persona): whole.loose(connection, column.run)["ring.write_backward"]["facts"]
                 for column in matrix.load(connection).columns}
    assert found == {(each["identity"]["release"], persona): {"max_pages": 10 * number + (persona == "user")}
                     for number, each in enumerate(made) for persona in ("root", "user")}


def test_directories_and_archives(database: Database, make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run()
    archive = tmp_path / "farm.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(run, "farm/phone")
    outcomes = list(database.store.add([archive, run]))
    assert [each.what for each in outcomes] == [store.ADDED, store.KNOWN]
    with connect.reading(database.engine) as connection:
        made = matrix.load(connection)
        said = whole.transcripts(connection, made.columns[0].run)
    assert whole.line_of(said["ring.write_backward"], "newest") == (5, "ok 1 ring.newest")
    assert whole.line_of(said["ring.write_backward"], "nothing") is None


def test_a_later_run_of_a_small_suite_hides_no_declaration(database: Database) -> None:
    """Seen with a quick run that came after a default one: most points had lost their release."""
    small = catalogue.parse("id=hw.count\ntitle=newer words\nsince=2.6.31\npoint=cycles they count\n")
    for hour, declared in (("10", catalogue.parse(CATALOGUE)), ("11", small)):
        result = make(started=f"2026-11-20T{hour}:00:00Z")
        result["tool"]["catalogue"] = declared.digest()
        database.store.catalogues[declared.digest()] = declared
        assert database.add(sealed(result))[0].what == store.ADDED
    with connect.reading(database.engine) as connection:
        found = store.declarations(connection)
    assert sorted(found.probes) == ["hw.count", "ring.write_backward", "task.two"]
    assert found.probes["hw.count"].title == "newer words"


def test_an_archive_writes_nowhere_else(database: Database, tmp_path: Path) -> None:
    archive = tmp_path / "evil.tar"
    with tarfile.open(archive, "w") as tar:
        for name in ("../evil", "/tmp/perfmodes-evil", "a/../../evil"):
            member = tarfile.TarInfo(name)
            member.size = 4
            tar.addfile(member, io.BytesIO(b"evil"))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    assert [each.what for each in database.store.add([archive])] == [store.REJECTED]
    assert not (tmp_path / "evil").exists() and not Path("/tmp/perfmodes-evil").exists()


@pytest.mark.parametrize("kind, name", [(tarfile.XHDTYPE, "x"), (tarfile.REGTYPE, "../x"),
                                        (tarfile.GNUTYPE_LONGNAME, "x")])
@pytest.mark.parametrize("packer", [gzip.open, lzma.open, bz2.open])
def test_a_small_archive_that_unpacks_to_much_is_refused(
        monkeypatch: pytest.MonkeyPatch, tmp_path: Path, packer: Callable[..., Any], kind: bytes, name: str) -> None:
    """Neither a header nor a member that is passed over costs more than the limits."""
    monkeypatch.setattr(source, "MEMBER_LIMIT", 1 << 16)
    monkeypatch.setattr(source, "ARCHIVE_LIMIT", 1 << 20)
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, 32 << 20
    with packer(tmp_path / "bomb.tar.gz", "wb") as packed:
        packed.write(member.tobuf(tarfile.USTAR_FORMAT) + bytes(member.size))
    tracemalloc.start()
    with pytest.raises(Unusable, match="larger than an archive"), source.opened(tmp_path / "bomb.tar.gz"):
        pass
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("content, why", [
    ("", "not usable JSON"), ("[]", "not a result"), ('{"kind": "result"}', "not a result"),
    ('{"kind": "result", "personas": {"root": {"probes": {"a.b": 1}}}}', "not a result"),
    ('{"kind": "result", "personas": 3}', "not a result"), ("[" * 90000, "not usable JSON")])
def test_what_is_no_result_is_rejected_with_a_reason(database: Database, content: str, why: str) -> None:
    path = database.folder / "bad.json"
    path.write_text(content, encoding="utf-8")
    good = database.write(make())
    outcomes = list(database.store.add([path, database.folder / "nowhere", good]))
    assert [each.what for each in outcomes] == [store.REJECTED, store.REJECTED, store.ADDED]
    assert why in outcomes[0].why and "no such file" in outcomes[1].why


def test_records_that_are_known_do_not_hide_wrong_ones(database: Database) -> None:
    database.add(make())
    for key, value in (("ms", -1), ("facts", {"a b": 1}), ("facts", {"max_pages": None}), ("ms", True),
                       ("status", "fine"), ("more", 1)):
        wrong = make(started="2026-11-20T11:00:00Z")
        wrong["personas"]["root"]["probes"]["hw.count"][key] = value
        assert database.add(sealed(wrong))[0].what == store.REJECTED, key


def test_a_database_of_a_later_version_is_not_touched(database: Database) -> None:
    database.add(make())
    with database.engine.begin() as connection:
        connection.execute(sql("UPDATE meta SET value='99' WHERE key='version'"))
    before = database.file.read_bytes()
    with pytest.raises(Unusable, match="later perfmodes"):
        database.add(make(release="6.2"))
    assert database.file.read_bytes() == before


def test_a_database_of_an_older_version_is_brought_up_to_date(
        database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    database.add(make())

    def renamed(connection: connect.Connection) -> None:
        connection.execute(sql("UPDATE result SET suite='of old'"))

    monkeypatch.setattr(tables, "STEPS", [*tables.STEPS, renamed])
    with connect.reading(database.engine) as connection:
        assert tables.version_of(connection) == tables.current() == len(tables.STEPS) + 1
        assert {each.result.suite for each in matrix.load(connection).columns} == {"of old"}


def test_a_step_that_fails_leaves_the_old_version(database: Database,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    database.add(make())

    def broken(connection: connect.Connection) -> None:
        connection.execute(sql("DELETE FROM run"))
        connection.execute(sql("SELECT id FROM nowhere"))

    with monkeypatch.context() as patched:
        patched.setattr(tables, "STEPS", [broken])
        with pytest.raises(Unusable, match="nowhere"), connect.reading(database.engine):
            pass
    assert count(database) == 1 and count(database, "run") == 2


def test_another_file_is_not_taken_for_a_database(tmp_path: Path) -> None:
    (tmp_path / "other.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(Unusable, match="not a database"), \
            connect.reading(connect.open_engine(str(tmp_path / "other.db"))):
        pass
    with pytest.raises(Unusable, match="no database here"):
        connect.open_engine(str(tmp_path / "none.db"))


def _adder(database: Database, *files: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "reports", "db", "add", "--db", database.file, *files], cwd=TREE,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _many(database: Database, number: int, minute: int) -> list[Path]:
    return [database.write(make(started=f"2026-11-20T10:{minute:02}:{second:02}Z", release=f"6.{second}",
                                reason=f"reason {minute} {second} " * 250,
                                personas={"root": {"hw.count.cycles": "blocked"}}))
            for second in range(number)]


def test_two_writers_lose_nothing(database: Database) -> None:
    shared = _many(database, 5, 0)
    adders = [_adder(database, *_many(database, 20, minute), *shared) for minute in (1, 2)]
    assert [adder.wait(900) for adder in adders] == [0, 0], [adder.stdout for adder in adders]
    assert count(database) == 45
    with connect.reading(database.engine) as connection:
        for column in matrix.load(connection).columns:
            assert whole.result(connection, column.result.digest)["id"] == column.result.digest


def test_killed_while_adding(database: Database) -> None:
    """Whatever was added before the kill is whole, and a second run adds the rest."""
    files = _many(database, 30, 1)
    database.add(make())
    adder = _adder(database, *files)
    while adder.poll() is None and count(database) < 3:
        pass
    adder.send_signal(signal.SIGKILL)
    adder.wait(300)
    with connect.reading(database.engine) as connection:
        assert connection.execute(sql("PRAGMA integrity_check")).scalar() == "ok"
        for column in matrix.load(connection).columns:
            made = whole.result(connection, column.result.digest)
            assert set(made["personas"]["root"]["probes"]) == set(POINTS)
    assert _adder(database, *files).wait(900) == 0
    assert count(database) == 1 + len(files)


def test_a_full_disk_loses_nothing(database: Database) -> None:
    """A limit on the size of files is what a full disk is to a program: a write that fails."""
    files = _many(database, 40, 1)
    database.add(make())
    room = database.file.stat().st_size + 60_000

    def little() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    ended = subprocess.run([sys.executable, "-m", "reports", "db", "add", "--db", database.file, *files],
                           cwd=TREE, preexec_fn=little, capture_output=True, text=True, timeout=900,
                           check=False)
    assert ended.returncode == 3 and "not added" in ended.stderr, ended.stderr
    there = count(database)
    assert 1 <= there < 41
    assert _adder(database, *files).wait(900) == 0
    assert count(database) == 41


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="mounting needs root")
def test_a_full_file_system_loses_nothing(database: Database) -> None:
    files = [str(path) for path in _many(database, 40, 1)]
    script = ('mount -t tmpfs -o size=256k none "$1" || exit 77; file=$1/x.db; shift\n'
              '"$PYTHON" -m reports db add --db "$file" "$@"; code=$?\n'
              '"$PYTHON" -m reports db list --db "$file" | wc -l; exit $code')
    folder = database.folder / "small"
    folder.mkdir()
    ended = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", folder, *files], cwd=TREE,
                           env=os.environ | {"PYTHON": sys.executable}, capture_output=True, text=True,
                           timeout=900, check=False)
    if ended.returncode == 77 or ended.stderr.startswith("unshare: "):
        pytest.skip(f"no file system may be mounted here: {ended.stderr.strip()}")
    assert ended.returncode == 3 and "full" in ended.stderr, ended.stderr
    assert 0 < int(ended.stdout) < 40


def test_sheets_are_little_endian_on_any_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file goes from one machine to another, and a server has clients of both kinds."""
    other = "little" if sys.byteorder == "big" else "big"
    own = pack.numbers([1, 258])
    assert own == b"\x01\0\0\0\x02\x01\0\0" and list(pack.ids_of(own)) == [1, 258]
    monkeypatch.setattr(sys, "byteorder", other)
    assert pack.numbers([1]) != own[:4] and list(pack.ids_of(pack.numbers([1, 258]))) == [1, 258]
