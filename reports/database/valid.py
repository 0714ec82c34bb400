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
New = dict[bytes | str, tuple[str, str, dict[str, Any]]]        # key -> persona, probe, its part
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


def _refuse(result: Any, name: str, why: str) -> NoReturn:
    """Raise Unusable with what the schema finds, or else with this reason."""
    schema.require("result", result, name)
    raise Unusable(text.clean(f"{name}: not a result: {why}", 300))


class Checker:
    """Knows what was found valid."""

    def __init__(self) -> None:
        self.parts: dict[bytes | str, pack.Part] = {}       # by their values or by their texts
        self.loose: dict[str, pack.Loose] = {}              # by their texts
        self.pieces: set[bytes] = set()     # points and judgements

    def _forget(self) -> None:
        for known in (self.parts, self.loose, self.pieces):
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
        new: New = {}
        for persona, pieces in found.pieces.items():
            for piece in pieces:
                if piece.loose not in self.loose and not self._learn_loose(piece):
                    return None
                if piece.steady not in self.parts and piece.steady not in new:
                    made = texts.whole_of(piece, {"facts": {}} | self.loose[piece.loose].value)
                    if made is None:
                        return None
                    new[piece.steady] = persona, piece.probe, made
        try:
            self._learn(found.value, new, "")
        except Unusable:
            return None
        return pack.Taken(found.value, {persona: [(self.parts[piece.steady], self.loose[piece.loose]) for piece in pieces]
                                        for persona, pieces in found.pieces.items()})

    def _learn_loose(self, piece: texts.Piece) -> bool:
        value = texts.loose_of(piece)
        if value is None or not _is_loose(value):
            return False
        self.loose[piece.loose] = pack.loose_of({key: each for key, each in value.items() if each != {}})
        return True

    def _learn(self, result: dict[str, Any], new: New, name: str) -> None:
        """Check what is new of a result, and know it from now on."""
        personas = {persona: part | {"probes": {}} for persona, part in result["personas"].items()}
        pieces: set[bytes] = set()
        for persona, probe, made in new.values():
            personas[persona]["probes"][probe] = self._cut(made, ("points",), pieces)
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
