# SPDX-License-Identifier: MIT
"""Summaries of a run: a line for each place, a table, all counts, JUnit."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.text import Text

from kernels.place.report import Report
from reports import overview, table, terminal, text, wordlist
from reports.personas import in_order

LIMIT, SHOWN = 2000, 15


def console(stderr: bool = False) -> Console:
    return terminal.console(stderr=stderr)


def counts(verdicts: dict[str, int]) -> str:
    return " ".join(f"{verdicts[word]} {word}" for word in wordlist.EVERY if verdicts.get(word))


def _ended(report: Report) -> str:
    """How a place ended, in a word or two."""
    if report.unavailable:
        return "not run"
    return "no result" if report.error else report.outcome.ended


def troubles(report: Report) -> list[str]:
    """Why a place is not done, or what is missing if it is."""
    if report.unavailable or report.error:
        return [f"{_ended(report)}: {report.unavailable or report.error}"]
    why = [] if report.outcome.ended == "done" else [_ended(report), report.outcome.reason]
    return [
        *([f"{why[0]} ({why[1]})"] if why else []),
        *(f"went down: {down}" for down in report.downs),
        *(f"unanswered: {what}" for what in report.lost),
        *(f"the kernel complained: {fault}" for fault in report.faults),
        *([_late(report.late)] if report.late else []),
    ]


def _late(late: list[str]) -> str:
    """A starved emulator makes any kernel late: one line for all of that."""
    more = f", and {len(late) - 1} times more" if len(late) > 1 else ""
    return f"the kernel was late: {late[0]}{more}"


def line(report: Report, spoken: Callable[[str], str] = lambda said: said) -> str:
    """One line for a place that has ended. `spoken` makes of what is wrong what is shown."""
    name, said = f"{report.name:<20}", [spoken(trouble) for trouble in troubles(report)]
    if report.unavailable or report.error:
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
    """Everything about one place: how it ended, every count, where the time went."""
    verdicts = [f"{persona}: {counts(count)}" for persona, count in report.verdicts.items()]
    spent = [f"{report.wall:.1f} s wall, {report.cpu:.1f} s cpu", _timing(report)]
    more = [text.clean(what, LIMIT) for what in verdicts + (spent if report.guests else [])]
    return "\n  ".join([line(report), *more])


def _cell(report: Report, persona: str) -> Text:
    """unexpected/broken/unknown verdicts of a persona, summed over all levels."""
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


def picture(
    reports: list[Report], out: Console, what: str = "kernel",
    spoken: Callable[[str, str], str] = lambda name, said: said,
) -> None:  # fmt: skip
    """Print a table with a line for each place, and below it what went wrong."""
    asked = {key.split()[-1] for report in reports for key in report.verdicts}
    personas = in_order(asked)
    heads = {what: "left", "release": "cut", "ended": "left"}
    heads |= dict.fromkeys(personas, "left") | {"wall": "right"}
    lines = [
        [
            Text(report.name),
            Text(text.clean(report.release, 80)),
            Text(_ended(report)),
            *(_cell(report, persona) for persona in personas),
            Text(f"{report.wall:.0f} s" if report.wall else ""),
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
            overview.hanging(out, Text(f"{report.name}: "), text.clean(spoken(report.name, trouble), LIMIT))


def _timing(report: Report) -> str:
    """The time that the guests of a row took, compared with the boot alone."""
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


def junit(reports: list[Report], name: str = "kernels") -> str:
    """JUnit with a test case for each place. It fails on anything to look at; without a result it is an
    error."""
    suite = ElementTree.Element("testsuite", name=name, tests=str(len(reports)))
    for report in reports:
        case = ElementTree.SubElement(
            suite, "testcase", classname=name, name=report.name, time=f"{report.wall:.1f}"
        )
        if report.unavailable:
            ElementTree.SubElement(case, "skipped", message=report.unavailable)
        elif report.error or report.outcome.infra:
            ElementTree.SubElement(case, "error", message=full(report))
        elif report.status:
            ElementTree.SubElement(case, "failure", message=full(report))
    return ElementTree.tostring(suite, encoding="unicode") + "\n"


def total(reports: list[Report], wall: float, what: str = "kernel") -> str:
    """How many places, how many without a result, and how long they took."""
    failed = sum(1 for report in reports if report.error)
    without = f", {failed} without a result" if failed else ""
    missing = sum(1 for report in reports if report.unavailable)
    without += f", {missing} unavailable" if missing else ""
    cpu = sum(report.cpu for report in reports if not report.resumed)
    spent = f", {cpu:.0f} s cpu of guests" if what == "kernel" else ""
    return f"{len(reports)} {what}{'s' * (len(reports) != 1)}{without} in {wall:.0f} s wall{spent}"


def clean(said: str) -> str:
    """A line of whatever origin, safe for a terminal."""
    return text.clean(said, LIMIT)


def closing(
    reports: list[Report], names: list[str], wall: float, folder: Path, what: str = "kernel",
    spoken: Callable[[str, str], str] = lambda name, said: said,
) -> None:  # fmt: skip
    """Print the table in the order of the names; write every count into a file. `spoken` makes of what is
    said of a place what the operator may read."""
    reports.sort(key=lambda report: names.index(report.name))
    file = folder / "rows.txt"
    try:
        file.write_text("".join(f"{full(report)}\n" for report in reports), encoding="utf-8")
    except OSError as error:    # which does not say into which file
        raise OSError(error.errno, error.strerror, str(file)) from error
    picture(reports, console(), what, spoken)
    print(total(reports, wall, what))
    print(f"in full: {os.path.relpath(file)}")
