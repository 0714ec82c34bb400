# SPDX-License-Identifier: MIT
"""A feature in a page of others: an image and a small page, each by itself."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("sqlalchemy", reason="python3-sqlalchemy is not installed")

from reports import features
from reports.site import bundle, embed
from reports.site.test.conftest import build_into, make
from reports.site.test.test_site import CHROMIUM, HERE, WORK, tools

pytestmark = pytest.mark.xdist_group("site")
SVG = "{http://www.w3.org/2000/svg}"


def cells(page: Path) -> list[tuple[str, list[str]]]:
    """The rows of a table of an embedded page: who, and the words of its cells."""
    body = page.read_text(encoding="utf-8").partition("<tbody>")[2].partition("</tbody>")[0]
    return [(row[1], re.findall(r"<i>([a-z ]+)</i>", row[0])) for row in re.finditer(r'<th scope="row">(\w+)</th>.*', body)]


def test_each_feature_has_both(built: Path) -> None:
    wanted = {f"{each.id}.{suffix}" for each in features.read() for suffix in ("svg", "html")}
    assert {path.name for path in (built / "embed").iterdir()} == wanted | {"embed.css"}


def test_an_image_is_whole_and_runs_nothing(built: Path) -> None:
    """XML, of known elements alone, and no address: hostile names of kernels are text."""
    for path in (built / "embed").glob("*.svg"):
        tree = ElementTree.parse(path).getroot()
        assert {each.tag.removeprefix(SVG) for each in tree.iter()} <= {"svg", "title", "desc", "style", "rect", "text"}
        assert {name for each in tree.iter() for name in each.keys()} <= {
            "width", "height", "viewBox", "role", "aria-labelledby", "id", "class", "x", "y", "rx", "transform"}
        style = tree.findtext(f"{SVG}style") or ""
        assert "url(" not in style and "@import" not in style and "prefers-color-scheme:dark" in style
        assert path.stat().st_size < 30_000


def test_both_say_what_the_feature_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signs of the image and words of the page are verdicts of the same kernels, in the same order."""
    site = build_into(tmp_path, [make(number) for number in range(3)], monkeypatch)
    feature = features.read()[0].id
    said = cells(site / f"embed/{feature}.html")
    assert [who for who, _words in said] == ["user", "perfmon", "root"] and {len(words) for _who, words in said} == {3}
    tree = ElementTree.parse(site / f"embed/{feature}.svg").getroot()
    words = tree.findtext(f"{SVG}desc") or ""
    assert words.count("not asked on 3") == 3 and "yes" not in words     # no made-up probe has points of a feature
    assert len([each for each in tree.iter(f"{SVG}rect") if each.get("class") == "panel"]) == 9


def test_colours_are_those_of_the_site() -> None:
    found = {name: (day, night) for name, day, night in embed.colours()}
    assert {"yes", "no", "broken", "blocked", "hazard", "paper", "ink"} <= set(found)
    assert all(re.fullmatch("#[0-9a-f]{3,6}", each) for pair in found.values() for each in pair)


@pytest.mark.peer("browser")
@pytest.mark.skipif(not CHROMIUM, reason="the package chromium is not installed")
def test_both_are_seen_in_a_page_of_others(built: Path) -> None:
    tools()
    shutil.copyfile(HERE / "embed.mjs", WORK / "embed.mjs")
    ended = subprocess.run(["node", "embed.mjs", built, WORK / "screenshots"], cwd=WORK, text=True,
                           env=os.environ | {"CHROMIUM": CHROMIUM}, capture_output=True, timeout=300, check=False)
    steps = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [step for step in steps if not step["ok"]] == [] and len(steps) == 5, ended.stderr[-2000:]
    ended = subprocess.run(["npx", "--no-install", "html-validate", "--config", shutil.copy(HERE / "html-validate.json", WORK),
                            *sorted((built / "embed").glob("*.html"))[:3]], cwd=bundle.WORK, capture_output=True, text=True,
                           timeout=300, check=False)
    assert ended.returncode == 0, ended.stdout[-3000:]
