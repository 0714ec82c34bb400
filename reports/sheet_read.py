# SPDX-License-Identifier: MIT
"""Reads the sheet of a kernel's answers back into results; reports/sheet.py writes it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reports import environment, result as results, schema, text, wordlist
from reports.sheet import BETWEEN, FORMAT, LEVEL_WORD, SILENT, SIZE_LIMIT, TOKEN, WORDS, Result, Sheet
from reports.text import Unusable
_PLAIN = ("format", "row", "tool", "catalogue", "suite", "identity")
_PERSONA = results.PERSONA


def _add(values: dict[str, Any], line: str, lists: bool = False) -> None:
    """A key=value line; a key that comes again has a list of values."""
    key, equals, value = line.partition("=")
    if not equals:
        raise ValueError(f"'{line}' is not key=value")
    if key in values:
        old = values[key]
        values[key] = [*(old if isinstance(old, list) else [old]), value]
    else:
        values[key] = [value] if lists else value


@dataclass
class _Reader:
    """A sheet as it grows."""
    head: dict[str, str] = field(default_factory=dict)
    identity: dict[str, Any] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    levels: dict[str, Result] = field(default_factory=dict)
    evidence: list[tuple[Result, list[str]]] = field(default_factory=list)
    section: str = ""
    level: Result = field(default_factory=dict)

    def begin(self, line: str) -> None:
        """[level 2], [reasons], [points], [facts]"""
        self.section, _, name = line.strip("[]").partition(" ")
        if self.section not in ("level", "reasons", "points", "facts"):
            raise ValueError(f"no part is called {line}")
        if self.section == "level":
            if not LEVEL_WORD.fullmatch(name) or name in self.levels:
                raise ValueError(f"{line} is no level, or comes twice")
            self.level = self.levels[name] = {"environment": {}, "personas": {}}

    def plain(self, word: str, rest: str) -> None:
        """A line before the levels."""
        if word not in _PLAIN or word in self.head:
            raise ValueError(f"'{word}' is unknown, or comes twice")
        if word == "identity":
            _add(self.identity, rest, rest.partition("=")[0] in environment.IDENTITY_LISTS)
        else:
            self.head[word] = rest

    def of_level(self, word: str, rest: str) -> None:
        """A line of a level."""
        if word == "started":
            self.level["started"] = rest
        elif word == "personas":
            for name in rest.split():
                if not _PERSONA.fullmatch(name):
                    raise ValueError(f"'{name}' is no persona")
                self.level["personas"][name] = {"environment": {}, "probes": {}}
        elif word == "environment":
            _add(self.level["environment"], rest)
        elif word == "as":
            persona, _, line = rest.partition(" ")
            _add(self.level["personas"][persona]["environment"], line)
        elif word == "ended":
            persona, probe, status = rest.split(" ")
            self._record(self.level, persona, probe)["status"] = status
        elif word == "evidence":
            self.evidence.append((self.level, rest.split(" ", 2)))
        else:
            raise ValueError(f"'{word}' is unknown")

    @staticmethod
    def _record(level: Result, persona: str, probe: str) -> dict[str, Any]:
        made: dict[str, Any] = level["personas"][persona]["probes"].setdefault(
            probe, {"status": "done", "points": {}, "facts": {}})
        return made

    def put(self, word: str, what: str, told: list[list[Any]]) -> None:
        """What each persona at each level says of a key."""
        probe, colon, name = word.partition(":")
        if not colon:
            area, short, name = word.split(".", 2)
            probe = f"{area}.{short}"
        told = told * len(self.levels) if len(told) == 1 else told
        if len(told) != len(self.levels):
            raise ValueError(f"{len(told)} levels, there are {len(self.levels)}")
        for level, values in zip(self.levels.values(), told):
            asked = list(level["personas"])
            values = values * len(asked) if len(values) == 1 else values
            if len(values) != len(asked):
                raise ValueError(f"{len(values)} answers, there are {len(asked)} personas")
            for persona, value in zip(asked, values):
                if value is not None:
                    self._record(level, persona, probe)[what][name] = value

    def point(self, token: str) -> dict[str, Any] | None:
        """A letter and the number of its reason."""
        match = TOKEN.fullmatch(token)
        if token == SILENT:
            return None
        if match is None or match[1] not in WORDS:
            raise ValueError(f"'{token}' is no answer")
        made: dict[str, Any] = {"verdict": WORDS[match[1]]}
        if match[2]:
            made["reason"] = self.reasons[match[2]]
            if made["verdict"] == "broken":
                made["evidence"] = [made["reason"]]
        elif made["verdict"] != "yes":
            raise ValueError(f"'{token}' has no reason")
        return made

    def points(self, word: str, rest: str) -> None:
        self.put(word, "points", [[self.point(token) for token in part.split()]
                                  for part in rest.split(f" {BETWEEN} ")])

    def facts(self, word: str, rest: str) -> None:
        self.put(word, "facts", list(_values(rest)))

    def line(self, line: str) -> None:
        """Take in one line."""
        if line.startswith("["):
            return self.begin(line)
        word, _, rest = line.partition(" ")
        take: dict[str, Callable[[str, str], None]] = {
            "": self.plain, "level": self.of_level, "reasons": self.reasons.__setitem__,
            "points": self.points, "facts": self.facts}
        take[self.section](word, rest)


def _values(rest: str) -> Iterator[list[Any]]:
    """The values of a fact, as JSON, with blanks between them."""
    decoder, at, level = json.JSONDecoder(), 0, []
    while at < len(rest):
        if rest[at] == BETWEEN:
            yield level
            level, at = [], at + 2
        elif rest[at] == SILENT and rest[at + 1:at + 2] in ("", " "):
            level.append(None)
            at += 2
        else:
            value, at = decoder.raw_decode(rest, at)
            level.append(value)
            at += 1
    yield level


def _judged(read: _Reader, level: Result) -> Result:
    """The result of a level, whole."""
    counts = {persona: Counter(point["verdict"] for record in part["probes"].values()
                               for point in record["points"].values())
              for persona, part in level["personas"].items()}
    made = {"format": 1, "kind": "result", "suite": read.head["suite"], "identity": read.identity,
            "tool": {"name": "perfmodes", "version": read.head["tool"],
                     "catalogue": read.head["catalogue"]},
            "summary": {persona: dict.fromkeys(wordlist.COUNTED, 0) | dict(count)
                        for persona, count in counts.items()}, "unexpected": []} | level
    return made | {"id": results.content_id(made)}


def parse(source: str, name: str, whole: bool = True) -> Sheet:
    """The sheet in a text. Raises Unusable. Who only looks points up needs no results that are whole: with an id,
    counted, and held against their schema, which takes longer than all else."""
    read = _Reader()
    number = 0
    try:
        for number, line in enumerate(source.split("\n"), 1):
            if line and line[0] != "#":
                read.line(line)
        for level, (persona, key, said) in read.evidence:
            area, short, point = key.split(".", 2)
            found = level["personas"][persona]["probes"][f"{area}.{short}"]["points"][point]
            if found.get("evidence") == [found.get("reason")]:
                found["evidence"] = []
            found.setdefault("evidence", []).append(said)
        if read.head["format"] != FORMAT or not read.levels:
            raise ValueError(f"format {read.head['format']}, or no level")
        made = Sheet(read.head["row"], {level: _judged(read, each) if whole else each | {"identity": read.identity}
                                        for level, each in read.levels.items()})
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        why = f"{error} is not there" if isinstance(error, KeyError) else str(error)
        raise Unusable(text.clean(f"{name}: line {number}: no sheet of answers: {why}", 300)) from error
    for result in made.levels.values() if whole else ():
        schema.require("result", result, name)
    return made


def read(path: Path, whole: bool = True) -> Sheet:
    """The sheet in a file. Raises Unusable."""
    return parse(text.load_text(path, SIZE_LIMIT), path.name, whole)
