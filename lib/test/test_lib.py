# SPDX-License-Identifier: MIT
"""Runs the library's unit tests, which `make check` has built into build/test."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]
HERE = TREE / "lib" / "test"
BUILT = TREE / "build" / "test"


def names(pattern: str) -> list[str]:
    return sorted(path.stem for path in HERE.glob(pattern))


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(c) for c in command], cwd=BUILT, capture_output=True, text=True,
                          errors="backslashreplace", timeout=900, check=False)


@pytest.mark.parametrize("name", names("*_test.c"))
def test_unit(name: str) -> None:
    """Under ASan and UBSan; cmocka counts its failures in the exit status."""
    done = run(BUILT / name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[  PASSED  ]" in done.stderr + done.stdout and "test(s)" in done.stderr + done.stdout
