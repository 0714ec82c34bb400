# SPDX-License-Identifier: MIT
"""Brings a bundle to a device: one compressed tar, or file by file where there is no tar."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import os
import re
import secrets
import shlex
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernels.errors import Missing, RowError
from kernels.place.channel import printable
from kernels.place.link import Answer, Link, Lost, T, last_line, patiently
from kernels.place.scratch import temporary

AGENT = Path(__file__).with_name("agent")
FOLDER = re.compile(r"/[\w./+-]{0,200}/?perfmodes\.[A-Za-z0-9]{1,20}")
SLACK = 16 << 10  # kB for results and whatever probes write
LIMIT = 1200
LEASE = 900  # seconds without a word after which a run is over
PART = ".bundle"  # as much of the archive as has arrived
BLOCK = 1 << 16
AGAIN = 3  # times that a part may come to nothing on a link that is well
WRITING = re.compile("No space|Read-only|[Qq]uota|[Pp]ermission denied|not permitted|[Ii](nput)?/[Oo](utput)? error")
BUSY = 4  # the status of the agent's `folder` when another run is at work there

_lock = threading.Lock()


class Busy(Missing):
    """Another run is at work at the device."""


_packed: dict[Path, Path] = {}


def agent_call(*words: object) -> str:
    """A script that is the agent itself, for a device that has no file of it yet."""
    said = " ".join(shlex.quote(str(word)) for word in words)
    return f"set -- {said}\n{AGENT.read_text(encoding='utf-8')}"


@contextmanager
def packing() -> Iterator[None]:
    """While this lasts, each bundle is packed once, however many devices get it."""
    with temporary("packed") as folder:
        with _lock:
            _packed[Path()] = folder
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
    with temporary("packed") as folder:
        _pack(bundle, folder / "bundle.tar.gz")
        yield folder / "bundle.tar.gz"


def size_kb(bundle: Path) -> int:
    """What it needs on a disk there. A link to a program takes a block."""
    return sum(path.lstat().st_size // 1024 + 4 for path in bundle.rglob("*"))


@dataclass
class Bring:
    """Puts a bundle into a new folder of a device. A link that is lost is tried again for `patience`
    seconds, and what had arrived of the bundle is not sent again.

    base   the folder below which to make it; '' takes the first that fits
    there  a folder of the device that has the bundle already
    owner  a word for this device and who asks: what it has left there is removed
    """

    link: Link
    stop: threading.Event
    patience: float = 0.0
    pause: float = 1.0
    base: str = ""
    there: str = ""
    owner: str = "nobody"
    force: bool = False
    say: Callable[[str], None] = lambda state: None
    lost: int = 0

    def whole(self, bundle: Path) -> str:
        """The name of the folder. Raises Missing, Lost, and Busy if another run is at work there."""
        folder = self._folder(SLACK + (0 if self.there else size_kb(bundle)))
        try:
            sent = self._linked(bundle, folder) if self.there else self._sent(bundle, folder)
            check = self._ask(f"cd {folder} && [ -s agent ] && [ -x bundle/run.sh ]")
            if sent.status or check.status:
                raise Missing(f"the bundle cannot be put there: {cause(sent)}")
        except BaseException:
            remove(self.link, folder)
            raise
        return folder

    def _ask(self, script: str, limit: float = 60.0, data: Path | bytes = b"") -> Answer:
        return self._patiently(lambda: self.link.execute(script, data, limit, self.stop))

    def _patiently(self, call: Callable[[], T]) -> T:
        made, lost = patiently(call, self.patience, self.pause, self.stop)
        self.lost += lost
        return made

    def _folder(self, need: int) -> str:
        """The name is ours, so that asking again makes no second one."""
        words = (need, self.base, secrets.token_hex(6), self.owner, int(max(LEASE, 2 * self.patience)))
        asked = self._ask(agent_call("folder", *words, "force" if self.force else "-"), limit=120)
        folder = asked.body.decode("utf-8", "replace").strip().rpartition("\n")[2]
        if asked.status == BUSY:
            raise Busy(printable(folder[:300].encode()))
        if asked.status or not FOLDER.fullmatch(folder) or ".." in folder:
            raise Missing(printable(folder[:300].encode()) if asked.status and folder else "no folder there")
        return folder

    def _sent(self, bundle: Path, folder: str) -> Answer:
        if self._ask("command -v tar && command -v gzip").status:
            return self._one_by_one(bundle, folder)
        with packed(bundle) as archive:
            self._archive(archive.read_bytes(), folder)
        return self._unpacked(folder)

    def _unpacked(self, folder: str) -> Answer:
        """Each try has a folder of its own: the one before may still be at work, without its connection."""
        tries = itertools.count()

        def unpack() -> Answer:
            new = f".new-{next(tries)}"
            there, script = "[ -x bundle/run.sh ]", f"gzip -dc <../{PART} | tar -xf - && mv agent bundle .."
            script = f"cd {folder} && {{ {there} || (mkdir {new} && cd {new} && {script}) || {there}; }}"
            return self.link.execute(script, limit=LIMIT, stop=self.stop)

        made = self._patiently(unpack)
        if not made.status:
            self._ask(f"cd {folder} && rm -rf {PART} .new-*")
        return made

    def _archive(self, data: bytes, folder: str) -> None:
        """Send what is not there yet. Whoever writes late, writes the same bytes to the same place, so a
        connection that was given up does no harm."""
        at, most, tried, since = 0, 0, 0, time.monotonic()
        while at < len(data):
            if at:
                self.say(f"bringing the bundle: {100 * at // len(data)} %")
            part = data[at : at + self.link.slice]
            script = f"cd {folder} && dd of={PART} bs={BLOCK} seek={at // BLOCK} conv=notrunc 2>/dev/null; wc -c <{PART}"
            try:
                sent = self.link.send(part, script, LIMIT, self.stop)
                if sent.status:
                    raise Missing(f"the bundle cannot be put there: {cause(sent)}")
            except Lost as error:
                self.lost += 1
                if time.monotonic() - since > self.patience:
                    raise Lost(f"no connection for {self.patience:.0f} s: {error}") from None
                if self.stop.wait(min(self.pause, 2)):
                    raise KeyboardInterrupt from None
                sent = self._ask(f"cd {folder} && : >>{PART} && wc -c <{PART}")
            size = sent.body.strip()
            have = int(size) if size.isdigit() and len(size) < 12 else 0
            if have > most:
                most, tried, since = have, 0, time.monotonic()
            elif sent.status == 0 and (tried := tried + 1) > AGAIN:
                raise Missing(f"the bundle cannot be put there: {have} bytes arrived of {len(data)} (disk full?)")
            at = len(data) if have >= len(data) else have // BLOCK * BLOCK

    def _linked(self, bundle: Path, folder: str) -> Answer:
        return linked(self._ask, bundle, folder, self.there)

    def _one_by_one(self, bundle: Path, folder: str) -> Answer:
        """The same files without tar."""
        paths = {Path("agent"): AGENT}
        paths |= {"bundle" / path.relative_to(bundle): path for path in sorted(bundle.rglob("*"))}
        lines = [f"cd {folder} && mkdir -p bundle || exit 1"]
        for name, path in paths.items():
            quoted = shlex.quote(str(name))
            if path.is_symlink():
                lines.append(f"[ -L {quoted} ] || ln -s {shlex.quote(os.readlink(path))} {quoted} || exit 1")
            elif path.is_dir():
                lines.append(f"mkdir -p {quoted} || exit 1")
        sent = self._ask("\n".join(lines))
        for name, path in paths.items():
            if not sent.status and path.is_file() and not path.is_symlink():
                mode = "755" if os.access(path, os.X_OK) else "644"
                quoted = shlex.quote(str(name))
                script = f"cd {folder} && cat >{quoted} && chmod {mode} {quoted}"
                sent = self._patiently(lambda path=path, script=script: self.link.send(path, script, LIMIT, self.stop))  # type: ignore[misc]
        return sent


def cause(sent: Answer) -> str:
    """Why nothing can be written: programs tell that first, and say after it that they end."""
    lines = [line for line in sent.said.splitlines() if WRITING.search(line)]
    return last_line(lines[0]) if lines else sent.why


def linked(ask: Callable[..., Answer], bundle: Path, folder: str, there: str) -> Answer:
    """The device's own bundle, if every file of it is the same as here. Raises Missing."""
    where = shlex.quote(there)
    asked = ask(
        f"cd {where} && sha256sum <MANIFEST && sha256sum -c MANIFEST >/dev/null 2>&1 && echo whole", limit=300
    )
    said = asked.body.decode("ascii", "replace").split()
    ours = hashlib.sha256((bundle / "MANIFEST").read_bytes()).hexdigest()
    if said[:1] != [ours] or said[-1:] != ["whole"]:
        raise Missing(f"{there} on the device is not the bundle that is here: build and put it there anew")
    return ask(f"cd {folder} && cat >agent && {{ [ -L bundle ] || ln -s {where} bundle; }}", data=AGENT)


def remove(link: Link, folder: str, limit: float = 45, patience: float = 0.0, pause: float = 1.0) -> None:
    """End what runs there and remove the folder; nothing if the device cannot be reached."""
    script = f"[ ! -s {folder}/agent ] || sh {folder}/agent end; rm -rf {folder}"
    if folder:
        try:
            patiently(lambda: link.execute(script, limit=limit), patience, pause, threading.Event())
        except RowError:
            pass
