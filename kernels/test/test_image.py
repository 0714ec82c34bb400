# SPDX-License-Identifier: MIT
from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import stat
import struct
import subprocess
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from debs import make_deb

from kernels.errors import Missing, Refused
from kernels.guest import cpio, initramfs
from kernels.source import image


def elf(note: bytes) -> bytes:
    """The smallest ELF with one note segment."""
    head = (
        b"\x7fELF\x02\x01\x01"
        + bytes(9)
        + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    )
    return head + struct.pack("<IIQQQQQQ", 4, 4, 120, 0, 0, len(note), len(note), 4) + note


XEN = struct.pack("<III", 4, 4, 18) + b"Xen\0" + bytes(4)
GNU = struct.pack("<III", 4, 4, 1) + b"GNU\0" + bytes(4)


def bzimage(packed: bytes, version: int = 0x20F, length: int | None = None) -> bytes:
    data = bytearray(4 * 512)
    data[0x1F1] = 3
    data[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", data, 0x206, version)
    struct.pack_into("<II", data, 0x248, 16, len(packed) if length is None else length)
    return bytes(data) + bytes(16) + packed + bytes(100)


def sized(packed: bytes) -> bytes:
    return packed + b"size"


@pytest.mark.parametrize(
    "packed",
    [
        gzip.compress(elf(XEN)),  # its own trailer has the size: nothing is appended
        sized(lzma.compress(elf(XEN))),
        sized(lzma.compress(elf(XEN), lzma.FORMAT_ALONE)),
        sized(bz2.compress(elf(XEN))),
    ],
    ids=["gzip", "xz", "lzma", "bzip2"],
)
def test_a_bzimage_becomes_its_vmlinux(packed: bytes) -> None:
    assert image.bootable(bzimage(packed), "pvh") == elf(XEN)


@pytest.mark.parametrize("tool", [["lz4", "-lc"], ["zstd", "-c"]])
def test_external_compressors(tool: list[str]) -> None:
    if not shutil.which(tool[0]):
        pytest.skip(f"no {tool[0]}")
    packed = subprocess.run(tool, input=elf(XEN) * 50, capture_output=True, check=True).stdout
    assert image.vmlinux(bzimage(sized(packed))) == elf(XEN) * 50


def test_without_a_pvh_entry_the_bzimage_stays() -> None:
    kernel = bzimage(gzip.compress(elf(GNU)))
    assert image.bootable(kernel, "pvh") == kernel
    assert image.bootable(kernel, "") == kernel
    assert image.bootable(b"MZ anything else", "pvh") == b"MZ anything else"


@pytest.mark.parametrize(
    "kernel",
    [
        bzimage(b"no known magic, surely"),
        bzimage(gzip.compress(bytes(999))[:-4]),
        bzimage(sized(lzma.compress(bytes(999))[:-4])),
        bzimage(b"x" * 99, version=0x207),
        bzimage(b"x" * 99, length=1 << 30),
        b"",
        b"short",
    ],
    ids=["magic", "cut", "cut xz", "protocol", "outside", "empty", "short"],
)
def test_a_damaged_bzimage_is_refused(kernel: bytes) -> None:
    with pytest.raises(Refused):
        image.vmlinux(kernel)


BOMB = 64 << 20


@pytest.mark.parametrize(
    "pack",
    [gzip.compress, lambda data: sized(lzma.compress(data, preset=0)),
     lambda data: sized(bz2.compress(data, 1))],
    ids=["gzip", "xz", "bzip2"],
)  # fmt: skip
def test_what_grows_too_much_is_refused_before_it_has_grown(
    pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image, "LEAST", 1 << 20)
    kernel = bzimage(pack(bytes(BOMB)))
    tracemalloc.start()
    try:
        with pytest.raises(Refused, match="unpack to more than"):
            image.bootable(kernel, "pvh")
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("tool", [["lz4", "-lc"], ["zstd", "-c"]])
def test_so_is_what_a_program_unpacks(tool: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    if not shutil.which(tool[0]):
        pytest.skip(f"no {tool[0]}")
    monkeypatch.setattr(image, "LEAST", 1 << 20)
    packed = subprocess.run(tool, input=bytes(BOMB), capture_output=True, check=True).stdout
    with pytest.raises(Refused, match="unpack to more than"):
        image.vmlinux(bzimage(sized(packed)))
    noise = subprocess.run(tool, input=os.urandom(99_999), capture_output=True, check=True).stdout
    with pytest.raises(Refused, match="damaged payload"):
        image.vmlinux(bzimage(noise[: len(noise) // 2]))


def test_real_kernels_grow_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise, which does not shrink, beside zeros: a fifth, as kernels have it."""
    data = elf(XEN) + os.urandom(1 << 20) + bytes(4 << 20)
    monkeypatch.setattr(image, "LEAST", 0)
    assert image.vmlinux(bzimage(gzip.compress(data))) == data


@pytest.mark.parametrize(
    "data",
    [b"", b"\x7fELF", b"\x7fELF\x02\x01\x01" + bytes(60), elf(XEN)[:100], elf(b"\xff" * 20)],
    ids=["empty", "magic", "zeros", "cut", "note"],
)
def test_a_damaged_elf_has_no_entry(data: bytes) -> None:
    assert not image.has_pvh_entry(data)


@pytest.mark.parametrize(
    "name",
    [
        "boot/vmlinuz-5.10.0-46-cloud-amd64",
        "usr/lib/modules/7.3.4/vmlinuz.unsigned",
        "usr/lib/modules/7.2/vmlinuz",
        "usr/bin/linux.uml",
        "boot/vmlinux-6.12",
    ],
)
def test_the_kernel_is_found_in_a_package(tmp_path: Path, name: str) -> None:
    deb = make_deb(tmp_path, {"usr/share/doc/vmlinuz-x": b"no", name: b"kernel"})
    path = image.kernel_file(deb, "0" * 64, "pvh", tmp_path / "cache")
    assert path.read_bytes() == b"kernel" and path.stat().st_mode & stat.S_IXUSR
    assert not list(path.parent.glob("*.part"))


def test_a_package_without_kernel_or_no_package_at_all(tmp_path: Path) -> None:
    with pytest.raises(Missing):
        image.member(make_deb(tmp_path, {"usr/share/x": b""}), image.KERNEL)
    (tmp_path / "y.deb").write_bytes(b"not a package")
    with pytest.raises(Refused):
        image.member(tmp_path / "y.deb", image.KERNEL)


def test_the_archive_is_what_cpio_reads(tmp_path: Path) -> None:
    if not shutil.which("cpio"):
        pytest.skip("no cpio")
    data = cpio.archive(
        [
            cpio.file("a/b/run", b"hello", 0o755),
            cpio.link("a/sh", "b/run"),
            cpio.character("dev/console", 5, 1),
        ]
    )
    listed = subprocess.run(
        ["cpio", "-itv", "--quiet"], input=data, capture_output=True, check=True
    ).stdout.decode()
    kinds = [line[:10] for line in listed.splitlines()]
    assert kinds == [
        "drwxr-xr-x",
        "drwxr-xr-x",
        "-rwxr-xr-x",
        "lrwxrwxrwx",
        "drwxr-xr-x",
        "crw-------",
    ]
    subprocess.run(["cpio", "-id", "--quiet", "a/b/run"], input=data, cwd=tmp_path, check=True)
    assert (tmp_path / "a" / "b" / "run").read_bytes() == b"hello"
    assert data == cpio.archive(
        [
            cpio.file("a/b/run", b"hello", 0o755),
            cpio.link("a/sh", "b/run"),
            cpio.character("dev/console", 5, 1),
        ]
    )


def test_the_initramfs_has_the_bundle_as_a_device_has_it(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "launch").write_bytes(b"x")
    (tmp_path / "bin" / "launch").chmod(0o755)
    data = initramfs.build(b"busybox", tmp_path, "ttyS1")
    for text in (
        b"perfmodes/bin/launch\0",
        b"init\0",
        b"job/channel\0",
        b"ttyS1\n",
        b"bin/cksum\0",
        b"TRAILER!!!\0",
    ):
        assert text in data
    assert b"job/work\0" not in data and len(data) % 4 == 0, "more may be put behind it"


def test_the_guests_cksum_agrees(tmp_path: Path) -> None:
    """The shell script for guests against the real one, run by busybox as it will be there."""
    if not shutil.which("busybox"):
        pytest.skip("no busybox")
    (tmp_path / "bin").mkdir()
    subprocess.run(["busybox", "--install", "-s", str(tmp_path / "bin")], check=True)
    (tmp_path / "mirror").write_bytes(
        "".join(f"\\{byte:03o}" for byte in initramfs.REVERSED).encode() + b"\n"
    )
    script = (
        Path(initramfs.__file__)
        .with_name("cksum")
        .read_text()
        .replace("/job/mirror", str(tmp_path / "mirror"))
    )
    for number, data in enumerate((b"", b"hello\n", bytes(range(256)) * 3, b"x" * 70_000)):
        (tmp_path / str(number)).write_bytes(data)
        with open(tmp_path / str(number), "rb") as file:
            said = subprocess.run(
                ["busybox", "sh", "-c", script],
                stdin=file,
                capture_output=True,
                check=True,
                env={"PATH": str(tmp_path / "bin")},
            ).stdout.split()
        real = subprocess.run(["cksum"], input=data, capture_output=True, check=True).stdout.split()
        assert said == real
        piped = subprocess.run(
            ["busybox", "sh", "-c", script], input=data, capture_output=True, check=True,
            env={"PATH": str(tmp_path / "bin")},
        )  # fmt: skip
        assert piped.stdout.split() == real, "by a pipe, too"
