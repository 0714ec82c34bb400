# SPDX-License-Identifier: MIT
"""libperfmodes-pfm: its unit tests, and the program of its page without libpfm4 linked."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree

TREE = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
TESTS = TREE / "build" / "test" / "pfm"
BUILT = TREE / "build" / os.environ.get("ARCH", platform.machine())
NEEDED = "needs libpfm4's headers: apt-get install libpfm4-dev, then make pfm unit-tests"


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          timeout=300, check=False)


@pytest.mark.parametrize("name", sorted(path.stem for path in HERE.glob("*_test.c")))
def test_unit(name: str) -> None:
    """Under ASan and UBSan; cmocka counts its failures in the exit status."""
    if not (TESTS / name).exists():
        pytest.skip(NEEDED)
    done = run(TESTS / name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[  PASSED  ]" in done.stderr + done.stdout


@pytest.mark.perf
def test_the_program_of_the_page(tmp_path: Path) -> None:
    """It needs no libpfm4 to start, and the explanation has the name and what it became."""
    if not (BUILT / "libperfmodes-pfm.a").exists():
        pytest.skip(NEEDED)
    made = run("make", "-s", "-C", TREE, BUILT.relative_to(TREE) / "libperfmodes.a",
               BUILT.relative_to(TREE) / "libperfmodes-pfm.a")
    assert made.returncode == 0, made.stderr
    template = (TREE / "lib/pfm/pm_pfm_parse.3.in").read_text(encoding="utf-8")
    found = re.search(r"^\.Bd -literal\n(#include.*?)^\.Ed", template, re.M | re.S)
    assert found
    source = tmp_path / "example.c"
    source.write_text(found[1].replace("\\e", "\\"), encoding="utf-8")
    built = run("gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{TREE}/lib", "-o",
                tmp_path / "example", source, BUILT / "libperfmodes-pfm.a",
                BUILT / "libperfmodes.a", "-l:libyajl_s.a", "-pthread", "-ldl")
    assert built.returncode == 0, built.stderr
    assert "libpfm" not in run("readelf", "-d", tmp_path / "example").stdout
    done = run(tmp_path / "example", "perf::PAGE-FAULTS:u")
    assert done.returncode == 0, done.stderr
    assert 'page-faults:u: "perf::PAGE-FAULTS:u" is type 1, config 0x2\n' in done.stdout
    wrong = run(tmp_path / "example", "perf::PAGE-FAULT")
    assert wrong.returncode == 1 and "near it is perf::" in wrong.stderr
