# SPDX-License-Identifier: MIT
"""probes/kit/fetch-harness with a made archive: which package it takes, where it keeps what, what it says."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import TREE, needs_mounts, needs_root, run

SCRIPT = TREE / "probes/kit/fetch-harness"
TOOLS = ("sh", "apt-cache", "apt-get", "cat", "cp", "cut", "dpkg-deb", "id", "mkdir", "mktemp", "mv", "rm", "sed",
         "sha256sum", "tail", "tar", "uniq", "xz")
HEADERS = ("kselftest.h", "kselftest_harness.h")
READERS = ("kunit_parser.py", "kunit_printer.py", "run_kselftest.sh", "kselftest/runner.sh", "perf-regs/arch-support.txt",
           "perf-stackdump/arch-support.txt", "kprobes-event/arch-support.txt")

# An apt that has the packages in the folder ARCHIVE, takes an unknown name for a pattern, and says as much
# as the real one on a bad day.
APT_GET = """#!/bin/sh
echo "$*" >>"$ARCHIVE/asked"
for name; do :; done
file=${name}_1_all.deb
[ -f "$ARCHIVE/$file" ] || for each in "$ARCHIVE"/*$name*.deb; do file=${each##*/}; done
case $* in
*update*) [ ! -d "$ARCHIVE/later" ] || mv "$ARCHIVE"/later/*.deb "$ARCHIVE" ;;
*--print-uris*)
    [ -f "$ARCHIVE/$file" ] || { echo "E: Unable to locate package $name" >&2; exit 100; }
    echo "'http://archive/$file' $file 139331676 SHA256:00" ;;
*download*)
    echo 'W: Download is performed unsandboxed as root' >&2
    [ ! -f "$ARCHIVE/cut" ] || { echo "E: Failed to fetch $file  Could not resolve 'archive'" >&2; exit 100; }
    cp "$ARCHIVE/$file" . ;;
*) exit 99 ;;
esac
"""
APT_CACHE = """#!/bin/sh
[ "$*" = 'depends linux-source' ] && echo linux-source && echo '  Depends: linux-source-9.9'
"""


def source(package: str, words: str) -> dict[str, str]:
    """The files of a kernel source that matter, and one that does not."""
    top = f"{package}/tools/testing"
    places = {"kunit": f"{top}/kunit", "perf": f"{package}/Documentation/features/perf",
              "kprobes": f"{package}/Documentation/features/perf"}
    made = {f"{top}/selftests/{name}": f"/* {name} {words} */\n" for name in HEADERS}
    for name in READERS:
        place = next((to for word, to in places.items() if name.startswith(word)), f"{top}/selftests")
        made[f"{place}/{name}"] = f"# {name}\n"
    return made | {f"{package}/init/main.c": "int main;\n"}


def archive_of(package: str, words: str, place: Path) -> Path:
    """linux-source-X.Y.tar.xz as the package has it."""
    for name, text in source(package, words).items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    subprocess.run(["tar", "-cJf", f"{package}.tar.xz", package], cwd=place, check=True)
    shutil.rmtree(place / package)
    return place / f"{package}.tar.xz"


