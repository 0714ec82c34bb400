# SPDX-License-Identifier: MIT
"""Pictures have what was measured, and nothing of a name is markup."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from reports.site import build, plots

PROBES = Path(__file__).resolve().parents[3] / "probes"


def words(svg: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(svg).iter() if each.tag.endswith("text")]


def widths(svg: str) -> list[float]:
    return [float(each.get("width") or 0) for each in ElementTree.fromstring(svg).iter() if each.tag.endswith("rect")]


def test_costs_are_to_scale() -> None:
    made = plots.costs("Attaching, ns", [("amd64-6.1", 1000), ("<script>", 250)])
    assert words(made) == ["amd64-6.1", "1,000", "<script>", "250"]
    assert widths(made)[0] == 4 * widths(made)[1] > 0


@pytest.mark.parametrize("probe, fact", [(probe, fact) for probe, fact, _title in build.COSTS])
def test_each_cost_is_a_number_that_its_probe_declares(probe: str, fact: str) -> None:
    source = (PROBES / f"{probe.replace('.', '/')}.c").read_text(encoding="utf-8")
    assert re.search(rf'\bFACT\({fact}, int,', source) and f'fact_int("{fact}"' in source


def test_drain_rates_are_plotted(monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[str, Any] = {"one": {"drain_rate": 15_000_000}, "two": {"drain_rate": 5_000_000},
                             "coarse": {}, "text": {"drain_rate": "fast"}}
    monkeypatch.setattr(build, "_facts", lambda _site, spot, probe: found[spot.name]
                        if probe == "ring.lost" else {})
    spots: list[Any] = [SimpleNamespace(name=name) for name in found]
    site: Any = None
    ((title, made),) = build._costs(site, spots)
    assert "Records" in title and words(made) == ["one", "15,000,000", "two", "5,000,000"]
    assert build._costs(site, spots[:1]) == []


def test_bars_leave_room_for_their_numbers() -> None:
    made = plots.bars("points", [("2.6", 915, 1025), ("3.0 to 3.4", 0, 55)])
    numbers = [each for each in ElementTree.fromstring(made).iter() if each.tag.endswith("text")][1::2]
    for each in numbers:
        assert float(each.get("x") or 0) + 8 * len(each.text or "") <= plots.WIDTH
