# SPDX-License-Identifier: MIT
"""What a person sees: a live line per kernel on a terminal, one plain line at its end."""

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
from kernels.report import Report

ORDER = ("yes", "no", "broken", "blocked", "absent", "hazard", "unknown")


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
    return " ".join(f"{verdicts[word]} {word}" for word in ORDER if verdicts.get(word))


def line(report: Report) -> str:
    """One kernel, one line."""
    name, outcome = f"{report.row.name:<20}", report.outcome
    if report.row.unavailable:
        return f"{name} not run: {report.row.unavailable}"
    if report.error:
        return f"{name} no result: {report.error}"
    ended = outcome.ended if outcome.ended == "done" else f"{outcome.ended} ({outcome.reason})"
    again = (
        ", from the earlier run"
        if report.resumed
        else f", {report.attempts} attempts"
        if report.attempts > 1
        else ""
    )
    verdicts = [f"{persona}: {counts(count)}" for persona, count in report.verdicts.items()]
    apart = "\n  " if len(verdicts) > 4 else "; "
    marks = ", unexpected verdicts" if report.unexpected else ""
    marks += "".join(f", went down: {down}" for down in report.downs)
    marks += "".join(f", unanswered: {what}" for what in report.lost)
    return apart.join(
        [
            f"{name} {report.release}: {ended}{marks}",
            *verdicts,
            f"{report.wall:.1f} s wall, {report.cpu:.1f} s cpu{again}",
        ]
    )


def _timing(report: Report) -> str:
    """What the guests of a row took, and how much of it a bare boot of the same kernel is."""
    first = report.guests[0] if report.guests else {}
    stage = "ready" if first.get("start") == "snapshot" else "init"
    up, up_cpu = (first.get(key, {}).get(stage, 0.0) for key in ("times", "cpu_times"))
    how = "resumed" if first.get("start") == "snapshot" else "booted"
    text = f"{how} in {up:.1f} s wall, {up_cpu:.1f} s cpu"
    if up and up_cpu and first.get("wall"):
        text += (
            f"; with its probes {first['wall']:.1f} s wall, {first['cpu']:.1f} s cpu "
            f"({first['wall'] / up:.1f} and {first['cpu'] / up_cpu:.1f} times that)"
        )
    if len(report.guests) > 1:
        others = sorted(guest["wall"] for guest in report.guests[1:])
        saved = sum(guest["start"] == "snapshot" for guest in report.guests[1:])
        text += (
            f"; {len(others)} more guests, {saved} from a snapshot, "
            f"{others[len(others) // 2]:.1f} s each in the middle"
        )
    return text


def times(reports: list[Report]) -> list[str]:
    """The time per row, for a person who wonders where it went."""
    return [f"{report.row.name:<20} {_timing(report)}" for report in reports if report.guests]


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
            ElementTree.SubElement(case, "failure", message=line(report))
    return ElementTree.tostring(suite, encoding="unicode") + "\n"


def total(reports: list[Report], wall: float, folder: str) -> str:
    """The last line: how many, how many of them without a result, and what it took."""
    failed = sum(1 for report in reports if report.error)
    without = f", {failed} without a result" if failed else ""
    missing = sum(1 for report in reports if report.row.unavailable)
    without += f", {missing} not to be had" if missing else ""
    cpu = sum(report.cpu for report in reports if not report.resumed)
    return (
        f"{len(reports)} kernels{without} in {wall:.0f} s wall, {cpu:.0f} s cpu of guests: {folder}"
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

    def note(self, text: str) -> None:
        if self.out.is_terminal:
            self.out.print(Text(text, style="dim"), soft_wrap=True)

    def result(self, text: str) -> None:
        """A finished line goes to standard output; above the live ones on a shared terminal."""
        if self.out.is_terminal and sys.stdout.isatty():
            self.out.print(Text(text), soft_wrap=True)
        else:
            print(text, flush=True)

    def __rich__(self) -> Table:
        table = Table.grid(padding=(0, 2))
        for name, state in list(self.state.items()):
            began = self.began[name]
            spent = f"{time.monotonic() - began:.0f} s" if began else ""
            table.add_row(
                Text(name, style="bold"),
                Text(spent),
                Text(state, no_wrap=True, overflow="ellipsis"),
            )
        return table

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
