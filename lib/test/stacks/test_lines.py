# SPDX-License-Identifier: MIT
"""Functions that the compiler put into others, and source lines, as a program's own labels tell them."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from pprof_file import fields  # noqa: E402

TREE = Path(__file__).resolve().parents[3]
BUILT = TREE / "build" / "test" / "stacks"
SAMPLER = TREE / "build" / os.uname().machine / "perfmodes-sampler"
# Each label is in the symbol table, and its name says what it is in. Its line is that of AT.
SOURCE = """static volatile int turns;
#ifndef AT
#define AT(name) __asm__ volatile("in_" #name "_%=:" ::: "memory")
#endif
#define INLINE static inline __attribute__((always_inline))
INLINE void inner(int n) {
    for (int i = 0; i < n; i++) {
        AT(inner); turns++; }
}
INLINE void middle(int n) {
    AT(middle); turns++;
    inner(n);
    if (turns & 1) {
        int more = turns & 3;
        inner(n + more);
    }
}
__attribute__((noinline)) void outer(int n) {
    AT(outer); turns++;
    middle(n);
}
__attribute__((noinline)) void other(int n) {
    AT(other); turns++;
    { int twice = 2 * n;
        middle(twice); }
}
int main(int argc, char **argv) {
    for (int i = argc > 1 ? 1000 : 1; i > 0; i--) { outer(100000); other(50000); }
    return 0;
}
"""


def line_of(text: str, times: int = 1) -> int:
    """The line of the source with this text for the n-th time."""
    return [number for number, line in enumerate(SOURCE.splitlines(), 1) if text in line][times - 1]


# What may be around a label: from the function that it is in outwards, with the lines there.
MIDDLE = [[("outer", line_of("middle(n)"))], [("other", line_of("middle(twice)"))]]
AROUND = {
    "outer": [[("outer", line_of("AT(outer)"))]],
    "other": [[("other", line_of("AT(other)"))]],
    "middle": [[("middle", line_of("AT(middle)")), *outside] for outside in MIDDLE],
    "inner": [[("inner", line_of("AT(inner)")), ("middle", call), *outside] for outside in MIDDLE
              for call in (line_of("inner(n);"), line_of("inner(n + more)"))],
}


def run(*command: str | Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], input=text, capture_output=True, text=True,
                          timeout=120, check=False)


def built(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"not built: make {path.relative_to(TREE)}, with libdw-dev and zlib1g-dev")
    return path


def make(folder: Path, *flags: str) -> Path:
    source, program = folder / "nest.c", folder / "nest"
    source.write_text(SOURCE, encoding="utf-8")
    done = run("gcc", "-O1", "-g", *flags, "-o", program, source)
    assert done.returncode == 0, done.stderr
    return program


def lines_of(file: Path, addresses: list[int]) -> list[list[tuple[str, str, int]]]:
    """Innermost first, function, file and line."""
    done = run(built(BUILT / "lines_of"), file, text="".join(f"{address:x}\n" for address in addresses))
    assert done.returncode == 0, done.stderr
    found: list[list[tuple[str, str, int]]] = []
    lines = iter(done.stdout.splitlines())
    for line in lines:
        if line.startswith("0x"):
            found.append([])
        else:
            path, _, number = next(lines).rpartition(":")
            found[-1].append((line, path, int(number)))
    return found


@pytest.mark.parametrize("flags", [["-gdwarf-4"], ["-gdwarf-5"], ["-gz"], ["-fno-pie", "-no-pie"], ["-ffunction-sections"]],
                         ids=" ".join)
def test_each_label_is_in_what_it_says(tmp_path: Path, flags: list[str]) -> None:
    program = make(tmp_path, *flags)
    symbols = [line.split() for line in run("nm", program).stdout.splitlines() if " t in_" in line]
    labels = [(int(address, 16), name.split("_")[1]) for address, _, name in symbols]
    found = lines_of(program, [address for address, _ in labels])
    assert {Path(path).name for chain in found for _, path, _ in chain} == {"nest.c"}
    chains = [[(name, line) for name, _, line in chain] for chain in found]
    for (address, name), chain in zip(labels, chains, strict=True):
        assert chain in AROUND[name], (hex(address), name, chain)
    for name, around in AROUND.items():
        assert all(each in chains for each in around), name


def test_without_dwarf_nothing_is_told(tmp_path: Path) -> None:
    program = make(tmp_path, "-g0")
    main = next(int(line.split()[0], 16) for line in run("nm", program).stdout.splitlines() if line.endswith(" main"))
    assert lines_of(program, [main, 0, 2**64 - 1]) == [[("??", "??", 0)]] * 3


# --------------------------------------------------------------------------- in what the sampler writes

def locations(path: Path) -> list[list[tuple[str, str, int]]]:
    """Function, file and line of each location of a pprof profile, innermost first (fields of profile.proto)."""
    profile = list(fields(gzip.decompress(path.read_bytes())))
    strings = [value.decode() for field, value in profile if field == 6 and isinstance(value, bytes)]
    functions = {}
    for field, value in profile:
        if field == 5 and isinstance(value, bytes):
            function = dict(fields(value))
            functions[function[1]] = (strings[int(function.get(2, 0))], strings[int(function.get(4, 0))])
    found = []
    for field, value in profile:
        if field == 4 and isinstance(value, bytes):
            lines = [dict(fields(line)) for field, line in fields(value) if field == 4 and isinstance(line, bytes)]
            found.append([(*functions[line[1]], int(line.get(2, 0))) for line in lines])
    return found


@pytest.mark.parametrize("stripped", [False, True])
def test_the_sampler_tells_them(tmp_path: Path, stripped: bool) -> None:
    """Also of a program whose DWARF is in a debug file beside it. Most of the time is in the inner loop."""
    program = make(tmp_path, "-DAT(name)=")	# labels would be names of functions
    if stripped:
        for command in (["objcopy", "--only-keep-debug", program, tmp_path / "nest.debug"], ["strip", program],
                        ["objcopy", f"--add-gnu-debuglink={tmp_path / 'nest.debug'}", program]):
            assert run(*command).returncode == 0
    folded, pprof = tmp_path / "out.folded", tmp_path / "out.pb.gz"
    done = run(built(SAMPLER), "-q", "-F", "499", "-o", folded, "-o", pprof, "--", program, "often")
    if "perf_event" in done.stderr and done.returncode == 1:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    stacks = [line.rsplit(" ", 1)[0].split(";") for line in folded.read_text(encoding="utf-8").splitlines()]
    for outer in ("outer", "other"):
        assert any(stack[-4:] == ["main", outer, "middle", "inner"] for stack in stacks), (stacks, done.stderr)
    chains = locations(pprof)
    for ((name, call),) in MIDDLE:
        assert any([function for function, _, _ in chain] == ["inner", "middle", name] and chain[2][2] == call
                   and {Path(file).name for _, file, _ in chain} == {"nest.c"} for chain in chains), chains
    done = run(built(SAMPLER), "-q", "-F", "499", "--no-inline", "-o", folded, "--", program, "often")
    leaves = [line.rsplit(" ", 1)[0].split(";")[-2:] for line in folded.read_text(encoding="utf-8").splitlines()]
    assert ["main", "outer"] in leaves and not any("inner" in leaf for leaf in leaves), leaves
