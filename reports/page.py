# SPDX-License-Identifier: MIT
"""The catalogue for people: a listing for the terminal and a page of Markdown."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from reports import table, text
from reports.catalogue import Catalogue, counts
from reports.declaration import Probe


def _areas(found: Catalogue) -> dict[str, list[Probe]]:
    areas: dict[str, list[Probe]] = {}
    for probe_id, probe in sorted(found.probes.items()):
        areas.setdefault(probe_id.partition(".")[0], []).append(probe)
    return areas


def render(template: str, **values: object) -> str:
    """A page of Markdown from a template."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # 30 ms that most verbs need not wait for
    loader = FileSystemLoader(Path(__file__).parent / "template")
    # The output is Markdown, so the md filter escapes each value instead of HTML escaping.
    engine = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True,
                         lstrip_blocks=True, keep_trailing_newline=True)
    engine.filters["md"] = text.markdown
    return engine.get_template(template).render(**values)


def catalogue(found: Catalogue) -> str:
    """The page `catalogue --markdown` prints."""
    return render("catalogue.md", areas=_areas(found), counts=counts(found),
                  digest=found.digest())


def listing(found: Catalogue, console: Console) -> None:
    """Print one line for each probe."""
    lines: list[list[Text]] = []
    for probe_id, probe in sorted(found.probes.items()):
        points = len(probe.points())
        marks = "".join(f" [{mark}]" for mark, on in
                        (("hazard", probe.hazard), ("disturbs", probe.disturbs)) if on)
        cells = (probe_id, str(points), str(len(probe.items) - points), probe.since,
                 text.clean(probe.title) + marks)
        lines.append([Text(cell) for cell in cells])
    heads = {"probe": "fold", "points": "right", "facts": "right", "since": "left", "title": "fold"}
    table.listing(heads, lines, console)
    numbers = counts(found)
    console.print(", ".join(f"{count} {name}" for name, count in numbers.items()))
