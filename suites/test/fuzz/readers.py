# SPDX-License-Identifier: MIT
"""The Python readers of what comes from outside, each with seeds and the answers that it may give.

A reader takes bytes. It returns, or raises one of the errors that its callers turn into a sentence;
anything else is a finding. Files are written below a folder of the run's own.
"""

from __future__ import annotations

import json
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kernels import matrix
from kernels.errors import RowError
from kernels.guest.qmp import Qmp
from kernels.place.channel import Channel, Limits, cksum
from kernels.source import image
from reports import catalogue, declaration, environment, expect, ktap, personas, schema, text, verdict
from reports.text import Unusable

TREE = Path(__file__).resolve().parents[3]
KTAP = TREE / "reports" / "test" / "cases"
FOLDER = tempfile.TemporaryDirectory(prefix="pm-fuzz-")
DECLARED = catalogue.parse(
    "id=area.case\ntitle=t\nsince=4.7\npoint=a x\npoint=v.b x\nfact=f verdict - x\n"
    "fact=n int - x\nfact=s string - x\nfact=e enum p|q x\nfact=t bool - x\n").probes["area.case"]


@dataclass(frozen=True)
class Reader:
    read: Callable[[bytes], object]
    seeds: Callable[[], list[bytes]]
    answers: tuple[type[Exception], ...] = ()


def _file(data: bytes, name: str) -> Path:
    path = Path(FOLDER.name) / name
    path.write_bytes(data)
    return path


