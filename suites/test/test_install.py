# SPDX-License-Identifier: MIT
""".ci/install before an archive that lacks packages: no machine has all names of another Debian."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import TREE

PROGRAMS = {
    "id": "echo ${USER_ID:-0}",
    "dpkg-query": 'for name; do grep -qx -- "$name" "$STATE/there" && echo "installed $name"; done; exit 1',
    # -s and --assume-no try, -y does it.
    "apt-get": '''echo "$*" >>"$STATE/asked"
case "$*" in *" install "*) ;; *) exit 0 ;; esac
words=$*
for word in ${words##* install }; do
	grep -qx "$word" "$STATE/lacks" && exit 100
	case "$*" in *" -y "*) grep -qx "$word" "$STATE/fails" && exit 100; echo "$word" >>"$STATE/new" ;; esac
done
[ ! -s "$STATE/new" ] || cat "$STATE/new" >>"$STATE/there"''',
}


class World:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in PROGRAMS.items():
            (folder / name).write_text(f"#!/bin/sh\n{text}\n")
            (folder / name).chmod(0o755)
        for name in ("there", "lacks", "fails", "new", "asked"):
            (folder / name).touch()

    def set(self, name: str, *packages: str) -> None:
        (self.folder / name).write_text("".join(f"{package}\n" for package in packages))

    def install(self, *words: str, **env: str) -> tuple[int, str]:
        paths = {"PATH": f"{self.folder}:/usr/bin:/bin", "STATE": str(self.folder)}
        done = subprocess.run([TREE / ".ci/install", *words], env=paths | env, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=300, check=False)
        return done.returncode, done.stderr

    def got(self) -> set[str]:
        return set((self.folder / "new").read_text().split())


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_package_that_the_archive_lacks_stops_no_other(world: World) -> None:
    world.set("lacks", "lava-common")
    status, said = world.install("lava")
    assert status == 0 and world.got() == {"lavacli", "python3-yaml"}, said
    assert "this archive has no package lava-common that can be installed; what needs it is skipped" in said


def test_another_name_of_a_package_serves(world: World) -> None:
    world.set("lacks", "libclang-rt-dev")
    status, said = world.install("check")
    assert status == 0 and "libclang-rt-19-dev" in world.got() and "has no package" not in said, said


def test_without_a_compiler_nothing_goes_on(world: World) -> None:
    world.set("lacks", "musl-tools")
    status, said = world.install("build", "quick")
    assert status == 1 and "nothing can be built without musl-tools" in said
    assert {"gcc", "python3-pytest"} <= world.got()


def test_one_that_cannot_be_fetched_is_named_and_stops_no_other(world: World) -> None:
    world.set("fails", "lavacli")
    status, said = world.install("lava")
    assert status == 1 and "apt-get could not install: lavacli\n" in said
    assert {"lava-common", "python3-yaml"} <= world.got()


def test_what_is_there_is_not_asked_for(world: World) -> None:
    world.set("there", "lava-common", "lavacli", "python3-yaml")
    assert world.install("lava") == (0, "") and (world.folder / "asked").read_text() == ""


def test_nobody_installs_who_is_told_not_to_or_may_not(world: World) -> None:
    assert world.install("lava", NO_INSTALL="1") == (0, "")
    status, said = world.install("lava", USER_ID="1000")
    assert status == 1 and "sudo apt-get install --no-install-recommends lava-common lavacli python3-yaml" in said
    assert world.got() == set() and (world.folder / "asked").read_text() == ""
