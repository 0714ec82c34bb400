# SPDX-License-Identifier: MIT
"""Holds results against their schema. Parts that are the same as in an earlier result are not
checked again: thousands of results consist of the same few thousand records."""

from __future__ import annotations

import marshal
import re
from functools import lru_cache
from typing import Any, NoReturn

from reports import schema, text
from reports.database import pack, texts
from reports.text import Unusable

_LINE = re.compile("[^\x00-\x1f\x7f-\x9f]{1,16500}")
_NAME = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
NAME_LIMIT = 200
New = dict[bytes | texts.Steady, tuple[str, str, dict[str, Any]]]        # key -> persona, probe, its part
KEPT = 20_000       # parts and pieces that are known at a time


@lru_cache(maxsize=100_000)
def _is_name(name: str) -> bool:
    return len(name) <= NAME_LIMIT and _NAME.fullmatch(name) is not None


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_fact(value: Any) -> bool:
    return type(value) in (bool, int) or isinstance(value, str) and _LINE.fullmatch(value) is not None


def _is_loose(loose: dict[str, Any]) -> bool:
    """Whether what differs each time has the types that the schema gives it."""
    if not _is_count(loose.get("ms", 0)) or not _is_count(loose.get("leftover", 0)):
        return False
    facts = loose.get("facts", {})
    return isinstance(facts, dict) and all(map(_is_name, facts)) and all(map(_is_fact, facts.values()))


def _is_sound(personas: Any) -> bool:
    """Whether the probes of personas are where they should be."""
    return isinstance(personas, dict) and all(
        isinstance(part, dict) and isinstance(part.get("probes"), dict)
        and all(isinstance(made, dict) and "facts" in made for made in part["probes"].values())
        for part in personas.values())


def _joined(facts: list[tuple[str, str] | None], others: pack.Loose | None) -> pack.Loose | None:
    """What does not repeat of a probe's part, of what is known of its pieces; None where one is something else."""
    if others is None or not others.said.startswith('"facts":{},') or None in facts:
        return None
    names = [fact[0] for fact in facts if fact]
    return pack.loose_as([fact[1] for fact in facts if fact], others.kept) if names == sorted(set(names)) else None


def _refuse(result: Any, name: str, why: str) -> NoReturn:
    """Raise Unusable with what the schema finds, or else with this reason."""
    schema.require("result", result, name)
    raise Unusable(text.clean(f"{name}: not a result: {why}", 300))


