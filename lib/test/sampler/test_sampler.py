# SPDX-License-Identifier: MIT
"""Runs the unit tests of the room lib/sampler from build/test/sampler."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
BUILT = TREE / "build" / "test" / "sampler"
FUZZ_SECONDS = int(os.environ.get("FUZZ_SECONDS", "1"))


@pytest.mark.parametrize("name", sorted(path.stem for path in HERE.glob("*_test.c")))
def test_unit(name: str) -> None:
    """Under ASan and UBSan; cmocka counts its failures in the exit status."""
    program = BUILT / name
    if not program.exists():
        pytest.skip(f"not built: make {program.relative_to(TREE)}")
    done = subprocess.run([str(program)], cwd=BUILT, capture_output=True, text=True,
                          errors="backslashreplace", timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[  PASSED  ]" in done.stderr + done.stdout


@pytest.mark.parametrize("name", sorted(path.stem for path in HERE.glob("*_fuzz.c")))
def test_fuzz(name: str, tmp_path: Path) -> None:
    """The committed corpus, and a second beyond it; suites/test/test_fuzz.py looks longer."""
    corpus = HERE / "data" / name
    assert list(corpus.iterdir()), "no corpus"
    if not (BUILT / name).exists():
        pytest.skip(f"not built: make build/test/sampler/{name}")
    done = subprocess.run([str(BUILT / name), f"-max_total_time={FUZZ_SECONDS}",
                           f"-artifact_prefix={tmp_path}/", str(tmp_path), str(corpus)],
                          capture_output=True, text=True, errors="backslashreplace",
                          timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "DONE" in done.stderr