class World:
    """A script that knows made files, a made archive, and programs of its own."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.archive, self.programs, self.home, self.out = (top / name for name in ("archive", "bin", "home", "out"))
        for folder in (self.archive, self.programs, self.home):
            folder.mkdir()
        for name in TOOLS:
            (self.programs / name).symlink_to(shutil.which(name) or "/nowhere")
        for name, text in (("apt-get", APT_GET), ("apt-cache", APT_CACHE)):
            (self.programs / name).unlink()
            (self.programs / name).write_text(text)
            (self.programs / name).chmod(0o755)
        text = SCRIPT.read_text()
        for package in re.findall(r" (linux-source-\S+?)'?$", text, re.M):
            sums = [hashlib.sha256(f"/* {name} of {package} */\n".encode()).hexdigest() for name in HEADERS]
            text = re.sub(rf"\w{{64}} \w{{64}} {re.escape(package)}(?='|$)", f"{sums[0]} {sums[1]} {package}", text,
                          flags=re.M)
        self.script = top / "fetch-harness"
        self.script.write_text(text)
        self.script.chmod(0o755)
        self.env = {"PATH": str(self.programs), "HOME": str(self.home), "ARCHIVE": str(self.archive)}

    def has(self, package: str, words: str = "", later: bool = False) -> None:
        """The archive gets a package, at once or with the next update of the lists."""
        place = self.top / "package"
        (place / "DEBIAN").mkdir(parents=True)
        (place / "DEBIAN/control").write_text(f"Package: {package}\nVersion: 1\nArchitecture: all\n"
                                              "Maintainer: nobody <nobody@example.org>\nDescription: made\n")
        (place / "usr/src").mkdir(parents=True)
        archive_of(package, words or f"of {package}", place / "usr/src")
        to = self.archive / "later" if later else self.archive
        to.mkdir(exist_ok=True)
        subprocess.run(["dpkg-deb", "-Znone", "-b", place, to / f"{package}_1_all.deb"], check=True, capture_output=True)
        shutil.rmtree(place)

    def lacks(self, tool: str) -> None:
        (self.programs / tool).unlink()

    def fetch(self, **env: str) -> tuple[int, str]:
        done = run("sh", self.script, self.out, env=self.env | env, cwd=self.top)
        assert done.stdout == ""
        return done.returncode, done.stderr

    def taken(self) -> str:
        """From which package the files in DIR are."""
        texts = [(self.out / name).read_text() for name in HEADERS]
        (words,) = {text.split(" ", 2)[2] for text in texts}
        return words.removeprefix("of ").removesuffix(" */\n")

    def asked(self) -> str:
        return (self.archive / "asked").read_text() if (self.archive / "asked").exists() else ""


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> World:
    return World(tmp_path)


def sentence(said: str) -> str:
    """What failed, in one line that says what helps."""
    assert said.count("\n") == 1 and said.startswith("fetch-harness: ") and "KSELFTEST_DIR" in said
    return said


# --------------------------------------------------------------------------------- which package

@pytest.mark.parametrize("packages, taken", [
    (["linux-source-6.12"], "linux-source-6.12"), (["linux-source-7.2"], "linux-source-7.2"),
    (["linux-source-7.2", "linux-source-6.1", "linux-source-6.12"], "linux-source-6.1"),
    (["linux-source-9.9", "linux-source-7.2"], "linux-source-7.2")])
def test_the_first_known_package_is_taken(world: World, packages: list[str], taken: str) -> None:
    for package in packages:
        world.has(package)
    assert world.fetch() == (0, f"perfmodes: fetching the kselftest harness out of {taken}, 139 MB, once\n")
    assert world.taken() == taken
    assert all((world.out / name).is_file() for name in READERS) and not (world.out / "main.c").exists()


def test_what_was_fetched_is_kept(world: World) -> None:
    world.has("linux-source-6.12")
    assert world.fetch()[0] == 0
    shutil.rmtree(world.out)
    (world.archive / "cut").touch()
    assert world.fetch() == (0, "") and world.taken() == "linux-source-6.12"
    assert {path.name for path in world.home.iterdir()} == {".cache"}
    assert not list((world.home / ".cache/perfmodes/kselftest").glob("fetch.*"))


def test_a_known_header_of_a_newer_package_is_taken(world: World) -> None:
    """The dependency of linux-source, with the same two files as one that is known."""
    world.has("linux-source-9.9", "of linux-source-7.2")
    assert world.fetch()[0] == 0 and world.taken() == "linux-source-7.2"


def test_an_unknown_header_of_the_archive_is_taken(world: World) -> None:
    world.has("linux-source-9.9")
    note = "perfmodes: this harness of Debian's is none that this project was tested with; KSELFTEST_DIR takes another\n"
    status, said = world.fetch()
    assert (status, world.taken()) == (0, "linux-source-9.9") and said.split("once\n")[1] == note
    shutil.rmtree(world.out)
    (world.archive / "cut").touch()
    assert world.fetch() == (0, note) and world.taken() == "linux-source-9.9"


def test_half_known_is_unknown(world: World) -> None:
    """One header of one generation, the other of another."""
    folder = world.top / "mixed"
    folder.mkdir()
    (folder / "kselftest.h").write_text("/* kselftest.h of linux-source-6.1 */\n")
    (folder / "kselftest_harness.h").write_text("/* kselftest_harness.h of linux-source-6.12 */\n")
    assert "none that this project was tested with" in world.fetch(KSELFTEST_DIR=str(folder))[1]


@needs_root
@needs_mounts
def test_an_installed_source_is_not_downloaded(world: World) -> None:
    (world.top / "src").mkdir()
    for package, words in (("linux-source-6.1", "of somebody"), ("linux-source-6.12", "of linux-source-6.12")):
        archive_of(package, words, world.top / "src")
    done = run("unshare", "--mount", "--propagation", "private", "sh", "-ec",
               'mount --bind "$1" /usr/src; shift; exec env -i "$@"', "sh", world.top / "src",
               *(f"{key}={value}" for key, value in world.env.items()), "sh", world.script, world.out)
    assert (done.returncode, done.stderr, world.taken(), world.asked()) == (0, "", "linux-source-6.12", "")


# ------------------------------------------------------------------------------------ KSELFTEST_DIR

def test_a_tree_is_taken_without_apt(world: World) -> None:
    for tool in ("apt-get", "dpkg-deb", "xz", "tar"):
        world.lacks(tool)
    archive = archive_of("linux-source-7.2", "of linux-source-7.2", world.top)
    subprocess.run(["tar", "-xJf", archive], cwd=world.top, check=True)
    tree = world.top / "linux-source-7.2/tools/testing/selftests"
    assert world.fetch(KSELFTEST_DIR=str(tree)) == (0, "") and world.taken() == "linux-source-7.2"
    (tree / "kselftest.h").unlink()
    status, said = world.fetch(KSELFTEST_DIR=str(tree))
    assert status == 1 and sentence(said) == f"fetch-harness: no kselftest.h and kselftest_harness.h in KSELFTEST_DIR, {tree}\n"


# --------------------------------------------------------------------------------- where it is kept

@pytest.mark.parametrize("env", [{"HOME": ""}, {"HOME": "/nonexistent"}, {"HOME": "/proc"}, {"XDG_CACHE_HOME": "/proc/cache"}])
def test_without_a_home_it_is_kept_in_the_build(world: World, env: dict[str, str]) -> None:
    """Nobody, root included, can write in /proc; a home that is not there is not made."""
    world.has("linux-source-6.12")
    status, said = world.fetch(**env)
    assert status == 0 and said.count("\n") == 1 and world.taken() == "linux-source-6.12"
    assert not Path("/nonexistent").exists() and not list(world.home.iterdir())
    (world.archive / "cut").touch()
    assert world.fetch(**env) == (0, "")
    assert not list(world.out.glob("fetch.*"))


def test_a_home_that_is_unset(world: World) -> None:
    world.has("linux-source-6.12")
    del world.env["HOME"]
    assert world.fetch()[0] == 0 and world.taken() == "linux-source-6.12"


# ---------------------------------------------------------------------------------- what goes wrong

def test_no_network(world: World) -> None:
    world.has("linux-source-6.12")
    (world.archive / "cut").touch()
    status, said = world.fetch(NO_INSTALL="1")
    assert status == 1 and "Could not resolve 'archive'" in sentence(said.split("once\n")[1])
    assert world.asked().count(" download linux-source-6.12\n") == 1 and "update" not in world.asked()
    assert not list(world.home.rglob("fetch.*"))


def test_empty_lists(world: World) -> None:
    status, said = world.fetch(NO_INSTALL="1")
    assert status == 1 and "apt knows no package linux-source; as root: apt-get update" in sentence(said)
    assert "update" not in world.asked()


@needs_root
def test_root_renews_empty_lists(world: World) -> None:
    world.has("linux-source-6.12", later=True)
    assert world.fetch()[0] == 0 and world.taken() == "linux-source-6.12"


@pytest.mark.parametrize("tool, package", [("xz", "xz-utils"), ("tar", "tar"), ("dpkg-deb", "dpkg")])
def test_a_missing_tool_is_named_before_anything_is_fetched(world: World, tool: str, package: str) -> None:
    world.has("linux-source-6.12")
    world.lacks(tool)
    status, said = world.fetch()
    assert status == 1 and f"no {tool} to unpack" in sentence(said) and f"install the package {package}" in said
    assert world.asked() == ""


def test_no_apt(world: World) -> None:
    world.lacks("apt-get")
    status, said = world.fetch()
    assert status == 1 and "no apt here" in sentence(said)


def test_a_package_that_is_cut_off(world: World) -> None:
    world.has("linux-source-6.12")
    package = world.archive / "linux-source-6.12_1_all.deb"
    os.truncate(package, package.stat().st_size // 2)
    status, said = world.fetch()
    assert status == 1 and "cannot unpack linux-source-6.12 (" in sentence(said.split("once\n")[1])