class Checker:
    """Knows what was found valid."""

    def __init__(self) -> None:
        self.parts: dict[bytes | texts.Steady, pack.Part] = {}      # by their values or by their texts
        self.loose: dict[str, pack.Loose] = {}              # by their texts
        self.facts: dict[str, tuple[str, str]] = {}         # by their texts: name, canonical text
        self.pieces: set[bytes] = set()     # points, judgements, and what a probe's part has besides

    def _forget(self) -> None:
        for known in (self.parts, self.loose, self.facts, self.pieces):
            if len(known) > KEPT:
                known.clear()

    def require(self, result: Any, name: str) -> pack.Taken:
        """The result, taken apart. Raises Unusable."""
        personas = result.get("personas") if isinstance(result, dict) else None
        if not _is_sound(personas):
            _refuse(result, name, "personas")
        self._forget()
        rows: dict[str, list[tuple[bytes, pack.Loose]]] = {persona: [] for persona in personas}
        new: New = {}
        for persona, part in personas.items():
            for probe, made in part["probes"].items():
                try:
                    key, loose = pack.split(probe, made)
                except ValueError:
                    _refuse(result, name, f"{persona} {probe}: nested too deeply")
                if not _is_loose(loose):
                    _refuse(result, name, f"{persona} {probe}: a number of ms, leftover or facts is not whole")
                rows[persona].append((key, pack.loose_of(loose)))
                if key not in self.parts:
                    new[key] = persona, probe, made
        self._learn(result, new, name)
        return pack.Taken(result, {persona: [(self.parts[key], loose) for key, loose in each]
                                   for persona, each in rows.items()})

    def of_text(self, source: str) -> pack.Taken | None:
        """What require() gives for a result of that text, of what is known of earlier texts; None where
        require() has to look."""
        found = texts.cut(source)
        if found is None:
            return None
        self._forget()
        try:
            new = self._new_of(found)
            if new is None:
                return None
            self._learn(found.value, new, "")
        except Unusable:
            return None
        taken: pack.Parts = {}
        for persona, pieces in found.pieces.items():
            parts, loose = [*map(self.parts.__getitem__, pieces.steady)], self._loose_of(pieces.loose)
            if loose is None or len({part.record.probe for part in parts}) != len(parts):
                return None
            taken[persona] = [*zip(parts, loose)]
        return pack.Taken(found.value, taken)

    def _new_of(self, found: texts.Cut) -> New | None:
        """What repeats and was not seen before; None where it is something else, or much."""
        new: New = {}
        for persona, pieces in found.pieces.items():
            for steady in set(pieces.steady).difference(self.parts, new):
                part = texts.whole_of(steady)
                if part is None:
                    return None
                new[steady] = persona, part[0], {"facts": {}} | part[1]
        return new if sum(steady[1].count(",") for steady in new) < text.VALUES_LIMIT / 3 else None

    def _loose_of(self, said: list[str]) -> list[pack.Loose] | None:
        """What does not repeat of a persona's probes; None where one is something else."""
        found = [self.loose.get(each) or self._learn_loose(each) for each in said]
        return None if None in found else found     # type: ignore[return-value]

    def _learn_loose(self, said: str) -> pack.Loose | None:
        """The same of a text; most have facts that are known, in another company."""
        split = texts.facts_of(said)
        if split is None:
            value = texts.loose_of(said)
            made = pack.loose_of(value) if value is not None and _is_loose(value) else None
        else:
            others = self.loose.get(f"{{}}{split[1]}") or self._learn_loose(f"{{}}{split[1]}")
            facts = [self.facts.get(each) or self._learn_fact(each) for each in split[0]]
            made = _joined(facts, others)
        if made is not None:
            self.loose[said] = made
        return made

    def _learn_fact(self, said: str) -> tuple[str, str] | None:
        fact = texts.fact_of(said)
        if fact is None or not _is_name(fact[0]) or not _is_fact(fact[1]):
            return None
        made = self.facts[said] = fact[0], pack.fact_as(*fact)
        return made

    def _learn(self, result: dict[str, Any], new: New, name: str) -> None:
        """Check what is new of a result, and know it from now on."""
        personas = {persona: part | {"probes": {}} for persona, part in result["personas"].items()}
        pieces: set[bytes] = set()
        for persona, probe, made in new.values():
            cut = self._cut(made, ("points",), pieces)
            besides = {key: each for key, each in made.items() if key != "points" and key not in pack.VOLATILE}
            # Both are looked at: what is known of one says nothing of the other.
            if self._is_new((probe, besides), pieces) or cut.get("points") != {}:
                personas[persona]["probes"][probe] = cut
        schema.require("result", self._cut(result, ("unexpected", "news"), pieces) | {"personas": personas}, name)
        self.pieces |= pieces
        for key, (_persona, probe, made) in new.items():
            self.parts[key] = pack.part_of(probe, made)

    def _cut(self, whole: dict[str, Any], names: tuple[str, ...], pieces: set[bytes]) -> dict[str, Any]:
        """What is whole, without the known pieces of these members; the others go to `pieces`."""
        cut = dict(whole)
        for name in names:
            members = whole.get(name)
            if isinstance(members, dict):
                cut[name] = dict(each for each in members.items() if self._is_new((name, each), pieces))
            elif isinstance(members, list):
                cut[name] = [each for each in members if self._is_new((name, each), pieces)]
        return cut

    def _is_new(self, piece: Any, pieces: set[bytes]) -> bool:
        try:
            key = marshal.dumps(piece, pack.PLAIN)
        except ValueError:      # nested too deeply
            return True
        if key in self.pieces:
            return False
        pieces.add(key)
        return True
