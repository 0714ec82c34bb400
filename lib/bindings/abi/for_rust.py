# SPDX-License-Identifier: MIT
"""The interface as a Rust module: repr(C) structures, constants, extern "C" functions."""

from __future__ import annotations

from model import Enum, Function, Interface, Struct, Type

HEAD = """// SPDX-License-Identifier: MIT
// Made from the headers by lib/bindings/abi/make.py; not to be edited.
//! The C interface of libperfmodes. The headers of the library say what each part means.
#![allow(non_camel_case_types, missing_docs)]

use core::ffi::c_void;
use std::os::raw::c_char;

"""
_WORDS = {"type", "ref", "where", "match", "move", "in", "loop", "fn", "use", "mod", "self"}


def safe(name: str) -> str:
    return f"r#{name}" if name in _WORDS else name


def pointer(type_: Type) -> str:
    target = type_.of
    assert target is not None
    if target.kind == "function":
        assert target.of is not None
        result = "" if target.of.kind == "void" else f" -> {spelled(target.of)}"
        return f"Option<unsafe extern \"C\" fn({', '.join(map(spelled, target.arguments))}){result}>"
    inner = "c_void" if target.kind == "void" else spelled(target)
    return f"*{'const' if target.const else 'mut'} {inner}"


def spelled(type_: Type) -> str:
    if type_.kind == "pointer":
        return pointer(type_)
    if type_.kind == "array":
        assert type_.of is not None
        return f"[{spelled(type_.of)}; {type_.count}]"
    if type_.word:
        return "isize" if type_.signed else "usize"
    names = {"bool": "bool", "char": "c_char", "float": "f64", "enum": "i32", "void": "()"}
    return type_.name if type_.kind == "struct" else names.get(type_.kind) or \
        f"{'i' if type_.signed else 'u'}{8 * type_.size}"


def structure(struct: Struct) -> str:
    lines = ["#[repr(C)]"]
    if not struct.members:
        return "\n".join([*lines, f"pub struct {struct.name} {{", "    _opaque: [u8; 0],", "}", ""])
    lines += ["#[derive(Clone, Copy)]", f"pub struct {struct.name} {{"]
    lines += [f"    pub {safe(one.name)}: {spelled(one.type)}," for one in struct.members]
    return "\n".join([*lines, "}", ""])


def enumeration(enum: Enum) -> str:
    return "\n".join([f"// enum {enum.name}", *(f"pub const {name}: i32 = {value};"
                                                for name, value in enum.constants.items()), ""])


def constant(name: str, value: int) -> str:
    kind = next(kind for kind, limit in (("i32", 2 ** 31), ("u32", 2 ** 32), ("u64", 2 ** 64))
                if value < limit)
    return f"pub const {name}: {kind} = {value};"


def signature(function: Function) -> str:
    given = ", ".join(f"a{i}: {spelled(one)}" for i, one in enumerate(function.arguments))
    result = "" if function.result.kind == "void" else f" -> {spelled(function.result)}"
    return f"    pub fn {function.name}({given}){result};"


def offsets(struct: Struct) -> str:
    """A table for tests: Rust 1.63 has no offset_of of its own."""
    lines = [f'        ("{struct.name}", core::mem::size_of::<{struct.name}>(), &[']
    for one in struct.members:
        lines.append(f'            ("{one.name}", unsafe {{ let at = core::mem::MaybeUninit::<{struct.name}>::'
                     f"uninit(); core::ptr::addr_of!((*at.as_ptr()).{safe(one.name)}) as usize - "
                     "at.as_ptr() as usize }),")
    return "\n".join([*lines, "        ][..]),"])


def table(known: list[Struct]) -> str:
    """The function that a test prints and compares with what a C compiler says."""
    return "\n".join(["type Layout = (&'static str, usize, Vec<(&'static str, usize)>);", "",
                      "/// Name, size, and the offset of each member, of each structure.",
                      "pub fn layouts() -> Vec<Layout> {", "    let each = vec![",
                      *map(offsets, known),
                      "    ].into_iter().map(|(n, s, m): (_, _, &[_])| (n, s, m.to_vec())).collect();",
                      "    each", "}", ""])


def module(interface: Interface) -> str:
    known = [struct for struct in interface.structs.values() if struct.members]
    parts = [constant(name, value) for name, value in interface.constants.items()]
    parts += ["", *map(enumeration, interface.enums.values())]
    parts += [structure(one) for one in interface.structs.values()]
    parts += ['extern "C" {', *map(signature, interface.functions), "}", ""]
    for name, functions in interface.parts.items():
        parts += [f"// Of libperfmodes-{name}.", f'#[cfg(feature = "{name}")]', 'extern "C" {',
                  *map(signature, functions), "}", ""]
    parts.append(table(known))
    return HEAD + "\n".join(parts)
