# SPDX-License-Identifier: MIT
"""The readers of kernels/ under fuzz: what a guest, a device, a lab or an archive sends, and the lists
that a user writes."""

from __future__ import annotations

import base64
import functools
import gzip
import io
import itertools
import json
import lzma
import tarfile
import threading
from dataclasses import asdict
from pathlib import Path

from reader import FOLDER, KERNEL_LOGS, Reader, in_file, some

from kernels import matrix
from kernels.device import inventory
from kernels.errors import RowError
from kernels.guest.qmp import Qmp
from kernels.guest.watch import Guest, Task
from kernels.lab import ingest
from kernels.place import follow, judge, link
from kernels.place.channel import Channel, Limits, cksum
from kernels.place.outcome import Outcome
from kernels.place.report import Report
from kernels.place.receiver import sums
from kernels.place.serial import SerialLink
from kernels.source import image, kind, packages, wrapped
from reports import complaints

MATRIX = (b'[arch.amd64]\nrunner = "qemu"\napt = "amd64"\nbundle = "x86_64"\nqemu = "qemu"\nconsole = "ttyS0"\n'
          b'qemu_package = "q"\nmachine = "q35"\ncpu = "max"\n'
          b'[[row]]\nname = "a-1"\nwhy = "w"\nsuites = ["s"]\narch = "amd64"\npackage = "x"\n')


# ------------------------------------------------------------------------------ what comes from a guest

def _limited(name: str) -> Channel:
    target = Path(FOLDER.name) / name
    target.mkdir(exist_ok=True)
    return Channel(target, Limits(file=4096, total=1 << 16, files=50, noise=4096))


def _nothing_beside() -> None:
    """No file was written beside the target."""
    assert not any(path.name.startswith("out") for path in Path(FOLDER.name).iterdir())


def _channel(data: bytes) -> None:
    """In pieces, as it comes from a line."""
    channel = _limited("target")
    for at in range(0, len(data), 97):
        channel.feed(data[at:at + 97])
        if channel.flood:
            break
    _nothing_beside()


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


@functools.cache
def _row() -> matrix.Row:
    return next(iter(matrix.parse(MATRIX.decode()).rows.values()))


def _console(data: bytes) -> None:
    """While probes run, in pieces: what the kernel complains of is kept, and safe for a terminal."""
    guest = Guest(_row(), _limited("console"), Path(FOLDER.name) / "console.log", Task(), threading.Event())
    try:
        guest.channel.probing = True
        for at in range(0, len(data), 61):
            guest.on_console(data[at:at + 61])
        heard = guest.outcome.complaints
        assert len(heard) <= complaints.LIMIT and all(line.isprintable() for line in heard), heard
        assert len(guest._last_line()) <= 200 and len(guest.tail) <= 1 << 16
    finally:
        guest.close()
    _nothing_beside()


def _consoles() -> list[bytes]:
    return [*(log.replace(b"\n", b"\r\n") for log in KERNEL_LOGS), b"qemu-system-ppc64: fatal: Trying x\n"]


# ------------------------------------------------------------------------- what a device or a lab sends

def _piece(data: bytes) -> None:
    piece = follow.parse(link.Answer(0, data), 4096)
    assert len(piece.data) <= 4097 and piece.status < 1000


def _pieces() -> list[bytes]:
    data, state = b"hello, this is a piece of a file\n", b"0123-ab 12.34 45000 -3 running 0 %s %d %d\n"
    coded = {b"raw": data, b"hex": data.hex().encode(), b"base64": base64.b64encode(data),
             b"gzip64": base64.b64encode(gzip.compress(data, mtime=0))}
    return [state % (code, cksum(data), len(data)) + body for code, body in coded.items()]


def _framed(data: bytes) -> None:
    answer = link.unframed(data, "pm-0123", "")
    assert answer.status < 1000 and answer.body in data


def _line(data: bytes) -> None:
    """A console may drop, double and invent bytes; an answer is taken by number and checksum alone."""
    serial = SerialLink("/dev/null")
    serial._buffer, serial._until, serial._stop = bytearray(data), float("inf"), None
    answer = serial._hear(7, 0.0)
    lines = [] if answer is None else [
        b"@a 7 %s %s" % (made.encode(), answer) for made in sums(b"7 " + answer).values()
    ]
    assert answer is None or any(line in data for line in lines)


def _line_seeds() -> list[bytes]:
    return [b"login: \r\n@a 7 %d 0 3 aGVs\r\n" % cksum(b"7 0 3 aGVs"), b"noise@n 7\n@n 7\n",
            b"@a 6 %d y\n@a 7 1 y\n[   1.0] usb 1\n" % cksum(b"6 y"),
            b"@a 7 %s y\n" % sums(b"7 y")["md5sum"].encode()]


def _lava_log(data: bytes) -> None:
    assert len(ingest.collect(in_file(data, "logs.yaml"))) < len(data)


def _lava_logs() -> list[bytes]:
    whole = gzip.compress(_archives()[0], mtime=0)[:240]
    blocks = [whole[at:at + 60] for at in range(0, len(whole), 60)]
    said = [f"@@pm {number} {cksum(block)} {base64.b64encode(block).decode()}"
            for number, block in enumerate(blocks)]
    said.append(f"@@pm-end {len(blocks)} {cksum(whole)} {len(whole)}")
    return [b"".join(b"- %s\n" % json.dumps({"lvl": "target", "msg": line}).encode() for line in said)]


