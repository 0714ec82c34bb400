# SPDX-License-Identifier: MIT
"""The house rules that one file can break, each a generator of (line, message)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from reports import csource, lists
from reports.outline import outline

Break = tuple[int, str]

FILE_LINES = 500
PROBE_LINES = 250
FUNCTION_LINES = 60
C_COLUMNS = 100
NO_AREAS = ("kit", "launcher")  # folders of probes/ that hold no probe
TEST_SECONDS = 120
README_LINES, SUB_README_LINES, MAKEFILE_LINES = 120, 80, 150

_SPDX = re.compile(r"SPDX-License-Identifier: ([\w.+ -]+?)\s*(?:\*/|-->|$)")
_SHELL_FUNCTION = re.compile(r"^(\w+)\(\)\s*\{.*?^\}", re.MULTILINE | re.DOTALL)
_C_PATH = re.compile(r"\b(?:lib|probes)/[\w/*.-]*\.[ch]\b")
_VERSION = re.compile(r"\bKERNEL_VERSION\b|\bLINUX_VERSION_CODE\b|\bstrverscmp\s*\("
                      r"|\bsscanf\s*\([^;]*\brelease\b")
_ERRNO = re.compile(r"\bswitch\s*\(\s*-?\s*errno\b|\bcase\s+-?E[A-Z0-9]{2,}\s*:")
_SLEEP = re.compile(r"\b(?:sleep|usleep|nanosleep|clock_nanosleep)\s*\(")
# How long a test waits for a program, a thread or a peer before it calls that a hang.
_LIMIT = re.compile(r"(?:\btimeout=(?!0)|settimeout\(|monotonic\(\) \+ |\.(?:wait|join)\()([0-9]+)(?=[,)\s]|$)")
_SYNC = re.compile(r"\bkeep\b.{0,24}\bin sync\b", re.IGNORECASE)
# Folders of one person's or one service's machine.
_PLACE = re.compile(r"(?<![\w.:/$}-])/(?:home|Users|work|workspace|workspaces|builds)/\w")
_HOST = re.compile(r"https?://(?:10\.|192\.168\.|[\w.-]+\.(?:local|lan|internal|corp)\b)")


@dataclass(frozen=True)
class Source:
    """One file of the tree; the path is relative to its root."""
    path: PurePosixPath
    text: str

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def bare(self) -> str:
        return csource.bare(self.text)

    @property
    def top(self) -> str:
        return self.path.parts[0] if len(self.path.parts) > 1 else ""

    @property
    def is_c(self) -> bool:
        return self.path.suffix in (".c", ".h")

    @property
    def is_probe(self) -> bool:
        return (self.top == "probes" and len(self.path.parts) == 3 and self.path.suffix == ".c"
                and self.path.parts[1] not in NO_AREAS)

    @property
    def is_module(self) -> bool:
        """Code of a kernel module, which is built for one kernel and has the kernel's licence."""
        return self.is_c and self.top == "kernels"

    @property
    def is_shell(self) -> bool:
        return bool(self.lines) and self.lines[0].startswith("#!") and "sh" in self.lines[0]

    @property
    def is_source(self) -> bool:
        return (self.is_c or self.is_shell or self.path.suffix in (".py", ".sh", ".toml", ".S")
                or self.path.name == "Makefile")

    def find(self, pattern: re.Pattern[str], text: str | None = None) -> Iterator[tuple[int, str]]:
        """(line number, match) of a pattern in the text or in a blanked form of it."""
        searched = self.text if text is None else text
        for match in pattern.finditer(searched):
            yield searched.count("\n", 0, match.start()) + 1, match[0].strip()


def licence(source: Source) -> Iterator[Break]:
    """GPL-2.0-only in probes/, for the fake kernels and for kernel modules, MIT everywhere else."""
    if not source.is_source or not source.text.strip():
        return
    launcher = source.is_c and source.path.is_relative_to("suites/falsify")	# linked with it
    wanted = "GPL-2.0-only" if source.top == "probes" or launcher or source.is_module else "MIT"
    found = next((match[1] for match in map(_SPDX.search, source.lines[:3]) if match), None)
    if found is None:
        yield 1, "no SPDX-License-Identifier in the first lines"
    elif found != wanted:
        yield 1, f"licence {found}, here it is {wanted}"


def file_size(source: Source) -> Iterator[Break]:
    """How long each kind of file may be."""
    name, count = source.path.name, len(source.lines)
    limit = FILE_LINES if source.is_source and source.path.suffix != ".toml" else 0
    if source.is_probe:
        limit = PROBE_LINES
    elif name == "Makefile":
        limit = MAKEFILE_LINES
    elif name == "CONTRIBUTING.md" or (name == "README.md" and not source.top):
        limit = README_LINES
    elif name == "README.md":
        limit = SUB_README_LINES
    if limit and count > limit:
        yield limit + 1, f"{count} lines, at most {limit}"


