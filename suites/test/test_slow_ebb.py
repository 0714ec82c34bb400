# SPDX-License-Identifier: MIT
"""Event-based branches: built by both compilers, then tried in a guest that has them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]
EBB = TREE / "lib" / "ebb"
CROSS = "powerpc64le-linux-gnu-"
BUILD = TREE / "build" / "ppc64le"
GENERAL = ["-mno-altivec", "-mno-vsx", "-msoft-float"]
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wmissing-prototypes", "-Werror"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which(CROSS + "gcc") is None,
                       reason="no compiler: apt-get install gcc-powerpc64le-linux-gnu"),
]


def run(*command: str | Path, limit: int = 600) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], cwd=TREE, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="backslashreplace",
                          timeout=limit, check=False)


@pytest.fixture(scope="module", name="built")
def _built() -> Path:
    """The bundle with the test program, without a warning."""
    done = run("make", "-s", "ARCH=ppc64le", "NO_INSTALL=1", "WERROR=1", "library-bundle")
    assert done.returncode == 0, done.stderr
    return BUILD


def vectors(listing: str) -> list[str]:
    """Instructions of a disassembly that name a floating-point or vector register."""
    return re.findall(r"^.*\t.*\b(?:v|f|vs)\d+\b.*$", listing, re.M)


@pytest.mark.parametrize("name", ["lib/ebb/branch.o", "lib/ebb/note.o", "lib/test/ebb/callback.o"])
def test_what_a_branch_runs_uses_general_registers(built: Path, name: str) -> None:
    listing = run(CROSS + "objdump", "-d", "--no-show-raw-insn", "--no-addresses", built / name)
    assert listing.returncode == 0 and "rfebb" not in listing.stdout
    assert vectors(listing.stdout) == []


def test_vectors_are_found(built: Path) -> None:
    """The entry that keeps them names all of them."""
    listing = run(CROSS + "objdump", "-d", "-M", "power9", "--no-show-raw-insn", "--no-addresses",
                  built / "lib/ebb/entry.o")
    assert len(vectors(listing.stdout)) >= 104


@pytest.mark.skipif(shutil.which("clang") is None, reason="no clang: apt-get install clang")
def test_clang_has_no_warning(built: Path, tmp_path: Path) -> None:
    resources = run("clang", "-print-resource-dir").stdout.strip()
    for source in sorted(EBB.glob("*.[cS]")):
        general = GENERAL if source.stem in ("branch", "note") else []
        done = run("clang", "--target=powerpc64le-linux-gnu", "-mcpu=power8", "-std=gnu11", "-O2",
                   *WARNINGS, "-pthread", "-nostdinc", "-isystem", built / "cross/include",
                   "-isystem", f"{resources}/include", "-idirafter",
                   "/usr/powerpc64le-linux-gnu/include", *general, "-c", "-o", tmp_path / "o", source)
        assert done.returncode == 0 and done.stderr == "", done.stderr


@pytest.mark.skipif(shutil.which("qemu-system-ppc64") is None,
                    reason="no emulator: apt-get install qemu-system-ppc")
def test_in_a_guest(built: Path, tmp_path: Path) -> None:
    assert (built / "bundle/bin/probes/library/ebb").exists()
    done = run("./run.sh", "kernels", "ppc64el-power8", "--suite", "library", "--probe",
               "library.ebb", "--persona", "root", "--no-build", "--no-install", "--out",
               tmp_path / "run", limit=1500)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    result = json.loads((tmp_path / "run/ppc64el-power8/result.json").read_text(encoding="utf-8"))
    points = result["personas"]["root"]["probes"]["library.ebb"]["points"]
    assert len(points) == 16
    assert {name: point for name, point in points.items() if point["verdict"] != "yes"} == {}
