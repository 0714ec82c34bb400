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
_BEFORE = re.compile(r'([a-z0-9_]+(?:\.[a-z0-9_]+)+)": \{(?:\n     "exit": (-?(?:0|[1-9][0-9]{0,8})),)?')
_DECODER = json.JSONDecoder()
_MARK = f"a probe's part {secrets.token_hex(16)} "      # nobody else can write it


class Piece(NamedTuple):
    """The text of a probe's part, cut into what repeats and what does not, which stands at `at` in the former."""
    steady: str
    loose: str
    at: int

    @property
    def probe(self) -> str:
        return self.steady.partition('"')[0]


@dataclass(frozen=True)
class Cut:
    """A result whose personas have no probes yet, and their pieces."""
    value: dict[str, Any]
    pieces: dict[str, list[Piece]]


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


def _pieces(block: str) -> list[Piece] | None:
    """The pieces of a persona's probes; None where one has another form, or is there twice."""
    pieces, names = [], set()
    for said in block.split(_NEXT):
        at = said.find(_LOOSE)
        to = said.find(_AFTER, at)
        if not 0 < at < to or len(said) > 2 * text.MEMBERS_LIMIT:     # shorter, nothing in it has too many members
            return None
        pieces.append(Piece(said[:at] + said[to:], said[at:to], at))
        names.add(said[:said.find('"')])
    return pieces if len(names) == len(pieces) <= text.MEMBERS_LIMIT else None


def cut(source: str) -> Cut | None:
    """The pieces of a result's text; None where it has another form, or more than one meaning."""
    if "\\u" in source or source.count(",") > text.VALUES_LIMIT / 3:
        return None
    frame, blocks = _blocks(source)
    try:
        value = text.parse_json(frame, "")
    except Unusable:
        return None
    personas = value.get("personas") if isinstance(value, dict) else None
    if not blocks or not isinstance(personas, dict) or len(personas) != len(blocks):
        return None
    found: dict[str, list[Piece]] = {}
    for number, ((name, part), block) in enumerate(zip(personas.items(), blocks)):
        pieces = _pieces(block)
        if pieces is None or not isinstance(part, dict) or part.get("probes") != f"{_MARK}{number}":
            return None
        part["probes"] = {}
        found[name] = pieces
    return Cut(value, found)


def _alone(members: str) -> dict[str, Any] | None:
    """The members of an object, parsed alone; None where they are not whole."""
    said = f"{{{members}}}"
    try:
        value, end = _DECODER.scan_once(said, 0)
    except (StopIteration, ValueError, RecursionError):
        return None
    return value if end == len(said) else None


def loose_of(piece: Piece) -> dict[str, Any] | None:
    """What does not repeat of a piece; None where that is something else."""
    value = _alone(piece.loose)
    return value if value is not None and value.keys() <= {"facts", "leftover", "ms"} else None


def whole_of(piece: Piece, loose: dict[str, Any]) -> dict[str, Any] | None:
    """A probe's part; None where a piece is something else."""
    before, after = _BEFORE.fullmatch(piece.steady[:piece.at]), _alone(piece.steady[piece.at + 1:])
    if before is None or after is None or after.keys() & {"exit", "facts", "leftover", "ms"}:
        return None
    return ({"exit": int(before[2])} if before[2] else {}) | loose | after
