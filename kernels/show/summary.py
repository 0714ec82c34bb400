# SPDX-License-Identifier: MIT
"""What a person sees: a live line per kernel on a terminal, a plain one at its end, then a table."""

from __future__ import annotations

import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from kernels.matrix import Matrix, Row
from kernels.place.report import Report
from reports import overview, table, text, wordlist

LIMIT, SHOWN = 2000, 15


def console(stderr: bool = False) -> Console:
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def listing(matrix: Matrix, rows: list[Row], out: Console) -> None:
    """--list: every row with its reason, its limits and its tags."""
    for row in rows or list(matrix.rows.values()):
        what = row.package or f"{row.series} {row.flavour}"
        out.print(
            f"{row.name:<22} {what} ({', '.join(row.suites)}); "
            f"tags: {', '.join(sorted(row.all_tags()))}",
            soft_wrap=True,
        )
        out.print(f"{'':<22} {row.why}", soft_wrap=True)
        if row.unavailable:
            out.print(f"{'':<22} not to be had: {row.unavailable}", soft_wrap=True)
        for limit in row.limits:
            out.print(f"{'':<22} not to be read from it: {limit}", soft_wrap=True)


def counts(verdicts: dict[str, int]) -> str:
    return " ".join(f"{verdicts[word]} {word}" for word in wordlist.EVERY if verdicts.get(word))


def _ended(report: Report) -> str:
    """In a word or two; the reason is told beside it."""
    if report.row.unavailable:
        return "not run"
    return "no result" if report.error else report.outcome.ended


def troubles(report: Report) -> list[str]:
    """Why a row is not done, and what is not whole in one that is."""
    if report.row.unavailable or report.error:
        return [f"{_ended(report)}: {report.row.unavailable or report.error}"]
    why = [] if report.outcome.ended == "done" else [_ended(report), report.outcome.reason]
    return [
        *([f"{why[0]} ({why[1]})"] if why else []),
        *(f"went down: {down}" for down in report.downs),
        *(f"unanswered: {what}" for what in report.lost),
    ]


def line(report: Report) -> str:
    """One kernel, one line, as it ends."""
    name, said = f"{report.row.name:<20}", troubles(report)
    if report.row.unavailable or report.error:
        return text.clean(f"{name} {said[0]}", LIMIT)
    again = (
        ", from the earlier run"
        if report.resumed
        else f", {report.attempts} attempts"
        if report.attempts > 1
        else ""
    )
    if report.outcome.ended == "done":
        said.insert(0, "done")
    if report.unexpected:
        said.append(f"{sum(report.unexpected.values())} unexpected")
    marks = ", ".join(said)
    return text.clean(f"{name} {report.release}: {marks}; {report.wall:.1f} s wall{again}", LIMIT)


def full(report: Report) -> str:
    """All there is to say of one kernel: how it ended, every count, where the time went."""
    verdicts = [f"{persona}: {counts(count)}" for persona, count in report.verdicts.items()]
    spent = [f"{report.wall:.1f} s wall, {report.cpu:.1f} s cpu", _timing(report)]
    more = [text.clean(what, LIMIT) for what in verdicts + (spent if report.guests else [])]
    return "\n  ".join([line(report), *more])


def _cell(report: Report, persona: str) -> Text:
    """unexpected/broken/unknown verdicts of a persona, at all levels it was asked at."""
    asked = [key for key in report.verdicts if key.split()[-1] == persona]
    if not asked:
        return Text("")
    found = [sum(report.unexpected.get(key, 0) for key in asked)] + [
        sum(report.verdicts[key].get(word, 0) for key in asked) for word in ("broken", "unknown")
    ]
    if not any(found):
        return Text("ok", wordlist.STYLES["yes"])
    worst = "broken" if found[0] or found[1] else "unknown"
    return Text("/".join(map(str, found)), wordlist.STYLES[worst])


