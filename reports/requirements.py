# SPDX-License-Identifier: MIT
"""What a program needs of a kernel, in alternatives, held against a profile or result.

    format = 1
    name = "my profiler"
    persona = "user"

    [[need]]
    what = "samples of one thread"
    any = [["attach.tid.own_thread"], ["attach.pid.own_process"]]

    [[need]]
    what = "a flight recorder"
    optional = true
    otherwise = "an ordinary ring, drained often"
    any = [["ring.write_backward.newest_first", "ring.pause.holds"]]

Each list in `any` is an alternative: all its keys must be yes, or equal what stands behind `=`, as in
"ring.max_pages=128". The first alternative that holds is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports import table, text
from reports.profile import Value
from reports.text import Unusable

_KEY = re.compile(r"[a-z0-9_]+(?:\.[A-Za-z0-9_-]+)+(?:=.+)?")
_FIELDS = {"what": str, "any": list, "optional": bool, "otherwise": str}


@dataclass(frozen=True)
class Need:
    """One thing that a program wants, and the ways to get it, the best first."""
    what: str
    ways: tuple[tuple[str, ...], ...]
    optional: bool = False
    otherwise: str = ""


@dataclass(frozen=True)
class Requirements:
    """All that a program wants, and as whom it asks."""
    name: str
    persona: str
    needs: tuple[Need, ...]


@dataclass(frozen=True)
class Finding:
    """What became of a need: the way that holds, or what each way lacks."""
    need: Need
    way: int | None
    missing: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        return self.way is not None

    def lines(self) -> Iterator[str]:
        """The finding for a person."""
        if self.way is not None:
            how = ", ".join(self.need.ways[self.way])
            yield f"yes      {self.need.what}: {how}" + (f" (way {self.way + 1})" if self.way else "")
            return
        yield f"{'without' if self.need.optional else 'MISSING':8} {self.need.what}"
        for line in self.missing:
            yield f"           {line}"
        if self.need.otherwise:
            yield f"           instead: {self.need.otherwise}"


def _need(entry: Any, name: str) -> Need:
    if not isinstance(entry, dict) or "what" not in entry or "any" not in entry:
        raise Unusable(f"{name}: a need has `what` and `any`")
    for key, value in entry.items():
        if key not in _FIELDS or not isinstance(value, _FIELDS[key]):
            raise Unusable(text.clean(f"{name}: {entry['what']}: '{key}' is not as it should be", 300))
    ways = entry["any"]
    if not ways or not all(isinstance(way, list) and way and all(
            isinstance(key, str) and _KEY.fullmatch(key) for key in way) for way in ways):
        raise Unusable(text.clean(f"{name}: {entry['what']}: `any` is a list of lists of keys", 300))
    return Need(entry["what"], tuple(map(tuple, ways)), entry.get("optional", False),
                entry.get("otherwise", ""))


def read(path: Path) -> Requirements:
    """The requirements of a file. Raises Unusable."""
    value = text.load_toml(path)
    if value.get("format") != 1 or not isinstance(value.get("need"), list):
        raise Unusable(f"{path.name}: no requirements: format = 1 and [[need]] are missing")
    persona = value.get("persona", "user")
    if not isinstance(persona, str) or not isinstance(value.get("name", ""), str):
        raise Unusable(f"{path.name}: `name` and `persona` are texts")
    return Requirements(value.get("name", path.stem), persona,
                        tuple(_need(entry, path.name) for entry in value["need"]))


def _lacks(wanted: str, found: Mapping[str, Value], reasons: Mapping[str, str]) -> str:
    """Why a key does not hold, or ''."""
    key, equals, want = wanted.partition("=")
    have = table.shown(found[key]) if key in found else ""
    if key in found and have == (want if equals else "yes"):
        return ""
    said = (f"is {have}" if have else "is unknown") + (f", wanted {want}" if equals else "")
    return text.clean(f"{key} {said}" + (f": {reasons[key]}" if reasons.get(key) else ""), 400)


def check(wanted: Requirements, found: Mapping[str, Value],
          reasons: Mapping[str, str] | None = None) -> list[Finding]:
    """Each need, held against what the persona finds."""
    findings = []
    for need in wanted.needs:
        missing = []
        for number, way in enumerate(need.ways):
            lacks = [why for why in (_lacks(key, found, reasons or {}) for key in way) if why]
            if not lacks:
                findings.append(Finding(need, number))
                break
            missing.append(f"way {number + 1}: " + "; ".join(lacks))
        else:
            findings.append(Finding(need, None, tuple(missing)))
    return findings
