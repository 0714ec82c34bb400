# SPDX-License-Identifier: MIT
"""Points as rows, kernels and personas as columns: for the terminal and as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reports import expect, overview, text, wordlist

CELL_LIMIT = 20
REASON_ROOM = 40


@dataclass
class Column:
    """What one persona of one result says, by key."""
    title: str
    points: dict[str, dict[str, Any]]
    facts: dict[str, Any]

    def word(self, key: str) -> str:
        if key in self.points:
            return str(self.points[key]["verdict"])
        return shown(self.facts[key]) if key in self.facts else ""

    def reason(self, key: str) -> str:
        return str(self.points.get(key, {}).get("reason", ""))


def shown(value: Any) -> str:
    """The value of a fact as a person reads it."""
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _column(result: dict[str, Any], persona: str, title: str) -> Column:
    probes = result["personas"].get(persona, {"probes": {}})["probes"]
    points = {f"{probe_id}.{name}": point for probe_id, record in probes.items()
              for name, point in record["points"].items()}
    facts = {f"{probe_id}.{name}": value for probe_id, record in probes.items()
             for name, value in record["facts"].items()}
    return Column(title, points, facts)


def _titles(results: list[dict[str, Any]]) -> list[str]:
    """A title per result: its release, what else they differ in, a number for twins."""
    titles = [result["identity"]["release"] for result in results]
    if len({result["identity"]["arch"] for result in results}) > 1:
        titles = [f"{result['identity']['arch']} {title}"
                  for result, title in zip(results, titles)]
    levels = [str(result["environment"].get("paranoid", "none")) for result in results]
    if len(set(titles)) < len(titles) and len(set(levels)) > 1:
        titles = [f"{title} paranoid {level}" for title, level in zip(titles, levels)]
    times, seen, made = Counter(titles), Counter[str](), []
    for title in titles:
        seen[title] += 1
        made.append(f"{title} #{seen[title]}" if times[title] > 1 else title)
    return [text.clean(title, 80) for title in made]


def columns(results: list[dict[str, Any]], persona: str | None) -> list[Column]:
    """One result: a column per persona. Several: one each, or all with persona 'all'."""
    made = []
    for result, title in zip(results, _titles(results)):
        names = overview.in_order(result["personas"])
        if persona not in (None, "all"):
            names = [persona] if persona in names else []
        elif len(results) > 1 and persona is None:
            names = names[:1]     # the most privileged stands for the kernel
        for name in names:
            made.append(_column(result, name, name if len(results) == 1 else f"{title} {name}"))
    return made


def rows(made: list[Column], every: bool) -> list[str]:
    """The keys to show; without `every` only points where some column is not yes."""
    keys = sorted({key for column in made for key in (*column.points, *column.facts)})
    if every:
        return keys
    return [key for key in keys if any(
        column.points.get(key, {"verdict": "yes"})["verdict"] != "yes" for column in made)]


def _reasons(made: list[Column], key: str) -> str:
    """The reasons of a row, each once."""
    return "; ".join(dict.fromkeys(filter(None, (column.reason(key) for column in made))))


class _Grid:
    """Rows as wide as they need to be; the reason beside them where there is room, else below."""

    def __init__(self, made: list[Column], keys: list[str], console: Console) -> None:
        self.made, self.console = made, console
        self.heads = [column.title.split() for column in made]
        limit = max(CELL_LIMIT, (console.width - 60) // len(made))
        self.widths = [min(limit, max(map(len, [*head, *map(column.word, keys)]), default=1))
                       + 2 for column, head in zip(made, self.heads)]
        room = max(console.width - sum(self.widths), 24)
        self.name_width = min(max(map(len, ["point", *keys])) + 2, room)
        used = self.name_width + sum(self.widths)
        self.reason_beside = console.width - used >= REASON_ROOM

    def line(self, name: str, words: list[str]) -> Text:
        """One line of cells; a name that is too long stands on a line above them."""
        if len(name) + 2 > self.name_width:
            self.console.print(Text(name), soft_wrap=True)
            name = ""
        line = Text(name.ljust(self.name_width))
        for word, width in zip(words, self.widths):
            cell = word if len(word) + 2 <= width else word[:width - 4] + ".."
            line.append(cell.ljust(width), wordlist.STYLES.get(word, ""))
        return line

    def put(self, line: Text) -> None:
        line.rstrip()
        self.console.print(line, soft_wrap=True)

    def header(self) -> None:
        height = max(map(len, self.heads))
        for level in range(height):
            words = [([""] * (height - len(head)) + head)[level] for head in self.heads]
            line = self.line("point" if level == height - 1 else "", words)
            line.stylize("bold")
            self.put(line)

    def row(self, key: str) -> None:
        line = self.line(key, [text.clean(column.word(key), 200) for column in self.made])
        reason = text.clean(_reasons(self.made, key), 600)
        if reason and self.reason_beside:
            overview.hanging(self.console, line, reason)
            return
        self.put(line)
        if reason:
            overview.hanging(self.console, Text("    "), reason)


def listing(heads: dict[str, str], lines: Iterable[list[Text]], console: Console) -> None:
    """Plain columns by heads: `left` and `right` keep their width, `fold` and `cut` give way."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for head, how in heads.items():
        table.add_column(head, justify="right" if how == "right" else "left",
                         no_wrap=how in ("left", "right"),
                         overflow="ellipsis" if how == "cut" else "fold")
    for cells in lines:
        table.add_row(*cells)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        console.file.write(line.rstrip() + "\n")


def terminal(made: list[Column], every: bool, console: Console) -> None:
    """The table of several columns, an empty line between areas."""
    keys = rows(made, every)
    if not keys:
        console.print("every point is yes (--all shows them)")
        return
    grid = _Grid(made, keys, console)
    grid.header()
    area = ""
    for key in keys:
        if area != (area := key.partition(".")[0]):
            console.print()
        grid.row(key)
    console.print()


def _markdown_row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def as_markdown(made: list[Column], every: bool) -> Iterator[str]:
    """The same as lines of a Markdown table."""
    yield _markdown_row(["point", *(text.markdown(column.title) for column in made), "reason"])
    yield _markdown_row(["---"] * (len(made) + 2))
    for key in rows(made, every):
        words = [text.markdown(text.clean(column.word(key), 120)) for column in made]
        reason = text.markdown(text.clean(_reasons(made, key), 300))
        yield _markdown_row([text.markdown(key), *words, reason])


def _unit(result: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(persona, f"{probe_id}.{name}"): point
            for persona, probe_id, name, point in expect.points(result)}


def difference(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    """One line per point that differs between two results."""
    old, new = _unit(before), _unit(after)
    for persona, key in sorted({*old, *new}):
        was, now = old.get((persona, key)), new.get((persona, key))
        words = [point["verdict"] if point else "(not there)" for point in (was, now)]
        if words[0] != words[1]:
            reason = (now or {}).get("reason", "")
            yield text.clean(f"{persona} {key}: {words[0]} -> {words[1]}"
                             + (f": {reason}" if reason else ""), 1200)


def timing(result: dict[str, Any]) -> list[tuple[int, str, str, int]]:
    """(ms, persona, probe id, points), slowest first."""
    spent = [(record["ms"], persona, probe_id, len(record["points"]))
             for persona, part in result["personas"].items()
             for probe_id, record in part["probes"].items() if "ms" in record]
    return sorted(spent, key=lambda row: (-row[0], row[1], row[2]))