def function_size(source: Source) -> Iterator[Break]:
    """No function over 60 lines, in any language."""
    found: Iterator[tuple[str, int, int]] = iter(())
    if source.is_c:
        found = csource.functions(source.text)
    elif source.path.suffix == ".py":
        found = iter(outline(source.text).functions)
    elif source.is_shell:
        found = ((match[1], source.text.count("\n", 0, match.start()) + 1,
                  match[0].count("\n") + 1) for match in _SHELL_FUNCTION.finditer(source.text))
    for name, line, count in found:
        if count > FUNCTION_LINES:
            yield line, f"{name}: {count} lines, at most {FUNCTION_LINES}"


def columns(source: Source) -> Iterator[Break]:
    """C lines end at column 100, tabs being 8."""
    for number, line in enumerate(source.lines if source.is_c else [], 1):
        if len(line.expandtabs(8)) > C_COLUMNS:
            yield number, f"{len(line.expandtabs(8))} columns, at most {C_COLUMNS}"


def arrows(source: Source) -> Iterator[Break]:
    """The ground floor reads text: no C source, not even by name. Who includes whom: floors.py."""
    runner = source.path.name == "run.sh" or source.top in ("kernels", "reports")
    if runner and "test" not in source.path.parts and (source.is_shell or source.path.suffix == ".py"):
        uncommented = re.sub(r"(?m)^\s*#.*$", "", source.text)
        for line, path in source.find(_C_PATH, uncommented):
            yield line, f"{path}: the ground floor reads text, never C sources"


def version_compare(source: Source) -> Iterator[Break]:
    """Version numbers decide nothing in C that runs on a kernel it was not built for."""
    if source.is_c and not source.is_module:
        for line, what in source.find(_VERSION, source.bare):
            yield line, f"{what}: a version number decides nothing here; ask the kernel"


def errno_switch(source: Source) -> Iterator[Break]:
    """One classifier turns errno into a verdict."""
    if source.is_probe:
        for line, what in source.find(_ERRNO, source.bare):
            yield line, f"{what}: probes leave errno to the one classifier"


def sleeping(source: Source) -> Iterator[Break]:
    """Waiting is done on the thing waited for."""
    if source.is_probe:
        for line, what in source.find(_SLEEP, source.bare):
            yield line, f"{what}...): wait for the thing itself (poll, gate, waitpid)"


def patience(source: Source) -> Iterator[Break]:
    """A limit in a test is for what hangs: a loaded machine takes fifty times as long as a quiet one."""
    if source.path.suffix == ".py" and "test" in source.path.parts:
        for line, what in source.find(_LIMIT):
            if int(re.sub(r"\D", "", what)) < TEST_SECONDS:
                yield line, f"{what}: at least {TEST_SECONDS} s, or wait for the thing itself"


def by_hand(source: Source) -> Iterator[Break]:
    """Nothing asks a person to do what a generator does."""
    for line, what in source.find(_SYNC):
        yield line, f"'{what}': derive it, or check it"


def file_name(source: Source) -> Iterator[Break]:
    """A file is named after what is in it."""
    if source.path.stem.lower() in ("util", "utils", "misc", "helper", "helpers"):
        yield 1, f"{source.path.name} does not say what is in it"


def place(source: Source) -> Iterator[Break]:
    """The tree is nobody's in particular: no folder of a machine, no private host."""
    for pattern in (_PLACE, _HOST):
        for line, what in source.find(pattern):
            yield line, f"{what}: names a place of one machine or network"


def declaration(source: Source) -> Iterator[Break]:
    """Every test has its POINT and every POINT its test."""
    if not source.is_probe:
        return
    if "PROBE(" not in source.bare:
        yield 1, "no PROBE() declaration"
        return
    names = csource.tests(source.text)
    points = csource.declared(source.text)
    if names is None:
        return
    for name in sorted(names - set(points)):
        yield 1, f"test {name} is not declared with POINT()"
    for name in sorted(set(points) - names):
        yield 1, f"POINT({name}) has no test of that name"


def second_list(source: Source) -> Iterator[Break]:
    """What has one list is listed nowhere else."""
    schema = source.top == "reports" and source.path.suffix == ".json"
    if source.is_source or source.path.suffix == ".def" or schema:
        yield from lists.copies(str(source.path), source.text)


RULES: dict[str, Callable[[Source], Iterator[Break]]] = {
    "licence": licence, "file-size": file_size, "function-size": function_size,
    "columns": columns, "arrow": arrows, "version-compare": version_compare,
    "errno-switch": errno_switch, "sleep": sleeping, "patience": patience, "by-hand": by_hand,
    "file-name": file_name, "place": place, "declaration": declaration,
    "second-list": second_list,
}
