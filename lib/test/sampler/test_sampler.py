# SPDX-License-Identifier: MIT
"""Runs the unit tests of the room lib/sampler from build/test/sampler."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
BUILT = TREE / "build" / "test" / "sampler"
# Events of one program on a page fault change the samples of another's: sample.shared_hit.
pytestmark = pytest.mark.xdist_group("sampler")


@pytest.mark.parametrize("name", sorted(path.stem for path in HERE.glob("*_test.c")))
def test_unit(name: str) -> None:
    """Under ASan and UBSan; cmocka counts its failures in the exit status."""
    program = BUILT / name
    if not program.exists():
        pytest.skip(f"not built: make {program.relative_to(TREE)}")
    done = subprocess.run([str(program)], cwd=BUILT, capture_output=True, text=True,
                          errors="backslashreplace", timeout=1800, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[  PASSED  ]" in done.stderr + done.stdout
