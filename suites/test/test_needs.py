# SPDX-License-Identifier: MIT
"""What the goals of make need: found, installed, or named in one sentence."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import TREE, run

NEED = TREE / ".packaging/need"
NEEDS = ".packaging/needs.mk"     # of the tree: make splits paths at blanks
# Of the programs that a bare Debian has: what make and the script use.
BARE = ("sh", "cat", "dirname", "expand", "expr", "grep", "head", "id", "rm", "sed", "sort", "tr", "uname")
GCC = "#!/bin/sh\ncase \"$*\" in *-E*) {} ;; *) exit 0 ;; esac\n"


def needs() -> dict[str, list[str]]:
    """goal -> words, as make reads them."""
    show = f"include {NEEDS}\n$(foreach v,$(filter NEED_%,$(.VARIABLES)),$(info $(v) $($(v))))\nall:\n"
    told = run("make", "-n", "-f", "-", input=show).stdout
    return {words[0].removeprefix("NEED_"): words[1:] for words in map(str.split, told.splitlines())
            if words[0].startswith("NEED_")}


def goals() -> list[str]:
    shown = run("make", "-s", "help").stdout.partition("\nVariables\n")[0]
    return re.findall(r"^  ([a-z-]+) ", shown, re.M)


@pytest.fixture(name="bare")
def _bare(tmp_path: Path) -> Path:
    """A folder for PATH, without compilers, Debian's tools and whatever else is here."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in BARE:
        (folder / name).symlink_to(shutil.which(name) or "/nonexistent")
    return folder


