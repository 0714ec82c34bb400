# SPDX-License-Identifier: MIT
"""The pages, in a browser and by their text."""

from __future__ import annotations

import json
import lzma
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from reports import schema
from reports.database import connect, matrix
from reports.site import build, bundle, plots, source
from reports.site.test.conftest import HOSTILE, build_into, make
from reports.text import Unusable

pytestmark = pytest.mark.xdist_group("site")   # built once
HERE = Path(__file__).parent
WORK = bundle.WORK.resolve()
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or ""


class Links(HTMLParser):
    """The targets of a page, and what could run."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.ids: set[str] = set()
        self.loaded: list[str] = []
        self.handlers: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "href" and tag == "a":
                self.targets.append(value or "")
            if name == "src" or (name == "href" and tag == "link"):
                self.loaded.append(value or "")
            if name == "id":
                self.ids.add(value or "")
            if name.startswith("on") or name == "style":
                self.handlers.append(f"{tag} {name}")

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def read(path: Path) -> Links:
    made = Links()
    made.feed(path.read_text(encoding="utf-8"))
    return made


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_every_link_leads_somewhere(built: Path) -> None:
    read_pages = {path: read(path) for path in pages(built)}
    for path, found in read_pages.items():
        for target in found.targets:
            if target.startswith("https://"):
                continue
            file, _, anchor = target.partition("#")
            there = (path.parent / file).resolve() if file else path
            assert there.is_file(), f"{path.name}: {target}"
            if anchor and there in read_pages and "=" not in anchor:
                assert anchor in read_pages[there].ids, f"{path.name}: {target}"


def test_nothing_of_a_result_runs_or_loads(built: Path) -> None:
    for path in pages(built):
        found = read(path)
        assert not found.handlers, path
        pictures = re.findall(r'<img class="embed" src="(\.\./embed/[a-z0-9_]+\.svg)"', path.read_text(encoding="utf-8"))
        assert len(pictures) == (path.parent.name == "feature") and all((path.parent / name).is_file() for name in pictures)
        assert {name.rpartition("/")[2] for name in found.loaded if name not in pictures} <= {"data:,", ",", "embed.css", "feed.xml", "style.css", "data.js", "devices.js", "points.js", "wanted.js", *(("plots.js", "uplot.css") if path.name == "plots.html" else ()),
                                                                     "site.js"}, path
        text = path.read_text(encoding="utf-8")
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]", text), path
        assert "<script>" not in text and text.count("<img") == len(pictures), path
        assert "default-src 'none'" in text and "unsafe" not in text
        emulators = ("https://gitlab.com/qemu-project/qemu/", "https://www.qemu.org/docs/") if path.name == "defects.html" else ()
        assert all(target.startswith(("https://git.kernel.org/", "https://lore.kernel.org/",
                                      "https://man7.org/linux/man-pages/", "#", "../", *emulators))
                   or re.match(r"[a-z0-9/._-]+(#|$)", target) for target in found.targets), found.targets
    assert all(len(path.name.encode()) < 200 for path in built.rglob("*"))


def test_hostile_texts_are_shown_as_text(built: Path) -> None:
    shown = "".join(text for path in pages(built / "kernel") for text in read(path).texts)
    assert HOSTILE[0] in shown and "{{ 7*7 }}" in shown
    assert "\\u202egnp.exe" in shown


def unpacked(path: Path) -> str:
    return lzma.decompress(path.read_bytes()).decode()


def test_downloads_are_what_they_say(built: Path) -> None:
    for path in (built / "data/results").iterdir():
        assert json.loads(unpacked(path))["id"] == path.name.removesuffix(".json.xz")
    lines = [line for path in (built / "data").glob("*.csv.xz") for line in unpacked(path).splitlines()[1:]]
    assert not [line for line in lines if re.search('(^|,)"?[=+@-]', line)]
    table = schema.require("table", json.loads(unpacked(built / "data/cells.json.xz")), "cells.json")
    of_json = {(kernel["name"], persona, point["key"], table["signs"][verdicts[at]], table["reasons"][reasons[at]])
               for persona, told in table["cells"].items()
               for point, verdicts, reasons in zip(table["points"], told["verdicts"], told["reasons"], strict=True)
               for at, kernel in enumerate(table["kernels"]) if table["signs"][verdicts[at]] != "not asked"}
    assert len(lines) == len(of_json) > 1000
    assert ("x86_64 6.0.0", "user", "alpha.probe0.point0", "blocked", "EACCES: needs CAP_PERFMON") in of_json


def test_plots_count_what_kernels_answered(built: Path) -> None:
    """Not what was held back as a hazard; and the kernel whose bars are dark has a name."""
    table = json.loads(unpacked(built / "data/cells.json.xz"))
    signs = {word: sign for sign, word in table["signs"].items()}
    page = (built / "plots.html").read_text(encoding="utf-8")
    for at, kernel in enumerate(table["kernels"]):
        said = [verdicts[at] for verdicts in table["cells"][table["personas"][0]]["verdicts"]]
        yes, told = said.count(signs["yes"]), sum(said.count(signs[word]) for word in ("yes", "no", "broken"))
        if signs["hazard"] in said:
            assert f'>{kernel["name"]}</th><td class="n">{yes}</td><td class="n">{told}</td>' in page
    assert re.search(r"the newest kernel measured \(.+6\.[0-9]+.*\), light", page)


def test_what_a_program_can_do_has_four_words(built: Path) -> None:
    """Nobody asked these kernels what the wishes need: that is no "no"; and persona and level are named."""
    for page in (built / "kernel").glob("*.html"):
        said = page.read_text(encoding="utf-8").partition('id="wishes"')[2].partition("</table>")[0]
        assert "wishes, as persona user at perf_event_paranoid=2: yes, no, blocked" in said
        assert said.count('<span class="v unknown">not known</span>') == said.count('<th scope="row">') > 10
        assert 'class="v no"' not in said
        assert "sample my threads without the kernel" not in said, "a wish for Power alone"


def test_the_whole_database_goes_with_the_site(built: Path, tmp_path: Path) -> None:
    (tmp_path / "results.db").write_bytes(lzma.decompress((built / "data/results.db.xz").read_bytes()))
    with connect.reading(connect.open_engine(str(tmp_path / "results.db"))) as connection:
        there = {column.result.digest for column in matrix.load(connection).columns}
    assert there == {path.name.removesuffix(".json.xz") for path in (built / "data/results").iterdir()}


def test_without_npm_every_table_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "WORK", tmp_path / "none")
    monkeypatch.setattr(bundle.shutil, "which", lambda _name: None)
    site = build_into(tmp_path, [make(0), make(1)], monkeypatch)
    assert not (site / "site.js").exists() and (site / "style.css").is_file()
    assert "<script" not in (site / "index.html").read_text(encoding="utf-8")
    assert (site / "index.html").read_text(encoding="utf-8").count('<td class="c ') > 100
    assert re.search(r'<td class="told">2 blocked</td><td class="told">2 blocked</td><td class="told">1 yes, 1 no</td>',
                     (site / "area/alpha.html").read_text(encoding="utf-8"))
    for page in ("index", "explore", "compare"):
        said = (site / f"{page}.html").read_text(encoding="utf-8")
        assert "built without scripts" in said and "<noscript" not in said, page


def test_a_folder_of_somebody_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/letter").write_text("dear", encoding="utf-8")
    with pytest.raises(Unusable, match="not empty"):
        build.replace(tmp_path / "mine", lambda _part: None)
    assert (tmp_path / "mine/letter").read_text(encoding="utf-8") == "dear"


def test_a_site_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    build.replace(folder, lambda part: (part / "index.html").write_text("old", encoding="utf-8"))

    def fails(part: Path) -> None:
        (part / "index.html").write_text("new", encoding="utf-8")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError):
        build.replace(folder, fails)
    assert (folder / "index.html").read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_comments_of_probes_are_taken_apart() -> None:
    found = source.about("Does it?\nWho cares.\nObserved: we look.\nLinux commit 9ecda41acb97 (\"x\") (v4.7)")
    assert found == source.About("Does it? Who cares.", "we look.", ('Linux commit 9ecda41acb97 ("x") (v4.7)',))


@pytest.mark.parametrize("said", ["", "0:1", "a:b+-c", "0:1+-2 " * 1000, "<svg>"])
def test_offsets_are_taken_with_care(said: str) -> None:
    assert len(plots.offsets(said)) <= plots.CPUS


def tools() -> None:
    """Skip where the front end's packages cannot be installed."""
    missing = bundle.install()
    if missing:
        pytest.skip(missing)


