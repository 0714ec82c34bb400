# SPDX-License-Identifier: MIT
"""The pages of kernels, devices and results, and what can be downloaded of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reports import merge, profile, requirements, text, wordlist
from reports.database import query, whole
from reports.difference import LACKING
from reports.export import header, tabular
from reports.export.common import Options
from reports.site import model, pages as points_pages
from reports.site.model import Line, Site, Spot, slug
from reports.site.render import Pages

Lines = dict[tuple[int, str], Line]
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
    return found


class Machines:
    """Writes these pages. A result is taken out of the database once."""

    def __init__(self, site: Site, pages: Pages, lines: Lines) -> None:
        self.site, self.pages, self.lines = site, pages, lines
        self.wishes = [requirements.read(WISHES)] if WISHES.is_file() else []
        self.shown = {column.result.digest for spot in site.spots
                      for found in spot.columns.values()
                      for column in [max(found, key=lambda each: (each.result.started, each.result.id))]}

    def kernel(self, spot: Spot) -> None:
        """The page of a kernel, the results behind it, and its downloads."""
        site = self.site
        newest = {column.result.digest: column.result for persona in spot.columns
                  for column in [site_newest(spot, persona)]}
        results = {digest: whole.result(site.connection, digest) for digest in newest}
        first = results[spot.one.result.digest] if spot.one.result.digest in results else \
            next(iter(results.values()))
        for digest, made in results.items():
            self._result(spot, digest, made)
        stem = spot.page.removesuffix(".html")
        self._downloads(stem, list(results.values()))
        lacks = list(points_pages.lacking(site, spot))
        wrong = [row for row in lacks if row[1] == "broken"]
        rest = [row for row in lacks if row[1] != "broken"]
        lists = [("Opens but lies", "lies", wrong, "Accepted, and then the effect is wrong."),
                 ("What it lacks", "lacks", rest, "The kernel refuses, or is known to hang or crash."),
                 ("Backports", "backports", list(points_pages.backports(site, spot)),
                  "They work, although upstream has them in a later release.")]
        areas = [(area, [(word, counts[word]) for word in wordlist.WORST_FIRST if counts[word]])
                 for area, counts in sorted(model.by_area(site, spot, site.personas[0]).items())]
        self.pages.page("kernel.html", f"kernel/{spot.page}", spot=spot, stem=stem, lists=lists,
                        identity=identity(first), limit=_text(first["environment"].get("limit")),
                        results=list(newest.values()), complaints=first.get("complaints", []), areas=areas,
                        totals=[(persona, model.totals(site, spot, persona)) for persona in spot.columns])

    def _downloads(self, stem: str, results: list[dict[str, Any]]) -> None:
        options = Options(self.site.declared)
        self.pages.write(f"data/{stem}.csv", tabular.csv(results, options))
        self.pages.write(f"data/{stem}.json", tabular.json(results, options))
        self.pages.write(f"data/{stem}.md", tabular.markdown(results[:1], options))
        self.pages.write(f"data/{stem}.h", header.write(results, options))
        made, _conflicts = merge.merge([(each["id"], profile.derive(each)) for each in results])
        self.pages.write(f"data/{stem}.profile.json", text.dump_json(made))

    def _result(self, spot: Spot, digest: str, made: dict[str, Any]) -> None:
        runs = {column.persona: column.run for found in spot.columns.values() for column in found
                if column.result.digest == digest}
        evidence = []
        for persona, part in made["personas"].items():
            rows = [(f"{probe}.{name}", point["verdict"], point.get("reason", ""),
                     point.get("evidence", []), self.lines.get((runs.get(persona, -1), f"{probe}.{name}")))
                    for probe, record in sorted(part["probes"].items())
                    for name, point in sorted(record["points"].items())
                    if point["verdict"] in wordlist.NOT_OK]
            evidence.append((persona, rows))
        self.pages.page("result.html", f"result/{digest}.html", spot=spot, digest=digest,
                        started=made.get("started", ""), suite=made["suite"], identity=identity(made),
                        source=spot.one.result.source, evidence=evidence,
                        judged=[("Unexpected", made["unexpected"]), ("Better than expected",
                                                                     made.get("news", []))])
        self.pages.write(f"data/results/{digest}.json", text.dump_json(made))

    def devices(self) -> None:
        """The list of devices, and a page for each that a table shows."""
        site = self.site
        spots: dict[int, list[Spot]] = {}
        for spot in site.spots:
            for number in {column.result.device.id for found in spot.columns.values() for column in found}:
                spots.setdefault(number, []).append(spot)
        rows = []
        for device, columns in query.by_device(site.matrix.columns).items():
            results = {column.result.id: column.result for column in columns}
            order = sorted(results.values(), key=lambda each: (each.started, each.id), reverse=True)
            page = slug(device.label)[:50] + "-" + device.key[:6] + ".html"
            rows.append({"device": device, "page": page, "results": order, "newest": order[0].started,
                         "kernels": len({each.kernel.release for each in order})})
            self._device(device, page, order, spots.get(device.id, []))
        self.pages.page("devices.html", "devices.html", rows=rows, classes=query.classes(site.matrix)[:40],
                        hardware=sum(each["device"].kind == "hardware" for each in rows))

    def _device(self, device: Any, page: str, results: list[Any], spots: list[Spot]) -> None:
        site, stem = self.site, page.removesuffix(".html")
        made = whole.result(site.connection, results[0].digest)
        self.pages.write(f"data/{stem}.profile.json", text.dump_json(profile.derive(made)))
        lacks = []
        newest = max(spots, key=lambda spot: spot.one.result.kernel.order) if spots else None
        for one in site.points if newest else ():
            said = [cell for persona in newest.columns if (cell := site.cell(one, newest, persona))] \
                if newest else []
            verdict = query.best(cell.verdict for cell in said) if said else ""
            if verdict in LACKING:
                lacks.append((one, verdict, site.reason(said[0])))
        wishes = [requirements.check(wanted, merge.view(profile.derive(made), wanted.persona))
                  for wanted in self.wishes]
        self.pages.page("device.html", f"device/{page}", device=device, spots=spots, results=results[:200],
                        identity=identity(made), shown=self.shown, lacks=lacks, stem=stem,
                        wishes=wishes[0] if wishes else [])


def site_newest(spot: Spot, persona: str) -> Any:
    """The column that stands for a persona of a spot."""
    return max(spot.columns[persona], key=lambda each: (each.result.started, each.result.id))


def _text(value: Any) -> str:
    return text.clean("; ".join(value) if isinstance(value, list) else str(value or ""), 500)
