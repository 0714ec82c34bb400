# SPDX-License-Identifier: MIT
"""The numbers of the start page and of the areas, made once more out of the KTAP lines of a run by a program that shares
nothing with reports/: what a probe printed is what a visitor reads."""

from __future__ import annotations

import re
import tomllib
from collections import Counter, defaultdict
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="python3-sqlalchemy is not installed")

from suites.test.conftest import TREE, run

pytestmark = pytest.mark.xdist_group("page")  # one run serves them all
LINE = re.compile(r"(not ok|ok) [0-9]+ (\S+)(?: # SKIP ([a-z]+): .*)?")
FACT = re.compile(r"#:perfmodes: ([a-zA-Z0-9_.-]+)=([a-z]+)\b")
NOT_ASKED = ("runs only with --may-disturb", "runs only with --hazards")
Answers = dict[str, str]


def declared(catalogue: Path) -> dict[str, list[str]]:
    """The facts of each probe that are verdicts."""
    facts: dict[str, list[str]] = defaultdict(list)
    for line in catalogue.read_text(encoding="utf-8").splitlines():
        if line.startswith("id="):
            probe = line[3:]
        elif line.startswith("fact=") and line.split()[1] == "verdict":
            facts[probe].append(line[5:].split()[0])
    return facts


def printed(folder: Path) -> tuple[Answers, set[str]]:
    """Each point's verdict in the lines of one persona, and the points that a probe says it did not ask."""
    verdicts, unasked, facts = {}, set(), declared(folder.parent / "catalogue")
    for file in sorted(folder.glob("*.ktap")):
        observed, tests, held_back = False, set(), False
        for line in file.read_text(encoding="utf-8").splitlines():
            observed |= line.startswith("#:perfmodes: observed=")
            if fact := FACT.match(line):
                if fact[1] in facts[file.stem]:
                    verdicts[f"{file.stem}.{fact[1]}"] = fact[2]
            found = LINE.fullmatch(line)
            if found is None:
                continue
            key = f"{file.stem}.{found[2].partition('.')[2]}"
            verdicts[key] = found[3] or ("yes" if found[1] == "ok" else "broken" if observed else "unknown")
            tests.add(verdicts[key])
            observed = False
            if line.endswith(NOT_ASKED):
                held_back = True
                unasked.add(key)
        for name in facts[file.stem]:
            key = f"{file.stem}.{name}"
            if key not in verdicts:
                verdicts[key] = tests.pop() if len(tests) == 1 and tests <= {"blocked", "absent", "hazard"} else "unknown"
                tests.add(verdicts[key])
                unasked |= {key} if held_back else set()
    return verdicts, unasked


class Tables(HTMLParser):
    """Rows of the tables of each persona: the page that a row links to, and its cells as (class, text)."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, dict[str, list[tuple[str, str]]]] = defaultdict(dict)
        self.who = self.link = ""
        self.cells: list[tuple[str, str]] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        has = {name: value or "" for name, value in attrs}
        if tag == "section" and has.get("class") == "persona":
            self.who = has["data-persona"]
        elif tag == "tr":
            self.cells, self.link = [], ""
        elif tag == "a" and self.cells == []:
            self.link = has.get("href", "")
        elif tag == "td" and self.cells is not None:
            self.cells.append((has.get("class", ""), ""))

    def handle_data(self, data: str) -> None:
        if self.cells:
            kind, text = self.cells[-1]
            self.cells[-1] = kind, text + data

    def handle_endtag(self, tag: str) -> None:
        if tag == "tr":
            if self.cells and self.link:
                self.rows[self.who][self.link.partition("#")[0]] = self.cells
            self.cells = None


def tables(page: Path) -> dict[str, dict[str, list[tuple[str, str]]]]:
    reader = Tables()
    reader.feed(page.read_text(encoding="utf-8"))
    return reader.rows


@pytest.fixture(scope="module")
def asked(build: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run of this machine, and the site that is made of it alone."""
    folder = tmp_path_factory.mktemp("asked")
    for command in (["--no-install", "--no-build", "--quiet", "--out", folder / "run"],
                    ["report", "db", "--db", folder / "one.db", "add", folder / "run"],
                    ["report", "site", "--db", folder / "one.db", folder / "site"]):
        done = run(TREE / "run.sh", *command)
        assert done.returncode == 0 or command[0] == "--no-install" and done.returncode == 1, done.stdout + done.stderr
    return folder / "run", folder / "site"


def personas(folder: Path) -> list[str]:
    return [each.name for each in sorted(folder.iterdir()) if any(each.glob("*.ktap"))]


def test_each_feature(asked: tuple[Path, Path]) -> None:
    """A feature is yes where all points of one of its ways are; else, where all points in the way say the same, that."""
    folder, site = asked
    shown, compared = tables(site / "index.html"), Counter[str]()
    for who in personas(folder):
        verdicts, unasked = printed(folder / who)
        verdicts |= dict.fromkeys(unasked, "silent")
        for file in sorted((TREE / "reports/data/features").glob("*.toml")):
            ways = tomllib.loads(file.read_text(encoding="utf-8"))["need"][0].get("any", [])
            said = [[verdicts.get(key) for key in way] for way in ways]
            if not ways or any(key not in verdicts for way in ways for key in way):
                compared["of facts and limits, or not asked"] += 1
                continue
            lacking = {each for way in said for each in way if each != "yes"}
            wanted = "yes" if any(set(way) == {"yes"} for way in said) else lacking.pop() if len(lacking) == 1 else None
            cells = [kind.split()[1] for kind, _text in shown[who][f"feature/{file.stem}.html"] if kind.startswith("c ")]
            assert len(cells) == 1, (who, file.stem, cells)
            if wanted:
                assert cells == [wanted], (who, file.stem, said)
                compared[wanted] += 1
            else:
                assert cells[0] in lacking, (who, file.stem, said)
                compared["of several"] += 1
    assert compared["yes"] >= 20 and compared.total() - compared["of facts and limits, or not asked"] >= 40, compared


def test_each_area(asked: tuple[Path, Path]) -> None:
    """Of the points that were asked, how many are yes, and how many wrong."""
    folder, site = asked
    shown = tables(site / "areas.html")
    for who in personas(folder):
        verdicts, unasked = printed(folder / who)
        for area in sorted({key.partition(".")[0] for key in verdicts}):
            told = Counter(verdict for key, verdict in verdicts.items() if key.startswith(f"{area}.") and key not in unasked)
            cells = [text for kind, text in shown[who][f"area/{area}.html"] if kind.startswith("h ")]
            share, _mark, broken = cells[0].strip().replace("*", "").partition("!")
            assert len(cells) == 1 and int(broken or 0) == told["broken"], (who, area, cells, told)
            number = told.total() - told["hazard"]
            assert share == (str(100 * told["yes"] // number) if number else ""), (who, area, cells, told)