@pytest.mark.peer("browser")
def test_html_and_css_validate(built: Path) -> None:
    tools()
    for name in ("html-validate.json", "stylelint.config.mjs"):
        shutil.copyfile(HERE / name, WORK / name)
    some = [pages(built / folder)[0] for folder in ("area", "point", "kernel", "device", "result", "feature")]
    ended = subprocess.run(["npx", "--no-install", "html-validate", "--config", "html-validate.json",
                            *sorted(built.glob("*.html")), *some], cwd=WORK, capture_output=True, text=True,
                           timeout=300, check=False)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-500:]
    shutil.copytree(bundle.HERE / "front", WORK / "linted", dirs_exist_ok=True)
    ended = subprocess.run(["npx", "--no-install", "stylelint", *(f"linted/{path.name}" for path in bundle.sheets()), "linted/embed.css"], cwd=WORK, capture_output=True,
                           text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-2000:]


@pytest.mark.peer("browser")
@pytest.mark.skipif(not CHROMIUM, reason="the package chromium is not installed")
def test_a_walk_through_the_site_in_a_browser(built: Path) -> None:
    """Search, filter, compare, links, history, personas, themes, a phone, no script, keyboard, axe."""
    tools()
    for name in ("walk.mjs", "typed.json"):
        shutil.copyfile(HERE / name, WORK / name)
    ended = subprocess.run(["node", "walk.mjs", built, WORK / "screenshots"], cwd=WORK, text=True,
                           env=os.environ | {"CHROMIUM": CHROMIUM}, capture_output=True, timeout=580,
                           check=False)
    steps = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [step for step in steps if not step["ok"]] == [] and ended.returncode == 0, ended.stderr[-2000:]
    assert len(steps) > 40


