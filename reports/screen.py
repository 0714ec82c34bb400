# SPDX-License-Identifier: MIT
"""The first screen: what one run found, in as many lines as a person reads at once.

Nothing is left out in silence: where lines are cut to fit, the screen says how many more there are
and which command shows them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from reports import areas, complaints, gates, history, layout, surprise, text, wordlist
from reports.layout import Section
from reports.personas import in_order

LINES = 40              # with one of run.sh, and with what is said above the screen
CAN_BE_LIFTED = 3       # times as much as other hardware or another kernel, where there is no room for all
LIFT_ROOM = 26          # or what would lift a gate stands on a line of its own
FULL_WIDTH = 80         # a narrower screen takes more lines
STYLES = {"unexpected": "bold red", "broken": "red", "differs": "yellow", "news": "green"}
KINDS = {"unexpected": "unexpected", "differs": "other than shipped", "broken": "broken as known",
         "news": "better than expected"}


@dataclass(frozen=True)
class Page:
    """A screen in the making: the result, where it is, and how it is shown."""
    result: dict[str, Any]
    folder: str             # where it is
    place: str              # the same, as a person types it soon after
    width: int
    unicode: bool
    before: tuple[str, dict[str, Any]] | None = None    # an earlier run: its folder, its result
    profiles: tuple[tuple[str, dict[str, Any]], ...] = ()
    above: int = 0          # lines that are on the screen already

    @property
    def personas(self) -> list[str]:
        return in_order(self.result["personas"])

    @property
    def command(self) -> str:
        return f"./run.sh report table {self.place}"

    def who(self, personas: list[str] | tuple[str, ...]) -> str:
        """' (user)', or nothing where it is all of them."""
        return "" if len(personas) == len(self.personas) else f" ({', '.join(personas)})"


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else "nobody"


def _and_more(others: int) -> str:
    return f" and {others} more" if others else ""


# ------------------------------------------------------------------------------------- the head

def _machine(result: dict[str, Any]) -> str:
    identity, env = result["identity"], result["environment"]
    model = identity.get("cpu_model", [""])[0] or identity.get("board", "")
    cpus = str(env.get("cpus_online", ""))
    counted = cpus.isascii() and cpus.isdigit() and len(cpus) < 6
    parts = [f"Linux {identity['release']} {identity['arch']}", model,
             identity.get("emulator") or identity.get("hypervisor", ""),
             text.count(int(cpus), "CPU") if counted else "",
             f"paranoid {env['paranoid']}" if "paranoid" in env else ""]
    return text.clean(" | ".join(filter(None, parts)), 300)


def _time(result: dict[str, Any]) -> str:
    return f"{result['started'][:10]} {result['started'][11:16]} UTC"


def _asked(page: Page) -> str:
    result = page.result
    asked = [len(part["probes"]) for part in result["personas"].values()]
    points = [sum(counts.values()) for counts in result["summary"].values()]
    said = (f"suite {result['suite']}, {text.count(max(asked, default=0), 'probe')}, "
            f"{text.count(max(points, default=0), 'point')}, as {_listed(page.personas)}")
    if "seconds" in result:
        said += f", in {result['seconds']} s"
    flags = result["environment"].get("launch_flags")
    return text.clean(said + (f"; lied to with {flags}" if flags else ""), 300)


def _head(page: Page) -> list[Text]:
    lines = layout.hang(Text(""), _machine(page.result), page.width, 2)
    for line in lines:
        line.stylize("bold")
    return [*lines, *layout.hang(Text(""), _asked(page), page.width, 2), Text("")]


# --------------------------------------------------------------------------------- the sections

def _beside(page: Page, differing: int) -> str:
    """What the result was held against."""
    compared = surprise.compared(page.result, list(page.profiles))
    if not page.profiles:
        return "no profile of this series ships"
    names = text.clean(", ".join(name for name, _ in page.profiles), 60)
    return f"{compared - differing} of {compared} facts as {names} ships"


def _surprises(page: Page) -> Section:
    found = surprise.find(page.result, list(page.profiles))
    rows = []
    for each in found:
        word = each.verdict if each.kind in ("broken", "unexpected") else each.kind
        head = Text(f"  {word:<9}", STYLES[each.kind])
        said = f"{each.key}{page.who(each.personas)}: {each.evidence}"
        most = 2 if each.kind == "unexpected" or page.width < FULL_WIDTH else 1
        rows.append(layout.hang(head, said, page.width, most))
    kinds = Counter(each.kind for each in found)
    said = ", ".join(f"{kinds[kind]} {about}" for kind, about in KINDS.items() if kinds[kind])
    title = layout.hang(Text("Surprising: ", "bold"),
                        f"{said or 'nothing'}; {_beside(page, kinds['differs'])}", page.width, 2)
    return Section(title, rows,
                   lambda left: [layout.fit(Text(f"  {len(left)} more: {page.command}"), page.width)])


def _gates(page: Page) -> Section:
    """A line a gate: what it costs each persona, and what would lift it."""
    found = gates.costs(page.result)
    name = max([len(cost.gate.name) for cost in found], default=0) + 2
    cells = [max(len(persona), 4) + 1 for persona in page.personas]
    if 2 + name + sum(cells) > page.width - 12:
        cells = [5] * len(cells)
    title = Text("Refused, by".ljust(name + 2), "bold")
    for persona, width in zip(page.personas, cells):
        title.append(persona[:width - 1].rjust(width))
    beside = page.width - 2 - name - sum(cells) - 2 >= LIFT_ROOM
    title.append("  what would lift it" if beside else "", "bold")
    rows = []
    for cost in found:
        head = Text("  " + cost.gate.name.ljust(name))
        for persona, width in zip(page.personas, cells):
            number = cost.points[persona]
            head.append(str(number or "-").rjust(width), "" if number else "dim")
        head.append("  ")
        if beside:
            rows.append(layout.hang(head, cost.gate.lift, page.width, 2))
        else:
            rows.append([layout.fit(head, page.width),
                         *layout.hang(Text("    "), cost.gate.lift, page.width, 1)])

    def more(left: list[int]) -> list[Text]:
        answers = sum(found[index].points.total() for index in left)
        said = f"  {len(left)} more, {text.count(answers, 'answer')}: {page.command}"
        return [layout.fit(Text(said), page.width)]
    weight = [found[index].points.total() * (CAN_BE_LIFTED if "blocked" in found[index].gate.verdicts else 1)
              for index in range(len(found))]
    return Section([layout.fit(title, page.width)] if rows else
                   [layout.fit(Text("Refused: nothing", "bold"), page.width)], rows, more, least=6,
                   drop=sorted(range(len(found)), key=lambda index: weight[index]))


def _unknown(page: Page) -> Section:
    """What could not be told, the same reason said once."""
    found: dict[str, list[str]] = {}
    for part in page.result["personas"].values():
        for probe_id, record in part["probes"].items():
            for name, point in record["points"].items():
                if point["verdict"] == "unknown":
                    found.setdefault(point.get("reason", ""), []).append(f"{probe_id}.{name}")
    told = [text.clean(f"{keys[0]}{_and_more(len(keys) - 1)}: {reason}", 600)
            for reason, keys in sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))]
    total = sum(map(len, found.values()))
    title = Text("Could not tell: ", "bold")
    if len(told) == 1:
        return Section(layout.hang(title, told[0], page.width, 1), [], lambda _: [])
    title.append(text.count(total, "answer") if total else "nothing", "not bold")
    rows = [layout.hang(Text("  unknown  ", "red"), said, page.width, 1) for said in told]
    return Section([layout.fit(title, page.width)], rows, lambda left: [layout.fit(
        Text(f"  {len(left)} more reasons: {page.command}"), page.width)])


def _changes(page: Page) -> Section:
    """What the last run here said otherwise."""
    if page.before is None:
        title = Text.assemble(("Since the last run", "bold"), ": this is the first")
        return Section([layout.fit(title, page.width)], [], lambda _: [])
    earlier, before = page.before
    found = history.compare(before, page.result)
    rows = [layout.hang(Text("  setting  ", "cyan"), line, page.width, 1)
            for line in found.settings]
    groups = history.grouped(found.changes)
    for change, others in groups:
        said = (f"{change.key}{_and_more(others)}{page.who(change.personas)}: {change.was} -> "
                f"{change.now}" + (f": {change.reason}" if change.reason else ""))
        rows.append(layout.hang(Text("  changed  ", wordlist.STYLES[change.now]),
                                text.clean(said, 600), page.width, 1))
    command = f"./run.sh report diff {earlier} {page.place}"
    if any(others for _, others in groups):
        rows.append([layout.fit(Text(f"  each     {command}"), page.width)])
    title = Text("Since the last run", "bold")
    what = [text.count(len(found.changes), "point") + " changed"] if found.changes else []
    asked = {"new": found.new, "gone": found.gone}
    what += [f"{number} {word}" for word, number in asked.items() if number]
    title.append(f" ({_time(before)}): {', '.join(what) or 'nothing changed'}", "not bold")
    return Section([layout.fit(title, page.width)], rows, lambda left: [layout.fit(
        Text(f"  {len(left)} more: {command}"), page.width)])


def _foot(page: Page) -> list[Text]:
    commands = {page.command: "each probe, and its reasons",
                "./run.sh doctor": "what a program can do here",
                "./run.sh kernels --list": "other kernels, in QEMU"}
    when = f" ({_time(page.result)})" if "started" in page.result else ""
    longest = max(map(len, commands)) + 4
    beside = page.width - longest >= 24
    if len(page.folder) + len(when) > page.width - len("Results in ; next:"):
        when = ""
    title = Text.assemble(("Results", "bold"), f" in {page.folder}{when}; next:")
    lines = [Text(""), layout.fit(title, page.width)]
    for command, about in commands.items():
        line = Text("  " + command.ljust(longest - 2) if beside else "  " + command)
        line.append(about if beside else "", "dim")
        lines.append(layout.fit(line, page.width))
    return lines


# ------------------------------------------------------------------------------------ the whole

def _budget(page: Page) -> int:
    """Lines that are left; a narrow screen takes more."""
    return LINES * max(FULL_WIDTH, page.width) // page.width - 1 - page.above


def lines(page: Page) -> Iterator[Text]:
    """The screen, no line wider and no more lines than there is room for."""
    heard = complaints.section(page.result.get("complaints", []), page.width, page.command)
    body = [areas.section(page.result, page.personas, page.width, page.unicode, page.command),
            *([heard] if heard else []), _surprises(page), _gates(page), _unknown(page),
            _changes(page)]
    head, foot = _head(page), _foot(page)
    gaps = [bool(each.rows) for each in body]
    fixed = len(head) + len(foot) + sum(len(each.title) for each in body) + sum(gaps)
    given = layout.allot(body, _budget(page) - fixed)
    yield from head
    for index, (each, room) in enumerate(zip(body, given)):
        if index and (gaps[index] or gaps[index - 1]):
            yield Text("")
        yield from each.title
        yield from each.lines(room)
    yield from foot


def name_of(folder: Path) -> str:
    """How a person names the folder of a result, from the root of the tree."""
    real = Path(os.path.realpath(folder))
    here = real.is_relative_to(Path.cwd())
    return text.clean(os.path.relpath(real) if here else str(real), 200)


def place_of(folder: Path) -> str:
    """The same; the latest run in results/ is called that."""
    latest = history.FOLDER / "latest"
    return str(latest) if os.path.realpath(latest) == os.path.realpath(folder) else name_of(folder)


def show(result: dict[str, Any], path: Path, console: Console, unicode: bool, above: int = 0) -> None:
    """Print the screen of a result that lies at this path, below so many lines of warnings."""
    here = path if path.is_dir() else path.parent
    last = history.last(result, here=here)
    page = Page(result, name_of(here), place_of(here), console.width, unicode,
                (name_of(last[0]), last[1]) if last else None, tuple(surprise.of_series(result)), above)
    for line in lines(page):
        if not unicode:
            plain = line.plain.encode("ascii", "backslashreplace").decode("ascii")
            if plain != line.plain:
                line = layout.fit(Text(plain), console.width)
        console.print(line, soft_wrap=True)
