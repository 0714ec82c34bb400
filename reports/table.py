# SPDX-License-Identifier: MIT
"""Tables with points as rows and kernels or personas as columns, as text and as Markdown."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reports import overview, text, wordlist
from reports.personas import in_order

CELL_LIMIT = 20
REASON_ROOM = 40


@dataclass
class Column:
    """What one persona of one result says, by the key of a point or fact."""
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
    """The value of a fact as text."""
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _column(result: dict[str, Any], persona: str, title: str) -> Column:
    probes = result["personas"].get(persona, {"probes": {}})["probes"]
    points = {f"{probe_id}.{name}": point for probe_id, record in probes.items()
              for name, point in record["points"].items()}
    facts = {f"{probe_id}.{name}": value for probe_id, record in probes.items()
             for name, value in record["facts"].items()}
    return Column(title, points, facts)


def names_of(paths: Sequence[Path]) -> list[str]:
    """The end of each path that tells it from the others: the row of a matrix, or row and level."""
    folders = [Path(os.path.abspath(path if path.is_dir() else path.parent)) for path in paths]
    for depth in (1, 2, 3):
        names = ["/".join(folder.parts[-depth:]) for folder in folders]
        if len(set(names)) == len(set(folders)):
            break
    return names


def _titles(results: list[dict[str, Any]], names: Sequence[str]) -> list[str]:
    """A title for each result: its release. Where releases repeat, the level of
    perf_event_paranoid is added if it tells them apart, or else the name of the row."""
    releases = [result["identity"]["release"] for result in results]
    levels = [str(result["environment"].get("paranoid", "none")) for result in results]
    several = len({result["identity"]["arch"] for result in results}) > 1
    made = []
    for index, (result, release) in enumerate(zip(results, releases)):
        twins = [other for other in range(len(results)) if releases[other] == release]
        arch = f"{result['identity']['arch']} " if several else ""
        if len({levels[other] for other in twins}) == len(twins) > 1:
            made.append(f"{arch}{release} paranoid {levels[index]}")
        elif names and len({names[other] for other in twins}) > 1:
            made.append(f"{names[index]} {release}")
        else:
            made.append(f"{arch}{release}")
    return [text.clean(title, 80) for title in _numbered(made)]


def _numbered(titles: list[str]) -> list[str]:
    times, seen, made = Counter(titles), Counter[str](), []
    for title in titles:
        seen[title] += 1
        made.append(f"{title} #{seen[title]}" if times[title] > 1 else title)
    return made


def columns(results: list[dict[str, Any]], persona: str | None,
            names: Sequence[str] = ()) -> list[Column]:
    """One result: a column for each persona. Several: one each, or all with persona 'all'."""
    made = []
    for result, title in zip(results, _titles(results, names)):
        asked = in_order(result["personas"])
        if persona not in (None, "all"):
            asked = [persona] if persona in asked else []
        elif len(results) > 1 and persona is None:
            asked = asked[:1]     # the most privileged persona stands for the kernel
        for name in asked:
            made.append(_column(result, name, name if len(results) == 1 else f"{title} {name}"))
    return made


def _differs(made: list[Column], key: str) -> bool:
    """Whether the columns that asked a point differ; for a single column, whether it is not yes."""
    words = {column.points[key]["verdict"] for column in made if key in column.points}
    return len(words) > 1 or (len(made) == 1 and words != {"yes"})


def rows(made: list[Column], every: bool) -> list[str]:
    """The keys to show: all of them with `every`, else the points in which columns differ."""
    if every:
        return sorted({key for column in made for key in (*column.points, *column.facts)})
    return sorted(key for key in {key for column in made for key in column.points}
                  if _differs(made, key))


def left_out(made: list[Column], keys: list[str]) -> str:
    """How many points and facts the rows leave out, or ''."""
    points = {key for column in made for key in column.points} - set(keys)
    facts = {key for column in made for key in column.facts} - set(keys)
    said = Counter(next(column.word(key) for column in made if key in column.points)
                   for key in points)
    counts = ", ".join(f"{said[word]} {word}" for word in wordlist.EVERY if said[word])
    what = "yes" if len(made) == 1 else f"the same wherever asked ({counts})"
    parts = [f"{text.count(len(points), 'point')} {what}"] if points else []
    parts += [f"{text.count(len(facts), 'fact')} not shown"] if facts else []
    return f"{'; '.join(parts)}; --all shows them" if parts else ""


def _reasons(made: list[Column], key: str) -> str:
    """The reasons of all columns of a row, each once."""
    return "; ".join(dict.fromkeys(filter(None, (column.reason(key) for column in made))))


class _Grid:
    """Prints rows as wide as they need to be, the reason beside them or below."""

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
        """One line of cells. A name that is too long is printed on a line of its own above."""
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
    """Print columns: `left` and `right` ones keep their width, `fold` and `cut` ones shrink."""
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
    """Print the table, with an empty line between areas."""
    keys = rows(made, every)
    note = left_out(made, keys)
    if not keys:
        console.print(note or "nothing was asked", soft_wrap=True)
        return
    grid = _Grid(made, keys, console)
    grid.header()
    area = ""
    for key in keys:
        if area != (area := key.partition(".")[0]):
            console.print()
        grid.row(key)
    console.print()
    if note:
        console.print(note, soft_wrap=True)


def _markdown_row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def as_markdown(made: list[Column], every: bool) -> Iterator[str]:
    """The lines of the same table in Markdown."""
    yield _markdown_row(["point", *(text.markdown(column.title) for column in made), "reason"])
    yield _markdown_row(["---"] * (len(made) + 2))
    keys = rows(made, every)
    for key in keys:
        words = [text.markdown(text.clean(column.word(key), 120)) for column in made]
        reason = text.markdown(text.clean(_reasons(made, key), 300))
        yield _markdown_row([text.markdown(key), *words, reason])
    if left_out(made, keys):
        yield ""
        yield text.markdown(left_out(made, keys))


def timing(result: dict[str, Any]) -> list[tuple[int, str, str, int]]:
    """(ms, persona, probe id, points), slowest first."""
    spent = [(record["ms"], persona, probe_id, len(record["points"]))
             for persona, part in result["personas"].items()
             for probe_id, record in part["probes"].items() if "ms" in record]
    return sorted(spent, key=lambda row: (-row[0], row[1], row[2]))
