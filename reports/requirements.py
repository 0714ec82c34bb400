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

Each list in `any` is an alternative: all its keys must be yes, or compare as in "ring.size.max_pages>=1024"
(also = and <=). A bit of the attr is a key: "attr.flag_bits.inherit". Levels, capabilities, memory for rings and
other limits are words of limits.py: "level<=1", "capability=PERFMON|SYS_ADMIN", "ring=512KiB". The first
alternative that holds is taken. The answer is one of the four words of plain.py: the best of its alternatives,
and of an alternative the worst of its keys. `instead` lists what the program would use without it; that makes
no need a yes. `source` says where it is told what the program asks, `beware` what the answers leave out.

Where what is used instead has a name, the need is told as `instead` with that name, as soon as it is known
that nothing better holds. Without `any` it works wherever there is a process:

    [[need.instead]]
    what = "a sum of CPU time"

What well-known programs need is kept in data/programs, and found by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports import limits, plain, speak, text
from reports.plain import Said
from reports.text import Unusable

PROGRAMS = Path(__file__).resolve().parent / "data" / "programs"
SUFFIX = ".toml"

_KEY = re.compile(r"[a-z0-9_]+(?:\.[A-Za-z0-9_-]+)+(?:=.+|[<>]=-?[0-9]{1,19})?")
_FIELDS = {"name": str, "arch": str, "what": str, "any": list, "optional": bool, "otherwise": str, "instead": list}

Way = tuple[str, ...]


@dataclass(frozen=True)
class StandIn:
    """What a program uses instead: its name, if it has one, and ways to have it. No ways: it always works."""
    what: str
    ways: tuple[Way, ...] = ()


@dataclass(frozen=True)
class Need:
    """One thing that a program wants, and the ways to get it, the best first."""
    what: str
    ways: tuple[Way, ...]
    optional: bool = False
    otherwise: str = ""
    instead: tuple[StandIn, ...] = ()
    name: str = ""
    arch: str = ""          # the start of the name of those that have it


@dataclass(frozen=True)
class Requirements:
    """All that a program wants, and as whom it asks."""
    name: str
    persona: str
    needs: tuple[Need, ...]
    source: tuple[str, ...] = ()
    beware: str = ""
    recorded: bool = False  # of recordings.py, whose keys may be qualified


@dataclass(frozen=True)
class OfWay(Said):
    """What is said of a way, and each reason why it does not hold with the keys that it holds back."""
    lacking: tuple[tuple[Said, tuple[str, ...]], ...] = ()


@dataclass(frozen=True)
class Finding:
    """What became of a need: what is said of each way, and of what may stand in for it."""
    need: Need
    ways: tuple[OfWay, ...]
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
    def used(self) -> str:
        """The name of what is used instead: the first that works, where all that is better is known not to."""
        better = self.answer
        for stand_in, said in zip(self.need.instead, self.stand_ins):
            if better.word == plain.YES or not plain.is_told(better):
                return ""
            if said.word == plain.YES and stand_in.what:
                return stand_in.what
            better = said
        return ""

    @property
    def word(self) -> str:
        """One of the four words, or `instead`."""
        return plain.INSTEAD if self.used else self.answer.word

    @property
    def instead(self) -> str:
        """What a program does without it, and whether that was seen to work there."""
        works = next((stand_in for stand_in, said in zip(self.need.instead, self.stand_ins)
                      if said.word == plain.YES), None)
        told = (works.what or f"yes there: {', '.join(works.ways[0])}") if works else ""
        return "; ".join(filter(None, (self.need.otherwise, told)))

    @property
    def missing(self) -> tuple[str, ...]:
        """Why each way does not hold."""
        if self.met:
            return ()
        reasons = dict.fromkeys(said.why for said in self.ways)
        if len(reasons) == 1:
            return tuple(reasons)
        return tuple(f"way {number}: {said.why}" for number, said in enumerate(self.ways, 1))


def _are_ways(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(way, list) and way and all(
        isinstance(key, str) for key in way) for way in value)


def _stand_in(entry: Any) -> StandIn | None:
    """A table with a name, or a list of keys. None for anything else."""
    table = {"what": "", "any": [entry]} if isinstance(entry, list) else entry
    if not isinstance(table, dict) or table.keys() - {"what", "any"} or not isinstance(table.get("what"), str):
        return None
    ways = table.get("any", [])
    return StandIn(table["what"], tuple(map(tuple, ways))) if _are_ways(ways) and ways or "any" not in table else None


