# SPDX-License-Identifier: MIT
"""Who is asked whether something works: a row that ships, a result, or a profile.

Each answers for a persona at a level of perf_event_paranoid, in the words of plain.py. A profile knows
least: it has no reasons, and what it does not hold may have been blocked, absent or never asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from reports import answers, expect, limits, personas, plain, profile as profiles, result, schema, shipped, speak, systems, text
from reports.plain import Said
from reports.profile import Value
from reports.sheet import LEVEL_WORD, ONE, Sheet, level_of
from reports.speak import Misused
from reports.text import Unusable

LEVELS = ("-1", "0", "1", "2", "3", "4")
USUAL = "2"             # the level of a kernel that nobody has changed
SYNTHETIC = "of a synthetic PMU, which says nothing of any CPU"
OF_LEVEL = "perm.level_file.paranoid"   # the fact by which a profile tells its level
# Facts that tell what a level answers to a user-mode event of somebody without privileges.
CLOSES = "perm.levels.{who}_at_{level}"
NOBODY = {"user": "nobody"}
REFUSALS = {"EACCES", "EPERM"}
# Whom the points of the levels ask at levels that are vendors', and the level that answers for a higher one where
# both answer all of them alike. A kernel compares the level with limits; above the last one all levels are one.
ASKED_OF_VENDORS, ALIKE = ("nobody", "perfmon"), {"4": "3"}
# Of these areas not every point opens an event, and of this probe each does.
WITHOUT_EVENTS, WITH_EVENTS = ("perm.", "proc."), "perm.available."


class Keyed(Mapping[str, Any]):
    """What a persona was told, by key; made when it is first asked for, since a row has that fifteen times."""

    def __init__(self, probes: dict[str, Any], what: str, told: Callable[[Any], Any]) -> None:
        self._probes, self._what, self._told = probes, what, told

    @cached_property
    def _found(self) -> dict[str, Any]:
        return {f"{probe}.{name}": value for probe, record in self._probes.items()
                for name, value in record[self._what].items()
                if not (isinstance(value, dict) and value.get("undeclared"))}

    def __getitem__(self, key: str) -> Any:
        return self._told(self._found[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


@dataclass
class View:
    """What one persona at one level was told: points and facts by their keys, and the limits it met."""
    points: Mapping[str, Said]
    facts: Mapping[str, Value]
    limits: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Source:
    """One that can be asked."""
    name: str
    about: str                                      # release, architecture
    views: dict[tuple[str, str], View]              # persona, level
    synthetic: frozenset[str] = frozenset()         # keys that only a PMU of our own answers
    known: set[str] = field(default_factory=set)    # keys it was asked
    arch: str = ""

    @property
    def levels(self) -> list[str]:
        return list(dict.fromkeys(level for _persona, level in self.views))

    @property
    def personas(self) -> list[str]:
        return personas.in_order({persona for persona, _level in self.views})

    def level(self, wanted: str = "", persona: str = "") -> str:
        """The level that is meant: the wanted one, or else the usual one, or else the first at which a persona was asked."""
        asked = self.levels_of(persona) or self.levels
        return wanted or (USUAL if USUAL in asked else next(iter(asked), ONE))

    def levels_of(self, persona: str) -> list[str]:
        """Those at which a persona was asked."""
        return [level for who, level in self.views if who == persona]

    def _facts(self, who: str, level: str) -> set[str]:
        """What the points of the levels found that a level answers, at whatever level that was asked."""
        key = CLOSES.format(who=who, level=level)
        return {str(view.facts[key]) for view in self.views.values() if key in view.facts}

    def like(self, level: str) -> str:
        """The level whose answers hold at this one: itself, or one that this kernel does not tell from it."""
        other = ALIKE.get(level, level)
        if other == level or level in self.levels or other not in self.levels:
            return level
        found = [(self._facts(who, other), self._facts(who, level)) for who in ASKED_OF_VENDORS]
        return other if all(lower == higher and len(lower) == 1 for lower, higher in found) else level

    def alike(self, level: str) -> str:
        """That the answers are those of another level, and how that is known; or ''."""
        other = self.like(level)
        keys = ", ".join(CLOSES.format(who=who, level=each) for who in ASKED_OF_VENDORS for each in (other, level))
        return f"asked at {at(other)}, which that kernel does not tell from {level} ({keys})" if other != level else ""

    def why_not(self, persona: str, level: str) -> str:
        """Why there is no answer for a persona at a level, or ''."""
        if (persona, self.like(level)) in self.views:
            return ""
        if persona not in self.personas:
            return f"nobody asked as {persona}"
        whom = f" as {persona}" if self.like(level) in self.levels else ""
        return f"nobody asked{whom} at {at(level)}; asked at {', '.join(self.levels_of(persona))}"

    def closed(self, persona: str, level: str) -> str:
        """Why a level that nobody was asked at refuses all events to a persona, where the points of the
        levels found that it does; or ''."""
        who = NOBODY.get(persona, persona)
        key, found = CLOSES.format(who=who, level=level), self._facts(who, level)
        return f"perf_event_paranoid={level} refuses every event to {persona} ({key} is {found.pop()})" \
            if len(found) == 1 and found <= REFUSALS else ""

    def at_once(self, persona: str, level: str) -> str:
        """What is to be said of all points at once, or ''."""
        return self.why_not(persona, level) and (self.closed(persona, level) or self.why_not(persona, level))

    def tells(self, persona: str, level: str) -> bool:
        """Whether anything is known of a persona at a level."""
        return not self.why_not(persona, level) or bool(self.closed(persona, level))

    def said(self, wanted: str, persona: str, level: str) -> Said:
        """What is said of a key, of a fact that is to have a value (key=value, key>=value), or of a limit."""
        key, how, want = limits.split(wanted)
        why = self.why_not(persona, level)
        if why:
            opens = key.startswith(WITH_EVENTS) or not key.startswith(WITHOUT_EVENTS)
            closed = self.closed(persona, level) if opens else ""
            return Said(plain.BLOCKED, closed, verdict=plain.BLOCKED) if closed else Said(plain.UNKNOWN, why)
        view = self.views[persona, self.like(level)]
        if limits.is_word(wanted):
            return limits.said(wanted, {**view.limits, **({"paranoid": level} if level != ONE else {})})
        if how or key in view.facts:
            return _fact(view.facts.get(key), how, want or plain.YES)
        found = view.points.get(key, Said(plain.UNKNOWN, "nobody asked"))
        if key in self.synthetic and found.word != plain.UNKNOWN:
            return Said(found.word, f"{found.why} ({SYNTHETIC})" if found.why else SYNTHETIC, verdict=found.verdict)
        return found


def at(level: str) -> str:
    """The words for a level."""
    return "a level that is not told" if level == ONE else f"perf_event_paranoid={level}"


def _fact(value: Value | None, how: str, want: str) -> Said:
    if value is None:
        return Said(plain.UNKNOWN, "nobody could tell")
    if how in ("<=", ">="):
        fits = isinstance(value, int) and not isinstance(value, bool) and limits.COMPARE[how](value, int(want))
        return Said(plain.YES) if fits else Said(plain.NO, f"is {value}, wanted {limits.AS_WORDS[how].format(want)}")
    have = {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
    return Said(plain.YES) if have == want else Said(plain.NO, f"is {have}, wanted {want}")


def _about(identity: dict[str, Any]) -> str:
    return text.clean(f"Linux {identity['release']}, {identity['arch']}", 200)


def _views(made: dict[str, Any]) -> dict[str, View]:
    found = {}
    machine = made["environment"] | {"page_size": made["identity"].get("page_size", "")}
    for persona, part in made["personas"].items():
        points = Keyed(part["probes"], "points", plain.of_point)
        facts = Keyed(part["probes"], "facts", lambda value: value)
        found[persona] = View(points, facts, {key: str(value) for key, value in (machine | part["environment"]).items()})
    return found


def of_results(name: str, results: list[dict[str, Any]], shipped_: bool = False) -> Source:
    """The results of a machine, one for each level. Those that ship were asked what the catalogue beside them has."""
    views = {(persona, level_of(made)): view for made in results for persona, view in _views(made).items()}
    known = set() if shipped_ else {key for view in views.values() for key in (*view.points, *view.facts)}
    return Source(name, _about(results[0]["identity"]), views, known=known,
                  arch=str(results[0]["identity"]["arch"]))


def of_sheet(name: str, sheet: Sheet) -> Source:
    """A row that ships."""
    made = of_results(name, list(sheet.levels.values()), shipped_=True)
    if sheet.synthetic:
        made.synthetic = frozenset(shipped.of_hardware(answers.questions()))
        made.about += ", with a synthetic PMU"
    return made


def of_profile(name: str, made: dict[str, Any]) -> Source:
    """A profile, for the personas that it tells of."""
    level = str(made["kernel"].get(OF_LEVEL, ONE))
    views = {}
    for persona, own in made["personas"].items():
        found: dict[str, Value] = made["kernel"] | own
        points = {key: _verdict(str(value)) for key, value in found.items() if _is_verdict(value)}
        facts = {key: value for key, value in found.items() if not _is_verdict(value)}
        views[persona, level if LEVEL_WORD.fullmatch(level) else ONE] = View(points, facts, {"paranoid": level})
    return Source(name, _about(made["identity"]), views, arch=str(made["identity"]["arch"]))


def _is_verdict(value: Value) -> bool:
    return isinstance(value, str) and value in profiles.KEPT


def _verdict(word: str) -> Said:
    reasons = {"hazard": "known to hang or crash some kernels", "blocked": "by policy; the profile does not tell "
               "by what, a result does"}
    return plain.of_point({"verdict": word, "reason": reasons.get(word, "as the profile says")})


def _named(name: str, whole: bool = True) -> Sheet:
    """The row that ships under a name. Raises Unusable."""
    if name not in answers.names():
        if reason := answers.unanswered().get(name, ""):
            raise Unusable(f"{name}: not known, its answers do not ship: {reason}")
        near = speak.near(name, [*systems.read()]) or speak.near(name, [*answers.names(), *systems.known()]) or \
            f"; systems: {' '.join(systems.read())}; any other by its kernel, as uname -r tells: 6.8.0-45-generic"
        raise Unusable(text.clean(f"{name}: no such file, and no answers of that name ship{near}", 400))
    return answers.load(name, whole=whole)


def loaded(path: Path) -> tuple[dict[str, Any], Source]:
    """The profile of a row that ships, by its name, of a result or of a profile; and whom to ask."""
    if not path.exists():
        sheet = _named(str(path))
        most = max(map(profiles.derive, sheet.levels.values()), key=lambda made: len(made["kernel"]))
        return most, of_sheet(str(path), sheet)
    if path.is_file():
        value = text.load_json(path)
        if schema.kind_of(value) == "profile":
            made = schema.require("profile", value, path.name)
            return made, of_profile(str(path), made)
    found = result.load(path, expect.read(expect.FOLDER))
    return profiles.derive(found), of_results(str(path), [found])


@dataclass(frozen=True)
class Asked:
    """What was named: whom to ask, what is to be said before, and the level that is usual there."""
    sources: list[Source]
    about: tuple[str, ...] = ()
    level: str = ""


def named(path: Path) -> Asked:
    """A row, a result, a profile, or a system by the name that people use. Raises Unusable."""
    system = None if path.exists() or str(path) in answers.names() else systems.find(str(path))
    if system is None and path.exists():
        return Asked([loaded(path)[1]])
    rows = systems.asked(*system) if system else [str(path)]
    sources = [of_sheet(row, _named(row, whole=False)) for row in rows]
    if system is None:
        return Asked(sources)
    return Asked(sources, tuple(systems.about(*system)), system[0].level)


# --------------------------------------------------------------------------- what may be asked at all

def require_persona(persona: str, source: Source) -> None:
    """Raises Misused where nobody is called that."""
    known = personas.in_order({*personas.names(), *source.personas})
    if persona not in known:
        raise Misused(speak.among("persona", persona, known))


def require_level(level: str) -> None:
    """Raises Misused for what is no level of perf_event_paranoid."""
    if level not in LEVELS:
        raise Misused(speak.among("level of perf_event_paranoid", level, LEVELS))


def require_keys(wanted: list[str], source: Source) -> None:
    """Raises Misused for keys that no catalogue has: that of the answers that ship, and what the source was
    asked. Where neither tells, nothing can be said."""
    known = answers.keys(answers.questions()) | source.known
    strange = [key for key in wanted if key not in known] if known else []
    if strange:
        raise Misused("; ".join(f"no point or fact '{text.clean(key, 120)}'{speak.near(key, known)}"
                                for key in dict.fromkeys(strange)))
