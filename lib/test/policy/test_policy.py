# SPDX-License-Identifier: MIT
"""Runs the unit tests and fuzz targets of the policy floor from build/test/policy."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
BUILT = TREE / "build" / "test" / "policy"
FUZZ_SECONDS = int(os.environ.get("FUZZ_SECONDS", "3"))


def names(pattern: str) -> list[str]:
    return sorted(path.stem for path in HERE.glob(pattern))


def run(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    program = BUILT / name
    if not program.exists():
        pytest.skip(f"not built: make {program.relative_to(TREE)}")
    return subprocess.run([str(program), *map(str, arguments)], cwd=BUILT, capture_output=True,
                          text=True, errors="backslashreplace", timeout=120, check=False)


@pytest.mark.parametrize("name", names("*_test.c"))
def test_unit(name: str) -> None:
    """Under ASan and UBSan; cmocka counts its failures in the exit status."""
    done = run(name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[  PASSED  ]" in done.stderr + done.stdout


@pytest.mark.parametrize("name", names("*_fuzz.c"))
def test_fuzz(name: str, tmp_path: Path) -> None:
    """The committed corpus, then a few seconds beyond it."""
    corpus = HERE / "data" / name
    assert list(corpus.iterdir()), "no corpus"
    done = run(name, f"-max_total_time={FUZZ_SECONDS}", f"-artifact_prefix={tmp_path}/",
               tmp_path, corpus)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "DONE" in done.stderr
