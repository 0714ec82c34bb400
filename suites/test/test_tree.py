# SPDX-License-Identifier: MIT
"""This tree under `report lint`, shellcheck and pyflakes."""

from __future__ import annotations

import re

import pytest
from conftest import TREE, run


def scripts() -> list[str]:
    """Every shell script of the tree."""
    try:
        listed = run("git", "ls-files").stdout.split()
    except FileNotFoundError:       # no git, as with a downloaded tree
        listed = []
    names = listed or ["run.sh", ".ci/run", ".ci/install", "probes/kit/fetch-harness", "kernels/guest/init"]
    return [name for name in names
            if (TREE / name).is_file() and (TREE / name).read_bytes()[:12].startswith(b"#!/bin/sh")]


def test_the_tree_keeps_the_house_rules() -> None:
    done = run("/usr/bin/python3", "-m", "reports", "lint")
    assert done.returncode == 0, done.stdout


def test_the_top_level_holds_what_it_should() -> None:
    """A test that writes where it is started leaves files there, and they get committed."""
    try:
        listed = run("git", "ls-files").stdout.splitlines()
    except FileNotFoundError:
        listed = []
    top = {name.split("/")[0] for name in listed if not name.startswith(".")}
    assert top <= {"probes", "lib", "suites", "kernels", "reports", "run.sh", "Makefile", "README.md"}


@pytest.mark.parametrize("name", scripts())
def test_shell_scripts_are_clean(name: str) -> None:
    done = run("shellcheck", "-s", "sh", name)
    assert done.returncode == 0, done.stdout


def test_python_is_clean() -> None:
    done = run("/usr/bin/python3", "-m", "pyflakes", "reports", "kernels", "suites", "lib", ".ci/summary",
               ".ci/refuse-perf", ".packaging/sbom.py")
    assert done.returncode == 0, done.stdout


def test_make_help_names_the_targets() -> None:
    shown = run("make", "-s", "help").stdout
    for target in ("all", "quick", "check", "falsify", "bundle", "install", "help"):
        assert f"\n  {target} " in "\n" + shown


def test_actions_of_others_are_named_by_commit() -> None:
    """A tag of theirs may be moved; the comment says which release it is."""
    used = [line.strip() for path in (TREE / ".github/workflows").glob("*.yml")
            for line in path.read_text(encoding="utf-8").splitlines() if "uses:" in line]
    assert used and [each for each in used if not re.search(r"uses: [a-z-]+/[a-z-]+@[0-9a-f]{40} # v[0-9.]+$", each)] == []
