# SPDX-License-Identifier: MIT
"""What a database answers, on results whose answers are known."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import event, select

from reports import catalogue, difference, verbs
from reports.database import connect, machine, matrix, query, tables, usage
from reports.database.test.conftest import CATALOGUE, Database, make
from reports.text import Unusable

NEWEST = "ring.write_backward.newest"


def kernels(database: Database) -> None:
    """no on 4.4, yes on 4.14 to 6.1, broken on 6.5; 4.9 and 6.2 to 6.4 untested."""
    for release, verdict in (("4.4.1", "no"), ("4.14.2", "yes"), ("6.1.0", "yes"), ("6.5.3", "broken")):
        database.add(make(release=release, personas={
            "root": {NEWEST: verdict} if verdict != "yes" else {}}))


def test_first_and_last_seen_name_what_was_not_tested(database: Database) -> None:
    kernels(database)
    with connect.reading(database.engine) as connection:
        found = query.history(matrix.load(connection), NEWEST)
    assert [step.release for step in found[0].steps] == ["4.4.1", "4.14.2", "6.1.0", "6.5.3"]
    assert str(found[0].first()) == "after 4.4.1, by 4.14.2"
    assert str(found[0].last()) == "after 6.1.0, by 6.5.3"


def test_answers_come_as_the_driver_gives_them(database: Database) -> None:
    """There are a million of them: no row of SQLAlchemy is made for each, and points of a record that say the same share it."""
    kernels(database)
    answers = tables.ANSWER
    with connect.reading(database.engine) as connection:
        told = connection.execute(select(answers.c.record, answers.c.point, answers.c.verdict, answers.c.reason)).all()
        asked: list[str] = []
        event.listen(database.engine, "before_cursor_execute", lambda *args: asked.append(args[2]))
        made = matrix.load(connection)
    assert sorted((record, point, answer.verdict, answer.reason) for record in {row.record for row in told}
                  for point, answer in made.answers(record) if answer.record == record) == sorted(map(tuple, told))
    assert asked and not [each for each in asked if "answer" in each.lower()]
    alike = [said for record in {row.record for row in told} if len(said := [answer for _point, answer in made.answers(record)]) > 1]
    assert any(one is other for one, other, *_more in alike)


def test_seen_from_the_start_is_a_bound(database: Database) -> None:
    database.add(make(release="6.1"))
    with connect.reading(database.engine) as connection:
        found = query.history(matrix.load(connection), NEWEST)[0]
    assert str(found.first()) == "6.1 or earlier" and found.last() is None


def test_columns_come_by_kernel_level_and_persona(database: Database) -> None:
    """Whatever came first; of personas root is the first."""
    for release, level in (("6.5", "2"), ("6.1", "2"), ("6.1", "1")):
        database.add(make(release=release, personas={"user": {}, "root": {}}, environment={"paranoid": level}))
    with connect.reading(database.engine) as connection:
        columns = matrix.load(connection).columns
    assert [(each.result.kernel.release, each.result.level, each.persona) for each in columns] == [
        (release, level, persona) for release, level in (("6.1", "1"), ("6.1", "2"), ("6.5", "2"))
        for persona in ("root", "user")]


def test_backports(database: Database) -> None:
    database.add(make(release="4.4.1"), make(release="4.7.0"), make(release="next-20261120"))
    with connect.reading(database.engine) as connection:
        found = query.backports(matrix.load(connection), catalogue.parse(CATALOGUE))
    assert [(each.key, each.kernels) for each in found] == [
        (NEWEST, ["x86_64 4.4.1"]), ("ring.write_backward.plain", ["x86_64 4.4.1"])]


@pytest.mark.parametrize("identity, kind", [
    ({}, "hardware"), ({"hypervisor": "kvm"}, "virtual"), ({"emulator": "qemu-tcg"}, "emulated"),
    ({"hypervisor": "qemu-tcg"}, "emulated"), ({"emulator": "qemu-tcg", "pmu": "synthetic"}, "synthetic"),
    ({"pmu": "synthetic"}, "synthetic"), ({"hypervisor": "none"}, "hardware")])
def test_kinds_of_machines(identity: dict[str, str], kind: str) -> None:
    assert machine.kind_of({"arch": "x86_64"} | identity) == kind


def test_coverage_counts_devices_by_their_newest_result(database: Database) -> None:
    """One phone with ten old uploads is one device, and what it says now counts."""
    for day in range(1, 11):
        database.add(make(started=f"2026-10-{day:02}T00:00:00Z", personas={"root": {NEWEST: "no"}}))
    database.add(make(started="2026-11-01T00:00:00Z", personas={"root": {}}))
    database.add(make(personas={"root": {}}, identity={"cpu_model": ["Another"]}))
    for extra in ({"emulator": "qemu-tcg"}, {"pmu": "synthetic"}, {"hypervisor": "kvm"}):
        database.add(make(personas={"root": {}}, identity=extra))
    with connect.reading(database.engine) as connection:
        found = query.coverage(matrix.load(connection, matrix.Filter(newest=False)))[NEWEST]
    assert dict(found.hardware) == {"yes": 2} and dict(found.other) == {"yes": 3}
    assert found.share() == 1.0
    held = query.Covered(Counter(yes=1, no=1, hazard=2), used={"yes": 1.0, "no": 1.0, "hazard": 2.0})
    assert held.share() == held.in_use() == 0.5, "a point that was held back was not asked"


@pytest.mark.parametrize("words, status, said", [
    (["--kind", "hardwar"], 2, "no kind of machine 'hardwar'; there are: hardware virtual emulated synthetic; did you mean hardware?"),
    (["--kind", "virtual"], 0, "none fits"), (["--after", "yesterday"], 2, "not a day as in"), (["--after", "20261120"], 2, "not a day"),
    (["--after", "2026-13-45"], 2, "not a day"), (["--after", "2026-11-21"], 0, "none fits"), (["--persona", "usr"], 0, "none fits"),
    (["--after", "2026-11-20"], 0, ""), (["--kind", "hard*"], 0, ""), (["--kernel", "amd64-6.*"], 0, ""), (["--kernel", "6.1.0*"], 0, "")])
def test_filters_that_fit_nothing_say_so(words: list[str], status: int, said: str, database: Database,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel is meant by its release, or by its row of the matrix, as the site names it."""
    database.add(make(environment={"kernel_row": "amd64-6.1"}))
    assert verbs.main(["db", "list", "--db", str(database.file), *words]) == status
    told = capsys.readouterr()
    assert said in told.err and bool(told.out) == (not told.err)


