# SPDX-License-Identifier: MIT
"""Holds the names and numbers of the library's ABI header against the kernel's own uapi headers.

The library never includes <linux/perf_event.h>, so nothing else would notice a number that is wrong.
Both sides are arguments: reports know no C source. A C compiler reads them and writes their constants
into an object file, which is read and never run. Names of one side alone are no error: a header may be
older or newer than ours.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reports import csource, text
from reports.text import Unusable

HEADERS = ("perf_event.h", "hw_breakpoint.h")       # the two whose place the library's header takes
FOLDERS = ("include/uapi/linux", "usr/include/linux", "include/linux", "linux", ".")
SOURCE_LIMIT, NAMES_LIMIT, ROUNDS_LIMIT, SECONDS = 1 << 22, 10_000, 50, 60
_NAME = r"(?:PERF|HW_BREAKPOINT)_[A-Z0-9_a-z]+"
_MACRO = re.compile(rf"^#define ({_NAME}) +\S", re.MULTILINE)
_ENUM = re.compile(r"\benum\b[^{};()]*\{([^{}]*)\}")
_MEMBER = re.compile(rf"(?:^|,)\s*({_NAME})\b")
_WRONG = re.compile(r"^constants:(\d+):", re.MULTILINE)
# The end of a list moves with each release that adds to it.
_END = re.compile(r".*_MAX(?:_SHIFT)?")

Numbers = dict[str, int]


@dataclass(frozen=True)
class Comparison:
    """What two sets of constants say: values in which they differ, the ends of lists among them that
    a release moves, and names of one side alone."""
    compared: int
    differ: tuple[str, ...]
    ends: tuple[str, ...]
    theirs_alone: tuple[str, ...]
    ours_alone: tuple[str, ...]


def _compile(source: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the C compiler, named by CC, over a text. Raises Unusable."""
    command = [*(os.environ.get("CC") or "cc").split(), "-x", "c", "-w", "-D__user=", *options, "-"]
    try:
        return subprocess.run(command, input=source, capture_output=True, text=True, errors="replace",
                              check=False, timeout=SECONDS, env=os.environ | {"LC_ALL": "C"})
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unusable(text.clean(f"{command[0]}: {error}; this verb needs a C compiler, the package "
                                  "gcc or clang; CC names another", 400)) from error


def _preprocessed(includes: str, what: str, *options: str) -> str:
    ended = _compile(includes, "-E", "-P", *options)
    if ended.returncode != 0:
        first = next((line for line in ended.stderr.splitlines() if "error" in line), ended.stderr)
        raise Unusable(text.clean(f"{what}: the C compiler refuses it: {first}", 400))
    if len(ended.stdout) > SOURCE_LIMIT:
        raise Unusable(text.clean(f"{what}: larger than {SOURCE_LIMIT >> 20} MiB", 300))
    return ended.stdout


def _names(includes: str, what: str) -> list[str]:
    """Macros without arguments, and members of enums."""
    found = _MACRO.findall(_preprocessed(includes, what, "-dM"))
    for body in _ENUM.findall(csource.without_comments(_preprocessed(includes, what))):
        found += _MEMBER.findall(body)
    return sorted(set(found))[:NAMES_LIMIT]


def _section(path: Path) -> tuple[bytes, bool]:
    from elftools.elf.elffile import ELFFile
    with open(path, "rb") as file:
        made = ELFFile(file)
        section = made.get_section_by_name(".perfmodes")
        return (section.data() if section else b""), made.little_endian


def _evaluate(includes: str, names: Sequence[str]) -> Numbers | list[str]:
    """The number of each name, or the names that are no integer constants."""
    # A number can be multiplied and a text cannot.
    rows = "".join(f'\n#line {at} "constants"\n({name}) * 1LL,' for at, name in enumerate(names))
    source = (f"{includes}const long long pm_values[] "
              f'__attribute__((section(".perfmodes"), used)) = {{{rows}\n}};\n')
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "constants.o"
        ended = _compile(source, "-c", "-fno-lto", "-o", str(made))
        if ended.returncode != 0:
            wrong = {int(line) for line in _WRONG.findall(ended.stderr)}
            return [names[line] for line in sorted(wrong) if line < len(names)]
        data, little = _section(made)
    values = [int.from_bytes(data[at:at + 8], "little" if little else "big", signed=True)
              for at in range(0, len(data), 8)]
    return dict(zip(names, values, strict=True))


def constants(headers: Sequence[Path]) -> Numbers:
    """Name -> number, of all constants of these headers that have the names of perf."""
    what = " ".join(map(str, headers))
    if any(set('"\\\n') & set(str(path)) for path in headers):
        raise Unusable("a path with a quote, a backslash or a line break cannot be included")
    includes = "".join(f'#include "{path.resolve()}"\n' for path in headers)
    names = _names(includes, what)
    for _round in range(ROUNDS_LIMIT):      # clang tells 20 errors at a time
        found = _evaluate(includes, names)
        if isinstance(found, dict) and found:
            return found
        if not names or not found:
            break
        names = [name for name in names if name not in found]
    raise Unusable(text.clean(f"{what}: no constants of perf in it", 300))


def headers_of(path: Path) -> list[Path]:
    """The header itself, or those of a kernel tree or of a folder of installed headers."""
    if not path.is_dir():
        text.require_file(path)
        return [path]
    for folder in FOLDERS:
        if (path / folder / HEADERS[0]).is_file():
            return [each for name in HEADERS if (each := path / folder / name).is_file()]
    raise Unusable(text.clean(f"{path}: no {HEADERS[0]} in it", 300))


def _is_end(name: str, ours: int, theirs: int) -> bool:
    """Whether it only tells where a list ends; PERF_CONTEXT_MAX, which is negative, is no such."""
    return bool(_END.fullmatch(name)) and ours > 0 and theirs > 0


def compare(ours: Numbers, theirs: Numbers) -> Comparison:
    """Hold numbers against each other, by name."""
    both = sorted(ours.keys() & theirs.keys())
    other = [name for name in both if ours[name] != theirs[name]]
    told = {name: f"{name}: here {ours[name]:#x}, there {theirs[name]:#x}" for name in other}
    ends = {name for name in other if _is_end(name, ours[name], theirs[name])}
    # A name of a header that was not given says nothing of those that were.
    families = {name.partition("_")[0] for name in theirs}
    lacks = sorted(name for name in ours.keys() - theirs.keys() if name.partition("_")[0] in families)
    return Comparison(len(both), tuple(told[name] for name in other if name not in ends),
                      tuple(told[name] for name in other if name in ends),
                      tuple(sorted(theirs.keys() - ours.keys())), tuple(lacks))
