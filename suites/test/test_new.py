# SPDX-License-Identifier: MIT
"""probes/new: what it writes builds, runs and passes lint with no other file edited; bad names are refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import BUILD, TREE, result_of, run, run_suite, verdicts


@pytest.fixture
def tree(tmp_path: Path, build: Path) -> Path:
    """A copy of the tree with what is built, times kept, so that only a new probe is compiled."""
    top = tmp_path / "tree"
    shutil.copytree(TREE, top, symlinks=True, ignore=shutil.ignore_patterns(
        ".git", "build", "results", "__pycache__", ".pytest_cache", ".hypothesis"))
    shutil.copytree(BUILD, top / "build" / BUILD.name, ignore=shutil.ignore_patterns(
        "bundle", "pic", "examples", "man"))
    (top / "build" / "kselftest").symlink_to(TREE / "build" / "kselftest")
    return top


def lint(tree: Path) -> set[str]:
    """Each line; test_tree.py asks that there is no finding."""
    return set(run("/usr/bin/python3", "-m", "reports", "lint", cwd=tree).stdout.splitlines())


def test_a_new_probe_is_one_file(tree: Path, tmp_path: Path) -> None:
    before = {path for path in tree.rglob("*") if "build" not in path.parts}
    found = lint(tree)
    done = run(tree / "probes/new", "ring/my_question", cwd=tree)
    assert done.returncode == 0 and "make probes/ring/my_question && ./run.sh --probe ring.my_question" in done.stdout
    added = {path for path in tree.rglob("*") if "build" not in path.parts} - before
    assert added == {tree / "probes/ring/my_question.c"}

    built = run("make", "-s", "WERROR=1", "probes/ring/my_question", cwd=tree)
    assert built.returncode == 0, built.stderr
    ran = run_suite(tmp_path / "out", "--probe", "ring.my_question", "--persona", "user", tree=tree)
    assert ran.returncode == 0, ran.stderr
    assert verdicts(result_of(tmp_path / "out"), "user")["ring.my_question.counts"] in ("yes", "blocked", "absent")

    assert lint(tree) - found == {"note: ring.my_question: 1 of 1 points not yet shown to fail: "
                                  "make falsify PROBE=ring.my_question"}


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