def _lava_result(data: bytes) -> None:
    ingest.unpack(gzip.compress(data, 1, mtime=0), _limited("lava"))
    _nothing_beside()


def _archives() -> list[bytes]:
    made = []
    for name, kind_of in itertools.product(("./root/a.b.ktap", "../out"), (tarfile.REGTYPE, tarfile.SYMTYPE)):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
            member = tarfile.TarInfo(name)
            member.type, member.size, member.linkname = kind_of, 6 * (kind_of == tarfile.REGTYPE), "/etc/passwd"
            tar.addfile(member, io.BytesIO(b"ok 1 x"))
        made.append(buffer.getvalue()[:2048])
    return made


# ------------------------------------------------------------------- what an earlier run or a user wrote

def _record(data: bytes) -> None:
    in_file(data, "place/boot.json")
    told = judge.recorded(Path(FOLDER.name), "place")
    assert told is None or (told.resumed and told.status in (0, 1, 3))


def _records() -> list[bytes]:
    outcome = Outcome("done", "", "probes", 1.5, 1.0, {"init": 0.5}, {"init": 0.4}, "cold", ["after a: BUG: b"])
    report = Report("place", outcome)
    report.book(outcome, "all")
    told = {**asdict(outcome), "release": "6.1", "attempts": 1, "went_down": ["root a.b"], "unanswered": [],
            "guests": report.guests, "total_wall": 1.5, "total_cpu": 1.0}
    return [json.dumps(told).encode(), json.dumps({**told, "ended": "panic", "wall": 1e300}).encode()]


def _matrix(data: bytes) -> None:
    matrix.parse(data.decode("utf-8", "replace"))


def _inventory(data: bytes) -> None:
    inventory.load(in_file(data, "devices.toml"))


# ------------------------------------------------------------------------------- what an archive has

def _kind(data: bytes) -> None:
    kind.check(in_file(data, "kernel"), "amd64")


def _index(data: bytes) -> None:
    for package in packages.read_index(data.decode("utf-8", "replace"), ["linux-image-"], "https://x.y", "s"):
        assert ".." not in package.filename.split("/") and len(package.sha256) == 64 and package.size >= 0
        assert "/" not in package.cache_name


def _indexes() -> list[bytes]:
    return [b"Package: linux-image-6.1.0-1-amd64\nVersion: 6.1.1-1\nArchitecture: amd64\nSize: 123\n"
            b"Filename: pool/main/l/linux/a.deb\nSHA256: %s\n\nPackage: x\nVersion: 1\n" % (b"0" * 64)]


def _wrapped(data: bytes) -> None:
    """An .rpm and Android's boot image: what comes out is bounded."""
    found = wrapped.kernel_in(in_file(data, "kernel.img"))
    assert found is None or 0 < len(found) <= image.MAX_MEMBER


def _wraps() -> list[bytes]:
    """Boot images of both kinds of header, with a kernel that is packed and one that is not; an .rpm with nothing in it."""
    packed = gzip.compress(bytes(64))
    return [b"ANDROID!" + b"".join(word.to_bytes(4, "little") for word in (len(packed), 0, 0, 0, 0, 0, 0, 2048, 2))
            .ljust(2040, b"\0") + packed + bytes(2048),
            (b"ANDROID!" + (16).to_bytes(4, "little") + bytes(28) + (4).to_bytes(4, "little")).ljust(4096, b"\0") + bytes(16),
            wrapped.RPM.ljust(96, b"\0") + (b"\x8e\xad\xe8\x01" + bytes(12)) * 2 + b"070701"]


def _image(data: bytes) -> None:
    image.bootable(data, "pvh")


def _images() -> list[bytes]:
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
    return [image.vmlinux(one) for one in _images()[:1]] + [b"\x7fELF" + bytes(60)]


READERS = {
    "channel": Reader(_channel, _frames),
    "qmp": Reader(_qmp, _qmp_seeds, (RowError,)),
    "console": Reader(_console, _consoles),
    "piece": Reader(_piece, _pieces, (RowError,)),
    "answer": Reader(_framed, lambda: [b"motd\n@@pm-0123\nhello\n\n@@pm-0123 0\n"], (RowError,)),
    "serial-line": Reader(_line, _line_seeds),
    "lava-log": Reader(_lava_log, _lava_logs, (RowError,)),
    "lava-result": Reader(_lava_result, _archives, (RowError,)),
    "boot-record": Reader(_record, _records),
    "matrix": Reader(_matrix, lambda: [MATRIX], (RowError,)),
    "inventory": Reader(_inventory, lambda: some("kernels/device/devices.toml"), (RowError,)),
    "kernel-wrapped": Reader(_wrapped, _wraps, (RowError,)),
    "kernel-kind": Reader(_kind, _images, (RowError,)),
    "package-index": Reader(_index, _indexes),
    "bzimage": Reader(_image, _images, (RowError,)),
    "pvh-note": Reader(_pvh, _elves),
}
