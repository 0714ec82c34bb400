# SPDX-License-Identifier: MIT
"""Building the synthetic PMU's module, as far as no archive and no kernel is needed for it."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from kernels import matrix
from kernels.errors import Missing, Refused, Usage
from kernels.guest import initramfs
from kernels.options import with_pmu
from kernels.pmu import build, headers, toolchain
from kernels.pmu.headers import Tree
from kernels.pmu.toolchain import Tools
from kernels.source.fetch import Deb
from kernels.source.packages import Package
from kernels.source.unpacked import unpacked

ROW = matrix.load().rows["amd64-6.1-pmu"]
ELF = b"\x7fELF" + b"\0" * 60 + b"/lib64/ld-linux-x86-64.so.2\0"


def package(name: str, version: str = "6.1.192-2") -> Package:
    return Package(name, version, "amd64", "pool/x.deb", 1, "0" * 64, "http://x", "bookworm")


KERNEL = package("linux-image-6.1.0-56-cloud-amd64-unsigned")
HEADERS = "linux-headers-6.1.0-56-cloud-amd64"
COMMON = "linux-headers-6.1.0-56-common"


@pytest.mark.parametrize(
    ("name", "release"),
    [
        ("linux-image-6.1.0-56-cloud-amd64", "6.1.0-56-cloud-amd64"),
        ("linux-image-6.12.117+deb13-cloud-amd64-unsigned", "6.12.117+deb13-cloud-amd64"),
        ("linux-binary-unsigned-7.3.4+deb13-cloud-amd64", "7.3.4+deb13-cloud-amd64"),
        ("linux-binary-7.3-cloud-amd64", "7.3-cloud-amd64"),
    ],
)
def test_the_release_of_a_package(name: str, release: str) -> None:
    assert headers.release(package(name)) == release


@pytest.mark.parametrize("kbuild", ["linux-kbuild-6.1", "linux-kbuild-6.1.0-56"])
def test_headers_of_the_very_version(kbuild: str) -> None:
    index = [package(name) for name in (HEADERS, COMMON, kbuild)]
    stale = [package(name, "6.1.170-1") for name in (HEADERS, COMMON, kbuild)]
    found = headers.resolve(KERNEL, "cloud-amd64", [*stale, *index])
    assert found == index
    with pytest.raises(Missing, match="no linux-headers-6.1.0-56-cloud-amd64 6.1.192-2"):
        headers.resolve(KERNEL, "cloud-amd64", stale)


def test_kernels_without_headers_are_told() -> None:
    with pytest.raises(Missing, match="Debian's linux-image"):
        headers.release(package("user-mode-linux"))
    with pytest.raises(Missing, match="not of the flavour rt"):
        headers.names(KERNEL, "rt")
    with pytest.raises(Missing, match="no linux-headers-6.1.0-56-common"):
        headers.resolve(KERNEL, "cloud-amd64", [package(HEADERS)])


def test_makefiles_find_each_other_where_they_are(tmp_path: Path) -> None:
    makefile = tmp_path / "usr/src" / HEADERS / "Makefile"
    makefile.parent.mkdir(parents=True)
    makefile.write_text(f"KBUILD_OUTPUT=/usr/src/{HEADERS}\ninclude /usr/src/{COMMON}/Makefile\n")
    for _ in range(2):  # the second time there is nothing left to mend
        headers.at_home(tmp_path)
        assert makefile.read_text() == (
            f"KBUILD_OUTPUT={tmp_path}/usr/src/{HEADERS}\n"
            f"include {tmp_path}/usr/src/{COMMON}/Makefile\n"
        )


@pytest.mark.parametrize(
    ("line", "gcc"),
    [
        ('CONFIG_CC_VERSION_TEXT="gcc-12 (Debian 12.2.0-14) 12.2.0"', 12),
        ('CONFIG_CC_VERSION_TEXT="x86_64-linux-gnu-gcc-14 (Debian 14.2.0-19) 14.2.0"', 14),
        ('CONFIG_CC_VERSION_TEXT="clang version 19"', 0),
        ("", 0),
    ],
)
def test_the_kernels_own_compiler(tmp_path: Path, line: str, gcc: int) -> None:
    (tmp_path / ".config").write_text(f"CONFIG_X86=y\n{line}\n")
    assert headers.gcc_of(tmp_path) == gcc


def test_a_package_that_cannot_be_unpacked(tmp_path: Path) -> None:
    deb = tmp_path / "x.deb"
    deb.write_bytes(b"no archive")
    with pytest.raises(Refused, match="not a readable package"):
        unpacked([Deb(deb, KERNEL)], tmp_path / "headers")
    assert not [path for path in (tmp_path / "headers").iterdir() if path.name.isalnum()
                and path.name != "lock"]


def program(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(0o755)
    return path


def test_programs_go_behind_scripts_once(tmp_path: Path) -> None:
    root, kbuild = tmp_path / "root", tmp_path / "kbuild"
    fixdep = program(kbuild / "scripts/basic/fixdep", ELF)
    script = program(kbuild / "scripts/x.sh", b"#!/bin/sh\n")
    (kbuild / "scripts/link").symlink_to(fixdep)
    (kbuild / "scripts/data").write_bytes(ELF)
    assert toolchain.wrap(kbuild, root) == 1
    assert toolchain.wrap(kbuild, root) == 0
    assert (fixdep.with_name("fixdep.elf")).read_bytes() == ELF
    assert f"{root}/{toolchain.LOADER} " in fixdep.read_text()
    assert script.read_bytes() == b"#!/bin/sh\n" and fixdep.stat().st_mode & stat.S_IXUSR


def fake_tree(folder: Path, makefile: str) -> Tree:
    program(folder / "kbuild/scripts/basic/fixdep", b"#!/bin/sh\nexit 1\n")
    (folder / "Makefile").write_text(makefile)
    return Tree(folder, folder / "kbuild", 1, "key")


class NoFetcher:
    """Nothing may be fetched."""

    def tool(self, name: str, *_: object) -> None:
        raise Missing(f"{name} was asked for")


def test_this_systems_compiler_if_it_is_new_enough(tmp_path: Path) -> None:
    tree = fake_tree(tmp_path, "")
    assert toolchain.tools(tree, NoFetcher()).variables[0].startswith("CC=gcc")
    program(tree.kbuild / "scripts/basic/fixdep", b"#!/bin/sh\necho GLIBC_2.99 not found >&2\n")
    with pytest.raises(Missing, match="gcc-14-x86-64-linux-gnu was asked for"):
        toolchain.tools(tree, NoFetcher())
    with pytest.raises(Missing, match="built by gcc 99, and there is only 14"):
        toolchain.tools(replace(tree, gcc=99), NoFetcher())


def test_missing_programs_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Missing, match="no make: apt-get install make gcc binutils"):
        toolchain.tools(fake_tree(tmp_path, ""), NoFetcher())


def test_a_build_gives_the_module_or_the_line_that_says_why(tmp_path: Path) -> None:
    tools, files = Tools(("CC=cc",), "cc"), {"main.c": b"int x;\n", "Kbuild": b""}
    good = fake_tree(tmp_path, "modules:\n\t@cp $(M)/main.c $(M)/perfmodes_pmu.ko\n")
    assert build._make(good, tools, files) == b"int x;\n"
    for makefile, said in (
        ("modules:\n\t@echo main.c:3: error: no such thing >&2; false\n", "main.c:3: error: no such"),
        ("modules:\n\t@true\n", "no message"),
        ("", "No rule to make target"),
    ):
        with pytest.raises(Missing, match=said):
            build._make(fake_tree(tmp_path, makefile), tools, files)


def test_what_it_is_made_of_is_in_its_name(tmp_path: Path) -> None:
    tree, tools, files = fake_tree(tmp_path, ""), Tools((), "gcc-12"), build.sources()
    assert {"Kbuild", "main.c", "pmu.h"} <= set(files)
    names = {
        build._key(tree, tools, files),
        build._key(replace(tree, key="other"), tools, files),
        build._key(tree, Tools((), "gcc-13"), files),
        build._key(tree, tools, {**files, "main.c": b""}),
    }
    assert len(names) == 4
    with pytest.raises(Missing, match="for amd64, not for arm64"):
        build.module(KERNEL, "cloud-arm64", "arm64", NoFetcher())


def test_every_object_has_a_source_and_every_source_an_object() -> None:
    words = set((build.SOURCE / "Kbuild").read_text().split())
    assert {name for name in words if name.endswith(".o")} - {"perfmodes_pmu.o"} == {
        f"{path.stem}.o" for path in build.SOURCE.glob("*.c")
    }


def test_every_lie_has_a_name_and_a_line_in_the_readme() -> None:
    text = (build.SOURCE / "parameters.c").read_text()
    named = set(build.LIE.findall(text))
    assert named == set(build.lies()) and len(named) > 20
    header = (build.SOURCE / "pmu.h").read_text()
    assert {f"LIE_{name.upper()}" for name in named} <= set(header.replace(",", " ").split())
    readme = (build.SOURCE.parent / "README.md").read_text()
    assert not [name for name in named if f"| `{name}` |" not in readme]


def test_rows_say_that_the_pmu_is_synthetic() -> None:
    rows = [row for row in matrix.load().rows.values() if row.pmu]
    assert {f"amd64-{of}-{kind}" for of in ("5.10", "6.1", "6.12", "newest")
            for kind in ("pmu", "hybrid", "aux")} == {row.name for row in rows}
    text = matrix.FILE.read_text(encoding="utf-8")
    with pytest.raises(Usage, match="limits must say that its PMU is synthetic"):
        matrix.parse(text.replace("the PMU is synthetic", "the PMU is good"))


def test_more_arguments_only_where_there_is_a_pmu() -> None:
    assert with_pmu(ROW, "lie=frozen counters=2").pmu == f"{ROW.pmu} lie=frozen counters=2"
    assert with_pmu(ROW, "") is ROW
    plain = matrix.load().rows["amd64-6.1"]
    assert with_pmu(plain, "") is plain
    with pytest.raises(Usage, match="amd64-6.1 has no synthetic PMU"):
        with_pmu(plain, "lie=frozen")
    with pytest.raises(Usage, match="takes words"):
        with_pmu(ROW, "lie=$(reboot)")


def test_the_module_and_its_arguments_are_in_the_guest(tmp_path: Path) -> None:
    plain = initramfs.build(b"busybox", tmp_path, "ttyS1")
    loaded = initramfs.build(b"busybox", tmp_path, "ttyS1", module=(b"module's bytes", "lie=frozen"))
    assert b"job/module.ko\0" not in plain and b"job/module-arguments\0" not in plain
    assert b"job/module.ko\0" in loaded and b"module's bytes" in loaded
    assert b"job/module-arguments\0" in loaded and b"lie=frozen\n" in loaded
