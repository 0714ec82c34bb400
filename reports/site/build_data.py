# SPDX-License-Identifier: MIT
"""What the scripts of the site read: columns, points, and a sign for each answer."""

from __future__ import annotations

import re
from typing import Any

from reports import expect, text, wordlist
from reports.site import model
from reports.site.model import Site

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
    found: dict[str, set[str]] = {}
    for spot in site.spots:
        for persona in spot.columns:
            for point, cell in site.cells(spot, persona).items():
                if cell.answer and cell.answer.reason is not None:
                    found.setdefault(site.matrix.points[point], set()).update(known[cell.answer.reason])
    return found


def _numbers(release: str) -> list[int]:
    return list(expect.release_of(release) or ())


def script(name: str, value: Any) -> str:
    """A script that sets a value. Nothing in its text may end a script or start a comment."""
    packed = text.pack_json(value).rstrip("\n")
    return f"window.{name}=" + packed.replace("<", "\\u003c").replace(">", "\\u003e") + ";\n"


def data(site: Site, wanted: dict[str, Any]) -> str:
    """What the scripts read: columns, points, a string of signs for each column; and features, likewise."""
    signs = model.letters()
    errnos = _errnos(site)
    spots = [{"id": spot.page.removesuffix(".html"), "page": f"kernel/{spot.page}", "name": spot.name,
              "arch": spot.arch, "release": text.clean(spot.release, 80),
              "numbers": _numbers(spot.release), "kind": spot.kind, "level": spot.one.result.level,
              "suite": text.clean(spot.suite, 40), "pmu": site.pmu(spot), "devices": spot.devices,
              "personas": list(spot.columns)} for spot in site.spots]
    points = [[one.key, one.area, one.meaning, one.title, one.since, _numbers(one.since),
               _words(site, one, errnos), one.page] for one in site.points]
    cells = {persona: ["".join(signs[cell.verdict if (cell := site.cell(one, spot, persona)) else ""]
                               for one in site.points) if persona in spot.columns else ""
                       for spot in site.spots] for persona in site.personas}
    made = {"verdicts": [*wordlist.EVERY], "mixed": "m", "silent": "-", "personas": site.personas,
            "spots": spots, "points": points, "cells": cells, "wanted": wanted}
    return script("PERFMODES", made)
