# SPDX-License-Identifier: MIT
"""Mappings and addresses of pprof profiles, beside what the kernel, nm and readelf tell of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import pprof_file  # noqa: E402

SAMPLER = Path(__file__).resolve().parents[3] / "build" / os.uname().machine / "perfmodes-sampler"
PAGE = 4096
# Time in a function of its own, in the C library and in the kernel; "leaves" ends before it works.
SOURCE = """#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile unsigned long turns;
static char from[65536], to[65536];
__attribute__((noinline)) void NAME(long most) {
    for (long i = 0; i < most * 20; i++) turns += i;
    for (long i = 0; i < most / 500; i++) { memmove(to, from, sizeof(to)); from[i % 65536] = to[i % 9]; }
    for (long i = 0; i < most / 10; i++) syscall(SYS_getppid);
}
int main(int argc, char **argv) {
    for (int i = atoi(argv[1]); i > 0; i--) NAME(100000);
    if (argc > 2) { execv(argv[2], argv + 2); _exit(127); }
    return 0;
}
"""


def run(*command: str | Path) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, check=False)
    if "perf_event" in done.stderr and done.returncode == 1:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def make(folder: Path, name: str, *flags: str) -> Path:
    source = folder / f"{name}.c"
    source.write_text(SOURCE.replace("NAME", name), encoding="utf-8")
    run("gcc", "-O1", "-g", *flags, "-o", folder / name, source)
    return folder / name


def sampled(folder: Path, *command: str | Path) -> pprof_file.Profile:
    if not SAMPLER.exists():
        pytest.skip(f"not built: make {SAMPLER}, with libdw-dev and zlib1g-dev")
    run(SAMPLER, "-q", "-k", "-F", "999", "-o", folder / "out.pb.gz", "--", *command)
    return pprof_file.read(folder / "out.pb.gz")


def symbol(program: Path, name: str) -> tuple[int, int]:
    """Its addresses by the symbol table."""
    fields = next(line.split() for line in run("nm", "-S", program).splitlines() if line.endswith(f" {name}"))
    return int(fields[0], 16), int(fields[0], 16) + int(fields[1], 16)


def check_places(profile: pprof_file.Profile) -> None:
    """No mapping lies in another, and each address lies in its own."""
    placed = sorted((one.start, one.limit) for one in profile.mappings if one.limit)
    assert all(one[1] <= other[0] for one, other in zip(placed, placed[1:])), placed
    mappings = {one.number: one for one in profile.mappings}
    for location in profile.locations.values():
        mapping = mappings[location.mapping]
        assert mapping.limit == 0 or mapping.start <= location.address < mapping.limit, (mapping, location)


@pytest.mark.perf
@pytest.mark.parametrize("flags", [["-pie", "-fpie"], ["-no-pie", "-fno-pie"]], ids=" ".join)
def test_the_program_is_first_and_each_address_in_its_place(tmp_path: Path, flags: list[str]) -> None:
    program = make(tmp_path, "works", *flags)
    profile = sampled(tmp_path, program, "60")
    check_places(profile)
    first = profile.mappings[0]
    notes = run("readelf", "-n", program)
    assert first.file == str(program) and first.build_id in notes and len(first.build_id) == 40
    code = re.search(r"LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x\w+ 0x\w+ R E", run("readelf", "-lW", program))
    assert code and first.offset == int(code[1], 16) // PAGE * PAGE
    bias = first.start - int(code[2], 16) // PAGE * PAGE
    low, high = symbol(program, "works")
    inside = [one for one in profile.locations.values() if one.lines and one.lines[-1][0] == "works"]
    assert inside and all(low <= one.address - bias < high for one in inside), (bias, low, high, inside)
    assert bias == 0, "what disassembles finds a program where its file says"


@pytest.mark.perf
def test_the_kernel_is_in_its_half(tmp_path: Path) -> None:
    """The top bit of its addresses is there; its names are at the addresses of kallsyms."""
    profile = sampled(tmp_path, make(tmp_path, "works"), "60")
    symbols: dict[str, set[int]] = {}
    for line in Path("/proc/kallsyms").read_text(encoding="ascii").splitlines():
        address, _, name = line.split()[:3]
        symbols.setdefault(name, set()).add(int(address, 16))
    kernels = {one.number for one in profile.mappings if one.file == "[kernel]"}
    found = [one for one in profile.locations.values() if one.mapping in kernels]
    if not any(one.lines for one in found) or not any(symbols["_text"]):
        pytest.skip("this user may not see addresses of the kernel")
    for one in found:
        near = [one.address - begin for begin in symbols[one.lines[0][0]]]
        assert one.address >> 63 == 1 and any(0 <= behind < 65536 for behind in near), one
    assert all(one.start >> 63 == 1 for one in profile.mappings if one.number in kernels)


@pytest.mark.perf
def test_of_several_programs_the_one_with_the_most_is_first(tmp_path: Path) -> None:
    """A library that both have is there once, with addresses of both."""
    few, many = make(tmp_path, "few"), make(tmp_path, "many")
    profile = sampled(tmp_path, few, "10", many, "80")
    check_places(profile)
    assert profile.mappings[0].file == str(many), profile.mappings
    assert {str(few), str(many)} <= {one.file for one in profile.mappings}
    libraries = [one for one in profile.mappings if "libc" in one.file]
    assert len(libraries) == 1, libraries


@pytest.mark.perf
def test_flags_tell_what_is_there(tmp_path: Path) -> None:
    """A reader of profiles looks for lines where not all of them are told."""
    bare, full = make(tmp_path, "bare", "-g0"), make(tmp_path, "full")
    run("strip", "--strip-debug", bare)
    profile = sampled(tmp_path, full, "40", bare, "40")
    flags = {one.file: one.flags for one in profile.mappings}
    assert flags[str(bare)] == (True, False, False, False)
    for one in profile.mappings:
        inside = [place for place in profile.locations.values() if place.mapping == one.number]
        named = bool(inside) and all(place.lines for place in inside)
        lined = bool(inside) and all(place.lines and place.lines[0][1] and place.lines[0][2] for place in inside)
        assert one.flags[:3] == (named, lined, lined), (one, inside)


@pytest.mark.peer("go")
@pytest.mark.perf
def test_the_tool_of_the_format_finds_source_and_code(tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("no go: apt-get install golang-go")
    program = make(tmp_path, "works")
    sampled(tmp_path, program, "40")
    head = run("go", "tool", "pprof", "-top", tmp_path / "out.pb.gz").splitlines()[0]
    assert head == "File: works"
    listed = run("go", "tool", "pprof", "-list", "^works$", tmp_path / "out.pb.gz")
    assert re.search(r"[\d.]+m?s +[\d.]+m?s +\d+: +for \(long i = 0; i < most \* 20", listed), listed
    code = run("go", "tool", "pprof", "-disasm", "works", tmp_path / "out.pb.gz")
    low, high = symbol(program, "works")
    timed = re.findall(r"^ +[\d.]+m?s .* ([0-9a-f]+): ", code, re.MULTILINE)
    assert timed and all(low <= int(address, 16) < high for address in timed), code
