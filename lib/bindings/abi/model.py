# SPDX-License-Identifier: MIT
"""Types, structures, enumerations and functions of a C interface."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Type:
    """A C type without its typedefs. `kind` says which of the other members count."""
    kind: str			# void bool char int float pointer array struct enum function
    size: int = 0
    signed: bool = False
    name: str = ""		# of a struct or enum
    of: Type | None = None	# target of a pointer, element of an array, result of a function
    count: int = 0		# of an array
    arguments: tuple[Type, ...] = ()
    const: bool = False
    word: bool = False		# an integer that is as wide as a pointer


@dataclass(frozen=True)
class Member:
    name: str
    type: Type
    offset: int


@dataclass
class Struct:
    """Opaque ones have no members."""
    name: str
    size: int = 0
    members: list[Member] = field(default_factory=list)


@dataclass
class Enum:
    name: str
    constants: dict[str, int]


@dataclass(frozen=True)
class Function:
    name: str
    result: Type
    arguments: tuple[Type, ...]


@dataclass
class Interface:
    """Everything that has our prefix; in the order of the headers."""
    structs: dict[str, Struct] = field(default_factory=dict)
    enums: dict[str, Enum] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)
    functions: list[Function] = field(default_factory=list)
    parts: dict[str, list[Function]] = field(default_factory=dict)	# of optional libraries