@pytest.mark.parametrize("where, said", [
    ("mysql://ann:secret@here/x", "mysql://ann:***@here/x: neither a file of SQLite nor postgresql://"),
    ("postgresql://ann:secret@here:port/x", "postgresql://...: no address of a server"),
    ("postgresql+nosuch://ann:secret@here/x", "postgresql+nosuch://ann:***@here/x: no address of a server"),
    ("{}", "no.db: file is not a database")])
def test_what_is_no_database_is_named_without_its_password(where: str, said: str, tmp_path: Path,
                                                           capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "no.db").write_text("nothing of SQLite, but long enough to be looked at " * 9)
    assert verbs.main(["db", "list", "--db", where.format(tmp_path / "no.db")]) == 3
    told = capsys.readouterr().err
    assert said in told and "secret" not in told and told.count("\n") == 1


def test_a_driver_that_is_missing_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch,
                                                            capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "psycopg2", None)
    assert verbs.main(["db", "list", "--db", "postgresql://ann@here/x"]) == 3
    assert "install the package python3-psycopg2" in capsys.readouterr().err


USAGE = """format = 1
name = "ours"
[[share]]
device = "Rare*"
weight = 1
[[share]]
arch = "x86_64"
weight = 9
"""


def test_coverage_by_what_is_in_use(database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A device that few have counts little; two of one share have half of it each."""
    for name, verdict in (("Rare one", "no"), ("Common", "yes"), ("Common too", "yes")):
        database.add(make(personas={"root": {NEWEST: verdict} if verdict != "yes" else {}},
                          identity={"cpu_model": [name]}))
    database.add(make(arch="riscv64", personas={"root": {NEWEST: "no"}}))       # in no share
    (tmp_path / "usage.toml").write_text(USAGE, encoding="utf-8")
    with connect.reading(database.engine) as connection:
        found = query.coverage(matrix.load(connection), usage.read(tmp_path / "usage.toml"))[NEWEST]
    assert found.used == {"no": 1.0, "yes": 9.0} and found.in_use() == 0.9
    assert verbs.main(["db", "coverage", "--usage", str(tmp_path / "usage.toml"), "--db", str(database.file)]) == 0
    heads, *rows = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    assert heads == ["point", "hardware", "yes", "share", "in use", "virtual or emulated", "yes there"]
    assert [NEWEST, "4", "2", "50%", "90%", "0", "0"] in rows and {len(row) for row in rows} == {len(heads)}


@pytest.mark.parametrize("said", ["", "format = 1", "format = 1\n[[share]]\nweight = 1", "x" * (2 << 20),
                                  "format = 1\n[[share]]\narch = 'x'\nweight = -1",
                                  "format = 1\n[[share]]\narch = 'x'\nweight = nan",
                                  "format = 1\n[[share]]\narch = 1\nweight = 1",
                                  "format = 1\n[[share]]\narch = 'x'\nweight = 1\nmore = 1"])
def test_what_says_no_usage_is_refused(tmp_path: Path, said: str) -> None:
    (tmp_path / "usage.toml").write_text(said, encoding="utf-8")
    with pytest.raises(Unusable):
        usage.read(tmp_path / "usage.toml")


def test_what_the_lacking_ones_share(database: Database) -> None:
    for arch in ("x86_64", "aarch64", "riscv64"):
        database.add(make(arch=arch, personas={"root": {NEWEST: "no"} if arch == "riscv64" else {}}))
    with connect.reading(database.engine) as connection:
        found = query.lacking(matrix.load(connection), NEWEST)
    assert "architecture riscv64: 1 of 1, and none that has it" in found.shared
    assert found.by_reason == {"no: for a reason": 1}


def test_device_classes(database: Database) -> None:
    for name, verdict in (("one", "no"), ("two", "no"), ("three", "yes")):
        database.add(make(personas={"root": {NEWEST: verdict} if verdict == "no" else {}},
                          identity={"cpu_model": [name]}))
    with connect.reading(database.engine) as connection:
        found = query.classes(matrix.load(connection))
    assert [(len(devices), missing) for devices, missing in found] == [(2, [NEWEST]), (1, [])]


@pytest.mark.parametrize("before, after, worse", [
    ("yes", "broken", True), ("yes", "no", True), ("yes", "unknown", True), ("yes", "blocked", False),
    ("yes", "absent", False), ("no", "yes", False), ("blocked", "broken", False)])
def test_only_what_worked_can_regress(before: str, after: str, worse: bool) -> None:
    assert difference.Change("root", "a.b", before, after).worse is worse


def test_changes_are_of_the_same_level(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    """What policy blocks at one level hides nothing that changed at another; a change is told once."""
    for release, verdict in (("6.1.0", "yes"), ("6.5.0", "broken")):
        for level, said in (("1", verdict), ("2", verdict), ("3", "blocked")):
            database.add(make(release=release, environment={"paranoid": level},
                              personas={"user": {NEWEST: said} if said != "yes" else {}}))
    database.add(make(release="6.9.0", environment={"paranoid": "4"}, personas={"user": {NEWEST: "blocked"}}))

    def changes(old: str, new: str) -> tuple[int, list[tuple[str, str]]]:
        status = verbs.main(["db", "changes", old, new, "--json", "--db", str(database.file)])
        return status, [(each["before"], each["after"]) for each in json.loads(capsys.readouterr().out)]

    assert changes("6.1.0", "6.5.0") == (1, [("yes", "broken")]) and changes("6.5.0", "6.1.0") == (0, [("broken", "yes")])
    assert changes("6.5.0", "6.9.0") == (0, [("broken", "blocked")]), "at whatever levels, where they share none"


def test_the_command_line(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    kernels(database)

    def run(*arguments: str) -> tuple[int, str]:
        code = verbs.main(["db", *arguments, "--db", str(database.file)])
        return code, capsys.readouterr().out

    assert run("changes", "4.4.1", "6.1.0")[0] == 0
    code, said = run("changes", "6.1.0", "6.5.3")
    assert code == 1 and "broken" in said
    assert len(run("list")[1].splitlines()) == 4
    assert "after 4.4.1, by 4.14.2" in run("history", NEWEST)[1]
    assert run("point", "no.such.point")[0] == 3
    assert run("changes", "6.1.0", "6.5.33")[0] == 3
    for verb in ("coverage", "backports", "classes"):
        assert run(verb, "--json")[0] == 0
    filtered = run("point", NEWEST, "--kernel", "6.*", "--persona", "root", "--json")[1]
    assert filtered.count('"verdict"') == 2