def _some(pattern: str, count: int = 20) -> list[bytes]:
    found = [path.read_bytes() for path in sorted(TREE.glob(pattern)) if path.stat().st_size < 60_000]
    return found[:: max(1, len(found) // count)][:count]


# ------------------------------------------------------------------------------------ what a run has

def _ktap(data: bytes) -> None:
    record = verdict.judge(ktap.parse(data), DECLARED).as_json()
    assert record["points"].keys() >= {"a", "v.b", "f"}


def _environment(data: bytes) -> None:
    found = environment.parse(data, "env")
    assert all(not text._UNSAFE.search(value) for values in found.values.values() for value in values)


def _catalogue(data: bytes) -> None:
    for probe in catalogue.parse_bytes(data).probes.values():
        assert declaration.PROBE_ID.fullmatch(probe.id)


def _json(kind: str) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        schema.require(kind, text.load_json(_file(data, f"{kind}.json")), kind)
    return read


def _result() -> list[bytes]:
    point = {"verdict": "yes", "reason": ""}
    made = {"format": 1, "kind": "result", "id": "0" * 16, "suite": "s", "identity": {"arch": "a"},
            "tool": {"name": "perfmodes", "version": "1", "catalogue": "0" * 12}, "environment": {},
            "personas": {"root": {"environment": {}, "probes": {"a.b": {"points": {"p": point}}}}},
            "summary": {"root": {"yes": 1}}, "unexpected": []}
    return [json.dumps(made).encode()]


def _elf(data: bytes) -> None:
    catalogue.section(_file(data, "program"))


def _elf_seeds() -> list[bytes]:
    """A small ELF file with one section of the name, and another made of zeros."""
    names = b"\0.probeinfo\0.shstrtab\0"
    body = b"id=a.b\0title=t\0"
    head = (b"\x7fELF\x02\x01\x01" + bytes(9) + (1).to_bytes(2, "little") + (62).to_bytes(2, "little")
            + (1).to_bytes(4, "little") + bytes(16) + (128).to_bytes(8, "little") + bytes(4)
            + b"".join(n.to_bytes(2, "little") for n in (64, 0, 0, 64, 3, 2)))

    def section(name: int, kind: int, at: int, size: int) -> bytes:
        return (name.to_bytes(4, "little") + kind.to_bytes(4, "little") + bytes(16)
                + at.to_bytes(8, "little") + size.to_bytes(8, "little") + bytes(24))

    table = bytes(64) + section(1, 1, 64, len(body)) + section(12, 3, 84, len(names))
    return [(head + body).ljust(84, b"\0") + names.ljust(44, b"\0") + table, b"\x7fELF" + bytes(60)]


# ------------------------------------------------------------------------------- what is written by hand

def _expectation(data: bytes) -> None:
    expect.check(_file(data, "sw.clocks.toml"))


def _matrix(data: bytes) -> None:
    matrix.parse(data.decode("utf-8", "replace"))


def _personas(data: bytes) -> None:
    personas.parse(data.decode("utf-8", "replace"))


# ------------------------------------------------------------------------------ what comes from a guest

def _channel(data: bytes) -> None:
    """In pieces, as it comes from a line. Nothing may be written beside the target."""
    target = Path(FOLDER.name) / "target"
    target.mkdir(exist_ok=True)
    channel = Channel(target, Limits(file=4096, total=1 << 16, files=50, noise=4096))
    for at in range(0, len(data), 97):
        channel.feed(data[at:at + 97])
        if channel.flood:
            break
    assert {path.name for path in Path(FOLDER.name).iterdir() if path.name.startswith("out")} == set()


def _frames() -> list[bytes]:
    body = b"hello\n"
    frame = b"@@file root/a.b.ktap %d %d\n%s\n" % (len(body), cksum(body), body)
    return [frame, b"@@release 6.1\n@@run user 2\n" + frame + b"@@end 1\n@@exit 0\n",
            b"@@file ../../out 1 2\nx\n", b"@@clock 1.5\n" + frame]


class _Quiet:
    """A socket that takes everything."""

    def sendall(self, data: bytes) -> None:
        pass

    def setblocking(self, flag: bool) -> None:
        pass


def _qmp(data: bytes) -> None:
    Qmp(_Quiet()).feed(data)  # type: ignore[arg-type]


def _qmp_seeds() -> list[bytes]:
    return [b'{"QMP": {"version": {}}}\r\n{"return": {}}\r\n', b'{"event": "STOP"}\r\n',
            b'{"error": {"class": "x", "desc": "y"}}\r\n']


# ------------------------------------------------------------------------------- what an archive has

def _image(data: bytes) -> None:
    image.bootable(data, "pvh")


def _images() -> list[bytes]:
    import gzip
    import lzma
    elf = bytearray(64 + 56 + 20)
    elf[:6], elf[32:40], elf[54:58] = b"\x7fELF\x02\x01", (64).to_bytes(8, "little"), b"\x38\0\1\0"
    elf[64:68], elf[72:80], elf[96:104] = b"\4\0\0\0", (120).to_bytes(8, "little"), b"\x14" + bytes(7)
    elf[120:136] = b"\4\0\0\0\4\0\0\0\x12\0\0\0Xen\0"
    made = []
    for packed in (gzip.compress(bytes(elf), mtime=0), lzma.compress(bytes(elf)) + b"\0\0\0\0"):
        head = bytearray(1024)
        head[0x1F1], head[0x202:0x208] = 1, b"HdrS\x0f\x02"
        head[0x248:0x250] = bytes(4) + len(packed).to_bytes(4, "little")
        made.append(bytes(head) + packed)
    return made


def _pvh(data: bytes) -> None:
    image.has_pvh_entry(data)


def _elves() -> list[bytes]:
    return [image.vmlinux(one) for one in _images()[:1]] + _elf_seeds()


READERS = {
    "ktap": Reader(_ktap, lambda: _some("reports/test/cases/*/in.ktap")),
    "environment": Reader(_environment, lambda: [b"format=1\narch=x86_64\nrelease=6.1\ncpu_model=a b\n"]),
    "catalogue": Reader(_catalogue, lambda: [
        b"id=a.b\ntitle=t\nsince=4.7\npoint=p x\nfact=f int - x\nneeds=pmu\ncommit=0123456789ab\n"]),
    "result": Reader(_json("result"), _result, (Unusable,)),
    "profile": Reader(_json("profile"), lambda: _some("lib/profiles/*.json", 4), (Unusable,)),
    "probe-elf": Reader(_elf, _elf_seeds, (Unusable,)),
    "expectation": Reader(_expectation, lambda: _some("suites/expect/*.toml")),
    "matrix": Reader(_matrix, lambda: [
        b'[arch.amd64]\napt = "amd64"\nbundle = "x86_64"\nqemu = "qemu"\n[[row]]\nname = "a-1"\n'
        b'arch = "amd64"\npackage = "x"\n'], (RowError,)),
    "personas": Reader(_personas, lambda: _some("suites/personas.txt"), (Unusable,)),
    "channel": Reader(_channel, _frames),
    "qmp": Reader(_qmp, _qmp_seeds, (RowError,)),
    "bzimage": Reader(_image, _images, (RowError,)),
    "pvh-note": Reader(_pvh, _elves),
}
ALWAYS = (tomllib.TOMLDecodeError,)


def names() -> Iterator[str]:
    yield from READERS
