# SPDX-License-Identifier: MIT
"""Each header that is installed compiles by itself, in every dialect that a program may be in; and
the library needs no headers of the kernel."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

LIB = Path(__file__).resolve().parents[1]
HEADERS = sorted([*LIB.glob("perfmodes*.h"), *LIB.glob("*/perfmodes_*.h")])
DIALECTS = ["gcc -x c -std=c89", "gcc -x c -std=c99", "gcc -x c -std=c11", "gcc -x c -std=c2x",
            "g++ -x c++ -std=c++98", "g++ -x c++ -std=c++17", "g++ -x c++ -std=c++2b", "clang -x c -std=c99", "clang -x c++ -std=c++98"]


def errors(dialect: str, text: str) -> str:
    """Of a translation unit with that text; "": none."""
    command = [*dialect.split(), "-pedantic-errors", "-Wall", "-Werror", "-fsyntax-only",
               "-isystem", "/usr/include", f"-I{LIB}", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False).stderr


def needs(header: Path) -> list[str]:
    """Headers of others, without which it does not compile: it includes them first of all."""
    return [name for name in re.findall(r"^#include <(.+)>", header.read_text(encoding="utf-8"), re.M)
            if not name.startswith(("std", "perfmodes", "errno", "sys/"))]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
def test_a_header_compiles_alone(header: Path, dialect: str) -> None:
    if shutil.which(dialect.split()[0]) is None:
        pytest.skip(f"no {dialect.split()[0]}")
    lines = "".join(f"#include <{name}>\n" for name in needs(header))
    if lines and errors(dialect, lines):
        pytest.skip(f"{' '.join(needs(header))}: not here, or not in this dialect")
    include = f'#include "{header.relative_to(LIB)}"\n'
    assert errors(dialect, include + include) == ""


@pytest.mark.parametrize("text", ["#error alone", "enum one { ONE, };", "int f(void) { for (int i;;); }"])
def test_what_does_not_compile_is_seen(text: str) -> None:
    assert errors(DIALECTS[0], text)


def without_size(text: str) -> set[str]:
    """Structures with a body whose first member is not `size`."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return {name for name, first in re.findall(r"^struct (pm_\w+) \{\s*([^;]*);", text, re.M)
            if first != "size_t size"}


@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
def test_what_may_grow_begins_with_its_size(header: Path) -> None:
    """But for what is the kernel's."""
    assert without_size(header.read_text(encoding="utf-8")) <= {"pm_branch"}


def test_a_structure_without_a_size_is_seen() -> None:
    assert without_size("struct pm_one { uint64_t from; };\nstruct pm_two {\n\t/* it */ size_t size;\n};") == {
        "pm_one"}


def test_no_header_of_the_kernel_is_needed() -> None:
    """musl comes without them, and its compiler does not look at the system's."""
    if shutil.which("musl-gcc") is None:
        pytest.skip("no musl-gcc")
    sources = [path for path in [*LIB.glob("*.c"), *LIB.glob("policy/*/*.c"), *LIB.glob("ebb/*.c"),
                                 *LIB.glob("sampler/descriptors/*.c"), *LIB.glob("sampler/willing/*.c")]
               if path.name != "json.c"]
    done = subprocess.run(["musl-gcc", "-std=gnu11", "-fsyntax-only", *map(str, sources)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# What Power's compiler defines, and how x86 calls what holds the registers.
AS_POWER = ["-D__powerpc64__", "-D_CALL_ELF=2", "-D__LITTLE_ENDIAN__", "-Dgp_regs=gregs"]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads Power's code with names of x86's registers")
@pytest.mark.parametrize("source", [*sorted(LIB.glob("ebb/*.c")), LIB / "doctor/branches.c", LIB / "doctor/wishes.c"],
                         ids=lambda path: path.name)
def test_what_is_powers_alone_calls_what_there_is(source: Path) -> None:
    """No machine but Power compiles event-based branches, and the tests run on none."""
    done = subprocess.run(["gcc", "-std=gnu11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *AS_POWER, source],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
