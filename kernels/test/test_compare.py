# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

import pytest

from kernels import cli, matrix, workflow
from kernels.errors import Usage
from kernels.place.outcome import Outcome
from kernels.place.report import Report
from kernels.show import compare, summary as show

LISTED = matrix.load()


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """A run `one` with two results and a kernel that has none; what reports would be asked."""
    for name in ("amd64-5.10", "uml"):
        (tmp_path / "one" / name).mkdir(parents=True)
        (tmp_path / "one" / name / "result.json").write_text("{}")
    (tmp_path / "one" / "arm64-6.1").mkdir()
    said: list[list[str]] = []
    monkeypatch.setattr(compare, "RUNS", tmp_path)
    monkeypatch.setattr(
        compare,
        "_reports",
        lambda verb, *words: said.append([verb, *(Path(word).name for word in words)]) or 1,
    )
    return said


def test_tables_are_handed_over(calls: list[list[str]]) -> None:
    assert cli.main(["run", "--matrix", "one"]) == 1
    assert cli.main(["run", "--matrix", "one", "--all"]) == 1
    assert cli.main(["run", "--diff", "uml", "amd64-5.10", "one"]) == 1
    assert calls == [
        ["table", "amd64-5.10", "uml"],
        ["table", "--all", "amd64-5.10", "uml"],
        ["diff", "uml", "amd64-5.10"],
    ]


def test_levels_are_compared_for_each_persona(calls: list[list[str]], tmp_path: Path) -> None:
    for level, persona in (("-1", "root"), ("-1", "user"), ("3", "user")):
        folder = tmp_path / "one" / "arm64-6.1" / f"paranoid-{level}"
        (folder / persona).mkdir(parents=True)
        (folder / "result.json").write_text("{}")
    (folder / "of_old").mkdir()
    (folder / "of_old" / "env").write_text("")
    (folder / "of_nobody").mkdir()
    assert cli.main(["run", "--matrix", "one"]) == 1
    assert cli.main(["run", "--diff", "arm64-6.1/paranoid--1", "arm64-6.1/paranoid-3", "one"]) == 1
    assert calls == [
        ["table", "--persona", "root", "paranoid--1"],
        ["table", "--persona", "user", "paranoid--1", "paranoid-3"],
        ["table", "--persona", "of_old", "paranoid-3"],
        ["diff", "paranoid--1", "paranoid-3"],
    ]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--matrix", "two"], "no results of kernels in 'two'"),
        (["--matrix"], "no results of kernels in 'latest'"),
        (["--diff", "uml"], "--diff takes two kernels"),
        (["--diff", "uml", "arm64-6.1", "one"], "no result of 'arm64-6.1' in one; there are: amd"),
    ],
)
def test_what_is_not_there_is_said(
    calls: list[list[str]], args: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", *args]) == 2
    assert said in capsys.readouterr().err and not calls


def test_a_kernel_of_the_archive_becomes_a_row() -> None:
    row = LISTED.from_archive("linux-image-6.1.0-56-cloud-arm64=6.1.192-2", "arm64")
    assert row.package == "linux-image-6.1.0-56-cloud-arm64" and row.version == "6.1.192-2"
    assert {"bookworm", "trixie-backports"} <= set(row.suites) and row.cpu == "cortex-a57"
    with pytest.raises(Usage, match="holds no kernel"):
        LISTED.from_archive("bash", "arm64")
    with pytest.raises(Usage, match="no architecture"):
        LISTED.from_archive("linux-image-1", "vax")


def test_the_last_line_counts_rows_without_a_result() -> None:
    row = LISTED.rows["uml"]
    reports = [Report(row.name, Outcome("done"), cpu=3.0), Report(row.name, error="no network")]
    said = show.total(reports, 61.4)
    assert said == "2 kernels, 1 without a result in 61 s wall, 3 s cpu of guests"


def test_the_workflow_is_the_one_the_matrix_makes() -> None:
    """`python3 -m kernels workflow --write` after every change of the list."""
    assert workflow.FILE.read_text(encoding="utf-8") == workflow.text(LISTED)


def test_every_row_has_its_job() -> None:
    text = workflow.text(LISTED)
    there = {name for name, row in LISTED.rows.items() if not row.unavailable}
    assert all((f"{{row: {name}, " in text) == (name in there) for name in LISTED.rows)
    assert text.count("{row: ") == len(there) + len(LISTED.pick([], ["ci"]))
