# SPDX-License-Identifier: MIT
"""The page of programs: which profiler works where, as whom, and what is in the way. Each was recorded, and its calls
are held against the answers of each kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from reports import plain, recordings, requirements
from reports.export import programs
from reports.plain import Said
from reports.requirements import Finding, Requirements
from reports.site.places import Place, at
from reports.site.render import Pages
from reports.site.start import Start, Why

Ask = Callable[[str], Said]
_COLOURS = {recordings.WORKS: "yes", plain.INSTEAD: "mixed", programs.NOT_THERE: "absent", programs.UNTOLD: "unknown"}


KEPT = 8        # outcomes of a program that are held against another kernel: where all differ, each look is in vain


class Told(NamedTuple):
    """What becomes of a program: in a word, in which colour, and the numbers of what is in the way."""
    word: str
    colour: str
    why: tuple[int, ...]


@dataclass
class Program:
    """A program, and kernels on which the same becomes of it."""
    name: str
    why: Why = field(default_factory=Why)
    rows: dict[tuple[str, tuple[Told, ...]], list[Place]] = field(default_factory=dict)
    counts: list[Counter[str]] = field(default_factory=list)


def _colour(word: str, lacking: Sequence[Finding]) -> str:
    if word in _COLOURS:
        return _COLOURS[word]
    if word != programs.REFUSED:
        return "mixed"
    return "blocked" if any(each.answer.word == plain.BLOCKED for each in lacking) else "no"


def _asker(place: Place, persona: str) -> Ask:
    """What is said of a key there. Programs ask much alike, so each is looked up once."""
    source, level = place.source, place.usual
    return cache(recordings.asker(cache(lambda key: source.said(key, persona, level)), source.arch))


def _told(wanted: Requirements, arch: str, ask: Ask, why: Why) -> Told:
    found = requirements.check(wanted, ask, arch)
    word = programs.word(found)
    lacking = [each for each in recordings.required(found) if each.word not in (plain.YES, plain.INSTEAD)]
    numbers = dict.fromkeys(number for each in lacking for number in why.of(each))
    return Told(word, _colour(word, lacking), tuple(numbers))


class Known:
    """What became of a program on other kernels of an architecture, by the answers that it got there. Kernels answer
    much alike, and to ask again is faster than to judge again."""

    def __init__(self, wanted: Requirements, arch: str, why: Why) -> None:
        self.wanted, self.arch, self.why = wanted, arch, why
        self.found: list[tuple[dict[str, tuple[Said, str]], Told]] = []

    def told(self, ask: Ask) -> Told:
        for number, (answers, made) in enumerate(self.found):
            if all(_whole(ask(key)) == said for key, said in answers.items()):
                self.found.insert(0, self.found.pop(number))
                return made
        heard: dict[str, tuple[Said, str]] = {}

        def asked(key: str) -> Said:
            said = ask(key)
            heard[key] = _whole(said)
            return said
        made = _told(self.wanted, self.arch, asked, self.why)
        self.found = [(heard, made), *self.found[:KEPT - 1]]
        return made


def _whole(said: Said) -> tuple[Said, str]:
    """An answer with the verdict that it comes from, by which answers are not compared."""
    return said, said.verdict


def read(places: list[Place], personas: list[str]) -> list[Program]:
    """All programs that were recorded, on these kernels."""
    known: dict[tuple[str, str, str], Known] = {}

    def told(made: Program, persona: str, wanted: Requirements | None, arch: str, ask: Ask | None) -> Told:
        if not wanted or not ask:
            return Told("not asked", "silent", ())
        return known.setdefault((made.name, persona, arch), Known(wanted, arch, made.why)).told(ask)
    found = {name: Program(name, counts=[Counter() for _persona in personas]) for name in programs.names()}
    wanted = {name: [programs.of(name, persona) for persona in personas] for name in found}
    for place in places:
        asks = [_asker(place, persona) if persona in place.spot.columns else None for persona in personas]
        for name, made in found.items():
            row = tuple(told(made, *each, place.source.arch, ask)
                        for each, ask in zip(zip(personas, wanted[name]), asks, strict=True))
            made.rows.setdefault((at(place.usual), row), []).append(place)
            for counts, each in zip(made.counts, row, strict=True):
                counts[each.word] += 1
    return [*found.values()]


def write(begin: Start, pages: Pages) -> None:
    """The page."""
    pages.page("programs.html", "programs.html", programs=read(begin.places, begin.personas), start=begin)
