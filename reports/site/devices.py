# SPDX-License-Identifier: MIT
"""The pages of devices: what each of them lacks, what a program can do there, and how that changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from reports import profile, text
from reports.database import query
from reports.database.matrix import Column, Device, Result
from reports.difference import LACKING, Change
from reports.site import again, machines, model
from reports.site.build_data import script
from reports.site.model import Site, Spot, slug
from reports.site.render import Pages

RESULTS_SHOWN, CHANGES_SHOWN = 200, 12
COMPARED = 20       # results of a device, the newest, that are held against the one before


@dataclass
class Step:
    """A result of a device, and what changed since the one before it."""
    result: Result
    changes: list[Change] | None = None

    @property
    def worse(self) -> list[Change]:
        return [each for each in self.changes or () if each.worse]

    @property
    def some(self) -> list[Change]:
        return (self.changes or [])[:CHANGES_SHOWN]


@dataclass
class Story:
    """A device with all its results, the newest first."""
    device: Device
    page: str
    columns: dict[int, list[Column]]        # result -> its personas
    results: list[Result]
    spots: list[Spot]

    @property
    def stem(self) -> str:
        return self.page.removesuffix(".html")

    @property
    def kernels(self) -> int:
        return len({each.kernel.release for each in self.results})


def stories(site: Site) -> list[Story]:
    """Every device of the site."""
    spots: dict[int, list[Spot]] = {}
    for spot in site.spots:
        for number in {column.result.device.id for found in spot.columns.values() for column in found}:
            spots.setdefault(number, []).append(spot)
    made = []
    for device, columns in query.by_device(site.matrix.columns).items():
        by_result: dict[int, list[Column]] = {}
        for column in columns:
            by_result.setdefault(column.result.id, []).append(column)
        results = sorted({column.result.id: column.result for column in columns}.values(),
                         key=lambda each: (each.started, each.id), reverse=True)
        page = slug(device.label)[:50] + "-" + device.key[:6] + ".html"
        made.append(Story(device, page, by_result, results, spots.get(device.id, [])))
    return made


def _steps(site: Site, story: Story) -> list[Step]:
    """The results, each of the newest with what changed since the one before it of the same suite, at the same level."""
    steps = [Step(result) for result in story.results[:RESULTS_SHOWN]]
    for at, step in enumerate(steps[:COMPARED]):
        asked = step.result.suite, step.result.level
        before = next((each.result for each in steps[at + 1:] if (each.result.suite, each.result.level) == asked), None)
        if before:
            step.changes = query.changed(site.matrix, story.columns[before.id], story.columns[step.result.id])
    return steps


def _lacks(made: dict[str, Any]) -> list[tuple[str, str, str]]:
    """(key, verdict, reason) of the points that no persona gets."""
    said: dict[str, list[dict[str, Any]]] = {}
    for part in made["personas"].values():
        for probe, record in part["probes"].items():
            for name, point in record["points"].items():
                said.setdefault(f"{probe}.{name}", []).append(point)
    found = []
    for key, points in sorted(said.items()):
        verdict = query.best(point["verdict"] for point in points)
        if verdict in LACKING:
            found.append((key, verdict, next((point.get("reason", "") for point in points
                                              if point["verdict"] == verdict), "")))
    return found


def _signs(site: Site, columns: Sequence[Column]) -> dict[str, str]:
    """persona -> a sign for each point, of one result."""
    letters, made = model.letters(), {}
    for column in columns:
        answers = site.matrix.of(column)
        made[column.persona] = "".join(
            letters[answer.verdict if (answer := answers.get(site.matrix.ids[point.key])) else ""]
            for point in site.points)
    return made


def _page(site: Site, pages: Pages, story: Story, shown: set[str], wishes: list[Any]) -> None:
    made = site.reader.result(story.results[0].digest)
    derived = profile.derive(made)
    pages.download(f"data/{story.stem}.profile.json", [text.pack_json(derived)])
    by_key = {point.key: point for point in site.points}
    lacks = [(by_key[key], verdict, reason) for key, verdict, reason in _lacks(made) if key in by_key]
    pages.page("device.html", f"device/{story.page}", story=story, device=story.device, shown=shown,
               steps=_steps(site, story), identity=machines.identity(made), lacks=lacks,
               plans=machines.plans(wishes, machines.source_of([made], derived)))
    if pages.scripts:
        signs = _signs(site, story.columns[story.results[0].id])
        pages.write(f"data/device/{story.stem}.js", script("PERFMODES_DEVICE", {"id": story.stem, "cells": signs}))


def write(site: Site, pages: Pages, shown: set[str]) -> None:
    """The list of devices, and a page for each. `shown` has the results that have a page."""
    found, wishes = stories(site), machines.wished()
    points = again.digest([point.key for point in site.points])
    for story in found:
        made_of = again.digest(points, story.device, [(each.digest, each.digest in shown) for each in story.results],
                               [(spot.name, spot.stem) for spot in story.spots])
        pages.once(f"device {story.stem}", made_of, partial(_page, site, pages, story, shown, wishes))
    pages.page("devices.html", "devices.html", rows=found, classes=query.classes(site.matrix)[:40],
               hardware=sum(each.device.kind == "hardware" for each in found))
    if pages.scripts:
        pages.write("devices.js", script("PERFMODES_DEVICES", [
            {"id": each.stem, "name": text.clean(each.device.label, 80), "arch": each.device.arch,
             "kind": each.device.kind, "release": text.clean(each.results[0].kernel.release, 80)}
            for each in found]))
