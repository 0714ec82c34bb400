# SPDX-License-Identifier: MIT
"""The Debian packages, built in another folder at another time than the tree was. Two minutes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import TREE

pytestmark = pytest.mark.slow
NEEDED = {"dpkg-buildpackage": "dpkg-dev", "dh": "debhelper", "lintian": "lintian",
          "musl-gcc": "musl-tools"}
HARNESS = TREE / "build" / "kselftest"


def files_of(bundle: Path) -> str:
    return (bundle / "MANIFEST").read_text()


@pytest.fixture(scope="module", name="built")
def _built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree elsewhere, with another umask, locale, time zone and home."""
    lacking = [package for program, package in NEEDED.items() if not shutil.which(program)]
    if lacking:
        pytest.skip(f"needs the packages {' '.join(lacking)}")
    if not (HARNESS / "kselftest_harness.h").exists():
        pytest.skip("no harness: make all")
    place = tmp_path_factory.mktemp("elsewhere")
    script = ('umask 077; files=$(git ls-files 2>/dev/null); cp -P --parents $files "$0"; cd "$0"; '
              'exec make -j2 NO_INSTALL=1 deb DEB_FLAGS="-us -uc -d -b"')
    env = {**os.environ, "KSELFTEST_DIR": str(HARNESS), "LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo",
           "HOME": str(place), "DEB_BUILD_OPTIONS": "parallel=2 nocheck"}
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        env.pop(name, None)
    done = subprocess.run(["sh", "-ec", script, str(place)], cwd=TREE, capture_output=True, text=True,
                          env=env, timeout=1800, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return place / "build" / "deb"


def test_lintian_finds_nothing(built: Path) -> None:
    changes = next(built.glob("*.changes"))
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", str(changes)],
                          capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0 and not done.stdout.strip(), done.stdout + done.stderr


def test_there_are_four_packages(built: Path) -> None:
    names = {path.name.split("_")[0] for path in built.glob("*.deb")}
    assert {name for name in names if not name.endswith("-dbgsym")} == {
        "perfmodes", "libperfmodes0", "libperfmodes-dev", "perfmodes-doctor"}


def test_a_build_elsewhere_gives_the_same_bundle(built: Path) -> None:
    """The programs in it, byte by byte: MANIFEST has their checksums."""
    machine = os.uname().machine
    subprocess.run(["make", "-s", "NO_INSTALL=1", "bundle"], cwd=TREE, check=True, timeout=1800)
    other = next(built.glob("perfmodes-*/")) / "build" / machine / "bundle"
    assert files_of(other) == files_of(TREE / "build" / machine / "bundle")
