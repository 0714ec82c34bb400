# SPDX-License-Identifier: MIT
from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kernels import cli, matrix, show
from kernels.boot import Outcome
from kernels.report import Report

ROOT = Path(cli.__file__).parent.parent
ROW = matrix.load().rows["uml"]
GONE = replace(ROW, name="gone", unavailable="no archive has it")


def test_the_list_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "--list"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in matrix.load().rows) and "not to be read from it" in said


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "which kernel?"),
        (["vax-4.3"], "no kernel 'vax-4.3'"),
        (["--tag", "nightly"], "no row has the tag"),
        (["uml", "--paranoid", "9"], "--paranoid is"),
        (["uml", "--paranoid=-1,5"], "--paranoid is"),
        (["uml", "--paranoid=-1,2", "--hazards"], "go with one level"),
        (["uml", "--jobs", "0"], "positive"),
        (["uml", "--suite", "../x"], "no suite"),
        (["--kernel", "/nowhere"], "no kernel file"),
    ],
)
def test_usage_errors_are_one_line(
    args: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", *args]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_any_interpreter_will_do() -> None:
    """Started by one without the packages, it goes on with the system's."""
    argv = [sys.executable, "-m", "kernels", "run", "--list"]
    assert subprocess.run(argv, cwd=ROOT, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("report", "status", "said"),
    [
        (Report(ROW, Outcome("done", stage="probes"), release="6.1"), 0, "uml"),
        (Report(ROW, Outcome("done", stage="probes"), unexpected=True), 1, "unexpected verdicts"),
        (Report(ROW, Outcome("panic", "oh", stage="probes")), 1, "panic (oh)"),
        (Report(ROW, Outcome("hang", "late", stage="init")), 3, "hang (late)"),
        (Report(ROW, error="no network"), 3, "no result: no network"),
        (Report(GONE), 0, "gone                 not run: no archive has it"),
    ],
)
def test_exit_status_and_line_of_a_row(report: Report, status: int, said: str) -> None:
    assert report.status == status and said in show.line(report)


def test_a_row_that_is_not_to_be_had_is_told_and_not_booted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither silence nor a boot: the reason, on the list and in the run, without emulator or bundle."""
    reason = matrix.load().rows["amd64-6.5"].unavailable
    assert cli.main(["run", "--list", "amd64-6.5"]) == 0
    assert f"not to be had: {reason}" in capsys.readouterr().out
    args = ["run", "amd64-6.5", "loong64-newest", "--no-install", "--out", str(tmp_path)]
    assert cli.main(args) == 0
    said = capsys.readouterr().out
    assert f"not run: {reason}" in said and "2 kernels, 2 not to be had" in said
    assert not list(tmp_path.iterdir())


def test_counts_leave_out_what_is_not_there() -> None:
    assert show.counts({"unknown": 2, "yes": 5, "no": 0}) == "5 yes 2 unknown"
