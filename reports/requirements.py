# SPDX-License-Identifier: MIT
"""What a program needs of a kernel, in alternatives, held against a row that ships, a result or a profile.

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
    instead = [["ring.order.in_order"]]

Each list in `any` is an alternative: all its keys must be yes, or equal what stands behind `=`, as in
"ring.size.max_pages=1024". The first alternative that holds is taken. The answer is one of the four words
of plain.py: the best of its alternatives, and of an alternative the worst of its keys. `instead`
lists what the program would use without it; that makes no need a yes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports import plain, text
from reports.plain import Said
from reports.text import Unusable

_KEY = re.compile(r"[a-z0-9_]+(?:\.[A-Za-z0-9_-]+)+(?:=.+)?")
_FIELDS = {"what": str, "any": list, "optional": bool, "otherwise": str, "instead": list}


@dataclass(frozen=True)
class Need:
    """One thing that a program wants, and the ways to get it, the best first."""
    what: str
    ways: tuple[tuple[str, ...], ...]
    optional: bool = False
    otherwise: str = ""
    instead: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Requirements:
    """All that a program wants, and as whom it asks."""
    name: str
    persona: str
    needs: tuple[Need, ...]


@dataclass(frozen=True)
class Finding:
    """What became of a need: what is said of each way, and of what may stand in for it."""
    need: Need
    ways: tuple[Said, ...]
    stand_ins: tuple[Said, ...] = ()

    @property
    def answer(self) -> Said:
        return plain.best(self.ways)

    @property
    def met(self) -> bool:
        return self.answer.word == plain.YES

    @property
    def way(self) -> int | None:
        """The first way that holds."""
        return next((at for at, said in enumerate(self.ways) if said.word == plain.YES), None)

    @property
    def instead(self) -> str:
        """What a program does without it, and whether that was seen to work there."""
        works = next((way for way, said in zip(self.need.instead, self.stand_ins)
                      if said.word == plain.YES), None)
        return "; ".join(filter(None, (self.need.otherwise, f"yes there: {', '.join(works)}" if works else "")))

    @property
    def missing(self) -> tuple[str, ...]:
        """Why each way does not hold."""
        if self.met:
            return ()
        several = len(self.ways) > 1
        return tuple((f"way {number}: " if several else "") + said.why
                     for number, said in enumerate(self.ways, 1))

    def lines(self, mark: bool = True) -> Iterator[str]:
        """The finding for a person; `mark` what is optional."""
        what = self.need.what + (" (optional)" if mark and self.need.optional else "")
        if self.way is not None:
            how = ", ".join(self.need.ways[self.way])
            of_synthetic = f" ({self.answer.why})" if self.answer.why else ""
            yield f"{plain.YES:10} {what}: {how}" + (f" (way {self.way + 1})" if self.way else "") + of_synthetic
            return
        yield f"{self.answer.word:10} {what}"
        for line in self.missing:
            yield f"             {line}"
        if self.instead:
            yield f"             instead: {self.instead}"


def _need(entry: Any, name: str) -> Need:
    if not isinstance(entry, dict) or "what" not in entry or "any" not in entry:
        raise Unusable(f"{name}: a need has `what` and `any`")
    for key, value in entry.items():
        if key not in _FIELDS or not isinstance(value, _FIELDS[key]):
            raise Unusable(text.clean(f"{name}: {entry['what']}: '{key}' is not as it should be", 300))
    ways, instead = entry["any"], entry.get("instead", [])
    if not ways or not all(isinstance(way, list) and way and all(
            isinstance(key, str) and _KEY.fullmatch(key) for key in way) for way in (*ways, *instead)):
        raise Unusable(text.clean(f"{name}: {entry['what']}: `any` and `instead` are lists of lists of keys", 300))
    return Need(entry["what"], tuple(map(tuple, ways)), entry.get("optional", False),
                entry.get("otherwise", ""), tuple(map(tuple, instead)))


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


def keys(wanted: Requirements) -> list[str]:
    """All that is asked for, each with the value it is to have."""
    return [key for need in wanted.needs for way in (*need.ways, *need.instead) for key in way]


def _way(way: tuple[str, ...], ask: Callable[[str], Said]) -> Said:
    """What is said of a way: the worst of its keys, and why each that does not hold does not."""
    found = [(key, ask(key)) for key in way]
    lacking: dict[Said, list[str]] = {}
    for key, said in found:
        if said.word != plain.YES:
            lacking.setdefault(said, []).append(key)
    why = "; ".join(f"{', '.join(those)}: {said}" for said, those in lacking.items()) or "; ".join(dict.fromkeys(said.why for _key, said in found if said.why))
    return Said(plain.worst([said for _key, said in found]).word, text.clean(why, 1500))


def check(wanted: Requirements, ask: Callable[[str], Said]) -> list[Finding]:
    """Each need, held against what is said of its keys."""
    return [Finding(need, tuple(_way(way, ask) for way in need.ways),
                    tuple(_way(way, ask) for way in need.instead)) for need in wanted.needs]


def status(found: Sequence[Finding]) -> str:
    """The word for all that is required together: the worst of them."""
    required = [each.answer for each in found if not each.need.optional]
    return plain.worst(required).word if required else plain.YES
