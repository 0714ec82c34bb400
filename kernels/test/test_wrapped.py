# SPDX-License-Identifier: MIT
"""Kernels inside an .rpm or Android's boot image: taken out whole, or refused with a sentence."""

from __future__ import annotations

import gzip
import lzma
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from kernels.errors import Missing, Refused, RowError, Usage
from kernels.source import kind, wrapped

KERNEL = b"\x90" * 0x38 + b"ARM\x64" + b"code" * 4000      # an arm64 Image, as far as kind.py looks
needs_bsdtar = pytest.mark.skipif(not shutil.which("bsdtar"), reason="no bsdtar: package libarchive-tools")


def boot_image(version: int, kernel: bytes = KERNEL, page: int = 2048, size: int | None = None) -> bytes:
    """Headers 0 to 2 have the page's size behind seven words, and the version behind it; 3 and 4 neither."""
    length = len(kernel) if size is None else size
    if version < 3:
        head = struct.pack("<8s10I", b"ANDROID!", length, 0, 0, 0, 0, 0, 0, page, version, 0)
    else:
        head, page = struct.pack("<8s9I", b"ANDROID!", length, 0, 0, 1580, 0, 0, 0, 0, version), 4096
    return head.ljust(min(page, 1 << 16), b"\0") + kernel + bytes(4096)


def lz4(data: bytes) -> bytes:
    return subprocess.run(["lz4", "-lc"], input=data, capture_output=True, check=True).stdout


@pytest.mark.parametrize("page", [2048, 4096, 16384])
@pytest.mark.parametrize("version", range(5))
def test_the_kernel_of_a_boot_image(version: int, page: int) -> None:
    assert wrapped.out_of_boot_image(boot_image(version, page=page)) == KERNEL


def test_a_packed_kernel_is_unpacked() -> None:
    assert wrapped.out_of_boot_image(boot_image(2, gzip.compress(KERNEL))) == KERNEL
    assert wrapped.out_of_boot_image(boot_image(0, gzip.compress(KERNEL) + b"a device tree")) == KERNEL
    if shutil.which("lz4"):
        assert wrapped.out_of_boot_image(boot_image(4, lz4(KERNEL))) == KERNEL


@pytest.mark.parametrize(("data", "why"), [
    (boot_image(0)[:100], "shorter than its header"), (boot_image(5), "version 5; 0 to 4 are known"),
    (boot_image(1, page=512), "pages of 512 bytes"), (boot_image(1, page=0xfffff000), "pages of 4294963200 bytes"),
    (boot_image(3, size=0), "holds no kernel"), (boot_image(0, size=0xffffffff), "ends behind the file"),
    (boot_image(2, size=len(KERNEL) + 5000), "ends behind the file"),
    (boot_image(2, gzip.compress(KERNEL)[:-9]), "damaged kernel"),
    (boot_image(2, gzip.compress(bytes(17 << 20))), "unpack to more than 16777216: no kernel does")], ids=lambda value: value if isinstance(value, str) else "")
def test_a_wrong_boot_image_is_refused(data: bytes, why: str, tmp_path: Path) -> None:
    (tmp_path / "boot.img").write_bytes(data)
    with pytest.raises((Refused, Missing), match=f"boot.img: .*{why}"):
        wrapped.kernel_in(tmp_path / "boot.img")


def cpio(files: dict[str, tuple[int, bytes]]) -> bytes:
    """An archive of the format newc: name -> mode and content."""
    made = b""
    for number, (name, (mode, body)) in enumerate([*files.items(), ("TRAILER!!!", (0, b""))], 1):
        fields = (number, mode, 0, 0, 1, 0, len(body), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
        made += head + bytes(-len(head) % 4) + body + bytes(-len(body) % 4)
    return made


def rpm(payload: bytes) -> bytes:
    """A lead, a signature and a header without entries, and what they are of."""
    empty = b"\x8e\xad\xe8\x01" + bytes(12)
    return b"\xed\xab\xee\xdb\x03\0\0\0\0\1kernel".ljust(96, b"\0") + empty + empty + payload


def zstd(data: bytes) -> bytes:
    return subprocess.run(["zstd", "-qc"], input=data, capture_output=True, check=True).stdout


FILE, LINK = 0o100644, 0o120777
CORE = {"./lib/modules/6.1/config": (FILE, b"x"), "./lib/modules/6.1/vmlinuz": (FILE, KERNEL)}


@needs_bsdtar
@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstd, bytes], ids=["gzip", "xz", "zstd", "plain"])
def test_the_kernel_of_an_rpm(pack: object, tmp_path: Path) -> None:
    if pack is zstd and not shutil.which("zstd"):
        pytest.skip("no zstd")
    (tmp_path / "kernel-core.rpm").write_bytes(rpm(pack(cpio(CORE))))   # type: ignore[operator]
    assert wrapped.kernel_in(tmp_path / "kernel-core.rpm") == KERNEL


@needs_bsdtar
@pytest.mark.parametrize(("data", "why"), [
    (rpm(gzip.compress(cpio({"./etc/passwd": (FILE, b"x")}))), "it holds no kernel: the package with vmlinuz is kernel-core"),
    (rpm(gzip.compress(cpio({"./boot/vmlinuz-6.1": (LINK, b"/etc/passwd")}))), "vmlinuz-6.1 is a link or empty"),
    (rpm(gzip.compress(cpio(CORE))[:-20]), "not a readable package"), (rpm(b"nonsense"), "it holds no kernel"),
    (rpm(b"")[:60], "it holds no kernel")], ids=lambda value: value if isinstance(value, str) else "")
def test_a_wrong_rpm_is_refused(data: bytes, why: str, tmp_path: Path) -> None:
    (tmp_path / "x.rpm").write_bytes(data)
    with pytest.raises(RowError, match=f"^x.rpm: .*{why}"):
        wrapped.kernel_in(tmp_path / "x.rpm")


@needs_bsdtar
def test_an_rpm_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrapped, "MAX_MEMBER", 1 << 20)
    (tmp_path / "x.rpm").write_bytes(rpm(gzip.compress(cpio({"./boot/vmlinuz-6.1": (FILE, bytes(2 << 20))}))))
    with pytest.raises(Refused, match="x.rpm: it holds more than 1 MiB"):
        wrapped.kernel_in(tmp_path / "x.rpm")


def test_other_files_are_left_to_others(tmp_path: Path) -> None:
    (tmp_path / "Image").write_bytes(KERNEL)
    assert wrapped.kernel_in(tmp_path / "Image") is None


def test_what_was_wrapped_is_looked_at_before_it_is_booted(tmp_path: Path) -> None:
    (tmp_path / "boot.img").write_bytes(boot_image(0))
    kind.check(tmp_path / "boot.img", "amd64")      # the outside tells no machine
    kind.check_bytes(KERNEL, "the kernel in boot.img", "arm64")
    with pytest.raises(Usage, match="the kernel in boot.img is a kernel for arm64, not for amd64"):
        kind.check_bytes(KERNEL, "the kernel in boot.img", "amd64")
