# SPDX-License-Identifier: MIT
"""Points that are blocked by an event that counts the kernel, though nobody would expect that.

Blocked means that policy refuses the thing. Where the thing works for user mode alone, a probe whose attr
counts the kernel says blocked of what any user can do. A point that needs the kernel says so in its text,
needs root, or stands in the list with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from reports import text
from reports.catalogue import Catalogue

FILE = Path("reports/data/kernel_part.txt")
REFUSAL = "counts the kernel"	# in the reason of a refused open


def excuses(top: Path) -> dict[str, str]:
    """glob over points -> why the kernel has to be counted. A tree without the list has no excuse."""
    if not (top / FILE).is_file():
        return {}
    lines = [line for line in text.load_text(top / FILE).splitlines() if line and not line.startswith("#")]
    return {glob: why for glob, _, why in (line.partition(" ") for line in lines)}


def blocked(value: dict[str, Any], declared: Catalogue) -> Iterator[str]:
    """Points of a result that policy refused because of the kernel, and whose text does not speak of it."""
    said = {f"{probe}.{name}" for part in value["personas"].values() for probe, record in part["probes"].items()
            for name, point in record["points"].items()
            if point["verdict"] == "blocked" and REFUSAL in point.get("reason", "")}
    for probe in declared.probes.values():
        for item in probe.points():
            needs_root = "root" in probe.needs_of(item)
            if f"{probe.id}.{item.name}" in said and not needs_root and "kernel" not in item.meaning:
                yield f"{probe.id}.{item.name}"


def notes(value: dict[str, Any], declared: Catalogue, top: Path) -> Iterator[str]:
    """What a person should look at."""
    excused = excuses(top)
    for point in sorted(blocked(value, declared)):
        if not any(fnmatchcase(point, glob) for glob in excused):
            yield (f"note: {point}: blocked by an event that counts the kernel, which its text does not say: "
                   f"ask for user mode alone, or give the reason in {FILE}")
