# SPDX-License-Identifier: MIT
"""The Python readers of what comes from outside, each with seeds and the answers that it may give.

A reader takes bytes. It returns, or raises one of the errors that its callers turn into a sentence;
anything else is a finding. Those of kernels/ are in places.py.
"""

from __future__ import annotations

import io
import json
import tarfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import places
from reader import FOLDER, KERNEL_LOGS, Reader, in_file, some

from reports import (catalogue, complaints, declaration, environment, expect, ktap, personas, recordings, schema,
                     sheet_read, terminal, text, verdict, wordlist)
from reports.database import source
from reports.text import Unusable

DECLARED = catalogue.parse(
    "id=area.case\ntitle=t\nsince=4.7\npoint=a x\npoint=v.b x\nfact=f verdict - x\n"
    "fact=n int - x\nfact=s string - x\nfact=e enum p|q x\nfact=t bool - x\n").probes["area.case"]


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
        schema.require(kind, text.load_json(in_file(data, f"{kind}.json")), kind)
    return read


def _result() -> list[bytes]:
    probe = {"status": "done", "points": {"p": {"verdict": "yes", "reason": "done"}}, "facts": {}}
    made = {"format": 1, "kind": "result", "id": "0" * 16, "suite": "s",
            "identity": {"arch": "a", "release": "6.1"},
            "tool": {"name": "perfmodes", "version": "1", "catalogue": "0" * 12}, "environment": {},
            "personas": {"root": {"environment": {}, "probes": {"a.b": probe}}},
            "summary": {"root": {**dict.fromkeys(wordlist.EVERY, 0), "yes": 1}}, "unexpected": []}
    return [json.dumps(made).encode()]


def _recording(data: bytes) -> None:
    for need in recordings.read(in_file(data, "recording.json")).needs:
        assert need.what and all(way for way in need.ways)


def _recordings() -> list[bytes]:
    """A call of each kind of event, with much set in it."""
    def one(kind: str) -> dict[str, Any]:
        fields = dict.fromkeys(("sample_period", "sample_type", "read_format", "branch_sample_type", "clockid"), "0xff")
        return {"attr": {"type": kind, "config": "0x1", "tracepoint": "sched:x", "fields": fields,
                         "flags": {"precise_ip": 2, "inherit": 1, "freq": 1, "use_clockid": 1}, "size": 128},
                "target": "other", "cpus": 1, "on_cpu": True, "group": True, "open_flags": 9, "narrow": True, "calls": 2,
                "opened": 0, "unseen": 0, "errors": {"EACCES": 2}, "rings": 2, "pages": 9,
                "requests": {"ENABLE": {"calls": 1, "failed": 0}}}
    made = {"format": 1, "kind": "recording", "machine": {"cpus_online": 1}, "beyond": 1, "caller": {
        "root": True, "perfmon": True, "admin": True, "no_new_privs": False, "filter": False, "memlock_kb": 64, "nofile": 9}}
    return [json.dumps({**made, "calls": [one(kind), one("software")]}).encode()
            for kind in ("software", "hardware", "cache", "raw", "breakpoint", "tracepoint", "msr", "cpu", "uprobe")]


def _elf(data: bytes) -> None:
    catalogue.section(in_file(data, "program"))


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
    expect.check(in_file(data, "sw.clocks.toml"))


def _personas(data: bytes) -> None:
    personas.parse(data.decode("utf-8", "replace"))


def _kernel_log(data: bytes) -> None:
    """As the launcher keeps it and result.json tells it."""
    lines = list(enumerate(data.decode("utf-8", "replace").split("\n")))
    warnings: list[str] = []
    rows = complaints.merged([("root a.b", one) for one in complaints.found(lines)], warnings)
    assert len(rows) <= complaints.LIMIT
    for row in rows:
        assert not text._UNSAFE.search(complaints.told(row))


def _archive(data: bytes) -> None:
    """What is handed in for the database."""
    with source.opened(in_file(data, "results.tar")) as found:
        assert all(one.path.exists() for one in found)
    assert not any(path.name.startswith("out") for path in Path(FOLDER.name).iterdir())


def _archives() -> list[bytes]:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, body in (("run/env", b"format=1\n"), ("run/plan", b"\n"), ("../out", b"x")):
            member = tarfile.TarInfo(name)
            member.size = len(body)
            tar.addfile(member, io.BytesIO(body))
    return [buffer.getvalue()[:4096]]


def _variables(data: bytes) -> None:
    """What a person's environment says about the terminal."""
    pairs = (part.partition("=") for part in data.decode("utf-8", "surrogateescape").split("\0"))
    environ = {name: value for name, _, value in pairs}
    assert terminal.NARROWEST <= terminal.width_of(io.StringIO(), environ) <= terminal.WIDEST
    assert terminal.coloured(io.StringIO(), environ) in (True, False)
    assert not terminal.unicode(io.StringIO(), environ), "a stream without an encoding shows ASCII"


def _sheets() -> list[bytes]:
    """A small sheet of answers."""
    return [b"format 1\nrow r\ntool 0.1\ncatalogue 0123456789ab\nsuite default\nidentity arch=a\nidentity release=6.1\n"
            b"identity cpu_model=c\n\n[level 2]\nstarted 2026-11-21T11:35:00Z\npersonas root user\n"
            b"environment paranoid=2\nas user uid=65534\nended root a.b timeout\nevidence root a.b.c seen 3\n"
            b"\n[level -1]\npersonas root\n\n[reasons]\n0123 why\n\n[points]\na.b.c b:0123 l:0123 | y\na.b.d y\n"
            b'a.b.x:e.f y - | -\n\n[facts]\na.b.n 3 "x | y" | true\na.b.m -\n']


READERS = {
    "ktap": Reader(_ktap, lambda: some("reports/test/cases/*/in.ktap")),
    "environment": Reader(_environment, lambda: [b"format=1\narch=x86_64\nrelease=6.1\ncpu_model=a b\n"]),
    "answers": Reader(lambda data: sheet_read.parse(data.decode("utf-8", "replace"), "row"), _sheets, (Unusable,)),
    "catalogue": Reader(_catalogue, lambda: [
        b"id=a.b\ntitle=t\nsince=4.7\npoint=p x\nfact=f int - x\nneeds=pmu\ncommit=0123456789ab\n"]),
    "result": Reader(_json("result"), _result, (Unusable,)),
    "profile": Reader(_json("profile"), lambda: some("lib/profiles/*.json", 4), (Unusable,)),
    "recording": Reader(_recording, _recordings, (Unusable,)),
    "probe-elf": Reader(_elf, _elf_seeds, (Unusable,)),
    "expectation": Reader(_expectation, lambda: some("suites/expect/*.toml")),
    "personas": Reader(_personas, lambda: some("suites/personas.txt"), (Unusable,)),
    "kernel-log": Reader(_kernel_log, lambda: KERNEL_LOGS),
    "archive": Reader(_archive, _archives, (Unusable,)),
    "terminal": Reader(_variables, lambda: [b"COLUMNS=120\0LC_ALL=C.UTF-8\0TERM=xterm\0NO_COLOR=",
                                            b"COLUMNS=-1\0CLICOLOR_FORCE=1\0LANG=\xff"]),
    **places.READERS,
}
ALWAYS = (tomllib.TOMLDecodeError,)


def names() -> Iterator[str]:
    yield from READERS
