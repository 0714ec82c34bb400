# SPDX-License-Identifier: MIT
"""The text of a kernel's answers: it says all that a result says, and gives it back."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from reports import answers, profile, result, sheet, sheet_read
from reports.test.conftest import GOOD, MakeRun, ktap, skipped
from reports.text import Unusable
from reports.verbs import main

REFUSED = skipped(GOOD, "blocked: EACCES: perf_event_paranoid=2 refuses it")
WRONG = GOOD.replace("ok 1", "#:perfmodes: newest.observed=seen 3, want 4\nnot ok 1")


@pytest.fixture
def one(make_run: MakeRun) -> dict[str, Any]:
    """A result in which personas differ, one probe ended early, and one was not run."""
    made = make_run({"root": {"ring.write_backward": ktap(WRONG, 1), "sw.clock": ""},
                     "user": {"ring.write_backward": ktap(REFUSED)}})
    assert main(["result", "--quiet", str(made)]) == 0
    return result.load(made)


def parts(made: dict[str, Any]) -> Any:
    """What a sheet keeps of a result."""
    return [made["identity"], made["environment"], made["suite"], made["started"], made["summary"], {
        name: (part["environment"], {probe: (record["status"], record["points"], record["facts"])
                                     for probe, record in part["probes"].items()})
        for name, part in made["personas"].items()}]


def test_there_and_back(one: dict[str, Any]) -> None:
    said = sheet.write(sheet.of_results("row", [one]))
    back = sheet_read.parse(said, "row")
    assert parts(back.one) == parts(one) and sheet.write(back) == said
    assert profile.derive(back.one)["personas"] == profile.derive(one)["personas"]
    assert result.content_id(back.one) == back.one["id"]


def test_a_line_a_point_and_each_reason_once(one: dict[str, Any]) -> None:
    lines = sheet.write(sheet.of_results("row", [one])).split("\n")
    number = sheet.numbers({"EACCES: perf_event_paranoid=2 refuses it"})
    (blocked,) = number.values()
    assert sum("refuses it" in line for line in lines) == 1
    assert f"ring.write_backward.plain y l:{blocked}" in lines
    assert "ring.write_backward.max_pages 128 -" in lines
    assert any(line.startswith("sw.clock.counts u:") and line.endswith(" -") for line in lines)


def test_levels_stand_side_by_side(one: dict[str, Any]) -> None:
    other = copy.deepcopy(one)
    other["environment"]["paranoid"] = "-1"
    other["personas"]["user"] = copy.deepcopy(other["personas"]["root"])
    said = sheet.write(sheet.of_results("row", [other, one]))
    back = sheet_read.parse(said, "row")
    assert list(back.levels) == ["-1", "2"] and sheet.write(back) == said
    assert [parts(each)[5] for each in back.levels.values()] == [parts(other)[5], parts(one)[5]]
    assert "\nring.write_backward.plain y | y l:" in said
    with pytest.raises(Unusable):
        sheet.of_results("row", [one, one])


def test_reasons_that_begin_alike_have_longer_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    class Digest:
        def __init__(self, data: bytes) -> None:
            self.said = {b"a": "0123456789abcdef", b"b": "0123aaaa", b"c": "f" * 16}[data]

        def hexdigest(self) -> str:
            return self.said
    monkeypatch.setattr(sheet.hashlib, "sha256", Digest)
    assert sheet.numbers({"a", "b", "c"}) == {"a": "01234567", "b": "0123aaaa", "c": "ffff"}


@pytest.mark.parametrize(("old", "new"), [
    ("format 1", "format 2"), ("format 1\n", ""), ("[points]", "[answers]"), ("plain y", "plain z"),
    ("plain y", "plain n"), ("plain y l:", "plain y y p:"), ("plain y l:", "plain y | y | y"),
    ("max_pages 128", "max_pages {"), ("personas root user", "personas root"), ("\n[level 2]", "\n[level x]"),
    ("row row", "row row\nrow row"), ("environment paranoid=2", "environment paranoid"),
    ("identity arch=x86_64", "identity arch=x86_64\nidentity more=1")])
def test_what_is_no_sheet_is_refused(one: dict[str, Any], old: str, new: str) -> None:
    said = sheet.write(sheet.of_results("row", [one]))
    assert old in said
    with pytest.raises(Unusable):
        sheet_read.parse(said.replace(old, new), "row")


def test_levels_of_several_runs_ship_together(make_run: MakeRun, tmp_path: Path) -> None:
    for number, level in enumerate(("2", "-1", "2")):
        (tmp_path / f"run{number}").mkdir()
        made = make_run(name=f"run{number}/row")
        (made / "env").write_text((made / "env").read_text().replace("paranoid=2", f"paranoid={level}")
                                  .replace("T11:", f"T1{number}:"))
        assert main(["result", "--quiet", str(made)]) == 0
    answers.write([tmp_path / f"run{number}" for number in range(3)], tmp_path / "answers")
    found = answers.load("row", tmp_path / "answers").levels
    assert {level: each["started"][11:13] for level, each in found.items()} == {"-1": "11", "2": "10"}


def run_at(make_run: MakeRun, name: str, level: str, more: str = "") -> Path:
    """A run of a row at a level, as root and user."""
    made = make_run({"root": {"ring.write_backward": ktap(GOOD)}, "user": {"ring.write_backward": ktap(GOOD)}},
                    f"{name}/row/paranoid-{level}", env=f"build_id={more or '0123'}\n")
    (made / "env").write_text((made / "env").read_text().replace("paranoid=2", f"paranoid={level}")
                              .replace("2026", "2027" if "later" in name else "2026"))
    assert main(["result", "--quiet", str(made)]) == 0
    return made


def test_levels_are_added_to_a_row(make_run: MakeRun, tmp_path: Path) -> None:
    """What it has stays, the kernel has to be the same, and its personas are asked at each level."""
    for name in ("first", "later", "other"):
        (tmp_path / name / "row").mkdir(parents=True)
    run_at(make_run, "first", "2")
    answers.write([tmp_path / "first"], tmp_path / "answers")
    for level in ("2", "-1", "3"):
        made = run_at(make_run, "later", level)
        (made / "seccomp").mkdir()
        (made / "seccomp" / "ring.write_backward.ktap").write_text(ktap(GOOD))
        (made / "plan").write_text((made / "plan").read_text() + "seccomp ring.write_backward\n")
        assert main(["result", "--quiet", str(made)]) == 0
    answers.write([tmp_path / "later"], tmp_path / "answers", add=True)
    found = answers.load("row", tmp_path / "answers").levels
    assert {level: each["started"][:4] for level, each in found.items()} == {"-1": "2027", "2": "2026", "3": "2027"}
    assert all([*each["personas"]] == ["root", "user"] for each in found.values())
    run_at(make_run, "other", "0", "4567")
    with pytest.raises(Unusable, match="ships of kernel 0123, and the run is of 4567"):
        answers.write([tmp_path / "other"], tmp_path / "answers", add=True)


def test_a_row_with_levels_ships(make_run: MakeRun, tmp_path: Path, one: dict[str, Any]) -> None:
    (tmp_path / "matrix" / "row").mkdir(parents=True)
    for level in ("-1", "2"):
        made = make_run(name=f"matrix/row/paranoid-{level}")
        (made / "env").write_text((made / "env").read_text().replace("paranoid=2", f"paranoid={level}"))
        assert main(["result", "--quiet", str(made)]) == 0
    assert answers.write([tmp_path / "matrix"], tmp_path / "answers") == ["row"]
    assert list(answers.load("row", tmp_path / "answers").levels) == ["-1", "2"]
    assert "ring.write_backward" in answers.questions(tmp_path / "answers").probes
    with pytest.raises(Unusable, match="did you mean row"):
        answers.load("rwo", tmp_path / "answers")


def test_what_ships_is_whole() -> None:
    """Each sheet reads, and says again what it says."""
    for name in answers.names():
        path = answers.FOLDER / f"{name}.txt"
        assert sheet.write(sheet_read.read(path)) == path.read_text(encoding="utf-8"), name
