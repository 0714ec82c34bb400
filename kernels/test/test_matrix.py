# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernels import matrix
from kernels.errors import Usage

ARCH = """
[arch.uml]
runner = "uml"
apt = "amd64"
bundle = "x86_64"
console = "tty0"
"""
ROW = """
[[row]]
name = "one"
arch = "uml"
package = "user-mode-linux"
suites = ["bookworm"]
why = "because"
"""


def test_the_list_itself_is_valid() -> None:
    listed = matrix.load()
    assert {"amd64-5.10", "amd64-newest", "uml"} <= set(listed.rows)
    assert all(row.why for row in listed.rows.values())
    assert (
        listed.rows["amd64-newest"].cpu.startswith("max") and "nokaslr" in listed.rows["amd64-5.10"].append
    )


def test_a_row_is_enough() -> None:
    listed = matrix.parse(ARCH + ROW + ROW.replace('"one"', '"two"') + 'tags = ["x"]\n')
    assert [row.name for row in listed.pick(["one"], ["x"])] == ["one", "two"]
    assert [row.name for row in listed.pick(["t*"], [])] == ["two"]
    assert [row.name for row in listed.pick([], ["uml"])] == ["one", "two"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ROW, "no [arch.uml]"),
        (ARCH + ROW + ROW, "there twice"),
        (ARCH + ROW + 'colour = "red"\n', "unknown field 'colour'"),
        (ARCH + ROW + 'cpus = "2"\n', "cpus is not of type int"),
        (ARCH + ROW + "cpus = true\n", "cpus is not of type int"),
        (ARCH + ROW + "tags = [1]\n", "tags is not a list of strings"),
        (ARCH + ROW + 'flavour = "cloud"\n', "either flavour or package"),
        (ARCH + ROW + 'series = "new"\n', "series is X.Y or newest"),
        (ARCH + ROW.replace('"one"', '"../one"'), "names are"),
        (ARCH + ROW.replace("because", ""), "why is needed"),
        (ARCH.replace('"uml"\napt', '"bochs"\napt'), "runner is qemu or uml"),
        (ARCH.replace('runner = "uml"', 'runner = "qemu"'), "qemu, qemu_package"),
        (ARCH + ROW + 'skip = ["sw.clocks"]\n', "skip is a list of PROBE=REASON"),
        (ARCH + ROW + 'skip = ["sw.clocks=two\\nlines"]\n', "skip is a list"),
        (ARCH + 'results = ["-serial", "x"]\n', "results without results_tty"),
        ("[rows]\n", "unknown table 'rows'"),
        ("[[row]\n", "matrix.toml"),
        ('row = "one"\n', "rows begin with"),
        ('row = ["one"]\n', "row is not a table"),
        ('arch = "uml"\n', "arch is not a table"),
        ('arch.uml = "uml"\n', "arch.uml is not a table"),
        ("defaults = 1\n", "defaults is not a table"),
        (ARCH + ROW.replace('arch = "uml"', "arch = []"), "no [arch"),
        (ARCH + '[[row]]\nname = "one"\narch = "uml"\n', "missing"),
    ],
)
def test_a_wrong_list_is_refused(text: str, said: str) -> None:
    with pytest.raises(Usage, match=said.replace("[", r"\[").replace(".", r"\.")):
        matrix.parse(text)


def test_what_an_architecture_skips_its_rows_skip(tmp_path: Path) -> None:
    listed = matrix.parse(ARCH + 'skip = ["a.b=for all"]\n' + ROW + 'skip = ["c.d=here"]\n')
    assert listed.rows["one"].skip == ("a.b=for all", "c.d=here")


def test_unknown_names_and_tags_are_usage_errors() -> None:
    listed = matrix.parse(ARCH + ROW)
    with pytest.raises(Usage, match="no kernel 'two'.*there are: one"):
        listed.pick(["two"], [])
    with pytest.raises(Usage, match="no tag 'nightly'; there are: all uml"):
        listed.pick([], ["nightly"])
    with pytest.raises(Usage, match="no architecture"):
        listed.own(Path("/boot/vmlinuz"), "vax")


def test_own_kernel_becomes_a_row() -> None:
    row = matrix.load().own(Path("/tmp/My Kernel_6.1"), "amd64")
    assert row.name == "own-my-kernel_6.1" and row.machine.startswith("q35") and row.cpus == 2


def test_a_row_may_have_a_better_results_line_than_its_architecture() -> None:
    rows = matrix.load().rows
    assert rows["arm64-6.1"].results_tty == "ttyS0" and rows["arm64-newest"].results_tty == "hvc0"
    assert rows["s390x-newest"].results == rows["s390x-newest"].arch.results


def test_emulator_limits_are_stated() -> None:
    assert all(row.limits or row.unavailable for row in matrix.load().rows.values())


def test_a_row_is_told_what_this_cpu_has(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    row = replace(matrix.load().rows["uml"], unfit="amx_tile=it panics")
    cpuinfo.write_text("flags\t\t: fpu avx512f\n", encoding="ascii")
    assert row.here(cpuinfo) == row
    cpuinfo.write_text("flags\t\t: fpu amx_tile avx512f\n", encoding="ascii")
    assert row.here(cpuinfo).unavailable == "this CPU has amx_tile: it panics"
    assert replace(row, unfit="").here(tmp_path / "none").unavailable == ""
