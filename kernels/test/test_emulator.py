# SPDX-License-Identifier: MIT
"""Another QEMU than the installed one: unpacked privately, and refused where it does not start."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernels import matrix
from kernels.errors import Missing, Usage
from kernels.source import emulator
from kernels.source.fetch import Deb

SUITE = "bookworm-backports"
ROW = replace(matrix.load().rows["ppc64el-power9"], emulator=(SUITE, "qemu-system-ppc"))
pytestmark = pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="no dpkg-deb: dpkg")


class Packages:
    """A fetcher that has three packages, one of them with a program."""

    def __init__(self, folder: Path, script: str) -> None:
        self.cache, self.asked = folder / "cache", list[tuple[str, tuple[str, ...]]]()
        self.folder, self.script = folder, script

    def tool(self, name: str, suites: tuple[str, ...], architecture: str) -> Deb:
        self.asked.append((name, suites))
        place = self.folder / name
        (place / "DEBIAN").mkdir(parents=True)
        (place / "DEBIAN/control").write_text(
            f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: a <a@example.org>\n"
            "Description: a\n"
        )
        if name == ROW.arch.qemu_package:
            (place / "usr/bin").mkdir(parents=True)
            program = place / "usr/bin" / ROW.arch.qemu
            program.write_text(f"#!/bin/sh\n{self.script}\n")
            program.chmod(0o755)
        deb = self.folder / f"{name}.deb"
        argv = ["dpkg-deb", "-Znone", "-b", str(place), str(deb)]
        subprocess.run(argv, check=True, capture_output=True)
        return Deb(deb, SimpleNamespace(sha256=name))  # type: ignore[arg-type]


def test_the_row_gets_the_program_and_its_firmware(tmp_path: Path) -> None:
    packages = Packages(tmp_path, "echo QEMU emulator version 10.0.2")
    row = emulator.private(ROW, packages)  # type: ignore[arg-type]
    assert Path(row.arch.qemu).is_file() and tmp_path in Path(row.arch.qemu).parents
    assert row.qemu_args[-2] == "-L" and row.qemu_args[-1].endswith("/usr/share/qemu")
    assert {suites for _, suites in packages.asked} == {(SUITE,)}
    assert packages.asked[0][0] == "qemu-system-ppc" and row.name == ROW.name


def test_a_row_that_names_none_is_left_alone() -> None:
    plain = replace(ROW, emulator=())
    assert emulator.private(plain, None) is plain  # type: ignore[arg-type]


@pytest.mark.parametrize("script", ["echo error: libfoo.so.9: not found >&2; exit 127", "exit 1"])
def test_one_that_does_not_start_is_no_emulator(tmp_path: Path, script: str) -> None:
    with pytest.raises(Missing, match="does not start here: (error: libfoo|exit status 1)"):
        emulator.private(ROW, Packages(tmp_path, script))  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ['["bookworm-backports"]', '["a", "b", "c"]', '"qemu"'])
def test_the_field_is_a_suite_and_a_package(value: str) -> None:
    text = matrix.FILE.read_text(encoding="utf-8").split("[[row]]")[0]
    row = '[[row]]\nname = "a"\narch = "arm64"\nflavour = "f"\nsuites = ["s"]\nwhy = "w"\n'
    with pytest.raises(Usage, match="emulator is"):
        matrix.parse(f"{text}{row}emulator = {value}\n")
