# SPDX-License-Identifier: MIT
"""A tree whose path has a blank and letters beyond ASCII: what make, the shell and compilers may split."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from conftest import TREE, run

LEFT_OUT = shutil.ignore_patterns("build", "results", ".git", "__pycache__", "node_modules", "golden")


@pytest.fixture(scope="module", name="odd")
def _odd(build: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree, as old as it is, with what was built here."""
    odd = tmp_path_factory.mktemp("ein Ördner") / "perf modes"
    shutil.copytree(TREE, odd, symlinks=True, ignore=LEFT_OUT)
    (odd / "build").symlink_to(build.parent)
    return odd


@pytest.mark.parametrize("command", [
    ["./run.sh", "--list", "--no-build"], ["./run.sh", "doctor", "--list"],
    ["./run.sh", "report", "catalogue", "--count"], ["./run.sh", "kernels", "--list"],
    ["./run.sh", "device", "--help"], ["make", "-s", "help"],
    ["make", "-n", "all", "library", "bundle", "install-all", "install-suite", "uninstall", "deb"]], ids=lambda command: " ".join(command[:3]))
def test_a_command_works_there(odd: Path, command: list[str]) -> None:
    done = run(*command, cwd=odd, env={**os.environ, "NO_INSTALL": "1"})
    assert done.returncode == 0 and done.stdout, done.stderr


def test_what_is_told_to_go_on_with_goes_on(odd: Path, tmp_path: Path) -> None:
    first = [odd / "run.sh", "--no-install", "--no-build", "--quiet", "--suite", "meta", "--probe", "meta.pass",
             "--persona", "user", "--out", tmp_path / "ein Lauf"]
    assert run(*first).returncode == 0
    told = re.search(r"holds a run already; (.*) goes on with it", run(*first).stderr)
    assert told
    done = run("sh", "-c", f"{told[1]} --no-install --no-build --quiet")
    assert done.returncode == 0, done.stderr


def test_the_headers_are_read_there(odd: Path, tmp_path: Path) -> None:
    """By the compiler, for the bindings: the same as here."""
    for tree, out in (odd, tmp_path / "odd"), (TREE, tmp_path / "here"):
        done = run("/usr/bin/python3", tree / "lib/bindings/abi/make.py", tree / "lib", out)
        assert done.returncode == 0, done.stderr
    for name in ("python/perfmodes/abi.py", "rust/src/abi.rs"):
        assert (tmp_path / "odd" / name).read_text() == (tmp_path / "here" / name).read_text() != ""


def test_a_suite_is_installed_there_and_removed(odd: Path, tmp_path: Path) -> None:
    if not (odd / "build" / os.uname().machine / "bundle").is_dir():
        pytest.skip("no bundle is built: make bundle")
    place = tmp_path / "ein Ziel"
    make = ["make", "-s", "NO_INSTALL=1", "-o", "bundle", f"DESTDIR={place}", "PREFIX=/usr"]
    done = run(*make, "install-suite", cwd=odd)
    assert done.returncode == 0, done.stderr
    assert (place / "usr/lib/perfmodes/run.sh").exists() and (place / "usr/bin/perfmodes").exists()
    done = run(*make, "uninstall-suite", cwd=odd)
    assert done.returncode == 0, done.stderr
    assert not [path for path in place.rglob("*") if not path.is_dir()]


def test_a_release_is_summed_up_there(odd: Path, tmp_path: Path) -> None:
    if not (odd / "build/kselftest/kselftest_harness.h").exists():
        pytest.skip("no harness: make all")
    version = re.search(r"^Version: (.*)$", (odd / "lib/perfmodes.pc.in").read_text(), re.M)
    assert version
    (tmp_path / f"perfmodes-{version[1]}.tar.xz").write_text("source")
    done = run("make", "-s", "NO_INSTALL=1", f"RELEASE={tmp_path}", "release-sums", cwd=odd)
    assert done.returncode == 0, done.stderr
    assert f"perfmodes-{version[1]}.tar.xz" in (tmp_path / "SHA256SUMS").read_text()
