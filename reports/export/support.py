# SPDX-License-Identifier: MIT
"""Holds the kernel's Documentation/features against what was measured.

The kernel's table says what an architecture's source has; a result says what a kernel does. `ok` there
and a refusal here, or TODO there and a point that works here, is a difference that somebody should
look at: a configuration without it, a table that is out of date, or a probe that is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reports import text
from reports.export.common import Result, cells
from reports.export.features import arch_of, status
from reports.text import Unusable

FILE_LIMIT = 1 << 16
# The points that show each feature of Documentation/features/perf.
SHOWN_BY = {"kprobes-event": ("pmu.kprobe.counts",),
            "perf-regs": ("sample.registers.user", "sample.registers.user_abi"),
            "perf-stackdump": ("sample.stack.content", "sample.stack.dyn_size")}
_ROW = re.compile(r"\s*\|\s*([a-z0-9_]+):\s*\|\s*(ok|TODO|N/A|\.\.)\s*\|\s*")
_NAMES = {"loong": "loongarch"}


@dataclass(frozen=True)
class Difference:
    """An architecture of which a table and the results say different things of a feature."""
    feature: str
    arch: str
    table: str
    measured: str

    def __str__(self) -> str:
        return f"{self.feature} on {self.arch}: the kernel's table says {self.table}, measured {self.measured}"


def read(path: Path) -> dict[str, str]:
    """Architecture -> status, of an arch-support.txt. Raises Unusable."""
    try:
        data, more = text.read_bounded(path, FILE_LIMIT)
    except OSError as error:
        raise Unusable(text.clean(f"{path}: {error.strerror}", 300)) from error
    found = [match for line in text.decode(data)[0].splitlines() if (match := _ROW.fullmatch(line))]
    if more or not found:
        raise Unusable(text.clean(f"{path}: no arch-support.txt of Documentation/features", 300))
    return {_NAMES.get(match[1], match[1]): match[2] for match in found}


def tables(folder: Path) -> dict[str, dict[str, str]]:
    """Feature -> its table: of Documentation/features, of its folder perf, or of a kernel tree."""
    if not folder.is_dir():
        raise Unusable(text.clean(f"{folder}: no such folder", 300))
    for place in (folder, folder / "perf", folder / "Documentation/features/perf"):
        found = {name: place / name / "arch-support.txt" for name in SHOWN_BY}
        there = {name: read(path) for name, path in found.items() if path.is_file()}
        if there:
            return there
    raise Unusable(text.clean(f"{folder}: no {' or '.join(SHOWN_BY)} in it", 300))


def _measured(results: Sequence[Result]) -> Iterator[tuple[str, str, str]]:
    """(feature, architecture, status) of what could be told."""
    words: dict[tuple[str, str], set[str]] = {}
    for cell in cells(results, ""):
        for feature, keys in SHOWN_BY.items():
            if cell.key in keys:
                words.setdefault((feature, arch_of(cell.result)), set()).add(cell.verdict)
    for (feature, arch), said in sorted(words.items()):
        if status(said) != "..":
            yield feature, arch, status(said)


def differences(results: Sequence[Result], folder: Path) -> tuple[int, list[Difference]]:
    """How many cells could be compared, and those that differ."""
    found, compared, different = tables(folder), 0, []
    for feature, arch, said in _measured(results):
        table = found.get(feature, {}).get(arch)
        if table in ("ok", "TODO"):
            compared += 1
            if table != said:
                different.append(Difference(feature, arch, table, said))
    return compared, different
