# SPDX-License-Identifier: MIT
"""Pages stay small, however many kernels there are."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("sqlalchemy", reason="python3-sqlalchemy is not installed")

from reports.site import model, places, story
from reports.site.test.conftest import build_into, make

pytestmark = pytest.mark.xdist_group("site")
POINT = "point/alpha.probe3.point0.html"        # user is blocked everywhere; root is told by the number of the kernel


def rows(page: Path) -> list[str]:
    table = page.read_text(encoding="utf-8").partition('id="kernels"')[2].partition("</table>")[0]
    return re.findall(r'<tr><th scope="row">.*?</tr>', table, re.DOTALL)


def test_kernels_that_answer_alike_share_a_row(built: Path) -> None:
    table = "".join(rows(built / "point/alpha.probe1.point0.html"))
    names = [f"{('x86_64', 'aarch64')[number % 2]} 6.{number}.0" for number in range(6)]
    assert all(table.count(f">{name}</a>") == 1 for name in names)
    assert len(rows(built / "point/alpha.probe1.point0.html")) < len(names)
    feature = next((built / "feature").glob("*.html"))
    assert len(rows(feature)) == 1 and f"<b>{len([*(built / 'kernel').iterdir()])}</b>: " in rows(feature)[0]


def test_a_kernel_is_named_or_one_of_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story, "NAMED", 2)
    monkeypatch.setattr(model.Spot, "kind", property(lambda _spot: "hardware"))
    site = build_into(tmp_path, [make(number) for number in (0, 7, 14, 1)], monkeypatch)     # turns of seven
    told = rows(site / "point/alpha.probe0.point0.html")
    assert len(told) == 2 and "<b>3</b>: all other" in told[0] and "x86_64 6.14.0" not in told[0]
    assert "aarch64 6.1.0</a>" in told[1]
    monkeypatch.setattr(story, "NAMED", 3)
    (tmp_path / "again").mkdir()
    again = build_into(tmp_path / "again", [make(number) for number in (0, 7, 14, 1)], monkeypatch)
    assert "x86_64 6.14.0</a>" in rows(again / "point/alpha.probe0.point0.html")[0]


def test_of_too_many_kernels_the_newest_of_each_architecture_are_shown() -> None:
    """x86_64 comes first in the order of a site: what is left out must not be all of it."""
    order = [*(("x86_64", number) for number in range(50)), *(("aarch64", number) for number in range(5)), *(("riscv64", number) for number in range(50))]
    found = [SimpleNamespace(is_plain=True, spot=SimpleNamespace(arch=arch), at=(arch, number)) for arch, number in order]
    shown = [each.at for each in places.shown(found)]       # type: ignore[arg-type, attr-defined]
    assert len(shown) == places.SHOWN == 40 and shown == [each for each in order if each in shown]
    counts = Counter(arch for arch, _number in shown)
    assert counts["aarch64"] == 5 and min(counts["x86_64"], counts["riscv64"]) == 17
    assert ("x86_64", 49) in shown and ("x86_64", 0) not in shown
    assert [each.at for each in places.shown(found[:30])] == order[:30]     # type: ignore[arg-type, attr-defined]


def test_neighbours_in_time_are_one_span() -> None:
    steps = [(f"6.{number}.0-test", word) for number, word in enumerate(("no", "yes", "yes", "broken"))]
    assert story.strip(steps) == [("no", "6.0.0", "6.0.0", 1), ("yes", "6.1.0", "6.2.0", 2), ("broken", "6.3.0", "6.3.0", 1)]
