# SPDX-License-Identifier: MIT
"""probes/new: what it writes builds, runs and passes lint with no other file edited; bad names are refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import TREE, result_of, run, run_suite, verdicts


def test_a_new_probe_is_one_file(copy: Path, tmp_path: Path) -> None:
    before = {path for path in copy.rglob("*") if "build" not in path.parts}
    done = run(copy / "probes/new", "ring/my_question", cwd=copy)
    assert done.returncode == 0 and "make probes/ring/my_question && ./run.sh --probe ring.my_question" in done.stdout
    added = {path for path in copy.rglob("*") if "build" not in path.parts} - before
    assert added == {copy / "probes/ring/my_question.c"}

    built = run("make", "-s", "WERROR=1", "probes/ring/my_question", cwd=copy)
    assert built.returncode == 0, built.stderr
    ran = run_suite(tmp_path / "out", "--probe", "ring.my_question", "--persona", "user", tree=copy)
    assert ran.returncode == 0, ran.stderr
    assert verdicts(result_of(tmp_path / "out"), "user")["ring.my_question.counts"] in ("yes", "blocked", "absent")

    said = run("/usr/bin/python3", "-m", "reports", "lint", cwd=copy).stdout.splitlines()
    assert [line for line in said if "my_question" in line] == [
        "note: ring.my_question: 1 of 1 points not yet shown to fail: make falsify PROBE=ring.my_question"]


@pytest.mark.parametrize("name, said", [
    ("ring", "not AREA/NAME"), ("ring/", "not AREA/NAME"), ("a/b/c", "not AREA/NAME"), ("/a", "not AREA/NAME"),
    ("ring/A", "a letter first"), ("ring/a.c", "a letter first"), ("ring/_a", "a letter first"),
    ("ring/test_a", "not a test_"), ("kit/a", "holds no probes"), ("launcher/a", "holds no probes"),
    ("ring/wakeup", "there already"), ("ring/" + "a" * 60, "longer than")])
def test_a_bad_name_is_refused(name: str, said: str) -> None:
    before = (TREE / "probes/ring/wakeup.c").read_bytes()
    done = run(TREE / "probes/new", name)
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert (TREE / "probes/ring/wakeup.c").read_bytes() == before


def test_a_new_area_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "probes" / "ring").mkdir(parents=True)
    shutil.copy(TREE / "probes/new", tmp_path / "probes/new")
    done = run(tmp_path / "probes/new", "rnig/a")
    assert done.returncode == 0 and "rnig is a new area; there are ring" in done.stderr
    assert (tmp_path / "probes/rnig/a.c").is_file()
