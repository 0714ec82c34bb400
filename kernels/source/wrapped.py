# SPDX-License-Identifier: MIT
"""Kernels that come inside something else: an .rpm, or Android's boot image. Both are taken for hostile."""

from __future__ import annotations

import re
import struct
import subprocess
import zlib
from pathlib import Path

from kernels.errors import Missing, Refused
from kernels.source.image import FORMATS, LEAST, MAX_MEMBER, RATIO

RPM = b"\xed\xab\xee\xdb"
BOOT = b"ANDROID!"
LEGACY_LZ4 = b"\x02\x21\x4c\x18"
IN_RPM = re.compile(r"(?:\./)?(?:boot/(?:vmlinuz|Image)-[^/]+|(?:usr/)?lib/modules/[^/]+/(?:vmlinuz|Image))")
LISTING = 4 << 20       # of the names in an .rpm
HEAD = 4096             # of a boot image; version 3 and later have pages of that size
VERSIONS = range(5)     # of its header
PAGES = {1 << bits for bits in range(11, 15)}   # 2048 to 16384


def is_rpm(data: bytes) -> bool:
    return data.startswith(RPM)


def is_boot_image(data: bytes) -> bool:
    return data.startswith(BOOT)


# ------------------------------------------------------------------------------------------ an .rpm

def _bsdtar(argv: list[str], limit: int) -> bytes:
    """What bsdtar prints, which reads an .rpm whatever it is packed with; Refused where that is too much."""
    try:
        process = subprocess.Popen(["timeout", "120", "bsdtar", *argv], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except FileNotFoundError:
        raise Missing("no timeout: apt-get install coreutils") from None
    with process:
        said = process.stdout.read(limit + 1) if process.stdout else b""
        if len(said) > limit:
            process.kill()
            raise Refused(f"it holds more than {limit >> 20} MiB where a kernel is looked for")
    if process.returncode in (126, 127):
        raise Missing("no bsdtar: apt-get install libarchive-tools")
    if process.returncode:
        raise Refused("it is not a readable package")
    return said


def out_of_rpm(path: Path) -> bytes:
    """The kernel in an .rpm, the first of those that it holds."""
    try:
        names = _bsdtar(["-tf", str(path)], LISTING).decode("utf-8", "replace").split("\n")
        found = sorted(name for name in names if IN_RPM.fullmatch(name))
        if not found:
            raise Missing("it holds no kernel: the package with vmlinuz is kernel-core, kernel or kernel-default")
        exact = re.sub(r"([\\*?\[\]])", r"\\\1", found[0])      # bsdtar takes patterns
        kernel = _bsdtar(["-xOqf", str(path), exact], MAX_MEMBER)
    except (Refused, Missing) as error:
        raise type(error)(f"{path.name}: {error}") from None
    if not kernel:      # a link to where another package puts it
        raise Missing(f"{path.name}: {found[0]} is a link or empty")
    return kernel


# ------------------------------------------------------------------------- Android's boot image

def _kernel_of(data: bytes) -> bytes:
    """The kernel as it lies in a boot image. Headers 0 to 2 name a page size, 3 and 4 have pages of 4096."""
    if len(data) < HEAD:
        raise Refused("boot image: shorter than its header")
    (size,) = struct.unpack_from("<I", data, 8)
    (version,) = struct.unpack_from("<I", data, 40)
    (page,) = struct.unpack_from("<I", data, 36)
    if version not in VERSIONS:
        raise Refused(f"boot image: its header has version {version}; 0 to 4 are known")
    start = HEAD if version >= 3 else page
    if start not in PAGES:
        raise Refused(f"boot image: pages of {start} bytes")
    if not size:
        raise Missing("boot image: it holds no kernel")
    if size > MAX_MEMBER or start + size > len(data):
        raise Refused("boot image: its kernel ends behind the file")
    return data[start : start + size]


def _unpacked(kernel: bytes) -> bytes:
    """A kernel that is packed as a whole, by gzip or lz4, as bootloaders of phones take it. What follows gzip's
    stream is a device tree."""
    limit = min(MAX_MEMBER, max(LEAST, RATIO * len(kernel)))
    try:
        if kernel.startswith(b"\x1f\x8b\x08"):
            stream = zlib.decompressobj(31)
            unpacked = stream.decompress(kernel, limit + 1)
            if len(unpacked) <= limit and not stream.eof:
                raise EOFError("it ends too early")
        elif kernel.startswith(LEGACY_LZ4):
            unpack = next(form.unpack for form in FORMATS if form.magic == LEGACY_LZ4)
            unpacked = unpack(kernel, limit)
        else:
            return kernel
    except (zlib.error, OSError, EOFError) as error:
        raise Refused(f"boot image: damaged kernel: {error}") from None
    if len(unpacked) > limit:
        raise Refused(f"boot image: {len(kernel)} bytes unpack to more than {limit}: no kernel does")
    return unpacked


def out_of_boot_image(data: bytes) -> bytes:
    """The kernel in Android's boot.img, unpacked."""
    return _unpacked(_kernel_of(data))


def kernel_in(path: Path) -> bytes | None:
    """The kernel in a file that wraps one, or None where the file is none of these."""
    with open(path, "rb") as file:
        head = file.read(8)
        if is_rpm(head):
            return out_of_rpm(path)
        if not is_boot_image(head):
            return None
        file.seek(0)
        data = file.read(MAX_MEMBER + 1)
    if len(data) > MAX_MEMBER:
        raise Refused(f"{path.name}: larger than {MAX_MEMBER >> 20} MiB, no boot image is")
    try:
        return out_of_boot_image(data)
    except (Refused, Missing) as error:
        raise type(error)(f"{path.name}: {error}") from None
