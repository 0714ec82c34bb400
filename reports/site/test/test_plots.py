# SPDX-License-Identifier: MIT
"""Pictures have what was measured, and nothing of a name is markup."""

from __future__ import annotations

from xml.etree import ElementTree

from reports.site import plots


def words(svg: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(svg).iter() if each.tag.endswith("text")]


def widths(svg: str) -> list[float]:
    return [float(each.get("width") or 0) for each in ElementTree.fromstring(svg).iter() if each.tag.endswith("rect")]


def test_costs_are_to_scale() -> None:
    made = plots.costs("Attaching, ns", [("amd64-6.1", 1000), ("<script>", 250)])
    assert words(made) == ["amd64-6.1", "1,000", "<script>", "250"]
    assert widths(made)[0] == 4 * widths(made)[1] > 0


def test_bars_leave_room_for_their_numbers() -> None:
    made = plots.bars("points", [("2.6", 915, 1025), ("3.0 to 3.4", 0, 55)])
    numbers = [each for each in ElementTree.fromstring(made).iter() if each.tag.endswith("text")][1::2]
    for each in numbers:
        assert float(each.get("x") or 0) + 8 * len(each.text or "") <= plots.WIDTH
