# SPDX-License-Identifier: MIT
"""Takes a result apart into what repeats (records) and what is new each time, and joins it again."""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

MANY = 500      # values in one statement
VOLATILE = ("ms", "leftover", "facts")      # of a probe; and the evidence of its points


@dataclass(frozen=True)
class Record:
    """What one probe concluded, and its digest."""
    digest: str
    probe: str
    content: dict[str, Any]


def digest_of(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def canonical(value: Any) -> bytes:
    """The one JSON text of a value."""
    return _ENCODER.encode(value).encode()


def split(probe: str, made: dict[str, Any]) -> tuple[Record, dict[str, Any]]:
    """What repeats of a probe's part of a result, and what does not."""
    steady = {key: value for key, value in made.items() if key not in VOLATILE}
    loose = {key: made[key] for key in VOLATILE if key in made and made[key] != {}}
    evidence = {name: point["evidence"] for name, point in made["points"].items()
                if "evidence" in point}
    if evidence:
        loose["evidence"] = evidence
        steady["points"] = {name: {key: value for key, value in point.items() if key != "evidence"}
                            for name, point in made["points"].items()}
    return Record(digest_of(canonical([probe, steady])), probe, steady), loose


def join(steady: dict[str, Any], loose: dict[str, Any]) -> dict[str, Any]:
    """The probe's part of a result as it was before split()."""
    points = {name: dict(point) for name, point in steady["points"].items()}
    for name, evidence in loose.get("evidence", {}).items():
        points[name]["evidence"] = evidence
    kept = {key: loose[key] for key in VOLATILE if key in loose}
    return {"facts": {}} | steady | kept | {"points": points}


def pack(value: Any) -> bytes:
    """A value compressed."""
    return zlib.compress(canonical(value), 6)


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
