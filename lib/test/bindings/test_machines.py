# SPDX-License-Identifier: MIT
"""One table serves every machine: each compiler that is here reads the same out of the headers, and lays
out what the table says as it lays out what the headers say."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import places  # noqa: E402

sys.path.insert(0, str(places.ROOM / "abi"))
import for_python  # noqa: E402
import for_rust  # noqa: E402
import read as abi  # noqa: E402

LIBRARY = places.TREE / "lib"
#: Debian's names of the machines of the matrix: by the compiler that is for each
COMPILERS = {
    "amd64": "x86_64-linux-gnu-gcc", "i386": "i686-linux-gnu-gcc", "arm64": "aarch64-linux-gnu-gcc",
    "armhf": "arm-linux-gnueabihf-gcc", "armel": "arm-linux-gnueabi-gcc",
    "riscv64": "riscv64-linux-gnu-gcc", "s390x": "s390x-linux-gnu-gcc",
    "ppc64el": "powerpc64le-linux-gnu-gcc", "mips64el": "mips64el-linux-gnuabi64-gcc",
    "loong64": "loongarch64-linux-gnu-gcc"}
WIDTHS = {"c_bool": "_Bool", "c_char": "char", "c_double": "double", "c_int": "int",
          "c_size_t": "size_t", "c_ssize_t": "ssize_t", "c_char_p": "char *", "c_void_p": "void *",
          **{f"c_{u}int{bits}": f"{u}int{bits}_t" for u in ("", "u") for bits in (8, 16, 32, 64)}}
Members = list[tuple[str, str]]		# C types without arrays, and declarators


@pytest.fixture(scope="module", name="here")
def _here() -> tuple[str, str]:
    found = abi.whole(LIBRARY)
    return for_python.module(found), for_rust.module(found)


def compiler_of(machine: str) -> str:
    """The compiler, if it is here with a C library: Debian's compilers only recommend one."""
    name = COMPILERS[machine]
    if shutil.which(name) is None:
        pytest.skip(f"no {name} (Debian: gcc-{name.removesuffix('-gcc').replace('_', '-')})")
    if places.run(name, "-fsyntax-only", "-x", "c", "-", input="#include <sys/types.h>\n").returncode:
        pytest.skip(f"no sys/types.h for {name} (Debian: libc6-dev-{machine}-cross)")
    return name


def python_type(node: ast.expr, name: str) -> tuple[str, str]:
    """The C type and the declarator of what ctypes calls so."""
    if isinstance(node, ast.BinOp):
        assert isinstance(node.right, ast.Constant)
        kind, declared = python_type(node.left, name)
        return kind, f"{declared}[{node.right.value}]"
    if isinstance(node, ast.Call):
        return "void *", name
    if isinstance(node, ast.Name):
        return f"struct py_{node.id}", name
    assert isinstance(node, ast.Attribute)
    return WIDTHS[node.attr], name


def of_python(text: str) -> dict[str, Members]:
    """The structures of abi.py, in its order."""
    found: dict[str, Members] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) and isinstance(node.body[0], ast.Assign):
            fields = node.body[0].value
            if isinstance(fields, ast.List):
                found[node.name] = [python_type(one.elts[1], str(ast.literal_eval(one.elts[0])))
                                    for one in fields.elts if isinstance(one, ast.Tuple)]
    return found


def rust_type(text: str, name: str) -> tuple[str, str]:
    array = re.fullmatch(r"\[(.+); (\d+)\]", text)
    if array:
        kind, declared = rust_type(array[1], name)
        return kind, f"{declared}[{array[2]}]"
    if text.startswith(("*", "Option<unsafe extern")):
        return "void *", name
    words = {"usize": "size_t", "isize": "ssize_t", "bool": "_Bool", "c_char": "char", "f64": "double"}
    width = re.fullmatch(r"([iu])(\d+)", text)
    if width:
        return f"{'u' * (width[1] == 'u')}int{width[2]}_t", name
    return words.get(text) or f"struct rs_{text}", name


def of_rust(text: str) -> dict[str, Members]:
    return {struct: [rust_type(kind, name.removeprefix("r#"))
                     for name, kind in re.findall(r"^    pub ([\w#]+): (.+),$", body, re.M)]
            for struct, body in re.findall(r"^pub struct (\w+) \{\n((?:    pub .+\n)+)\}", text, re.M)}


def mirrors(prefix: str, structs: dict[str, Members]) -> list[str]:
    """Each structure again, of these types, with what has to hold between the two."""
    lines = []
    for struct, members in structs.items():
        ours, theirs = f"struct {prefix}_{struct}", f"struct {struct}"
        body = " ".join(f"{kind} {declared};" for kind, declared in members)
        lines += [f"{ours} {{ {body} }};",
                  f'_Static_assert(sizeof({ours}) == sizeof({theirs}), "size of {struct}");']
        lines += [f'_Static_assert(offsetof({ours}, {name}) == offsetof({theirs}, {name}), "{struct}.{name}");'
                  for name in (declared.partition("[")[0] for _, declared in members)]
    return lines


def compiled(compiler: str, lines: list[str]) -> subprocess.CompletedProcess[str]:
    text = "".join(f"#include <{name}>\n" for name in ("stddef.h", "sys/types.h", "perfmodes.h",
                                                       *abi.PARTS.values()))
    return places.run(compiler, "-std=gnu11", "-fsyntax-only", "-x", "c", f"-I{LIBRARY}",
                      f"-I{abi.HERE}", "-", input=text + "\n".join(lines) + "\n")


def numbers(text: str) -> list[str]:
    """What the table says of constants, held against the headers."""
    return [f'_Static_assert({name} == {value}{"u" if int(value) >= 2 ** 63 else ""}, "{name}");'
            for name, value in re.findall(r"^pub const (PM_\w+): \w+ = (-?\d+);$", text, re.M)]


@pytest.mark.parametrize("machine", COMPILERS)
def test_a_machine_reads_the_same(machine: str, here: tuple[str, str]) -> None:
    found = abi.whole(LIBRARY, compiler_of(machine))
    assert (for_python.module(found), for_rust.module(found)) == here


@pytest.mark.parametrize("machine", COMPILERS)
def test_a_machine_lays_the_table_out_as_the_headers(machine: str, here: tuple[str, str]) -> None:
    python, rust = of_python(here[0]), of_rust(here[1])
    assert set(python) == set(rust) and len(python) > 40
    ordered = {name: rust[name] for name in python}
    lines = mirrors("py", python) + mirrors("rs", ordered) + numbers(here[1])
    assert len(lines) > 1000
    done = compiled(compiler_of(machine), lines)
    assert done.returncode == 0, done.stderr[:4000]


@pytest.mark.parametrize("machine, kind", [("i386", "uint64_t"), ("armhf", "uint64_t"), ("amd64", "uint32_t")])
def test_a_table_that_fits_one_width_alone_is_found(machine: str, kind: str, here: tuple[str, str]) -> None:
    """A size_t that is written down as what it is on one machine."""
    wrong = {name: [(kind if what == "size_t" else what, declared) for what, declared in members]
             for name, members in of_python(here[0]).items()}
    done = compiled(compiler_of(machine), mirrors("py", wrong))
    assert done.returncode != 0 and "static assertion failed" in done.stderr
