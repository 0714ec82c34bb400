# SPDX-License-Identifier: MIT
"""The initramfs of a guest: busybox, init, and the bundle as on a device."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kernels.guest import cpio
from kernels.place.channel import REVERSED


def work_archive(work: bytes) -> bytes:
    """A second archive, appended to the first, for a guest that does not wait for its work."""
    return cpio.archive([cpio.file("job/work", work)])


def _module(module: bytes, arguments: str) -> list[cpio.Entry]:
    if not module:
        return []
    line = cpio.file("job/module-arguments", f"{arguments}\n".encode())
    return [cpio.file("job/module.ko", module), line]


def build(
    busybox: bytes,
    bundle: Path | None,
    channel: str,
    init: bytes | None = None,
    module: tuple[bytes, str] | None = None,
    prompt: str = "",
    more: Iterable[cpio.Entry] = (),
) -> bytes:
    """The initramfs of a guest without its work; `module` is one to load, and its arguments. With a
    prompt a shell waits at the console in place of it; of `more`, job/start is run before."""
    here = Path(__file__).parent
    mirror = "".join(f"\\{byte:03o}" for byte in REVERSED)
    script = init or (here / "init").read_bytes()
    skeleton = [
        cpio.folder(name) for name in ("proc", "sys", "dev", "tmp", "run", "root", "etc", "results")
    ]
    return cpio.archive(
        [
            *skeleton,
            cpio.character("dev/console", 5, 1),
            cpio.character("dev/null", 1, 3),
            cpio.file("bin/busybox", busybox, 0o755),
            cpio.link("bin/sh", "busybox"),
            cpio.file("bin/cksum", (here / "cksum").read_bytes(), 0o755),
            cpio.file("init", script, 0o755),
            cpio.file(
                "etc/passwd", b"root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"
            ),
            cpio.file("etc/group", b"root:x:0:\nnogroup:x:65534:\n"),
            *(cpio.tree(bundle, "perfmodes") if bundle else []),
            cpio.file("job/channel", f"{channel}\n".encode()),
            cpio.file("job/mirror", f"{mirror}\n".encode()),
            *_module(*module or (b"", "")),
            *([cpio.file("job/prompt", prompt.encode())] if prompt else []),
            *more,
        ]
    )
