# SPDX-License-Identifier: MIT
"""Takes a result apart into what repeats (records) and what is new each time, and joins it again."""

from __future__ import annotations

import hashlib
import json
import marshal
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from json.encoder import encode_basestring_ascii
from typing import Any, NamedTuple

from reports import result as results

LEVEL = 5       # of zlib: what the next one saves is 1 in 130 bytes, for a quarter more time
MANY = 500      # values in one statement
VOLATILE = ("ms", "leftover", "facts")      # of a probe; and the evidence of its points
PLAIN = 2       # a version of marshal that gives equal bytes for equal values


@dataclass(frozen=True, slots=True)
class Record:
    """What one probe concluded, and its digest."""
    digest: str
    probe: str
    content: dict[str, Any]


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """A probe's part of a result without what is new each time; and its canonical text, in two pieces."""
    record: Record
    kept: str           # how what is kept of it with each run begins: with the evidence of its points, if there is some
    evidence: bool
    before: str
    after: str


class Loose(NamedTuple):
    """The canonical text of what is new each time of a probe's part of a result."""
    said: str           # in the probe's part: `facts` and what follows, up to what repeats
    kept: str           # the members that are not empty


Parts = dict[str, list[tuple[Part, Loose]]]     # persona -> its probes


def digest_of(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


# What was parsed, or written as JSON before, has no circles.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), check_circular=False)


def canonical(value: Any) -> bytes:
    """The one JSON text of a value."""
    return _ENCODER.encode(value).encode()


def split(probe: str, made: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
    """A key of what repeats of a probe's part of a result, and what does not repeat."""
    steady = dict(made)
    loose: dict[str, Any] = {}
    for key in VOLATILE:
        value = steady.pop(key, {})
        if value != {}:
            loose[key] = value
    return marshal.dumps((probe, steady), PLAIN), loose


def part_of(probe: str, made: dict[str, Any]) -> Part:
    """What repeats of a probe's part of a result that follows the schema."""
    steady = {key: value for key, value in made.items() if key not in VOLATILE}
    exit_ = f'"exit":{steady["exit"]},' if "exit" in steady else ""
    after = _ENCODER.encode({key: value for key, value in steady.items() if key != "exit"})[1:]
    evidence = {name: point["evidence"] for name, point in made["points"].items()
                if "evidence" in point}
    if evidence:
        steady["points"] = {name: {key: value for key, value in point.items() if key != "evidence"}
                            for name, point in made["points"].items()}
    text = f'["{probe}",{{{exit_}{after}]'.encode() if not evidence else canonical([probe, steady])
    kept = f'"{probe}":{{"evidence":{_ENCODER.encode(evidence)},' if evidence else f'"{probe}":{{'
    return Part(Record(digest_of(text), probe, steady), kept, bool(evidence), f'"{probe}":{{{exit_}', after)


def loose_of(value: dict[str, Any]) -> Loose:
    """What does not repeat of a probe's part, of which it is known that it follows the schema."""
    facts = value.get("facts", {})
    return loose_as([fact_as(name, facts[name]) for name in sorted(facts)],
                    ",".join([f'"{key}":{value[key]}' for key in ("leftover", "ms") if key in value]))


def loose_as(facts: list[str], others: str) -> Loose:
    """The same of the texts of its facts, in order, and of its other members."""
    said = f'"facts":{{{",".join(facts)}}}' + (f",{others}" if others else "")
    return Loose(f"{said},", said if facts else others)


def join(steady: dict[str, Any], loose: dict[str, Any]) -> dict[str, Any]:
    """The probe's part of a result as it was before split()."""
    points = {name: dict(point) for name, point in steady["points"].items()}
    for name, evidence in loose.get("evidence", {}).items():
        points[name]["evidence"] = evidence
    kept = {key: loose[key] for key in VOLATILE if key in loose}
    return {"facts": {}} | steady | kept | {"points": points}


def fact_as(name: str, value: Any) -> str:
    """The text of a fact."""
    said = encode_basestring_ascii(value) if isinstance(value, str) else str(value).lower()   # true, false, or a number
    return f'"{name}":{said}'


def _text(texts: dict[str, str]) -> str:
    return "{" + ",".join([f'"{key}":{texts[key]}' for key in sorted(texts)]) + "}"


def _probe_of(pair: tuple[Part, Loose]) -> str:
    return pair[0].record.probe


@dataclass(frozen=True)
class Taken:
    """A result that follows the schema, taken apart."""
    value: dict[str, Any]
    parts: Parts

    @cached_property
    def digests(self) -> dict[str, list[str]]:
        """persona -> those of its records."""
        return {persona: [part.record.digest for part, _loose in parts] for persona, parts in self.parts.items()}

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {key: _ENCODER.encode(value) for key, value in self.value.items() if key != "personas"}

    @property
    def head(self) -> bytes:
        """All but the personas, compressed."""
        return zlib.compress(_text(self._texts).encode(), LEVEL)

    def _persona(self, name: str) -> str:
        probes = self._in_order[name]
        return _text({"environment": _ENCODER.encode(self.value["personas"][name]["environment"]),
                      "probes": "{" + ",".join([f"{part.before}{loose.said}{part.after}" for part, loose in probes]) + "}"})

    @cached_property
    def _in_order(self) -> Parts:
        """The probes by their names, as they are written."""
        return {persona: sorted(parts, key=_probe_of) for persona, parts in self.parts.items()}

    def rest(self, name: str) -> bytes:
        """What is new each time of a persona, compressed."""
        loose = ",".join([f"{part.kept}{loose.kept}}}" if loose.kept else part.kept[:-1] + "}"
                          for part, loose in self._in_order[name] if part.evidence or loose.kept])
        return zlib.compress(_text({"environment": _ENCODER.encode(self.value["personas"][name]["environment"]),
                                    "loose": f"{{{loose}}}"}).encode(), LEVEL)

    @property
    def content_id(self) -> str:
        """results.content_id(), of the texts that the parts share with earlier results."""
        texts = {key: said for key, said in self._texts.items() if key not in results.NO_CONTENT}
        texts["personas"] = _text({name: self._persona(name) for name in self.parts})
        return results.id_of(_text(texts))


def pack(value: Any) -> bytes:
    """A value compressed."""
    return zlib.compress(canonical(value), LEVEL)


def unpack(data: bytes) -> Any:
    return json.loads(zlib.decompress(data))


def _little(made: array[int]) -> array[int]:
    """From the byte order of this machine to little-endian, or back."""
    if sys.byteorder == "big":
        made.byteswap()
    return made


def numbers(ids: Iterable[int]) -> bytes:
    """The records of a sheet as 32-bit little-endian numbers."""
    made = array("I", ids)
    if made.itemsize != 4:
        raise OverflowError("no 32-bit numbers on this machine")
    return _little(made).tobytes()


def some_of(ids: Iterable[Any]) -> Iterator[list[Any]]:
    """The values in lists that are short enough for one statement."""
    every = list(ids)
    return (every[start:start + MANY] for start in range(0, len(every), MANY))


def ids_of(data: bytes) -> array[int]:
    made = array("I")
    made.frombytes(data)
    return _little(made)
