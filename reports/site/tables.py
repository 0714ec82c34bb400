# SPDX-License-Identifier: MIT
"""The tables of a site to download: all cells as JSON, what differs as Markdown, the database.

data/cells.json is by columns, as ../schema/table.json has it: `cells.PERSONA.verdicts` has a text for each point, with
a sign for each kernel; `cells.PERSONA.reasons` the numbers of their reasons, in the same order, 0 where there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import compress
from pathlib import Path

from reports import schema, text, wordlist
from reports.site import model
from reports.site.model import Cell, Spot
from reports.site.render import Pages
from reports.site.story import Grid

FORMAT = 1
SCHEMA = Path(schema.__file__).with_name("table.json")


def _kernel(spot: Spot) -> dict[str, str]:
    return {"name": spot.name, "arch": text.clean(spot.arch, 40), "release": text.clean(spot.release, 200), "kind": spot.kind,
            "row": text.clean(spot.row, 80), "level": spot.one.result.level, "suite": spot.suite,
            "page": f"kernel/{spot.page}"}


def _json(grid: Grid) -> Iterator[str]:
    site, signs = grid.site, model.letters()
    numbers: dict[str, int] = {"": 0}

    @cache
    def reason(cell: Cell | None) -> int:
        return numbers.setdefault(site.reason(cell), len(numbers)) if cell else 0
    head = {"format": FORMAT, "kind": "table", "catalogue": site.catalogue, "personas": site.personas,
            "signs": {sign: word or "not asked" for word, sign in signs.items()},
            "kernels": [_kernel(spot) for spot in site.spots],
            "points": [{"key": one.key, "meaning": text.clean(one.meaning), "since": one.since} for one in site.points]}
    yield text.pack_json(head).removesuffix("}\n") + ',"cells":{'
    for count, persona in enumerate(site.personas):
        verdicts, reasons = [], []
        for one in site.points:
            cells = grid.of(one, persona)
            verdicts.append("".join([signs[cell.verdict if cell else ""] for cell in cells]))
            reasons.append([*map(reason, cells)])
        yield ("," if count else "") + f"{text.pack_json(persona).strip()}:" + \
            text.pack_json({"reasons": reasons, "verdicts": verdicts}).rstrip("\n")
    yield '},"reasons":' + text.pack_json([*numbers]).rstrip("\n") + "}\n"


def markdown(grid: Grid, limit: int = 400) -> str:
    """The points in which kernels differ, as root or whoever may most."""
    site = grid.site
    persona = site.personas[0] if site.personas else ""
    shown = [persona in spot.columns for spot in site.spots]
    spots = [*compress(site.spots, shown)]
    lines = ["| point | " + " | ".join(text.markdown(spot.name) for spot in spots) + " |",
             "|---" * (len(spots) + 1) + "|"]
    heads = len(lines)
    for one in site.points:
        words = [cell.verdict if cell else "" for cell in compress(grid.of(one, persona), shown)]
        if len({word for word in words if word in wordlist.OF_KERNEL}) > 1 and len(lines) < heads + limit:
            lines.append(f"| {text.markdown(one.key)} | " + " | ".join(words) + " |")
    return "\n".join(lines) + "\n"


def write(grid: Grid, pages: Pages) -> None:
    """All of them. A page tells how large they are."""
    pages.download("data/cells.json", _json(grid))
    pages.download("data/table.md", [markdown(grid)])
    pages.write("data/table.schema.json", SCHEMA.read_text(encoding="utf-8"))
    if grid.site.file:      # nobody writes to it: this transaction reads
        pages.pack("data/results.db", grid.site.file)
