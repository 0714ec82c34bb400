# SPDX-License-Identifier: MIT
"""Brings a bundle to a device: one compressed tar, or file by file where there is no tar."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shlex
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernels.errors import Missing, RowError
from kernels.place.channel import printable
from kernels.place.link import Answer, Link

AGENT = Path(__file__).with_name("agent")
FOLDER = re.compile(r"/[\w./+-]{0,200}/?perfmodes\.[A-Za-z0-9]{1,20}")
SLACK = 16 << 10  # kB for results and whatever probes write
LIMIT = 1200

_lock = threading.Lock()
_packed: dict[Path, Path] = {}


def agent_call(*words: object) -> str:
    """A script that is the agent itself, for a device that has no file of it yet."""
    said = " ".join(shlex.quote(str(word)) for word in words)
    return f"set -- {said}\n{AGENT.read_text(encoding='utf-8')}"


@contextmanager
def packing() -> Iterator[None]:
    """While this lasts, each bundle is packed once, however many devices get it."""
    with tempfile.TemporaryDirectory(prefix="pm-packed-") as folder:
        with _lock:
            _packed[Path()] = Path(folder)
        try:
            yield
        finally:
            with _lock:
                _packed.clear()


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without owner and times."""
    info.uid = info.gid = info.mtime = 0
    info.uname = info.gname = ""
    info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
    return info


def _pack(bundle: Path, target: Path) -> None:
    with open(target, "wb") as file, gzip.GzipFile("", "wb", 6, file, 0) as squeezed:
        with tarfile.open(fileobj=squeezed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            tar.add(AGENT, "agent", filter=_plain)
            tar.add(bundle, "bundle", filter=_plain)


@contextmanager
def packed(bundle: Path) -> Iterator[Path]:
    with _lock:
        kept = _packed.get(Path())
        if kept and bundle not in _packed:
            _packed[bundle] = kept / f"{len(_packed)}.tar.gz"
            _pack(bundle, _packed[bundle])
        if kept:
            made = _packed[bundle]
    if kept:
        yield made
        return
    with tempfile.TemporaryDirectory(prefix="pm-packed-") as folder:
        _pack(bundle, Path(folder, "bundle.tar.gz"))
        yield Path(folder, "bundle.tar.gz")


def size_kb(bundle: Path) -> int:
    """What it needs on a disk there. A link to a program takes a block."""
    return sum(path.lstat().st_size // 1024 + 4 for path in bundle.rglob("*"))


def bring(link: Link, bundle: Path, base: str, there: str = "") -> str:
    """Put the bundle into a new folder there and return the name of that. `there` is a folder of the
    device that has it already. Raises Missing."""
    need = SLACK + (0 if there else size_kb(bundle))
    asked = link.execute(agent_call("folder", need, base), limit=120)
    folder = asked.body.decode("utf-8", "replace").strip().rpartition("\n")[2]
    if asked.status or not FOLDER.fullmatch(folder) or ".." in folder:
        raise Missing(printable(folder[:300].encode()) if asked.status and folder else "no folder there")
    try:
        sent = linked(link, bundle, folder, there) if there else sent_whole(link, bundle, folder)
        check = link.execute(f"cd {folder} && [ -s agent ] && [ -x bundle/run.sh ]")
        if sent.status or check.status:
            raise Missing(f"the bundle cannot be put there: {sent.why}")
    except BaseException:
        remove(link, folder)
        raise
    return folder


def sent_whole(link: Link, bundle: Path, folder: str) -> Answer:
    with packed(bundle) as archive:
        sent = link.send(archive, f"cd {folder} && gzip -dc | tar -xf -", LIMIT)
    return one_by_one(link, bundle, folder) if sent.status and not has_tar(link) else sent


def linked(link: Link, bundle: Path, folder: str, there: str) -> Answer:
    """The device's own bundle, if every file of it is the same as here. Raises Missing."""
    where = shlex.quote(there)
    asked = link.execute(
        f"cd {where} && sha256sum <MANIFEST && sha256sum -c MANIFEST >/dev/null 2>&1 && echo whole", limit=300
    )
    said = asked.body.decode("ascii", "replace").split()
    ours = hashlib.sha256((bundle / "MANIFEST").read_bytes()).hexdigest()
    if said[:1] != [ours] or said[-1:] != ["whole"]:
        raise Missing(f"{there} on the device is not the bundle that is here: build and put it there anew")
    return link.send(AGENT, f"cd {folder} && cat >agent && ln -s {where} bundle")


def has_tar(link: Link) -> bool:
    return link.execute("command -v tar >/dev/null && command -v gzip >/dev/null").status == 0


def one_by_one(link: Link, bundle: Path, folder: str) -> Answer:
    """The same files without tar."""
    paths = {Path("agent"): AGENT}
    paths |= {"bundle" / path.relative_to(bundle): path for path in sorted(bundle.rglob("*"))}
    lines = [f"cd {folder} && mkdir -p bundle || exit 1"]
    for name, path in paths.items():
        quoted = shlex.quote(str(name))
        if path.is_symlink():
            lines.append(f"ln -s {shlex.quote(os.readlink(path))} {quoted} || exit 1")
        elif path.is_dir():
            lines.append(f"mkdir -p {quoted} || exit 1")
    sent = link.execute("\n".join(lines))
    for name, path in paths.items():
        if not sent.status and path.is_file() and not path.is_symlink():
            mode = "755" if os.access(path, os.X_OK) else "644"
            quoted = shlex.quote(str(name))
            sent = link.send(path, f"cd {folder} && cat >{quoted} && chmod {mode} {quoted}")
    return sent


def remove(link: Link, folder: str, limit: float = 45) -> None:
    """End what runs there and remove the folder; nothing if the device cannot be reached."""
    if folder:
        try:
            link.execute(f"[ ! -s {folder}/agent ] || sh {folder}/agent end; rm -rf {folder}", limit=limit)
        except RowError:
            pass
