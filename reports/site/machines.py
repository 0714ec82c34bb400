# SPDX-License-Identifier: MIT
"""The pages of kernels and results, and what can be downloaded of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from reports import asked, merge, profile, requirements, text, wordlist
from reports.asked import Source
from reports.database.matrix import Result
from reports.export import header, tabular
from reports.export.common import Options
from reports.requirements import Finding, Requirements
from reports.site import again, model, pages as points_pages
from reports.site.evidence import newest as newest_column
from reports.site.model import Spot
from reports.site.render import Pages
from reports.site.story import Grid

WISHES = Path("lib/doctor/wishes.toml")
SHOWN = ("version", "build_id", "config_sha256", "cpu_model", "cpu_midr", "board", "fingerprint",
         "hypervisor", "emulator", "pmu", "lsm", "page_size")


def identity(result: dict[str, Any]) -> list[tuple[str, str]]:
    """The identity of a result as lines."""
    found = []
    for name in SHOWN:
        value = result["identity"].get(name)
        if value:
            found.append((name.replace("_", " "),
                          text.clean(" + ".join(value) if isinstance(value, list) else value, 400)))
    level = _text(result["environment"].get("paranoid"))
    return found + ([("perf_event_paranoid", level)] if level else [])


def wished() -> list[Requirements]:
    """The doctor's wishes, where the tree is there."""
    return [requirements.read(WISHES)] if WISHES.is_file() else []


@dataclass(frozen=True)
class Plan:
    """What becomes of the wishes of a program there: as whom, and at which level."""
    persona: str
    level: str
    wishes: list[Finding]


def plans(wanted: list[Requirements], source: Source) -> list[Plan]:
    """What becomes of each wish where the answers are from."""
    found = []
    for each in wanted:
        persona, level = each.persona, source.level()
        findings = requirements.check(each, lambda key: source.said(key, persona, level), source.arch)
        found.append(Plan(persona, asked.at(level), findings))
    return found


def source_of(results: list[dict[str, Any]], merged: dict[str, Any]) -> Source:
    """Whom to ask of a kernel: its result, or what the results of several devices have in common."""
    return asked.of_results("", results) if len(results) == 1 else asked.of_profile("", merged)


class Machines:
    """Writes these pages. A result is taken out of the database once."""

    def __init__(self, grid: Grid, pages: Pages) -> None:
        self.grid, self.site, self.pages = grid, grid.site, pages
        self.wishes = wished()
        self.shown = {newest_column(spot, persona).result.digest for spot in self.site.spots
                      for persona in spot.columns}

    def kernel(self, spot: Spot) -> None:
        """The page of a kernel, the results behind it, and its downloads; those of the old site, where no other result
        is of that kernel."""
        results = [(persona, [(each.result.digest, each.result.source) for each in found])
                   for persona, found in spot.columns.items()]
        self.pages.once(f"kernel {spot.stem}", again.digest(spot.key, spot.name, results), partial(self._kernel, spot))

    def _kernel(self, spot: Spot) -> None:
        site = self.site
        newest = {column.result.digest: column.result for persona in spot.columns
                  for column in [newest_column(spot, persona)]}
        results = {digest: site.reader.result(digest) for digest in newest}
        first = results[spot.one.result.digest] if spot.one.result.digest in results else \
            next(iter(results.values()))
        for digest, made in results.items():
            self._result(spot, newest[digest], made)
        stem = spot.page.removesuffix(".html")
        merged = self._downloads(stem, list(results.values()))
        lacks = list(points_pages.lacking(site, spot))
        wrong = [row for row in lacks if row.verdict == "broken"]
        rest = [row for row in lacks if row.verdict != "broken"]
        lists = [("Opens but lies", "lies", wrong, "Accepted, and then the effect is wrong."),
                 ("What it lacks", "lacks", rest, "The kernel refuses, or is known to hang or crash."),
                 ("Backports", "backports", list(points_pages.backports(self.grid, spot)),
                  "They work, although upstream has them in a later release.")]
        areas = [(area, [(word, counts[word]) for word in wordlist.WORST_FIRST if counts[word]])
                 for area, counts in sorted(model.by_area(site, spot, site.personas[0]).items())]
        self.pages.page("kernel.html", f"kernel/{spot.page}", spot=spot, stem=stem, lists=lists,
                        identity=identity(first), limit=_text(first["environment"].get("limit")),
                        results=list(newest.values()), plans=plans(self.wishes, source_of(list(results.values()), merged)),
                        complaints=first.get("complaints", []), areas=areas,
                        totals=[(persona, model.totals(site, spot, persona)) for persona in spot.columns])

    def _downloads(self, stem: str, results: list[dict[str, Any]]) -> dict[str, Any]:
        """Writes what can be downloaded of a kernel; its profile."""
        options = Options(self.site.declared)
        self.pages.download(f"data/{stem}.csv", [tabular.csv(results, options)])
        profiles = [(each["id"], profile.derive(each)) for each in results]
        # What one has in common with itself is itself.
        common = merge.merge(profiles) if len(profiles) > 1 else (profiles[0][1], [])
        self.pages.download(f"data/{stem}.h", [header.write(results, options, common)])
        made, _conflicts = common
        self.pages.download(f"data/{stem}.profile.json", [text.pack_json(made)])
        return made

    def _result(self, spot: Spot, result: Result, made: dict[str, Any]) -> None:
        digest = result.digest
        runs = {column.persona: column.run for found in spot.columns.values() for column in found
                if column.result.digest == digest}
        evidence = []
        for persona, part in made["personas"].items():
            rows = [(f"{probe}.{name}", point["verdict"], point.get("reason", ""),
                     point.get("evidence", []), self.grid.lines.get(f"{probe}.{name}", {}).get(runs.get(persona, -1)))
                    for probe, record in sorted(part["probes"].items())
                    for name, point in sorted(record["points"].items())
                    if point["verdict"] in wordlist.NOT_OK]
            evidence.append((persona, rows))
        self.pages.download(f"data/results/{digest}.json", [text.pack_json(made)])
        self.pages.page("result.html", f"result/{digest}.html", spot=spot, digest=digest,
                        started=made.get("started", ""), suite=made["suite"], identity=identity(made),
                        source=result.source, evidence=evidence,
                        judged=[("Unexpected", made["unexpected"]), ("Better than expected",
                                                                     made.get("news", []))])


def _text(value: Any) -> str:
    return text.clean("; ".join(value) if isinstance(value, list) else str(value or ""), 500)
