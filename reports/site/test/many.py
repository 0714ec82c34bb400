#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""many.py FILE NUMBER [FOLDER] - a database of so many kernels: the answers that ship, and others made up of them, each
of another release and with a few answers of its own; and in FOLDER one page of each type of its site, with all data
that they load. For the size and speed of pages; they say nothing of kernels."""

from __future__ import annotations

import itertools
import random
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reports import answers, expect, result as found_result, text
from reports.database import connect, matrix, ship, source, store
from reports.database.test.scale import varied
from reports.site import build_data, bundle, embed, evidence, machines, model, pages as points_pages, render, start, story

FEATURE = "user_chains"


def vary(base: dict[str, Any], number: int) -> dict[str, Any]:
    """The result of another build of that series."""
    chance = random.Random(number)
    series = re.match(r"[0-9]+\.[0-9]+", base["identity"]["release"])
    made = base | {
        "identity": base["identity"] | {"release": f"{series[0] if series else '6.1'}.{number}-made"},
        "environment": {key: value for key, value in base["environment"].items() if key != "kernel_row"},
        "personas": {persona: part | {"probes": {
            probe: varied(record, chance) for probe, record in part["probes"].items()}}
            for persona, part in base["personas"].items()}}
    made["summary"] = {name: found_result._summary(part) for name, part in made["personas"].items()}
    return made | {"id": found_result.content_id(made)}


def results(number: int) -> Iterator[dict[str, Any]]:
    """So many results, each of a kernel of its own."""
    expected = expect.read(expect.FOLDER)
    shipped = [each for name in answers.names() for each in ship._results(name, expected)]
    yield from shipped[:number]
    for at, base in zip(range(len(shipped), number), itertools.cycle(shipped)):
        yield vary(base, at)


def write(file: Path, number: int) -> int:
    """Makes the database; how many results it took."""
    adder = store.Store(connect.open_engine(str(file), create=True), expect.read(expect.FOLDER))
    taken = 0
    with tempfile.TemporaryDirectory(prefix="perfmodes-") as folder:
        at = Path(folder) / "one"
        at.mkdir()
        (at / "catalogue").write_text(answers.questions().text, encoding="utf-8")
        for each in results(number):
            (at / "result.json").write_text(text.pack_json(each), encoding="utf-8")
            taken += adder.add_one(source.Found(at, each["identity"]["release"])).what == store.ADDED
    adder.engine.dispose()
    return taken


def one_of_each(file: Path, folder: Path) -> None:
    """The start page, a feature, the largest area, its first point, and the first kernel."""
    folder.mkdir(parents=True, exist_ok=True)
    with connect.reading(connect.open_engine(str(file))) as connection:
        site = model.load(connection, matrix.Filter())
        pages = render.Pages(site, folder, not bundle.put(folder))
        begin, grid = start.Start(site), story.Grid(site, evidence.lines(site), evidence.printed(site))
        begin.index(pages)
        embed.write(begin, pages)
        begin.feature(pages, next(each for each in begin.features if each.id == FEATURE))
        area, points = max(site.areas.items(), key=lambda each: len(each[1]))
        points_pages.area(grid, pages, area, points)
        story.write(grid, pages, points[0])
        machines.Machines(grid, pages).kernel(site.spots[0])
        build_data.write(site, pages, begin.data())


if __name__ == "__main__":
    print(f"{write(Path(sys.argv[1]), int(sys.argv[2]))} of {sys.argv[2]} results")
    if len(sys.argv) > 3:
        one_of_each(Path(sys.argv[1]), Path(sys.argv[3]))
