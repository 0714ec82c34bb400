# SPDX-License-Identifier: MIT
"""What the guests of a row are started from: kernel, initramfs, and sometimes a snapshot."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from kernels.guest import initramfs, machine, snapshot
from kernels.guest.snapshot import Snapshot
from kernels.matrix import SYNTHETIC, Row
from kernels.pmu import build as pmu
from kernels.source import image, kind, wrapped
from kernels.source.fetch import Fetcher, sha256_of


@dataclass(frozen=True)
class Kernel:
    """A bootable file, the facts about its origin, QEMU arguments it needs, a module to load."""

    path: Path
    facts: dict[str, str]
    qemu_args: tuple[str, ...] = ()
    module: bytes = b""


@dataclass(frozen=True)
class Setup:
    """What the guests of a row are started from. `why` says why there is no snapshot."""

    row: Row
    kernel: Kernel
    initrd: bytes
    saved: Snapshot | None = None
    without: str = ""

    @property
    def snapshot(self) -> Snapshot | None:
        return self.saved if self.saved and not self.saved.refused else None

    @property
    def why(self) -> str:
        return self.without or (self.saved.refused if self.saved else "")

    def cold(self) -> Setup:
        return replace(self, saved=None)


def find_kernel(row: Row, fetcher: Fetcher) -> Kernel:
    """The kernel of a row, from a package or the user's own file."""
    if row.kernel:
        return _own_kernel(row, fetcher)
    deb = fetcher.kernel(row)
    facts = {
        "kernel_package": deb.package.name,
        "kernel_package_version": deb.package.version,
        "kernel_package_sha256": deb.package.sha256,
    }
    sha256 = deb.package.sha256
    path = image.kernel_file(deb.path, sha256, row.arch.unpack, fetcher.cache)
    if row.pmu:
        module = pmu.module(deb.package, row.flavour, row.arch.apt, fetcher)
        return Kernel(path, {**facts, "pmu": SYNTHETIC, "pmu_arguments": row.pmu}, module=module)
    if not row.dtb:
        return Kernel(path, facts)
    board = image.device_tree(deb.path, sha256, row.dtb, fetcher.cache)
    return Kernel(path, facts, ("-dtb", str(board)))


def _own_kernel(row: Row, fetcher: Fetcher) -> Kernel:
    path = Path(row.kernel)
    sha256 = sha256_of(path)
    facts = {"kernel_package": "none", "kernel_file_sha256": sha256}
    if path.suffix == ".deb":
        return Kernel(image.kernel_file(path, sha256, row.arch.unpack, fetcher.cache), facts)
    target = fetcher.cache / "images" / f"{sha256[:20]}-{row.arch.unpack or 'plain'}"
    return Kernel(image.write_once(target, lambda: _own_image(path, row), 0o755), facts)


def _own_image(path: Path, row: Row) -> bytes:
    """The kernel in the user's file, or in what the file wraps, for the row's machine."""
    found = wrapped.kernel_in(path)
    if found is None:
        return image.bootable(path.read_bytes(), row.arch.unpack)
    kind.check_bytes(found, f"the kernel in {path.name}", row.arch.apt)
    return image.bootable(found, row.arch.unpack)


def find_initrd(row: Row, fetcher: Fetcher, bundle: Path, module: bytes = b"") -> bytes:
    """The initramfs of a row around a bundle, and a module with the row's arguments."""
    busybox = image.member(fetcher.busybox(row).path, image.BUSYBOX)
    return initramfs.build(busybox, bundle, machine.channel_name(row), module=(module, row.pmu))


def prepare(row: Row, kernel: Kernel, initrd: bytes, cold: bool, kvm: bool, cache: Path) -> Setup:
    """`cold` means without a snapshot; some machines cannot have one."""
    wired = replace(row, qemu_args=row.qemu_args + kernel.qemu_args)
    why = "asked to start cold" if cold else snapshot.cannot(row)
    if why:
        return Setup(wired, kernel, initrd, None, why)
    return Setup(wired, kernel, initrd, snapshot.place(wired, kernel.path, initrd, kvm, cache))
