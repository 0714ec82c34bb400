# SPDX-License-Identifier: MIT
"""The slice of the table that ships is made of the profiles, and lint sees when it is not."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from conftest import GOOD, TREE, MakeRun, ktap

from reports import answers, excerpt
from reports.verbs import main


def test_the_slice_is_of_the_profiles() -> None:
    assert excerpt.stale(TREE) == ""


@pytest.fixture
def top(tmp_path: Path, make_run: MakeRun) -> Path:
    """A tree that ships profiles, wishes, and the answers of one kernel that nobody asked much."""
    shutil.copytree(TREE / excerpt.PROFILES, tmp_path / excerpt.PROFILES)
    (tmp_path / excerpt.WISHES).parent.mkdir(parents=True)
    shutil.copy(TREE / excerpt.WISHES, tmp_path / excerpt.WISHES)
    made = make_run({"user": {"ring.write_backward": ktap(GOOD)}}, "matrix")
    made.rename(tmp_path / "amd64-6.1")
    (tmp_path / "matrix").mkdir()
    (tmp_path / "amd64-6.1").rename(tmp_path / "matrix" / "amd64-6.1")
    assert main(["result", "--quiet", str(tmp_path / "matrix" / "amd64-6.1")]) == 0
    answers.write([tmp_path / "matrix"], tmp_path / answers.FOLDER)
    (tmp_path / excerpt.FILE).write_text(excerpt.make(tmp_path), encoding="utf-8")
    assert excerpt.stale(tmp_path) == ""
    return tmp_path


def test_a_profile_that_changed_makes_it_stale(top: Path) -> None:
    path = top / excerpt.PROFILES / "amd64-5.10.json"
    value = json.loads(path.read_text(encoding="utf-8"))
    value["kernel"]["inherit.sample_read.with_tid"] = "broken"
    path.write_text(json.dumps(value), encoding="utf-8")
    assert "stale" in excerpt.stale(top)
    (top / excerpt.FILE).unlink()
    assert "stale" in excerpt.stale(top)


def test_what_a_program_can_do_is_of_the_answers(top: Path) -> None:
    said = (top / excerpt.FILE).read_text(encoding="utf-8")
    assert "## What a program can do, as user at perf_event_paranoid=2\n" in said
    assert "| wish | amd64-6.1 |\n" in said and "| watch the whole system | not known |\n" in said
    (wish,) = re.findall(r'any = \[\["(\S+)", "attach.cpu_wide.sees_opener"', (top / excerpt.WISHES).read_text())
    (top / excerpt.WISHES).write_text((top / excerpt.WISHES).read_text().replace(
        f'"{wish}", "attach.cpu_wide.sees_opener"', '"ring.write_backward.newest"'))
    assert "stale" in excerpt.stale(top)
    assert "| watch the whole system | yes |\n" in excerpt.make(top)
