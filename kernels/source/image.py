# SPDX-License-Identifier: MIT
"""Takes the kernel out of a package, in the form that QEMU starts fastest."""

from __future__ import annotations

import bz2
import lzma
import os
import re
import struct
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernels.errors import Missing, Refused

KERNEL = (
    r"boot/vmlinu[xz]-.*|usr/bin/linux\.uml"
    r"|usr/lib/(?:modules|linux)[^/]*/.*vmlinu[xz](?:\.unsigned)?"
)
BUSYBOX = r"(?:usr/)?bin/busybox"
MAX_MEMBER = 512 << 20
MAX_DICTIONARY = 256 << 20
RATIO, LEAST = 24, 16 << 20
PT_NOTE, XEN_PHYS32_ENTRY = 4, 18


@contextmanager
def files(deb: Path) -> Iterator[tarfile.TarFile]:
    """The files in a .deb, to be read once from front to back."""
    with subprocess.Popen(
        ["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            with tarfile.open(fileobj=process.stdout, mode="r|") as tar:
                yield tar
        except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
            raise Refused(f"{deb.name} is not a readable package: {error}") from None
        finally:
            process.kill()


def member(deb: Path, pattern: str) -> bytes:
    """The first regular file of a .deb whose path matches."""
    with files(deb) as tar:
        for info in tar:
            if info.isreg() and re.fullmatch(pattern, info.name.removeprefix("./")):
                if info.size > MAX_MEMBER:
                    raise Refused(f"{deb.name}: {info.name} is larger than {MAX_MEMBER} bytes")
                return tar.extractfile(info).read()
    raise Missing(f"{deb.name} has no file like {pattern}")


def _filter(*argv: str) -> Callable[[bytes, int], bytes]:
    def run(data: bytes, limit: int) -> bytes:
        with tempfile.TemporaryFile() as packed:
            packed.write(data)
            packed.seek(0)
            try:
                process = subprocess.Popen(
                    ["timeout", "120", *argv],
                    stdin=packed,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
            except FileNotFoundError:
                raise Missing("no timeout: apt-get install coreutils") from None
            with process:
                unpacked = process.stdout.read(limit + 1) if process.stdout else b""
                if len(unpacked) > limit:
                    process.kill()
                    return unpacked
        if process.returncode in (126, 127):
            raise Missing(f"no {argv[0]}: apt-get install {argv[0]}")
        if process.returncode:
            raise EOFError(f"{argv[0]} ended with status {process.returncode}")
        return unpacked

    return run


def _stream(make: Callable[[], Any]) -> Callable[[bytes, int], bytes]:
    def run(data: bytes, limit: int) -> bytes:
        decoder = make()
        unpacked: bytes = decoder.decompress(data, limit + 1)
        if len(unpacked) <= limit and not decoder.eof:
            raise EOFError("it ends too early")
        return unpacked

    return run


@dataclass(frozen=True)
class Format:
    """A way to compress a kernel. `unpack` takes the data and how many bytes may come out of it,
    and returns more only where it is more.

    size    bytes behind the stream: its unpacked size, which gzip has in its own trailer
    """

    magic: bytes
    unpack: Callable[[bytes, int], bytes]
    size: int = 4


FORMATS = (
    Format(b"\x1f\x8b\x08", _stream(lambda: zlib.decompressobj(31)), 0),
    Format(b"\xfd7zXZ\x00", _stream(lambda: lzma.LZMADecompressor(memlimit=MAX_DICTIONARY))),
    Format(
        b"\x5d\x00\x00",
        _stream(lambda: lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=MAX_DICTIONARY)),
    ),
    Format(b"BZh", _stream(bz2.BZ2Decompressor)),
    Format(b"\x28\xb5\x2f\xfd", _filter("zstd", "-dc")),
    Format(b"\x02\x21\x4c\x18", _filter("lz4", "-dc")),
)


def payload(bzimage: bytes) -> bytes:
    """The compressed kernel inside a bzImage (x86 boot protocol 2.08 and later)."""
    if len(bzimage) < 0x250 or bzimage[0x202:0x206] != b"HdrS":
        raise Refused("not a bzImage: no boot protocol header")
    setup, version = bzimage[0x1F1] or 4, struct.unpack_from("<H", bzimage, 0x206)[0]
    offset, length = struct.unpack_from("<II", bzimage, 0x248)
    start = (setup + 1) * 512 + offset
    if version < 0x208 or length < 16 or start + length > len(bzimage):
        raise Refused("bzImage: its header points outside the file")
    return bzimage[start : start + length]


def vmlinux(bzimage: bytes) -> bytes:
    """The unpacked kernel of a bzImage. Kernels shrink to a fifth or so: what grows far more than
    that is none."""
    packed = payload(bzimage)
    limit = min(MAX_MEMBER, max(LEAST, RATIO * len(packed)))
    for form in FORMATS:
        if packed.startswith(form.magic):
            try:
                unpacked = form.unpack(packed[: len(packed) - form.size], limit)
            except (zlib.error, lzma.LZMAError, OSError, EOFError) as error:
                raise Refused(f"bzImage: damaged payload: {error}") from None
            if len(unpacked) > limit:
                raise Refused(
                    f"bzImage: {len(packed)} bytes unpack to more than {limit}: no kernel does"
                )
            return unpacked
    raise Refused(f"bzImage: unknown compression {packed[:4].hex()}")


def _note_segments(elf: bytes) -> Iterator[bytes]:
    """The PT_NOTE segments of a 64-bit little-endian ELF."""
    if elf[:6] != b"\x7fELF\x02\x01" or len(elf) < 64:
        return
    (table,) = struct.unpack_from("<Q", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 54)
    for number in range(count):
        head = elf[table + number * size : table + number * size + 56]
        if len(head) == 56 and struct.unpack_from("<I", head)[0] == PT_NOTE:
            (offset,) = struct.unpack_from("<Q", head, 8)
            (length,) = struct.unpack_from("<Q", head, 32)
            yield elf[offset : offset + length]


def has_pvh_entry(elf: bytes) -> bool:
    """True if QEMU can start this ELF directly: it has a Xen note with a 32-bit entry point."""
    for notes in _note_segments(elf):
        at = 0
        while at + 12 <= len(notes):
            name, data, kind = struct.unpack_from("<III", notes, at)
            if kind == XEN_PHYS32_ENTRY and notes[at + 12 : at + 12 + name] == b"Xen\0":
                return True
            at += 12 + -(-name // 4) * 4 + -(-data // 4) * 4
    return False


def bootable(kernel: bytes, unpack: str) -> bytes:
    """The form that QEMU starts fastest. A kernel without a PVH entry is booted as it came."""
    if unpack != "pvh" or kernel[0x202:0x206] != b"HdrS":
        return kernel
    unpacked = vmlinux(kernel)
    return unpacked if has_pvh_entry(unpacked) else kernel


def device_tree(deb: Path, sha256: str, name: str, cache: Path) -> Path:
    """The device tree of a board, out of the package of its kernel."""
    pattern = rf"usr/lib/linux-image-[^/]*/(?:.*/)?{re.escape(name)}"
    return write_once(cache / "images" / f"{sha256[:20]}-{name}", lambda: member(deb, pattern))


def write_once(path: Path, make: Callable[[], bytes], mode: int = 0o644) -> Path:
    """A cached file. It appears by rename, so a killed run never leaves half of it."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}-{id(path):x}.part")
        part.write_bytes(make())
        part.chmod(mode)
        part.rename(path)
    return path


def kernel_file(deb: Path, sha256: str, unpack: str, cache: Path) -> Path:
    """The bootable kernel of a package, unpacked once."""
    target = cache / "images" / f"{sha256[:20]}-{unpack or 'plain'}"
    return write_once(target, lambda: bootable(member(deb, KERNEL), unpack), 0o755)