@pytest.mark.peer("browser")
@pytest.mark.skipif(not CHROMIUM, reason="the package chromium is not installed")
def test_twelve_questions_are_answered_from_the_start_page(tmp_path: Path) -> None:
    """The site of what ships, by what is visible, in at most three clicks each."""
    tools()
    subprocess.run([sys.executable, "-m", "reports", "site", "--shipped", tmp_path / "site"], cwd=HERE.parents[2],
                   capture_output=True, timeout=580, check=True)
    shutil.copyfile(HERE / "tasks.mjs", WORK / "tasks.mjs")
    ended = subprocess.run(["node", "tasks.mjs", tmp_path / "site", WORK / "screenshots"], cwd=WORK, text=True,
                           env=os.environ | {"CHROMIUM": CHROMIUM}, capture_output=True, timeout=580, check=False)
    tasks = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [task for task in tasks if not task["ok"]] == [] and len(tasks) == 12, ended.stderr[-2000:]


def test_the_lock_file_names_no_host() -> None:
    locked = (bundle.HERE / "package-lock.json").read_text(encoding="utf-8")
    assert "resolved" not in locked and "registry" not in locked
    packages = json.loads((bundle.HERE / "package.json").read_text(encoding="utf-8"))
    assert all(re.fullmatch(r"[0-9.]+", version) for kind in ("dependencies", "devDependencies")
               for version in packages[kind].values())
