# SPDX-License-Identifier: MIT
"""Where there is no database, the site is of the answers that ship."""

from __future__ import annotations

import errno
import html
import json
import lzma
import os
import re
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="python3-sqlalchemy is not installed")

from reports import answers, verbs
from reports.site import bundle, command
from reports.test.conftest import TREE, MakeRun


@pytest.fixture
def tree(tmp_path: Path, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with two rows, and nothing built."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "matrix").mkdir()
    for name, release in (("amd64-6.1", "6.1.0"), ("amd64-newest", "7.3.4")):
        made = make_run(name=f"matrix/{name}", release=release, env=f"kernel_row={name}\n")
        assert verbs.main(["result", "--quiet", str(made)]) == 0
    answers.write([tmp_path / "matrix"])
    return tmp_path


@pytest.fixture
def no_scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages alone, without what npm makes."""
    monkeypatch.setattr(bundle, "WORK", tmp_path / "none")
    monkeypatch.setattr(bundle.shutil, "which", lambda _name: None)


def test_a_fresh_clone_has_a_site(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert verbs.main(["site", "out"]) == 0
    said = capsys.readouterr()
    assert "of the answers that ship: 2 rows\n" in said.err and "3 points, 2 kernels" in said.out
    kernels = " ".join(page.read_text(encoding="utf-8") for page in Path("out/kernel").glob("*.html"))
    assert "<h1>amd64-6.1</h1>" in kernels and "<h1>amd64-newest</h1>" in kernels
    assert "newest record at data_head" in Path("out/point/ring.write_backward.newest.html").read_text()
    assert not Path("results").exists()


def test_what_was_asked_is_named_whatever_is_built(tree: Path, no_scripts: None) -> None:
    """Footer and cells.json name the catalogue of the answers; the build has probes of its own besides."""
    built = Path("build") / os.uname().machine / "probes/meta"
    built.mkdir(parents=True)
    (built / "pass").write_text("id=meta.pass\ntitle=t\nsince=2.6.31\npoint=ok it passes\n", encoding="utf-8")
    assert verbs.main(["site", "out"]) == 0
    digest = answers.questions().digest()
    assert f"<p>Catalogue {digest}. " in Path("out/index.html").read_text(encoding="utf-8")
    assert json.loads(lzma.decompress(Path("out/data/cells.json.xz").read_bytes()))["catalogue"] == digest


def test_a_kernel_without_levels_does_not_tell_with_which_one_starts(
    tmp_path: Path, make_run: MakeRun, no_scripts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guests are asked at 2, whatever level their kernel starts with; user-mode Linux has none."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "matrix").mkdir()
    for row, level in (("uml", ""), ("amd64-6.1", "paranoid=2\n")):
        made = make_run(name=f"matrix/{row}", release="6.1.0", env=f"kernel_row={row}\n")
        (made / "env").write_text((made / "env").read_text().replace("paranoid=2\n", level))
        assert verbs.main(["result", "--quiet", str(made)]) == 0
    answers.write([tmp_path / "matrix"])
    assert verbs.main(["site", "out"]) == 0
    said = next(Path("out/feature").glob("*.html")).read_text(encoding="utf-8")
    assert "Each at the level that it was asked at (perf_event_paranoid=2, a level that is not told). " in said


def test_the_newest_kernel_of_the_plots_is_a_plain_one(
    tmp_path: Path, make_run: MakeRun, no_scripts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a real-time one, whose release sorts behind it, and at the usual level."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "matrix/amd64-newest").mkdir(parents=True)
    for name, release, level in (("amd64-6.1", "6.1.0-cloud", 2), ("amd64-newest/paranoid--1", "7.3.4-cloud", -1),
                                 ("amd64-newest/paranoid-2", "7.3.4-cloud", 2), ("amd64-newest-rt", "7.3.4-rt", 2)):
        made = make_run(name=f"matrix/{name}", release=release, env=f"kernel_row={name.partition('/')[0]}\n")
        (made / "env").write_text((made / "env").read_text().replace("paranoid=2", f"paranoid={level}"))
        assert verbs.main(["result", "--quiet", str(made)]) == 0
    answers.write([tmp_path / "matrix"])
    assert verbs.main(["site", "out"]) == 0
    assert "the newest kernel measured (amd64-newest), light" in Path("out/plots.html").read_text(encoding="utf-8")


def test_the_page_says_how_a_kernel_comes_beside_these(tree: Path, no_scripts: None, make_run: MakeRun) -> None:
    """Its commands, as they are, with the file that the site has."""
    assert verbs.main(["site", "out"]) == 0
    said = html.unescape(Path("out/about.html").read_text(encoding="utf-8")).partition('id="yours"')[2]
    adds, builds = (words.removeprefix("./run.sh report ").split() for words in re.findall("<code>(.+?)</code>", said)
                    if words.startswith("./run.sh report "))
    Path("results.db").write_bytes(lzma.decompress(Path("out/data/results.db.xz").read_bytes()))
    Path("results").mkdir()
    mine = make_run(name="results/latest", release="6.18.0")
    assert verbs.main(["result", "--quiet", str(mine)]) == 0
    assert verbs.main(adds) == 0 and verbs.main(builds) == 0
    assert len([*Path("OUT/kernel").glob("*.html")]) == 3


def test_a_full_disk_is_named(tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def full(*_words: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(command.build, "build", full)
    assert verbs.main(["site", "out"]) == 3
    assert capsys.readouterr().err.endswith("reports: out: cannot be written: No space left on device\n")


def test_a_database_that_is_named_must_be_there(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verbs.main(["site", "out", "--db", "no.db"]) == 3
    for name in answers.names():
        (answers.FOLDER / f"{name}.txt").unlink()
    assert verbs.main(["site", "out"]) == 3
    assert "no answers ship in this tree, and there is no database" in capsys.readouterr().err


def test_a_kernel_is_named_once_with_its_levels(
    tmp_path: Path, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a line for each level at which it was asked: those that answer alike are one kernel."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "matrix/amd64-6.1").mkdir(parents=True)
    for level in (-1, 0, 2):
        made = make_run(name=f"matrix/amd64-6.1/paranoid-{level}", release="6.1.0", env="kernel_row=amd64-6.1\n")
        env = made / "env"
        env.write_text(env.read_text().replace("paranoid=2", f"paranoid={level}"))
        assert verbs.main(["result", "--quiet", str(made)]) == 0
    answers.write([tmp_path / "matrix"])
    assert verbs.main(["site", "out"]) == 0
    device = next(Path("out/device").glob("*.html")).read_text(encoding="utf-8")
    steps = device.partition("<th scope=\"col\">level</th>")[2]
    assert re.findall(r"<td>(-?[0-9])</td>", steps) == ["2", "0", "-1"] and "changed" not in steps, "of another level"
    page = Path("out/point/ring.write_backward.newest.html").read_text(encoding="utf-8")
    rows = page.partition('id="kernels"')[2].partition("</table>")[0].partition("<tbody>")[2]
    assert rows.count('href="../kernel/') == 1 and ">amd64-6.1 at -1, 0, 2</a>" in rows
    assert '<a href="../kernel/amd64-6.1.html">' in rows, "the page of the usual level"


def test_the_readme_counts_what_ships() -> None:
    """Each level of a row is a kernel of the site."""
    levels = [path.read_text(encoding="utf-8").count("\n[level ") for path in (TREE / answers.FOLDER).glob(f"*{answers.SUFFIX}")]
    said = f"{sum(levels)} kernels ({len(levels)} rows, {levels.count(5)} of them at five levels) of the answers that ship"
    assert said in (TREE / "reports/site/README.md").read_text(encoding="utf-8")
