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

from reports import answers, features
from reports.database import connect, matrix, ship
from reports.site import bundle, embed, model, render, start
from reports.site.test.test_site import CHROMIUM, HERE, WORK, tools

pytestmark = pytest.mark.xdist_group("site")
TREE = Path(__file__).resolve().parents[3]
SVG = "{http://www.w3.org/2000/svg}"


def cells(page: Path) -> list[tuple[str, list[str]]]:
    """The rows of a table of an embedded page: who, and the words of its cells."""
    body = page.read_text(encoding="utf-8").partition("<tbody>")[2].partition("</tbody>")[0]
    return [(row[1], re.findall(r'<td class="c [a-z]+">([a-z ]+)</td>', row[0])) for row in re.finditer(r'<th scope="row">(\w+)</th>.*', body)]


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


def test_both_say_what_a_row_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a row that ships: signs of the image and words of the page, by persona, for each feature."""
    monkeypatch.chdir(TREE)
    monkeypatch.setattr(answers, "names", lambda *_folder: ["amd64-6.1"])
    with ship.engine() as engine, connect.reading(engine) as connection:
        site = model.load(connection, matrix.Filter())
        begin = start.Start(site)
        embed.write(begin, render.Pages(site, tmp_path, False))
        (place,) = begin.places
        wanted = {each.id: [(who, place.verdict(each, who) or "not asked") for who in ("user", "perfmon", "root")]
                  for each in begin.features}
    words: set[str] = set()
    for name, said in wanted.items():
        assert cells(tmp_path / f"embed/{name}.html") == [(who, [word]) for who, word in said]
        tree = ElementTree.parse(tmp_path / f"embed/{name}.svg").getroot()
        told = (tree.findtext(f"{SVG}desc") or "").partition("1 kernel: ")[2]
        assert told == "; ".join(f"as {who}: {word} on 1" for who, word in said)
        drawn = [each.get("class") for each in tree.iter(f"{SVG}rect")][1:]
        assert drawn == [word if word in ("yes", "no", "broken", "blocked", "hazard") else "panel" for _who, word in said]
        words |= {word for _who, word in said}
    assert {"yes", "no", "blocked"} <= words


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
