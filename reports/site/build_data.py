# SPDX-License-Identifier: MIT
"""What the scripts of the site read: kernels, points, and a sign for each answer, in files by area and persona,
so that a page loads what it shows."""

from __future__ import annotations

import re
from typing import Any

from reports import expect, text, wordlist
from reports.site import model
from reports.site.model import Site, Spot
from reports.site.render import Pages

_ERRNO = re.compile(r"\bE[A-Z0-9]{3,}\b")
_FLAG = re.compile(r"\b(?:PERF_[A-Z_0-9]+|[a-z0-9]+_[a-z0-9_]+)\b")


def _words(site: Site, one: model.Point, errnos: dict[str, set[str]]) -> str:
    """What a point is found by besides its name and meaning."""
    about = site.sources.probes.get(one.probe.id) if one.probe else None
    flags = _FLAG.findall(f"{about.why} {about.observed}") if about else []
    return " ".join(dict.fromkeys([*sorted(errnos.get(one.key, ())), *flags[:12]]))


def _errnos(site: Site) -> dict[str, set[str]]:
    """Point -> the errno names in its reasons."""
    known = {number: set(_ERRNO.findall(said)) for number, said in site.matrix.reasons.items()}
    found: dict[int, set[int]] = {}
    for spot in site.spots:
        for persona in spot.columns:
            for point, cell in site.cells(spot, persona).items():
                if cell.reason is not None:
                    found.setdefault(point, set()).add(cell.reason)
    return {site.matrix.points[point]: {word for each in reasons for word in known[each]}
            for point, reasons in found.items()}


def _numbers(release: str) -> list[int]:
    return list(expect.release_of(release) or ())


def script(name: str, value: Any) -> str:
    """A script that sets a value. Nothing in its text may end a script or start a comment."""
    packed = text.pack_json(value).rstrip("\n")
    return f"window.{name}=" + packed.replace("<", "\\u003c").replace(">", "\\u003e") + ";\n"


def _counts(site: Site, spot: Spot, persona: str) -> list[int]:
    """How many points were asked, and how many work."""
    found = model.totals(site, spot, persona)
    return [found.total(), found["yes"]]


def _kernels(site: Site) -> list[dict[str, Any]]:
    return [{"id": spot.page.removesuffix(".html"), "page": f"kernel/{spot.page}", "name": spot.name,
             "arch": spot.arch, "release": text.clean(spot.release, 80),
             "numbers": _numbers(spot.release), "kind": spot.kind, "level": spot.one.result.level,
             "suite": text.clean(spot.suite, 40), "pmu": site.pmu(spot), "devices": spot.devices,
             "personas": {persona: _counts(site, spot, persona) for persona in spot.columns}} for spot in site.spots]


def _points(site: Site) -> list[list[Any]]:
    errnos = _errnos(site)
    return [[one.key, one.area, one.meaning, one.title, one.since, _numbers(one.since),
             _words(site, one, errnos), one.page, int(one.refuses)] for one in site.points]


def _area(site: Site, points: list[model.Point], persona: str) -> list[str]:
    """A text for each point of an area, with a sign for each kernel."""
    signs = model.letters()
    columns = [site.cells(spot, persona) for spot in site.spots]
    numbers = [site.matrix.ids[one.key] for one in points]
    return ["".join(signs[cell.verdict if (cell := column.get(number)) else ""] for column in columns)
            for number in numbers]


def write(site: Site, pages: Pages, wanted: dict[str, Any]) -> None:
    """All of these files. The areas are in the order of the points."""
    pages.write("data.js", script("PERFMODES", {
        "verdicts": [*wordlist.EVERY], "mixed": "m", "silent": "-", "personas": site.personas, "kernels": len(site.spots),
        "spots": _kernels(site), "systems": [[each["name"], each["title"]] for each in wanted["systems"]],
        "areas": [[area, len(points)] for area, points in site.areas.items()]}))
    pages.write("points.js", script("PERFMODES_POINTS", _points(site)))
    pages.write("wanted.js", script("PERFMODES_WANTED", wanted))
    for area, points in site.areas.items():
        for persona in site.personas:
            pages.write(f"data/area/{area}.{persona}.js", script("PERFMODES_CELLS", _area(site, points, persona)))
