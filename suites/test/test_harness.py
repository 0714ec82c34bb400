# SPDX-License-Identifier: MIT
"""One probe built with each generation of the kernel's harness: it says the same, on old kernels, too."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import TREE, run

HERE = Path(__file__).parent / "harness"
KIT = TREE / "probes/kit"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "perfmodes/kselftest"


# The hash of each known kselftest_harness.h, and the package that has it.
KNOWN = re.findall(r"^[0-9a-f]{64} ([0-9a-f]{64}) (linux-source-[\d.]+)", (KIT / "fetch-harness").read_text(), re.M)
BUILT = TREE / "build/kselftest/kselftest_harness.h"


def rows() -> list[tuple[str, str]]:
    """The known ones, and that of the build where it is another."""
    mine = hashlib.sha256(BUILT.read_bytes()).hexdigest() if BUILT.is_file() else ""
    return KNOWN + ([] if mine in ("", *(digest for digest, _ in KNOWN)) else [(mine, "KSELFTEST_DIR")])


def harness_of(digest: str, package: str) -> Path:
    """A folder with that harness. KSELFTEST_DIRS names more of them, with colons."""
    named = [Path(name) for name in os.environ.get("KSELFTEST_DIRS", "").split(":") if name]
    for folder in (BUILT.parent, CACHE, *named):
        header = folder / "kselftest_harness.h"
        if header.is_file() and hashlib.sha256(header.read_bytes()).hexdigest() == digest:
            return folder
    pytest.skip(f"this harness of {package} is not here: KSELFTEST_DIRS names folders that have one")


def compile_with(folder: Path, place: Path, build: Path) -> Path:
    """every_end.c as the Makefile would build a probe."""
    compiler = ["gcc"]
    if shutil.which("musl-gcc"):
        multiarch = run("gcc", "-print-multiarch").stdout.strip()
        compiler = ["musl-gcc", "-idirafter", "/usr/include", "-idirafter", f"/usr/include/{multiarch}"]
    subprocess.run([*compiler, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-Wno-unused-parameter",
                    "-pthread", "-isystem", folder, "-I", KIT, '-DPROBE_ID="test.every_end"', "-c",
                    "-o", place / "every_end.o", HERE / "every_end.c"], check=True)
    subprocess.run([*compiler, "-static", "-pthread", "-o", place / "every_end", place / "every_end.o",
                    *sorted((build / "kit").glob("*.o")), build / "lib/mechanism.a"], check=True)
    return place / "every_end"


@pytest.fixture(scope="module", name="program", params=rows(), ids=lambda row: f"{row[1]}-{row[0][:6]}")
def _program(request: pytest.FixtureRequest, build: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_with(harness_of(*request.param), tmp_path_factory.mktemp("harness"), build)


def lines_of(text: str) -> list[str]:
    """What a run said, without what nobody reads: totals, line numbers, numbers of steps."""
    kept = [line for line in text.splitlines()
            if not re.match(r"# Totals: |# \d+ skipped test\(s\) detected|#:launch: |#:kernel: ", line)]
    return [re.sub(r" at step #\d+$", "", re.sub(r"^# .*/(\w+\.[ch]):\d+:", r"# \1:", line)) for line in kept]


def expected() -> list[str]:
    return (HERE / "every_end.ktap").read_text().splitlines()


def test_the_oldest_generation_and_newer_ones_are_known() -> None:
    assert [package for _, package in KNOWN][0] == "linux-source-6.1" and len({package for _, package in KNOWN}) >= 3


def test_each_end_is_said_alike(program: Path) -> None:
    """Newer generations know options, which would choose tests."""
    done = subprocess.run([program, "-l"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
                          check=False)
    assert lines_of(done.stdout) == expected() and done.returncode == 1


def test_no_call_is_newer_than_linux_3_10(program: Path, build: Path, tmp_path: Path) -> None:
    assert run(build / "falsify/launch", "--old-kernel", "--out", tmp_path / "ktap", "--", program).returncode == 0
    assert lines_of((tmp_path / "ktap").read_text()) == expected()


def test_a_probe_that_is_not_asked_says_so_for_each_test(program: Path) -> None:
    done = run(program, env={**os.environ, "PERFMODES_SKIP": "test.every_end=it is late"})
    asked = [re.sub(r"^not ", "", line).split(" # ")[0] for line in expected() if re.match(r"(not )?ok ", line)]
    assert done.stdout.splitlines()[2:2 + len(asked)] == [f"{line} # SKIP unknown: not asked here: it is late" for line in asked]
    assert done.returncode == 0


def test_constructors_lie_where_a_bundle_looks(program: Path) -> None:
    sections = run("readelf", "--wide", "--section-headers", program.with_suffix(".o")).stdout
    assert set(re.findall(r"\.init_array\S*", sections)) == {".init_array"}