def script(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def need(bare: Path, *words: str, tree: Path = TREE, **more: str) -> str:
    """What lacks for these words where nothing may be installed, or where `more` says so."""
    env = {"PATH": str(bare), "NO_INSTALL": "1", "PYTHON": "no-python", **more}
    done = subprocess.run([tree / ".packaging/need", *words], env=env, capture_output=True, text=True,
                          timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def packages(said: str) -> set[str]:
    return set(said.partition("--no-install-recommends ")[2].rstrip("`\n").split())


# -------------------------------------------------------------------------------------- the goals

def test_help_has_a_line_for_each_goal() -> None:
    lines = run("make", "-s", "help").stdout.splitlines()
    assert len(goals()) > 30 and len(set(goals())) == len(goals())
    assert all(re.fullmatch(r"[A-Z][a-z ]+|  \S+ +\S.*", line) and len(line) <= 100 for line in lines)


def test_each_goal_says_what_it_needs() -> None:
    assert set(goals()) | {"shipped"} == set(needs())


def test_each_need_is_known(bare: Path) -> None:
    for word in {word for words in needs().values() for word in words}:
        need(bare, word)
    done = run(NEED, "no-such-word")
    assert done.returncode == 2 and "no-such-word" in done.stderr


@pytest.mark.parametrize("goal", [goal for goal, words in needs().items() if words])
def test_a_goal_ends_in_a_sentence_where_nothing_is(bare: Path, goal: str) -> None:
    done = subprocess.run([shutil.which("make") or "make", "PYTHON=no-python", "NO_INSTALL=1", goal], cwd=TREE,
                          env={"PATH": str(bare)}, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1, done.stderr
    assert re.search(f"make {goal}: lacking: .+; on Debian: `sudo apt-get install --no-install-recommends [a-z0-9+ -]+`",
                     done.stderr)


@pytest.mark.parametrize("flag, status", [("-n", 0), ("-q", 1)])
def test_nothing_is_looked_for_where_nothing_is_made(bare: Path, flag: str, status: int) -> None:
    done = subprocess.run([shutil.which("make") or "make", flag, "PYTHON=no-python", "bench-table"], cwd=TREE,
                          env={"PATH": str(bare)}, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == status and "lacking" not in done.stderr


def test_each_package_is_in_a_group(bare: Path) -> None:
    """What a sentence names, .ci/install has for somebody who asks for all."""
    every = run(TREE / ".ci/install", "--list", "build", "reports", "quick", "check", "package", "bench", "kernels")
    script(bare / "gcc", "#!/bin/sh\nexit 1\n")
    said = need(bare, *{word for words in needs().values() for word in words})
    assert len(packages(said)) > 30 and not packages(said) - set(every.stdout.split())


def test_the_group_for_packages_has_what_the_package_is_built_with() -> None:
    control = (TREE / ".packaging/debian/control").read_text()
    field = re.search(r"^Build-Depends:(.*(?:\n .*)*)", control, re.M)[1]
    wanted = {re.sub(r"-compat.*|[ \[(].*", "", part.strip()) for part in field.split(",")}
    assert "debhelper" in wanted and "build-essential" not in wanted	# which is never named there
    assert wanted | {"build-essential"} <= set(run(TREE / ".ci/install", "--list", "package").stdout.split())


def test_what_a_test_skips_for_is_in_a_group() -> None:
    """Where a test says which package it lacks, `make check` or `make check-peers` installs that."""
    said = re.compile(r"\bneed\(\"[^\"]+\", \"([a-z0-9.+-]+)\"\)|(?:reason=|skip\()\"[^\"]*\bpackage ([a-z0-9.+-]+)\"")
    named = {name for folder in ("kernels", "lib", "reports", "suites") for path in (TREE / folder).rglob("test/**/*.py")
             for pair in said.findall(path.read_text(encoding="utf-8")) for name in pair if name}
    there = run(TREE / ".ci/install", "--list", "build", "reports", "quick", "check", "postgresql", "browser", "java", "go",
                "rust", "wheel", "lava", "perfetto").stdout.split()
    assert {"openssh-server", "dropbear-bin", "busybox-static", "python3-yaml"} <= named
    assert not named - set(there)


# ------------------------------------------------------------------------------ what is lacking

@pytest.mark.parametrize("word, header, named", [
    ("library", "yajl/yajl_parse.h", "libyajl-dev"), ("library", "stdio.h", "libc6-dev"),
    ("library", "linux/perf_event.h", "linux-libc-dev"), ("stacks", "elfutils/libdwfl.h", "libdw-dev"),
    ("stacks", "zlib.h", "zlib1g-dev"), ("topology", "hwloc.h", "libhwloc-dev"),
    ("bench-counter", "papi.h", "libpapi-dev")])
def test_a_missing_header_is_named_with_its_package(bare: Path, word: str, header: str, named: str) -> None:
    for name in ("ar", "pkg-config", "no-python"):
        script(bare / name, "#!/bin/sh\n")
    script(bare / "gcc", GCC.format("exit 0"))
    assert need(bare, word) == ""
    script(bare / "gcc", GCC.format(f"! grep -q '<{header}>'"))
    assert need(bare, word) == f"lacking: <{header}>; on Debian: `sudo apt-get install --no-install-recommends {named}`\n"


def test_what_a_missing_compiler_would_look_for_is_named(bare: Path) -> None:
    """One sentence, one installation."""
    said = need(bare, "library")
    assert said.startswith("lacking: gcc, ") and {"binutils", "gcc", "libyajl-dev", "python3"} <= packages(said)


def test_for_another_machine_its_packages_are_named(bare: Path) -> None:
    """Also where the packages of this machine are installed."""
    script(bare / "riscv64-linux-gnu-gcc", "#!/bin/sh\nexit 1\n")
    script(bare / "riscv64-linux-gnu-ar", "#!/bin/sh\n")
    script(bare / "no-python", "#!/bin/sh\n")
    said = need(bare, "library", CROSS_COMPILE="riscv64-linux-gnu-", DEBIAN_ARCH="riscv64")
    assert said.count("\n") == 1 and "sudo dpkg --add-architecture riscv64 && sudo apt-get update && " in said
    assert packages(said) == {"libc6-dev-riscv64-cross", "libyajl-dev:riscv64", "linux-libc-dev-riscv64-cross"}


@pytest.mark.parametrize("there", [True, False])
def test_a_part_whose_header_is_lacking_is_left_out(tmp_path: Path, there: bool) -> None:
    script(tmp_path / "cc", GCC.format("exit 0" if there else "! grep '^#include <perfmon/'"))
    said = run("make", "-n", f"LIB_CC={tmp_path}/cc", "pfm").stdout
    assert ("LEFT    libperfmodes-pfm" in said) != there


def test_nothing_is_lacking_here() -> None:
    assert run(NEED, "probes", "library", "reports").stdout == ""


# ---------------------------------------------------------------------------- what is installed

@pytest.fixture(name="tree")
def _tree(tmp_path: Path, bare: Path) -> Path:
    """The script beside an installer that notes its words and brings what a library needs."""
    tree = tmp_path / "tree"
    for folder in (".packaging", ".ci"):
        (tree / folder).mkdir(parents=True)
    shutil.copy(NEED, tree / ".packaging/need")
    programs = "".join(f"printf '#!/bin/sh\\n' >{bare}/{name}; chmod 755 {bare}/{name}\n"
                       for name in ("ar", "gcc", "no-python"))
    script(tree / ".ci/install", f"#!/bin/sh\necho \"$*\" >{tree}/asked\n[ -e {tree}/offline ] || {{\n{programs}}}\n")
    (bare / "chmod").symlink_to(shutil.which("chmod") or "/nonexistent")
    script(bare / "apt-get", "#!/bin/sh\n")
    (bare / "id").unlink()
    script(bare / "id", "#!/bin/sh\necho 0\n")
    return tree


def asked(tree: Path) -> list[str]:
    return (tree / "asked").read_text().split() if (tree / "asked").exists() else []


def test_root_has_it_installed(bare: Path, tree: Path) -> None:
    assert need(bare, "library", tree=tree, NO_INSTALL="") == ""
    assert {"deb:gcc", "deb:libyajl-dev"} <= set(asked(tree))
    (tree / "asked").unlink()
    assert need(bare, "library", tree=tree, NO_INSTALL="") == "" and not asked(tree)


def test_what_could_not_be_installed_is_named(bare: Path, tree: Path) -> None:
    (tree / "offline").touch()
    assert "lacking: gcc, " in need(bare, "library", tree=tree, NO_INSTALL="") and asked(tree)


@pytest.mark.parametrize("why", ["told not to", "no root", "no apt"])
def test_nothing_is_installed(bare: Path, tree: Path, why: str) -> None:
    if why == "no root":
        script(bare / "id", "#!/bin/sh\necho 1000\n")
    if why == "no apt":
        (bare / "apt-get").unlink()
    said = need(bare, "library", tree=tree, NO_INSTALL="1" if why == "told not to" else "")
    assert "lacking: gcc, " in said and not asked(tree)
