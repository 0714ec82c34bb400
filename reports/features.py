# SPDX-License-Identifier: MIT
"""What people look for before they look for a point: features, each a file of data/features.

A file holds requirements of one need, as requirements.py explains, so `report check FILE ROW` takes it as well.
The points in its `any` are the evidence. Besides, it has:

    group = "sample"                one of GROUPS
    about = "..."                   a sentence: what it is, and what it takes
    words = ["call graph", ...]     what people type for it: synonyms, constants, errno names, programs
    alternatives = ["stack_copy"]   other features, the best first
    manual = ["perf_event_open(2)"] left out where it is that page alone
    sample = '''...'''              a C program of at most SAMPLE_LINES lines, which a test compiles
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from reports import expect, gates, plain, requirements, text
from reports.plain import Said
from reports.requirements import Finding, OfWay, Requirements
from reports.text import Unusable

FOLDER = Path(__file__).resolve().parent / "data" / "features"
GROUPS = {"count": "Counting", "sample": "Sampling", "watch": "Whom to watch", "trace": "Tracepoints, probes, BPF",
          "record": "Records beside samples", "hardware": "Hardware", "ring": "Rings"}
SAMPLE_LINES = 25
USUAL_MANUAL = "perf_event_open(2)"
_TEXTS = ("group", "about", "beware", "sample")
_LISTS = ("words", "alternatives", "manual")
_PAGE = re.compile(r"([a-z0-9_-]+)\(([1-8])\)")


@dataclass(frozen=True)
class Feature:
    """One thing that people look for, and the points that answer."""
    id: str
    wanted: Requirements
    group: str
    about: str
    sample: str
    words: tuple[str, ...]
    alternatives: tuple[str, ...]
    manual: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.wanted.name

    @property
    def beware(self) -> str:
        return self.wanted.beware

    @cached_property
    def points(self) -> tuple[str, ...]:
        """The evidence, each point once."""
        return tuple(dict.fromkeys(requirements.keys(self.wanted)))

    @cached_property
    def manual_links(self) -> list[tuple[str, str]]:
        """(name, address below man-pages) of its manual pages."""
        found = [(each, _PAGE.fullmatch(each)) for each in self.manual]
        return [(each, f"man{page[2]}/{page[1]}.{page[2]}.html") for each, page in found if page]


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) and each for each in value)


def load(path: Path) -> Feature:
    """The feature of a file. Raises Unusable."""
    wanted, value = requirements.read(path), text.load_toml(path)
    texts = {name: value.get(name, "") for name in _TEXTS}
    lists = {name: value.get(name, []) for name in _LISTS}
    if not all(isinstance(each, str) for each in texts.values()) or not all(map(_texts, lists.values())):
        raise Unusable(f"{path.name}: {', '.join(_TEXTS)} are texts, {', '.join(_LISTS)} are lists of texts")
    if len(wanted.needs) != 1 or texts["group"] not in GROUPS or not texts["about"]:
        raise Unusable(f"{path.name}: a feature is one [[need]] with `about` and a `group` of {', '.join(GROUPS)}")
    manual = lists["manual"] or [USUAL_MANUAL]
    strange = [each for each in manual if not _PAGE.fullmatch(each)]
    if strange:
        raise Unusable(text.clean(f"{path.name}: '{strange[0]}' is no manual page, as in {USUAL_MANUAL}", 300))
    return Feature(path.stem, wanted, texts["group"], texts["about"], texts["sample"].lstrip("\n"),
                   tuple(lists["words"]), tuple(lists["alternatives"]), tuple(manual))


def read(folder: Path = FOLDER) -> list[Feature]:
    """All of them, by group and name. Raises Unusable."""
    found = [load(path) for path in sorted(folder.glob(f"*{requirements.SUFFIX}"))]
    known = {each.id for each in found}
    for each in found:
        if strange := set(each.alternatives) - (known - {each.id}):
            raise Unusable(f"{each.id}{requirements.SUFFIX}: no other feature is called {', '.join(sorted(strange))}")
    return sorted(found, key=lambda each: ([*GROUPS].index(each.group), each.name))


def since(feature: Feature, since_of: dict[str, str]) -> str:
    """Since which release upstream has it: of its ways the earliest, of a way's points the latest. "" where
    that of a point is not known."""
    def number(release: str) -> tuple[int, ...]:
        return expect.release_of(release) or ()
    ways = [[since_of.get(key, "") for key in way] for way in feature.wanted.needs[0].ways]
    latest = [max(way, key=number) for way in ways if all(map(number, way))]
    return min(latest, key=number, default="")


def verdict(found: Finding) -> str:
    """The verdict on a feature; "" where nobody asked. The kernel is accused only where it was asked, and each
    way is known not to work."""
    answer = found.answer
    said = {each.verdict for each, _keys in evidence(found) if each.word == answer.word}
    if len(said) == 1:
        return said.pop()
    if answer.word == plain.UNKNOWN:
        return "" if "" in said else "unknown"
    return answer.word


def evidence(found: Finding) -> Sequence[tuple[Said, tuple[str, ...]]]:
    """Why it is no yes: what is said, and of which points."""
    answer = found.answer
    return answer.lacking if isinstance(answer, OfWay) else ()


def blocked_by(found: Iterable[Finding]) -> list[str]:
    """The gates that block them, by the names of gates.toml."""
    names: dict[str, None] = {}
    for each in found:
        for said, _keys in evidence(each):
            gate = gates.of({"verdict": said.word, "reason": said.why}, gates.read()) \
                if said.word == plain.BLOCKED else None
            if gate:
                names[gate.name] = None
    return [*names]
