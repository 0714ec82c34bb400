# SPDX-License-Identifier: MIT
"""What the kernel said in its log while a probe ran: an oops, a warning, a stall.

probes/launcher/complaints.def lists such messages. The launcher reads the log of a machine; a
guest's console is read from outside, too.
"""

from __future__ import annotations

import fnmatch
import functools
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from reports import layout, text, xmacro
from reports.layout import Section
from reports.text import Unusable

SOURCE = "probes/launcher/complaints.def"
CLASSES = ("FAULT", "LATE", "WHERE")
SPOILS = frozenset({"oops", "bug", "soft lockup", "hard lockup", "rcu stall", "workqueue lockup"})
LIMIT = 50              # of one result; what is beyond it is counted in a warning
STAMP = re.compile(r"(?:<\d+>)?(?:\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? ?)*")


@dataclass(frozen=True)
class Complaint:
    """One message. `fault`: the kernel is in error, and not only late."""
    kind: str
    message: str
    fault: bool
    sequence: int = -1      # its number in the log; -1 on a console, which has none

    @property
    def spoils(self) -> bool:
        """Whether this kernel's later answers are doubtful: a task of it died, perhaps with locks held, or hangs."""
        return self.kind in SPOILS


@functools.cache
def patterns() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    """Kind, class and expression of each row of the list."""
    rows = xmacro.read(SOURCE, "COMPLAINT", ("kind", "class", "pattern"))
    for row in rows:
        if row["class"] not in CLASSES:
            raise Unusable(f"{SOURCE}: {row['class']} is none of {', '.join(CLASSES)}")
    return tuple((row["kind"], row["class"], re.compile(fnmatch.translate(row["pattern"])))
                 for row in rows)


@functools.cache
def _words() -> tuple[bytes, ...]:
    """Of each pattern its longest part without a wildcard."""
    rows = xmacro.read(SOURCE, "COMPLAINT", ("kind", "class", "pattern"))
    parts = (re.split(r"[*?]|\[[^]]*\]+", row["pattern"]) for row in rows)
    return tuple({max(part, key=len).encode() for part in parts})


def possible(data: bytes) -> bool:
    """May there be a complaint in this? A console can be flooded, and a look at each line is slow."""
    return any(word in data for word in _words())


def _row(message: str) -> tuple[str, str]:
    return next(((kind, of) for kind, of, known in patterns() if known.match(message)), ("", ""))


def of_message(line: str, sequence: int = -1) -> Complaint | None:
    """The complaint that a line of the log or of a console is."""
    message = line[STAMP.match(line).end():]    # type: ignore[union-attr]
    kind, of = _row(message)
    return Complaint(kind, message, of == "FAULT", sequence) if kind and of != "WHERE" else None


def found(kernel: list[tuple[int, str]]) -> list[Complaint]:
    """The complaints among numbered lines of the log; a line that says where joins its report."""
    made: list[Complaint] = []
    for sequence, line in kernel:
        one = of_message(line, sequence)
        if one:
            made.append(one)
        elif made and _row(line)[1] == "WHERE":
            last = made[-1]
            made[-1] = Complaint(last.kind, f"{last.message}; {line}", last.fault, last.sequence)
    return made


def merged(heard: list[tuple[str, Complaint]], warnings: list[str]) -> list[dict[str, Any]]:
    """Each message once, with the probes that ran when it came: several may, side by side."""
    rows: dict[tuple[int, str], dict[str, Any]] = {}
    for step, one in heard:
        row = rows.setdefault((one.sequence, one.message), {
            "kind": one.kind, "fault": one.fault, "message": text.clean(one.message, 1000),
            "during": []})
        if step not in row["during"]:
            row["during"].append(step)
    listed = list(rows.values())
    if len(listed) > LIMIT:
        warnings.append(f"the kernel complained {len(listed)} times; {LIMIT} are kept")
    return listed[:LIMIT]


def told(row: dict[str, Any]) -> str:
    """A row in a line: 'group.size_limit (root): BUG: kernel NULL pointer ...'."""
    steps = [step.split() for step in row["during"]]
    who = {" ".join(step[1:]): step[0] for step in steps}
    first = next(iter(who.items()), ("", ""))
    name = f"{first[0]} ({first[1]})" if first[0] else first[1] or "no probe"
    others = f" or {len(steps) - 1} beside it" if len(steps) > 1 else ""
    return f"{name}{others}: {row['message']}"


def section(listed: list[dict[str, Any]], width: int, command: str) -> Section | None:
    """The part of the first screen; None when the kernel said nothing."""
    if not listed:
        return None
    kinds = Counter(row["kind"] for row in listed)
    said = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
    title = layout.hang(Text("The kernel complained: ", "bold red"), said, width, 2)
    worst = sorted(listed, key=lambda row: not row["fault"])
    rows = [layout.hang(Text("  fault    " if row["fault"] else "  late     ",
                             "bold red" if row["fault"] else "yellow"), told(row), width, 2)
            for row in worst]
    return Section(title, rows, lambda left: [layout.fit(
        Text(f"  {len(left)} more: {command}"), width)])
