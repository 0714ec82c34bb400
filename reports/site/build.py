# SPDX-License-Identifier: MIT
"""Builds the whole site beside the old one, and puts it in its place when it is complete."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reports import personas, text, wordlist
from reports.asked import USUAL
from reports.database import whole
from reports.site import (again, build_data, bundle, defects, devices, embed, evidence, feed, machines, model,
                          pages as points_pages, places, plots, programs, start, story, tables)
from reports.site.model import Site, Spot
from reports.site.render import Pages
from reports.text import Unusable

MARK = ".perfmodes-site"
COST_LIMIT = 1 << 50
# Facts that are times or rates: what using perf events costs on a kernel.
COSTS = (("task.attach_many", "attach_ns", "Attaching to one more thread, ns"),
         ("task.storm", "fork_us", "A child that is forked, faults ten times and is waited for, inheriting, µs"),
         ("ring.lost", "drain_rate", "Records that a reader takes out of a full ring, one by one, in a second"))

Say = Callable[[str], None]


def _plots(site: Site, pages: Pages) -> None:
    persona = site.personas[0] if site.personas else ""
    spots = [spot for spot in site.spots if persona in spot.columns]
    newest = max(spots, key=lambda spot: (spot.one.result.kernel.order[0], places.is_plain(spot), spot.one.result.level == USUAL,
                                          len(site.cells(spot, persona))), default=None)
    works = site.cells(newest, persona) if newest else {}
    arrived = [(one.since, (cell := works.get(site.matrix.ids[one.key])) is not None
                and cell.verdict == "yes") for one in site.points]
    shares = []
    for spot in spots:
        counts = model.totals(site, spot, persona)
        shares.append((spot.name, counts["yes"], sum(counts[word] for word in wordlist.CONCLUSIVE)))
    answered = Counter(cover.hardware.total() + cover.other.total()
                       for cover in site.coverage.values())
    most = sum(answered.values())
    coverage = [(text.count(number, "device"), count, most) for number, count in sorted(answered.items())][:40]
    pages.page("plots.html", "plots.html", arrivals=plots.arrivals(arrived), shares=shares,
               newest=newest.name if newest else "",
               skews=[(spot.name, plots.skew(found)) for spot in spots if (found := _offsets(site, spot))],
               costs=_costs(site, spots),
               coverage=plots.bars("Points by the number of devices that answered", coverage))


def _facts(site: Site, spot: Spot, probe: str) -> dict[str, Any]:
    """The facts of a probe, as the most privileged persona of a kernel found them."""
    run = evidence.newest(spot, next(iter(spot.columns))).run
    found: dict[str, Any] = whole.loose(site.connection, run).get(probe, {}).get("facts", {})
    return found


def _offsets(site: Site, spot: Spot) -> list[tuple[int, int, int]]:
    found = plots.offsets(str(_facts(site, spot, "clock.per_cpu").get("offsets", "")))
    return found if len(found) > 1 else []


def _costs(site: Site, spots: list[Spot]) -> list[tuple[str, Any]]:
    """A picture for each time or rate that was measured on several kernels."""
    made = []
    for probe, name, title in COSTS:
        rows = [(spot.name, value) for spot in spots
                if type(value := _facts(site, spot, probe).get(name)) is int and 0 < value < COST_LIMIT]
        if len(rows) > 1:
            made.append((title, plots.costs(title, rows)))
    return made


def write(site: Site, folder: Path, scripts: bool, say: Say, old: Path | None = None) -> Pages:
    """All pages of a site; of one that it replaces, what is the same is taken again."""
    pages = Pages(site, folder, scripts, old)
    grid = story.Grid(site, evidence.lines(site), evidence.printed(site))
    tables.write(grid, pages)
    begin = start.Start(site)
    begin.write(pages)
    embed.write(begin, pages)
    programs.write(begin, pages)
    defects.write(site, pages)
    points_pages.by_area(site, pages, [each.spot for each in places.shown(begin.places)])
    points_pages.areas(grid, pages)
    for number, one in enumerate(site.points):
        if number % 100 == 0:
            say(f"points: {number} of {len(site.points)}")
        story.write(grid, pages, one)
    kernels = machines.Machines(grid, pages)
    for number, spot in enumerate(site.spots):
        say(f"kernels: {number} of {len(site.spots)}")
        kernels.kernel(spot)
    devices.write(site, pages, kernels.shown)
    persona = site.personas[0] if site.personas else ""
    totals = [(spot, model.totals(site, spot, persona if persona in spot.columns else
                                  next(iter(spot.columns)))) for spot in site.spots]
    pages.page("kernels.html", "kernels.html", rows=[(spot, counts, counts.total())
                                                     for spot, counts in totals])
    for name in ("explore", "compare"):
        pages.page(f"{name}.html", f"{name}.html")
    pages.page("about.html", "about.html", described=personas.read())
    _plots(site, pages)
    if scripts:
        build_data.write(site, pages, begin.data())
    again.write(folder, pages.made)
    return pages


def replace(folder: Path, make: Callable[[Path], Any]) -> Any:
    """Make a folder and put it in the place of an older site. Another folder is not touched."""
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise Unusable(f"{folder}: not empty, and no site of ours: name another folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        made = make(part)
        (part / MARK).write_text("made by perfmodes: `report site` replaces this folder\n", encoding="utf-8")
        part.chmod(0o755)
        old = part.with_name(part.name + ".old")
        if folder.exists():
            os.replace(folder, old)
        os.replace(part, folder)
        shutil.rmtree(old, ignore_errors=True)
        return made
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def build(site: Site, folder: Path, say: Say) -> tuple[Pages, str]:
    """The site in its folder; and why it has no scripts, if so."""
    def make(part: Path) -> tuple[Pages, str]:
        say("scripts and styles")
        old = folder if (folder / MARK).is_file() else None
        missing = bundle.put(part, old)
        pages = write(site, part, not missing, say, old)
        feed.write(site, folder, part)
        return pages, missing
    made: tuple[Pages, str] = replace(folder, make)
    return made
