# SPDX-License-Identifier: MIT
"""Reads the interface from the debug information of a C file that names all of it.

So the compiler says what a type is, how large it is and where its members lie; no C is parsed here.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

from model import Enum, Function, Interface, Member, Struct, Type

_BOOLEAN, _FLOAT, _SIGNED, _SIGNED_CHAR, _UNSIGNED_CHAR = 2, 4, 5, 6, 8
FLAGS = ("-std=gnu11", "-x", "c", "-shared", "-fPIC", "-nostdlib", "-g", "-gdwarf-4", "-O0",
         "-fno-eliminate-unused-debug-types")
HERE = Path(__file__).resolve().parent	# and of hwloc.h, where there is none
_WORDS = ("size_t", "ssize_t", "intptr_t", "uintptr_t")	# as wide as a pointer, on every machine

# The optional libraries: what is declared in these headers of theirs is in libperfmodes-NAME.
PARTS = {"sampler": "perfmodes_sampler.h", "stacks": "perfmodes_stacks.h",
         "topology": "topology/perfmodes_topology.h", "pfm": "perfmodes_pfm.h"}


def exported(version_script: Path) -> list[str]:
    return re.findall(r"^\t(pm_\w+);$", version_script.read_text(encoding="utf-8"), re.M)


def declared(header: Path) -> list[str]:
    """Functions that the header of an optional library declares, each at the begin of a line."""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.S)
    return re.findall(r"^(?!typedef|static)\w[\w \t*]*[ *](pm_\w+)\(", text, re.M)


def macros(paths: list[Path]) -> list[str]:
    """Constants that are no enumerators: #define with a value and without parameters."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    return re.findall(r"^#define (PM_\w+)[ \t]+[^\s/]", text, re.M)


def headers(root: Path) -> list[Path]:
    """perfmodes.h and the parts of it that it includes."""
    # Named from inside the folder: a path that has blanks would come as several words.
    done = subprocess.run(["gcc", "-MM", "perfmodes.h"], cwd=root, capture_output=True, text=True,
                          check=True)
    return [root / word for word in done.stdout.split() if word.endswith(".h")]


def source(functions: list[str], constants: list[str], also: tuple[str, ...] = ()) -> str:
    lines = [f"#include <{name}>" for name in ("perfmodes.h", *also)]
    lines += [f"__typeof__({name}) *function_{name};" for name in functions]
    lines += [f"enum {{ macro_of_{name} = (long long)({name}), less_{name} = ({name}) < 0 }};"
              for name in constants]
    return "\n".join(lines) + "\n"


class Reader:
    """The types of one compilation unit."""

    def __init__(self, pointer_size: int) -> None:
        self.interface = Interface()
        self.pointer_size = pointer_size

    def type_of(self, die: DIE) -> Type:
        if "DW_AT_type" not in die.attributes:
            return Type("void")
        return self.type(die.get_DIE_from_attribute("DW_AT_type"))

    def type(self, die: DIE) -> Type:
        """Of a DIE that is a type; structures on the way are remembered."""
        kind = die.tag.removeprefix("DW_TAG_")
        if kind in ("typedef", "volatile_type", "restrict_type"):
            inner = self.type_of(die)
            return replace(inner, word=True) if name_of(die) in _WORDS else inner
        if kind == "const_type":
            return replace(self.type_of(die), const=True)
        handler = getattr(self, f"_{kind}", None)
        if handler is None:
            raise ValueError(f"a type that is not expected here: {die.tag}")
        return handler(die)

    def _base_type(self, die: DIE) -> Type:
        encoding = die.attributes["DW_AT_encoding"].value
        size = die.attributes["DW_AT_byte_size"].value
        if encoding == _BOOLEAN:
            return Type("bool", size)
        if encoding == _FLOAT:
            return Type("float", size)
        if encoding in (_SIGNED_CHAR, _UNSIGNED_CHAR) and name_of(die) == "char":
            return Type("char", size)
        return Type("int", size, signed=encoding in (_SIGNED, _SIGNED_CHAR))

    def _pointer_type(self, die: DIE) -> Type:
        return Type("pointer", self.pointer_size, of=self.type_of(die))

    def _array_type(self, die: DIE) -> Type:
        element = self.type_of(die)
        bounds = next(child for child in die.iter_children()
                      if child.tag == "DW_TAG_subrange_type")
        count = bounds.attributes["DW_AT_upper_bound"].value + 1
        return Type("array", element.size * count, of=element, count=count)

    def _structure_type(self, die: DIE) -> Type:
        name, size = name_of(die), 0
        if "DW_AT_byte_size" in die.attributes:
            size = die.attributes["DW_AT_byte_size"].value
        if name not in self.interface.structs or (
                size and not self.interface.structs[name].members):
            found = self.interface.structs[name] = Struct(name, size)
            found.members = [Member(name_of(child), self.type_of(child),
                                    child.attributes["DW_AT_data_member_location"].value)
                             for child in die.iter_children() if child.tag == "DW_TAG_member"]
        return Type("struct", size, name=name)

    def _enumeration_type(self, die: DIE) -> Type:
        values = {name_of(child): child.attributes["DW_AT_const_value"].value
                  for child in die.iter_children()}
        self.interface.enums.setdefault(name_of(die), Enum(name_of(die), values))
        return Type("enum", die.attributes["DW_AT_byte_size"].value, name=name_of(die))

    def _subroutine_type(self, die: DIE) -> Type:
        arguments = tuple(self.type_of(child) for child in die.iter_children()
                          if child.tag == "DW_TAG_formal_parameter")
        return Type("function", of=self.type_of(die), arguments=arguments)


