# SPDX-License-Identifier: MIT
"""Which of Debian's versions changed an answer, and what it says of itself."""

from __future__ import annotations

import gzip
import io
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from debs import make_deb

from kernels import matrix
from kernels.errors import Missing, Usage
from kernels.matrix import Row
from kernels.show import bisect, versions
from kernels.show.bisect import Answer
from kernels.source import debian
from kernels.source.fetch import Deb
from kernels.source.packages import Package

pytestmark = pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="no dpkg-deb: dpkg")
LISTED = matrix.load()
ROW = LISTED.rows["amd64-6.12"]
LOG = """\
linux-signed-amd64 (6.12.3+1) trixie; urgency=medium

  * Sign kernel from linux 6.12.3-1

  * New upstream stable update:
    https://example.org/ChangeLog-6.12.3
    - perf: Take what is
      offered
    - [amd64] perf/x86: Count on
    - perf script: Print it
    - net: wait

linux (6.12.2-1) trixie; urgency=medium

    - perf/core: Between

linux (6.12.1-1) trixie; urgency=medium

    - perf/core: Before
"""


def package(version: str, name: str = "linux-image-6.12-cloud-amd64", sha: str = "") -> Package:
    return Package(name, version, "amd64", "x", 1 << 22, sha or version, "https://example.org", "trixie")


class Archive:
    """A fetcher with three versions, and the source of two of them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder, folder / "cache"

    def resolve(self, row: Row) -> list[Package]:
        return [package(version) for version in ("6.12.3-1", "6.12.3-1", "6.12.2-1", "6.12.1-1")]

    def kernel(self, row: Row) -> Deb:
        place = self.folder / f"kernel-{row.version}"
        place.mkdir(exist_ok=True)
        log = gzip.compress(LOG.encode())
        deb = place / "x.deb"
        if not deb.exists():
            make_deb(place, {"usr/share/doc/linux-image-x/changelog.gz": log, "boot/vmlinuz": b""})
        return Deb(deb, package(row.version or "6.1.9-1"))

    def exactly(self, name: str, version: str, suites: tuple[str, ...], architecture: str) -> Deb:
        if version == "6.12.1-1":
            raise Missing(f"no {name} {version}")
        place = self.folder / f"source-{version}"
        place.mkdir(exist_ok=True)
        packed = io.BytesIO()
        files = {"kernel/events/core.c": f"int one(void)\n{{{chr(10) * 5}\treturn {version[5]};\n}}\n",
                 "arch/arm64/kernel/hw_breakpoint.c": version, "fs/ext4/inode.c": version,
                 **{f"{path}/x.c": "" for path in ("arch/x86/events", "arch/powerpc/perf", "drivers/perf")},
                 **{name: "" for name in ("include/linux/perf_event.h", "arch/x86/kernel/perf_regs.c", "kernel/trace/bpf_trace.c",
                                          "kernel/trace/trace_event_perf.c", "kernel/trace/trace_probe.c")}}  # fmt: skip
        with tarfile.open(fileobj=packed, mode="w:xz") as tar:
            for path, text in files.items():
                info = tarfile.TarInfo(f"linux-source-6.12/{path}")
                info.size = len(text)
                tar.addfile(info, io.BytesIO(text.encode()))
        deb = make_deb(place, {"usr/src/linux-source-6.12.tar.xz": packed.getvalue()})
        return Deb(deb, package(version, name, f"{version:0<64}"))


def test_versions_are_asked_from_the_oldest(tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []

    def ask(row: Row) -> Answer:
        asked.append((row.name, row.version))
        return Answer(row.name, row.version, "yes" if row.version == "6.12.1-1" else "no")

    search, rows = versions.search(Archive(tmp_path), ROW, ROW, ask)  # type: ignore[arg-type]
    assert search.rows == ["deb-6.12.1-1", "deb-6.12.2-1", "deb-6.12.3-1"]
    last, first = search.run()
    assert (rows[last.row].version, rows[first.row].version) == ("6.12.1-1", "6.12.2-1")
    assert asked[0] == ("deb-6.12.1-1", "6.12.1-1") and len(asked) == 3
    older = replace(ROW, name="amd64-6.1")
    search, rows = versions.search(Archive(tmp_path), older, ROW, ask)  # type: ignore[arg-type]
    assert len(search.rows) == 3 + 1 and rows[search.rows[0]].version == "6.1.9-1"


@pytest.mark.parametrize("name", ["amd64-6.1-pmu", "uml", "armel-6.1-raspi0"])
def test_rows_that_are_more_than_a_kernel_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(Usage, match="more than a kernel"):
        versions.search(Archive(tmp_path), ROW, LISTED.rows[name], lambda row: Answer("", "", ""))  # type: ignore[arg-type]


def test_one_row_alone_is_enough_for_versions() -> None:
    assert [row.name for row in bisect.between(LISTED, "amd64-6.12", "amd64-6.12", True)] == ["amd64-6.12"]
    with pytest.raises(Usage, match="one series"):
        bisect.between(LISTED, "amd64-6.12", "amd64-6.12")


def test_what_a_version_changed_is_said(tmp_path: Path) -> None:
    old, new = replace(ROW, version="6.12.2-1"), replace(ROW, version="6.12.3-1")
    lines = versions.changes(Archive(tmp_path), old, new, tmp_path)  # type: ignore[arg-type]
    assert lines[:3] == ["its changelog says of perf, after 6.12.2-1:", "  perf: Take what is offered", "  [amd64] perf/x86: Count on"]
    assert lines[3].startswith("perf's source for this machine differs in 1 files")
    assert lines[4] == "  kernel/events/core.c: one()"
    whole = (tmp_path / "6.12.2-1..6.12.3-1.diff").read_text()
    assert "+\treturn 3;" in whole and "hw_breakpoint.c" in whole and "ext4" not in whole
    lines = versions.changes(Archive(tmp_path), replace(ROW, version="6.12.1-1"), new, tmp_path)  # type: ignore[arg-type]
    assert "  perf/core: Between" in lines and lines[-1] == "the sources could not be compared: no linux-source-6.12 6.12.1-1"


REBUILT = """\
linux (6.12.3-1~bpo12+2) bookworm-backports; urgency=medium

    - perf/core: Only in this backport

