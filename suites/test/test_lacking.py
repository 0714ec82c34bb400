# SPDX-License-Identifier: MIT
"""Without what the build or a run takes, and without leave to install it: a sentence that names the packages, or less."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shutil
from pathlib import Path

import pytest
from conftest import TREE, needs_mounts, needs_root, run

COMPILER = re.compile(r"(.*-)?(gcc|g\+\+|cc|c\+\+|clang|c99|c89)(-[\d.]+)?")


def packages(*groups: str) -> set[str]:
    return set(run(TREE / ".ci/install", "--list", *groups).stdout.split())


@pytest.fixture(scope="module", name="tree")
def _tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree in which nothing is built."""
    top = tmp_path_factory.mktemp("lacking") / "tree"
    shutil.copytree(TREE, top, symlinks=True, ignore=shutil.ignore_patterns(
        ".git", "build", "results", "__pycache__", ".pytest_cache", ".hypothesis"))
    return top


def environment(place: Path, *names: str) -> dict[str, str]:
    """With every program of this machine but compilers and those named."""
    place.mkdir()
    for folder in ("/usr/sbin", "/usr/bin", "/bin"):
        for program in Path(folder).iterdir():
            if not COMPILER.fullmatch(program.name) and program.name not in names and not (place / program.name).is_symlink():
                (place / program.name).symlink_to(program)
    kept = {key: value for key, value in os.environ.items() if key not in ("CC", "MAKEFLAGS", "MAKELEVEL", "KSELFTEST_DIR")}
    return kept | {"PATH": str(place), "NO_INSTALL": "1"}


@pytest.mark.parametrize("command", [[], ["doctor"]])
@pytest.mark.parametrize("lacking, said", [([], "the build needs a C compiler (gcc) that makes static programs"),
                                           (["make"], "no make to build with")])
def test_a_run_says_what_it_lacks(tree: Path, tmp_path: Path, command: list[str], lacking: list[str], said: str) -> None:
    done = run(tree / "run.sh", *command, cwd=tree, env=environment(tmp_path / "bin", *lacking))
    assert done.returncode == 3 and done.stdout == "" and done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"run.sh: {said}")
    assert set(done.stderr.partition("apt-get install ")[2].split()) in (packages("build"), packages("build", "reports"))


def test_what_was_built_before_is_used_without_make(build: Path, tmp_path: Path) -> None:
    """As in a tree of somebody else's, in which make can write nothing."""
    done = run(TREE / "run.sh", "doctor", "--list", env=environment(tmp_path / "bin", "make"))
    assert done.returncode == 0 and done.stdout == run(build / "doctor", "--list").stdout != "", done.stderr
    assert "not found" not in done.stderr


def configuration() -> str:
    """The SHA-256 of the running kernel's, or '' where it cannot be read."""
    for path, read in (("/proc/config.gz", gzip.open), (f"/boot/config-{os.uname().release}", open)):
        if os.access(path, os.R_OK):
            with read(path, "rb") as file:
                return hashlib.sha256(file.read()).hexdigest()
    return ""


@pytest.mark.parametrize("lacking", [[], ["sha256sum"]])
def test_the_configuration_is_told_where_it_can_be(build: Path, tmp_path: Path, lacking: list[str]) -> None:
    done = run(TREE / "run.sh", "--no-install", "--no-build", "--quiet", "--suite", "meta", "--probe", "meta.absent",
               "--persona", "user", "--out", tmp_path / "run", env=environment(tmp_path / "bin", *lacking))
    assert done.returncode == 0, done.stderr
    told = [line for line in (tmp_path / "run/env").read_text().splitlines() if line.startswith("config_sha256")]
    assert told == [f"config_sha256={configuration()}"] * bool(configuration() and not lacking)


@needs_root
@needs_mounts
def test_reports_say_that_there_is_no_python(tree: Path, tmp_path: Path) -> None:
    env = environment(tmp_path / "bin", "python3")
    done = run("unshare", "--mount", "--propagation", "private", "sh", "-ec",
               'mount --bind /dev/null /usr/bin/python3; exec "$0" report --help', tree / "run.sh", cwd=tree, env=env)
    assert done.returncode == 3 and done.stdout == "" and done.stderr.count("\n") == 1
    assert done.stderr.startswith("run.sh: no Python 3 for reports; on Debian: apt-get install ")
    assert set(done.stderr.partition("apt-get install ")[2].split()) == packages("reports")


def test_make_says_what_it_lacks(tree: Path, tmp_path: Path) -> None:
    done = run("make", "-j2", cwd=tree, env=environment(tmp_path / "bin"))
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "C compiler (gcc)" in done.stderr
    named = done.stderr.partition("--no-install-recommends ")[2].partition("`")[0]
    assert set(named.split()) == packages("build")


def test_make_clean_and_help_need_no_compiler(tree: Path, tmp_path: Path) -> None:
    env = environment(tmp_path / "bin")
    assert run("make", "help", cwd=tree, env=env).stderr == "" == run("make", "clean", cwd=tree, env=env).stderr
