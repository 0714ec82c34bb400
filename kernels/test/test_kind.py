# SPDX-License-Identifier: MIT
"""A file that is no kernel, or one for another machine, is told before anything is started."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from kernels import cli
from kernels.errors import Usage
from kernels.source import kind


def at(offset: int, sign: bytes) -> bytes:
    return b"\x90" * offset + sign + bytes(64)


def elf(machine: int, order: str = "<") -> bytes:
    return b"\x7fELF\x02" + (b"\x01" if order == "<" else b"\x02") + bytes(12) + struct.pack(
        f"{order}H", machine) + bytes(64)


GOOD = {
    "bzImage": (at(0x202, b"HdrS"), {"amd64", "i386"}),
    "vmlinux": (elf(62), {"amd64"}),
    "Image": (at(0x38, b"ARM\x64"), {"arm64"}),
    "riscv": (at(0x38, b"RSC\x05"), {"riscv64"}),
    "zImage": (at(0x24, b"\x18\x28\x6f\x01"), {"armhf", "armel"}),
    "s390": (at(0x10008, b"S390EP"), {"s390x"}),
    "power": (elf(21), {"ppc64el"}),
    "big": (elf(22, ">"), {"s390x"}),
    "mips": (elf(8), {"mips64el"}),
}
ARCHES = {"amd64", "i386", "arm64", "armhf", "armel", "riscv64", "s390x", "ppc64el", "mips64el"}


@pytest.mark.parametrize("name", GOOD)
def test_a_kernel_fits_its_machines_and_no_other(name: str, tmp_path: Path) -> None:
    data, fits = GOOD[name]
    file = tmp_path / name
    file.write_bytes(data)
    for arch in fits:
        kind.check(file, arch)
    for arch in ARCHES - fits:
        with pytest.raises(Usage, match=f"is a kernel for .*, not for {arch}"):
            kind.check(file, arch)


@pytest.mark.parametrize("data", [b"\x1f\x8b\x08" + bytes(99), b"MZ\0\0zimg" + bytes(99)])
def test_what_is_wrapped_may_be_for_any(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(data)
    kind.check(tmp_path / "x", "arm64")


@pytest.mark.parametrize(
    ("data", "why"),
    [(b"", "it is empty"), (b"#!/bin/sh\necho no\n", "it is text"),
     (bytes(99), "no format of kernels begins so"), (b"\x7fELF", "no format"),
     (elf(999), "no format"), (b"PK\x03\x04" + bytes(99), "no format")],
)  # fmt: skip
def test_anything_else_is_refused_at_once(
    data: bytes, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bzImage"
    file.write_bytes(data)
    assert cli.main(["run", "--kernel", str(file), "--no-install", "--no-build"]) == 2
    assert why in capsys.readouterr().err


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with open(tmp_path / "x", "wb") as file:
        file.truncate((512 << 20) + 1)
    with pytest.raises(Usage, match="larger than 512 MiB"):
        kind.check(tmp_path / "x", "amd64")