def _need(entry: Any, name: str) -> Need:
    if not isinstance(entry, dict) or "what" not in entry or "any" not in entry:
        raise Unusable(f"{name}: a need has `what` and `any`")
    for key, value in entry.items():
        if key not in _FIELDS or not isinstance(value, _FIELDS[key]):
            raise Unusable(text.clean(f"{name}: {entry['what']}: '{key}' is not as it should be", 300))
    ways, instead = entry["any"], [_stand_in(each) for each in entry.get("instead", [])]
    if not ways or not _are_ways(ways) or None in instead:
        raise Unusable(text.clean(f"{name}: {entry['what']}: `any` and `instead` are lists of lists of keys", 300))
    need = Need(entry["what"], tuple(map(tuple, ways)), entry.get("optional", False), entry.get("otherwise", ""),
                tuple(filter(None, instead)), entry.get("name", ""), entry.get("arch", ""))
    for key in (key for way in _all_ways(need) for key in way):
        if not _KEY.fullmatch(key) and not limits.is_word(key):
            raise Unusable(text.clean(f"{name}: {entry['what']}: '{key}' is neither a key, as in area.probe.point, "
                                      "nor a limit, as in level<=1, ring=512KiB", 300))
    return need


def read(path: Path) -> Requirements:
    """The requirements of a file. Raises Unusable."""
    value = text.load_toml(path)
    if value.get("format") != 1 or not isinstance(value.get("need"), list):
        raise Unusable(f"{path.name}: no requirements: format = 1 and [[need]] are missing")
    texts = {"name": path.stem, "persona": "user", "beware": ""}
    found = {key: value.get(key, usual) for key, usual in texts.items()}
    source = value.get("source", [])
    if not all(isinstance(each, str) for each in found.values()):
        raise Unusable(f"{path.name}: `name`, `persona` and `beware` are texts")
    if not isinstance(source, list) or not all(isinstance(each, str) for each in source):
        raise Unusable(f"{path.name}: `source` is a list of texts")
    return Requirements(found["name"], found["persona"], tuple(_need(entry, path.name) for entry in value["need"]),
                        tuple(source), found["beware"])


def programs() -> list[str]:
    """The programs whose requirements are kept."""
    return sorted(path.stem for path in PROGRAMS.glob(f"*{SUFFIX}"))


def of_program(name: str) -> Requirements:
    """What a program of that name needs, or a file says that is named with a slash. Raises Misused."""
    if "/" in name:
        return read(Path(name))
    if name not in programs():
        raise speak.Misused(speak.among("program", name, programs()))
    return read(PROGRAMS / f"{name}{SUFFIX}")


def point_of(key: str) -> str:
    """A key without what qualifies it in a recording, or '' where that is all."""
    return "" if key.startswith(("?", "@")) else key.removeprefix("!").partition("?")[0].partition("|")[0]


def keys(wanted: Requirements) -> list[str]:
    """The points and facts that are asked for, without what they are compared with."""
    return [limits.split(point_of(key))[0] for need in wanted.needs for way in _all_ways(need) for either in way
            if not limits.is_word(either) for key in either.split("|") if point_of(key)]


def _all_ways(need: Need) -> Iterator[Way]:
    yield from need.ways
    for stand_in in need.instead:
        yield from stand_in.ways


def _way(way: Way, ask: Callable[[str], Said]) -> OfWay:
    """What is said of a way: the worst of its keys, and why each that does not hold does not."""
    found = [(point_of(key), ask(key)) for key in way]
    lacking: dict[Said, dict[str, None]] = {}
    for key, said in found:
        if said.word != plain.YES:
            lacking.setdefault(said, {}).update({key: None} if key else {})
    why = "; ".join(": ".join(filter(None, (", ".join(those), str(said)))) for said, those in lacking.items()) or \
        "; ".join(dict.fromkeys(said.why for _key, said in found if said.why))
    worst = plain.worst([said for _key, said in found]).word
    return OfWay(worst, text.clean(why, 1500), all(said.absent for _key, said in found if said.word == worst),
                 lacking=tuple((said, tuple(those)) for said, those in lacking.items()))


def check(wanted: Requirements, ask: Callable[[str], Said], arch: str = "") -> list[Finding]:
    """Each need, held against what is said of its keys; those of another architecture are left out."""
    def of(ways: Sequence[Way]) -> tuple[OfWay, ...]:
        return tuple(_way(way, ask) for way in ways)
    return [Finding(need, of(need.ways), tuple(plain.best(of(each.ways) or (Said(plain.YES),)) for each in need.instead))
            for need in wanted.needs if not arch or arch.startswith(need.arch)]


def status(found: Sequence[Finding]) -> str:
    """The word for all that is required together: the worst of them."""
    required = [each.answer for each in found if not each.need.optional]
    return plain.worst(required).word if required else plain.YES