def name_of(die: DIE) -> str:
    attribute = die.attributes.get("DW_AT_name")
    return attribute.value.decode() if attribute else ""


def interface(root: Path, also: tuple[str, ...] = ()) -> Interface:
    """That of the library whose folder `root` is, with other headers `also`. Raises CalledProcessError,
    ValueError."""
    return _compiled(root, "gcc", exported(root / "perfmodes.map"), macros(headers(root)), also)


def whole(root: Path, compiler: str = "gcc") -> Interface:
    """The same with the optional libraries: their functions are in `parts`."""
    core, also = exported(root / "perfmodes.map"), tuple(PARTS.values())
    parts = {name: declared(root / header) for name, header in PARTS.items()}
    found = _compiled(root, compiler, core + [name for names in parts.values() for name in names],
                      macros([*headers(root), *(root / header for header in also)]), also)
    by_name = {function.name: function for function in found.functions}
    found.functions = [by_name[name] for name in core]
    found.parts = {part: [by_name[name] for name in names] for part, names in parts.items()}
    return found


def _compiled(root: Path, compiler: str, functions: list[str], constants: list[str],
              also: tuple[str, ...]) -> Interface:
    with tempfile.TemporaryDirectory() as place:
        built = Path(place) / "all.so"	# linked: pyelftools cannot relocate for every machine
        subprocess.run([compiler, *FLAGS, f"-I{root}", f"-I{HERE}", "-o", str(built), "-"],
                       input=source(functions, constants, also), text=True, check=True)
        with built.open("rb") as file:
            return _read(file, constants)


def _read(file: object, constants: list[str]) -> Interface:
    elf = ELFFile(file)
    reader, values = Reader(elf.elfclass // 8), {}
    for unit in elf.get_dwarf_info(relocate_dwarf_sections=True).iter_CUs():
        for die in unit.get_top_DIE().iter_children():
            name = name_of(die)
            if die.tag == "DW_TAG_variable" and name.startswith("function_"):
                call = reader.type_of(die).of
                assert call is not None and call.of is not None
                reader.interface.functions.append(
                    Function(name.removeprefix("function_"), call.of, call.arguments))
            elif die.tag == "DW_TAG_structure_type" and name.startswith("pm_"):
                reader.type(die)
            elif die.tag == "DW_TAG_enumeration_type":
                reader.type(die) if name else values.update(_macro(die))
    reader.interface.constants = {name: values[name] for name in constants if name in values}
    return reader.interface


def _macro(die: DIE) -> dict[str, int]:
    """Its name and value, which debug information has as a signed number of 64 bits."""
    found = {name_of(child): child.attributes["DW_AT_const_value"].value
             for child in die.iter_children()}
    name = next((each for each in found if each.startswith("macro_of_")), None)
    if name is None:
        return {}
    name = name.removeprefix("macro_of_")
    value = found[f"macro_of_{name}"]
    return {name: value if value >= 0 or found[f"less_{name}"] else value + 2 ** 64}
