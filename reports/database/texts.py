# SPDX-License-Identifier: MIT
"""Cuts the text of a result, as result.json has it, at its probes.

Results share most of their text: a probe's part is the same as in an earlier one but for its facts and times. So the
text is not parsed again but cut at the lines that text.dump_json() begins each part with. A line break is in no string
of JSON; and each piece is parsed alone once, so that what they are joined to cannot mean anything else. What has another
form is not cut, and is read as any JSON.
"""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass
from typing import Any, NamedTuple

from reports import text
from reports.text import Unusable

_OPEN, _NEXT, _CLOSE = '\n   "probes": {\n    "', '\n    },\n    "', '\n    }\n   }'
_LOOSE, _AFTER = '\n     "facts": ', ',\n     "points": '
_FACTS, _NEXT_FACT, _FACTS_END = "{\n      ", ",\n      ", "\n     }"
_BEFORE = re.compile(r'([a-z0-9_]+(?:\.[a-z0-9_]+)+)": \{(?:\n     "exit": (-?(?:0|[1-9][0-9]{0,8})),)?')
_DECODER = json.JSONDecoder()
_MARK = f"a probe's part {secrets.token_hex(16)} "      # nobody else can write it


Steady = tuple[str, str]    # what repeats of a probe's part: its text before what does not, and after it


class Pieces(NamedTuple):
    """The texts of a persona's probes, each cut into what repeats and what does not."""
    steady: list[Steady]
    loose: list[str]


@dataclass(frozen=True)
class Cut:
    """A result whose personas have no probes yet, and their pieces."""
    value: dict[str, Any]
    pieces: dict[str, Pieces]


def _blocks(source: str) -> tuple[str, list[str]]:
    """The text with a mark in the place of each persona's probes, and their texts."""
    frame, blocks, was = [], [], 0
    while (start := source.find(_OPEN, was)) >= 0:
        end = source.find(_CLOSE, start)
        if end < 0:
            break
        frame.append(f'{source[was:start]}\n   "probes": "{_MARK}{len(blocks)}"')
        blocks.append(source[start + len(_OPEN):end])
        was = end + len(_CLOSE)
    return "".join([*frame, source[was:]]), blocks


def _pieces(block: str) -> Pieces | None:
    """The pieces of a persona's probes; None where one has another form."""
    every = block.split(_NEXT)
    # Of less text, nothing has too many members.
    if len(every) > text.MEMBERS_LIMIT or max(map(len, every)) > 2 * text.MEMBERS_LIMIT:
        return None
    begun = [said.partition(_LOOSE) for said in every]
    ended = [rest.partition(_AFTER) for _before, _mark, rest in begun]
    before, after = [each[0] for each in begun], [each[2] for each in ended]
    return Pieces([*zip(before, after)], [each[0] for each in ended]) if all(before) and all(after) else None


def cut(source: str) -> Cut | None:
    """The pieces of a result's text; None where it has another form."""
    frame, blocks = _blocks(source)
    try:
        value = text.parse_json(frame, "")
    except Unusable:
        return None
    personas = value.get("personas") if isinstance(value, dict) else None
    if not blocks or not isinstance(personas, dict) or len(personas) != len(blocks):
        return None
    found: dict[str, Pieces] = {}
    for number, ((name, part), block) in enumerate(zip(personas.items(), blocks)):
        pieces = _pieces(block)
        if pieces is None or not isinstance(part, dict) or part.get("probes") != f"{_MARK}{number}":
            return None
        part["probes"] = {}
        found[name] = pieces
    return Cut(value, found)


def _alone(members: str) -> dict[str, Any] | None:
    """The members of an object, parsed alone; None where they are not whole, or have an escape that may name no
    character."""
    if "\\u" in members:
        return None
    said = f"{{{members}}}"
    try:
        value, end = _DECODER.scan_once(said, 0)
    except (StopIteration, ValueError, RecursionError):
        return None
    return value if end == len(said) else None


def loose_of(loose: str) -> dict[str, Any] | None:
    """What does not repeat of a probe's part; None where that is something else."""
    value = _alone(f'"facts": {loose}')
    return value if value is not None and value.keys() <= {"facts", "leftover", "ms"} else None


def facts_of(loose: str) -> tuple[list[str], str] | None:
    """The texts of the facts, and that of what comes after them; None where there is none, or they have another form."""
    facts, mark, after = loose.partition(_FACTS_END)
    return (facts[len(_FACTS):].split(_NEXT_FACT), after) if mark and facts.startswith(_FACTS) else None


def fact_of(member: str) -> tuple[str, Any] | None:
    """The name and value of a fact; None where the text is no member of an object, or several."""
    value = _alone(member)
    return next(iter(value.items())) if value is not None and len(value) == 1 else None


def whole_of(steady: Steady) -> tuple[str, dict[str, Any]] | None:
    """The name of a probe, and what repeats of its part; None where the text is something else."""
    before, after = _BEFORE.fullmatch(steady[0]), _alone(f'"points": {steady[1]}')
    if before is None or after is None or after.keys() & {"exit", "facts", "leftover", "ms"}:
        return None
    return before[1], ({"exit": int(before[2])} if before[2] else {}) | after
