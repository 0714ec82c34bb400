# SPDX-License-Identifier: MIT
"""The Debian packages, built twice, in other folders and at other times than the tree was: minutes."""

from __future__ import annotations

import hashlib
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


def build(place: Path, mask: str, **differs: str) -> Path:
    """The packages of a copy of the tree in `place`, made with another umask and environment."""
    lacking = [package for program, package in NEEDED.items() if not shutil.which(program)]
    if lacking:
        pytest.skip(f"needs the packages {' '.join(lacking)}")
    if not (HARNESS / "kselftest_harness.h").exists():
        pytest.skip("no harness: make all")
    script = (f'umask {mask}; files=$(git ls-files 2>/dev/null); cp -P --parents $files "$0"; cd "$0"; '
              'exec make -j2 NO_INSTALL=1 deb DEB_FLAGS="-us -uc -d -b"')
    env = {**os.environ, "KSELFTEST_DIR": str(HARNESS), "HOME": str(place),
           "DEB_BUILD_OPTIONS": "parallel=2 nocheck", **differs}
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        env.pop(name, None)
    place.mkdir(exist_ok=True)
    done = subprocess.run(["sh", "-ec", script, str(place)], cwd=TREE, capture_output=True, text=True,
                          env=env, timeout=1800, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return place / "build" / "deb"


@pytest.fixture(scope="module", name="built")
def _built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("elsewhere"), "077", LC_ALL="C.UTF-8", TZ="Asia/Tokyo")


@pytest.fixture(scope="module", name="again")
def _again(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("in-a-folder-with-a-longer-name") / "tree"
    return build(place, "022", LC_ALL="C", TZ="America/Caracas")


def sums_of(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.glob("*.deb"))}


def test_two_builds_give_the_same_packages(built: Path, again: Path) -> None:
    """Byte by byte, with what debuggers want."""
    assert len(sums_of(built)) >= 4
    assert sums_of(built) == sums_of(again)


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
