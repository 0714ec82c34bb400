# SPDX-License-Identifier: MIT
"""Which tests of other suites our points cover, fully or in part, by data/coverage.toml."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import filter as matching
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from reports import overview, page, rules, schema, text
from reports.catalogue import Catalogue
from reports.text import Unusable

DATA = Path("reports/data/coverage.toml")
COVERED, IN_PART, NOT_COVERED = STATES = ("covered", "in part", "not covered")
STYLES = {COVERED: "green", IN_PART: "yellow", NOT_COVERED: "red"}
BECAUSE = {"gap": "could be probed", "hardware": "needs hardware of one kind",
           "tool": "asks a tool, not the kernel", "other-api": "asks something else than perf events",
           "no-assertion": "asserts nothing", "helper": "is no test",
           "crash": "can take the machine down"}


@dataclass(frozen=True)
class Test:
    """One test of another suite."""
    name: str
    globs: tuple[str, ...] = ()
    lacks: str = ""
    note: str = ""
    because: str = ""
    why_not: str = ""

    @property
    def state(self) -> str:
        return NOT_COVERED if not self.globs else IN_PART if self.lacks else COVERED

    @property
    def remark(self) -> str:
        """What the test asks beyond our points, or why nothing here asks it."""
        if not self.globs:
            return f"{self.because}: {self.why_not}"
        return f"lacks {self.lacks}" if self.lacks else self.note


@dataclass(frozen=True)
class Suite:
    """The tests of one suite, in the order of the file."""
    id: str
    title: str
    version: str
    tests: list[Test] = field(default_factory=list)

    def of(self, state: str) -> list[Test]:
        return [test for test in self.tests if test.state == state]


def _test(entry: dict[str, Any]) -> Test:
    return Test(entry["name"], tuple(entry.get("probes", ())),
                **{key: entry.get(key, "") for key in ("lacks", "note", "because", "why_not")})


def _suite(entry: dict[str, Any]) -> Suite:
    made = Suite(entry["id"], entry["title"], entry["version"], [_test(one) for one in entry["test"]])
    for name, times in Counter(test.name for test in made.tests).items():
        if times > 1:
            raise Unusable(f"{made.id}: {name} is there {times} times")
    return made


def read(path: Path) -> list[Suite]:
    """The suites of a file. Raises Unusable."""
    loaded = text.load_toml(path)
    return [_suite(entry) for entry in schema.require("coverage", loaded, path.name)["suite"]]


def check(path: Path) -> list[str]:
    """What is wrong with the file, without regard to the catalogue."""
    try:
        read(path)
    except Unusable as error:
        return [str(error)]
    return []


class Points:
    """The keys of a catalogue, and how many of them a glob matches."""

    def __init__(self, declared: Catalogue) -> None:
        self.keys = [f"{probe.id}.{item.name}" for probe in declared.probes.values()
                     if not probe.id.startswith("meta.") for item in probe.points()]
        self._known: dict[str, int] = {}

    def count(self, glob: str) -> int:
        if glob not in self._known:
            self._known[glob] = len(matching(self.keys, glob))
        return self._known[glob]


def unbuilt(top: Path, declared: Catalogue) -> set[str]:
    """The probes that have a source in the tree and are not in the catalogue."""
    sources = {f"{file.parent.name}.{file.stem}" for file in (top / "probes").glob("*/*.c")
               if file.parent.name not in rules.NO_AREAS}
    return sources - declared.probes.keys()


def stale(suites: Iterable[Suite], points: Points, unbuilt: Iterable[str] = ()) -> Iterator[str]:
    """Globs that match no point, except those that may name a probe that is not built."""
    waiting = list(unbuilt)
    for suite in suites:
        for test in suite.tests:
            for glob in test.globs:
                probe = ".".join(glob.split(".")[:2])
                if not points.count(glob) and not any(fnmatchcase(one, probe) for one in waiting):
                    yield f"{suite.id}: {test.name}: {glob} matches no point"


def counts(suites: Iterable[Suite]) -> list[tuple[str, int, dict[str, int]]]:
    """(suite, tests, tests by state) for each suite, and last for all together."""
    rows = [(suite.id, len(suite.tests), {state: len(suite.of(state)) for state in STATES})
            for suite in suites]
    total = {state: sum(row[2][state] for row in rows) for state in STATES}
    return [*rows, ("all", sum(row[1] for row in rows), total)]


def count_lines(suites: Iterable[Suite]) -> Iterator[str]:
    """What `--count` prints."""
    rows = counts(suites)
    width = max(len(row[0]) for row in rows)
    for name, tests, states in rows:
        yield f"{name:{width}}  {tests:4} tests" + "".join(
            f"  {states[state]:4} {state}" for state in STATES)


def reasons(suite: Suite) -> dict[str, int]:
    """Why tests are not covered, the most frequent kind first."""
    return dict(Counter(test.because for test in suite.of(NOT_COVERED)).most_common())


def markdown(suites: list[Suite], points: Points) -> str:
    """The page `--markdown` prints."""
    def asked(test: Test) -> str:
        return ", ".join(f"{text.markdown(glob)}\u00a0({points.count(glob)})"
                         for glob in test.globs)
    return page.render("coverage.md", suites=suites, rows=counts(suites), states=STATES,
                       because=BECAUSE, reasons=reasons, asked=asked, points=len(points.keys))


def show(suites: list[Suite], console: Console) -> None:
    """Print the numbers, then the tests covered in part or not at all, with the reason."""
    for line in count_lines(suites):
        console.print(line, soft_wrap=True)
    for suite in suites:
        console.print()
        console.print(Text(text.clean(f"{suite.title}, {suite.version}"), "bold"), soft_wrap=True)
        for state in (IN_PART, NOT_COVERED):
            for test in suite.of(state):
                overview.hanging(console, Text(f"  {state:11}  ", STYLES[state]),
                                 text.clean(f"{test.name}: {test.remark}", 700))
