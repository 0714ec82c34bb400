# SPDX-License-Identifier: MIT
"""The interface as a Python module for ctypes."""

from __future__ import annotations

from collections.abc import Iterator

from model import Enum, Function, Interface, Struct, Type
from words import camel, is_flags, short

HEAD = '''# SPDX-License-Identifier: MIT
# Made from the headers by lib/bindings/abi/make.py; not to be edited.
"""The C interface of libperfmodes: structures, constants, and the types of its functions."""

from __future__ import annotations

import ctypes as c
import enum


class Enumeration(enum.IntEnum):
    """A newer library may have numbers that have no name here: those are members, too."""

    @classmethod
    def _missing_(cls, value: object) -> Enumeration | None:
        if not isinstance(value, int):
            return None
        made = int.__new__(cls, value)
        made._name_, made._value_ = f"UNNAMED_{value}", value
        return made


'''


def integer(type_: Type) -> str:
    if type_.word:
        return "c.c_ssize_t" if type_.signed else "c.c_size_t"
    return f"c.c_{'' if type_.signed else 'u'}int{8 * type_.size}"


def pointer(target: Type) -> str:
    if target.kind == "char":
        return "c.c_char_p"
    if target.kind == "function":
        assert target.of is not None
        result = "None" if target.of.kind == "void" else spelled(target.of)
        return f"c.CFUNCTYPE({', '.join([result, *map(spelled, target.arguments)])})"
    if target.kind == "struct" and target.size == 0 or target.kind == "void":
        return "c.c_void_p"
    return f"c.POINTER({spelled(target)})"


def spelled(type_: Type) -> str:
    """The type in terms of ctypes."""
    if type_.kind == "pointer":
        assert type_.of is not None
        return pointer(type_.of)
    if type_.kind == "array":
        assert type_.of is not None
        return f"{spelled(type_.of)} * {type_.count}"
    names = {"bool": "c.c_bool", "char": "c.c_char", "float": "c.c_double", "enum": "c.c_int",
             "void": "None"}
    return type_.name if type_.kind == "struct" else names.get(type_.kind) or integer(type_)


def structure(struct: Struct) -> str:
    lines = [f"class {struct.name}(c.Structure):", "    _fields_ = ["]
    lines += [f'        ("{member.name}", {spelled(member.type)}),' for member in struct.members]
    return "\n".join([*lines, "    ]", ""])


def enumeration(enum: Enum) -> str:
    lines = [f"class {camel(enum.name)}({'enum.IntFlag' if is_flags(enum) else 'Enumeration'}):"]
    return "\n".join([*lines, *(f"    {name} = {value}" for name, value in short(enum).items()), ""])


def signature(function: Function) -> str:
    arguments = ", ".join(map(spelled, function.arguments))
    return f'    "{function.name}": ({spelled(function.result)}, [{arguments}]),'


def _needs(type_: Type) -> Iterator[str]:
    """Names of structures that have to be declared before this type is spelled."""
    if type_.kind == "struct" and type_.size:
        yield type_.name
    for inner in (type_.of, *type_.arguments):
        if inner is not None:
            yield from _needs(inner)


def ordered(structs: dict[str, Struct]) -> list[Struct]:
    """Those with members, each behind what its members name."""
    done: dict[str, Struct] = {}

    def put(struct: Struct) -> None:
        if struct.name in done or not struct.members:
            return
        for member in struct.members:
            for name in _needs(member.type):
                put(structs[name])
        done[struct.name] = struct

    for struct in structs.values():
        put(struct)
    return list(done.values())


def table(name: str, functions: list[Function]) -> list[str]:
    return [f"{name}: dict[str, tuple[object, list[object]]] = {{", *map(signature, functions), "}"]


def module(interface: Interface) -> str:
    known = ordered(interface.structs)
    parts = [f"{name.removeprefix('PM_')} = {value}"
             for name, value in interface.constants.items()]
    parts += ["", *("\n" + enumeration(one) for one in interface.enums.values())]
    parts += ["\n" + structure(one) for one in known]
    parts += ["", *table("FUNCTIONS", interface.functions), "",
              "# Of the optional libraries."]
    for name, functions in interface.parts.items():
        parts += table(f"{name.upper()}_FUNCTIONS", functions)
    return HEAD + "\n".join([*parts, ""])