linux (6.12.3-1~bpo12+1) bookworm-backports; urgency=medium

  * Rebuild for bookworm-backports

linux (6.12.3-1) trixie; urgency=medium

    - perf/core: In the backport, too

linux (6.12.2-1~bpo12+1) bookworm-backports; urgency=medium

  * Rebuild for bookworm-backports

linux (6.12.2-1) trixie; urgency=medium

    - perf/core: In the backport before

linux (6.12~rc7-1~exp1) experimental; urgency=medium

    - perf/core: In a candidate
"""


@pytest.mark.parametrize(("after", "upto", "said"), [
    ("6.12.2-1~bpo12+1", "6.12.3-1~bpo12+1", ["In the backport, too"]),
    ("6.12.3-1~bpo12+1", "6.12.3-1~bpo12+2", ["Only in this backport"]),
    ("6.12.2-1", "6.12.3-1~bpo12+2", ["Only in this backport", "In the backport, too"]),
    ("6.12~rc6-1~exp1", "6.12~rc7-1~exp1", ["In a candidate"]),
    ("6.12~rc7-1~exp1", "6.12.2-1", ["In the backport before"])])  # fmt: skip
def test_a_rebuilt_version_tells_what_the_one_that_it_rebuilds_changed(after: str, upto: str, said: list[str]) -> None:
    assert debian.subjects(REBUILT, after, upto) == [f"perf/core: {what}" for what in said]


def test_a_package_without_a_changelog_has_nothing_to_say(tmp_path: Path) -> None:
    assert debian.changelog(make_deb(tmp_path, {"boot/vmlinuz": b"x"})) == ""
    (tmp_path / "not.deb").write_bytes(b"no package")
    with pytest.raises(Missing, match="tar|dpkg-deb"):
        debian.changelog(tmp_path / "not.deb")