def picture(reports: list[Report], out: Console) -> None:
    """What a run came to: a line a kernel, and below them what is not whole."""
    asked = {key.split()[-1] for report in reports for key in report.verdicts}
    personas = overview.in_order(asked)
    heads = {"kernel": "left", "release": "cut", "ended": "left"}
    heads |= dict.fromkeys(personas, "left") | {"wall": "right"}
    lines = [
        [
            Text(report.row.name),
            Text(text.clean(report.release, 80)),
            Text(_ended(report)),
            *(_cell(report, persona) for persona in personas),
            Text(f"{report.wall:.0f} s" if report.guests else ""),
        ]
        for report in reports
    ]
    out.print()
    table.listing(heads, lines, out)
    out.print()
    if personas:
        who = Text(f"{', '.join(personas)}: ")
        overview.hanging(out, who, "unexpected/broken/unknown verdicts, ok when there are none")
    for report in reports:
        said = troubles(report)
        more = [f"{len(said) - SHOWN} more, see below"] if len(said) > SHOWN else []
        for trouble in said[:SHOWN] + more:
            overview.hanging(out, Text(f"{report.row.name}: "), text.clean(trouble, LIMIT))


def _timing(report: Report) -> str:
    """What the guests of a row took, and how much of it a bare boot of the same kernel is."""
    first = report.guests[0] if report.guests else {}
    stage = "ready" if first.get("start") == "snapshot" else "init"
    up, up_cpu = (first.get(key, {}).get(stage, 0.0) for key in ("times", "cpu_times"))
    how = "resumed" if first.get("start") == "snapshot" else "booted"
    said = f"{how} in {up:.1f} s wall, {up_cpu:.1f} s cpu"
    if up and up_cpu and first.get("wall"):
        said += (
            f"; with its probes {first['wall']:.1f} s wall, {first['cpu']:.1f} s cpu "
            f"({first['wall'] / up:.1f} and {first['cpu'] / up_cpu:.1f} times that)"
        )
    if len(report.guests) > 1:
        others = sorted(guest["wall"] for guest in report.guests[1:])
        saved = sum(guest["start"] == "snapshot" for guest in report.guests[1:])
        said += (
            f"; {len(others)} more guests, {saved} from a snapshot, "
            f"{others[len(others) // 2]:.1f} s each in the middle"
        )
    return said


def junit(reports: list[Report]) -> str:
    """A test case a kernel: failed when there is something to look at or no result."""
    suite = ElementTree.Element("testsuite", name="kernels", tests=str(len(reports)))
    for report in reports:
        case = ElementTree.SubElement(
            suite, "testcase", classname="kernels", name=report.row.name, time=f"{report.wall:.1f}"
        )
        if report.row.unavailable:
            ElementTree.SubElement(case, "skipped", message=report.row.unavailable)
        elif report.status:
            ElementTree.SubElement(case, "failure", message=full(report))
    return ElementTree.tostring(suite, encoding="unicode") + "\n"


def total(reports: list[Report], wall: float) -> str:
    """How many, how many of them without a result, and what it took."""
    failed = sum(1 for report in reports if report.error)
    without = f", {failed} without a result" if failed else ""
    missing = sum(1 for report in reports if report.row.unavailable)
    without += f", {missing} not to be had" if missing else ""
    cpu = sum(report.cpu for report in reports if not report.resumed)
    return (
        f"{len(reports)} kernels{without} in {wall:.0f} s wall, {cpu:.0f} s cpu of guests"
    )


class Progress:
    """State per kernel; silent unless standard error is a terminal."""

    def __init__(self, rows: list[Row], out: Console) -> None:
        self.out = out
        self.began = {row.name: 0.0 for row in rows}
        self.state = {row.name: "waiting" for row in rows}

    def set(self, row: Row, state: str) -> None:
        if not self.began.get(row.name):
            self.began[row.name] = time.monotonic()
        self.state[row.name] = state

    def done(self, row: Row) -> None:
        self.state.pop(row.name, None)

    def note(self, said: str) -> None:
        if self.out.is_terminal:
            self.out.print(Text(text.clean(said, LIMIT), style="dim"), soft_wrap=True)

    def result(self, said: str) -> None:
        """A finished line goes to standard output; above the live ones on a shared terminal."""
        if self.out.is_terminal and sys.stdout.isatty():
            self.out.print(Text(said), soft_wrap=True)
        else:
            print(said, flush=True)

    def __rich__(self) -> Table:
        live = Table.grid(padding=(0, 2))
        for name, state in list(self.state.items()):
            began = self.began[name]
            spent = f"{time.monotonic() - began:.0f} s" if began else ""
            live.add_row(
                Text(name, style="bold"),
                Text(spent),
                Text(state, no_wrap=True, overflow="ellipsis"),
            )
        return live

    @contextmanager
    def live(self) -> Iterator[None]:
        if not self.out.is_terminal:
            yield
            return
        with Live(
            self,
            console=self.out,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        ):
            yield
