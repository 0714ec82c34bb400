# SPDX-License-Identifier: MIT
"""Points as rows, kernels and personas as columns: for the terminal and as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reports import expect, overview, text


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
    """A title per result: its release, and the architecture or a number where that is not one."""
    titles = [result["identity"]["release"] for result in results]
    if len(set(titles)) < len(titles):
        titles = [f"{result['identity']['arch']} {title}"
                  for result, title in zip(results, titles)]
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
    points = [key for key in keys if any(key in column.points for column in made)]
    return [key for key in points if any(column.word(key) != "yes" for column in made)]


def _reasons(made: list[Column], key: str) -> str:
    """The reasons of a row, each once."""
    return "; ".join(dict.fromkeys(filter(None, (column.reason(key) for column in made))))


def terminal(made: list[Column], every: bool, console: Console) -> None:
    """A table as wide as the terminal; the reasons stand below their row where it is narrow."""
    wide = console.width >= 120
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("point", overflow="fold")
    for column in made:
        table.add_column(Text(column.title), overflow="fold")
    if wide:
        table.add_column("reason", overflow="fold", ratio=1)
    area = ""
    for key in rows(made, every):
        if area and area != key.partition(".")[0]:
            table.add_section()
        area = key.partition(".")[0]
        _row(table, made, key, wide)
    console.print(table)


def _row(table: Table, made: list[Column], key: str, wide: bool) -> None:
    reason = text.clean(_reasons(made, key), 600)
    first = Text(key)
    if reason and not wide:
        first.append(f"\n  {reason}", style="bright_black")
    cells = [Text(text.clean(word, 120), style=overview.STYLES.get(word, ""))
             for word in (column.word(key) for column in made)]
    table.add_row(first, *cells, *([Text(reason)] if wide else []))


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
