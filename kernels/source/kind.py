# SPDX-License-Identifier: MIT
"""Which machine a kernel file is for, from its first bytes: a wrong file must not cost a boot."""

from __future__ import annotations

import struct
from pathlib import Path

from kernels.errors import Usage
from kernels.source import wrapped
from kernels.source.image import MAX_MEMBER

HEAD = 0x10020
ELF = {3: "i386", 8: "mips64el", 21: "ppc64el", 22: "s390x", 40: "arm", 62: "amd64", 183: "arm64",
       243: "riscv64", 258: "loong64"}  # fmt: skip
SIGNS = ((0x202, b"HdrS", "x86"), (0x38, b"ARM\x64", "arm64"), (0x38, b"RSC\x05", "riscv64"),
         (0x30, b"RISCV", "riscv64"), (0x24, b"\x18\x28\x6f\x01", "arm"),
         (0x10008, b"S390EP", "s390x"))  # fmt: skip
WRAPPED = ((0, b"\x1f\x8b", "gzip"), (4, b"zimg", "EFI zboot"))
FAMILY = {"armhf": "arm", "armel": "arm"}


def machine_of(head: bytes) -> str:
    """The machine, `wrapped` for a format that does not tell, or empty for what is no kernel."""
    if head[:4] == b"\x7fELF" and len(head) >= 20:
        order = ">" if head[5] == 2 else "<"
        return ELF.get(struct.unpack_from(f"{order}H", head, 18)[0], "")
    for at, sign, machine in SIGNS:
        if head[at : at + len(sign)] == sign:
            return machine
    wrapped = any(head[at : at + len(sign)] == sign for at, sign, _ in WRAPPED)
    return "wrapped" if wrapped else ""


def _what(head: bytes) -> str:
    if not head:
        return "it is empty"
    text = all(byte in b"\t\n\r" or 32 <= byte < 127 for byte in head[:512])
    return "it is text" if text else "no format of kernels begins so"


def check(path: Path, arch: str) -> None:
    """Usage if the file cannot be a kernel for the machines of Debian's architecture `arch`."""
    with open(path, "rb") as file:
        head = file.read(HEAD)
    if path.stat().st_size > MAX_MEMBER:
        raise Usage(f"{path}: larger than {MAX_MEMBER >> 20} MiB, no kernel is")
    if wrapped.is_rpm(head) or wrapped.is_boot_image(head):
        return      # what it holds is looked at when it has been taken out
    check_bytes(head, str(path), arch)


def check_bytes(head: bytes, name: str, arch: str) -> None:
    """Usage if what begins so cannot be a kernel for the machines of `arch`."""
    found = machine_of(head)
    if not found:
        raise Usage(f"{name} is not a kernel: {_what(head)}")
    fits = {FAMILY.get(arch, arch), "wrapped"} | ({"x86"} if arch in ("amd64", "i386") else set())
    if found not in fits:
        raise Usage(f"{name} is a kernel for {found}, not for {arch} (see --arch)")
