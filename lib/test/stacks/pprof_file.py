# SPDX-License-Identifier: MIT
"""A profile of pprof, read by the field numbers of its profile.proto."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a protobuf message: numbers, and what has a length."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2, key
            size = varint()
            yield key >> 3, data[at:at + size]
            at += size


def numbers(value: int | bytes) -> list[int]:
    """Of a repeated field: one, or several that are packed."""
    if isinstance(value, int):
        return [value]
    wrapped = bytes([8]) + bytes([8]).join(split(value))
    return [number for _, number in fields(wrapped) if isinstance(number, int)]


def split(packed: bytes) -> list[bytes]:
    found, begin = [], 0
    for at, byte in enumerate(packed):
        if byte < 128:
            found.append(packed[begin:at + 1])
            begin = at + 1
    return found


@dataclass
class Mapping:
    """Flags: functions, files, lines, inlined frames."""

    number: int
    start: int
    limit: int
    offset: int
    file: str
    build_id: str
    flags: tuple[bool, bool, bool, bool]


@dataclass
class Location:
    """Lines innermost first: function, source file, number."""

    mapping: int
    address: int
    lines: list[tuple[str, str, int]]


@dataclass
class Profile:
    """Mappings in the order of the file; locations and samples by their numbers."""

    mappings: list[Mapping]
    locations: dict[int, Location]
    samples: list[tuple[list[int], int]]


def ints(message: bytes) -> dict[int, int]:
    return {field: value for field, value in fields(message) if isinstance(value, int)}


def read(path: Path) -> Profile:
    whole = list(fields(gzip.decompress(path.read_bytes())))
    parts = {number: [value for field, value in whole if field == number and isinstance(value, bytes)]
             for number in (2, 3, 4, 5, 6)}
    strings = [value.decode() for value in parts[6]]
    functions = {one[1]: (strings[one.get(2, 0)], strings[one.get(4, 0)]) for one in map(ints, parts[5])}
    profile = Profile([], {}, [])
    for one in map(ints, parts[3]):
        flags = tuple(bool(one.get(number)) for number in (7, 8, 9, 10))
        profile.mappings.append(Mapping(one[1], one.get(2, 0), one.get(3, 0), one.get(4, 0),
                                        strings[one.get(5, 0)], strings[one.get(6, 0)],
                                        (flags[0], flags[1], flags[2], flags[3])))
    for value in parts[4]:
        lines = [ints(line) for field, line in fields(value) if field == 4 and isinstance(line, bytes)]
        one = ints(value)
        profile.locations[one[1]] = Location(one.get(2, 0), one.get(3, 0), [
            (*functions[line[1]], line.get(2, 0)) for line in lines])
    for value in parts[2]:
        stack = [number for field, part in fields(value) if field == 1 for number in numbers(part)]
        weight = [number for field, part in fields(value) if field == 2 for number in numbers(part)]
        profile.samples.append((stack, weight[0]))
    return profile
