# SPDX-License-Identifier: MIT
"""Where there is no database, the site is of the answers that ship."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="python3-sqlalchemy is not installed")

from reports import answers, verbs
from reports.test.conftest import MakeRun


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


def test_a_fresh_clone_has_a_site(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert verbs.main(["site", "out"]) == 0
    said = capsys.readouterr()
    assert "of the answers that ship: 2 rows\n" in said.err and "3 points, 2 kernels" in said.out
    kernels = " ".join(page.read_text(encoding="utf-8") for page in Path("out/kernel").glob("*.html"))
    assert "<h1>amd64-6.1</h1>" in kernels and "<h1>amd64-newest</h1>" in kernels
    assert "newest record at data_head" in Path("out/point/ring.write_backward.newest.html").read_text()
    assert not Path("results").exists()


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
    page = Path("out/point/ring.write_backward.newest.html").read_text(encoding="utf-8")
    rows = page.partition('id="kernels"')[2].partition("</table>")[0].partition("<tbody>")[2]
    assert rows.count('href="../kernel/') == 1 and ">amd64-6.1 at -1, 0, 2</a>" in rows
    assert '<a href="../kernel/amd64-6.1.html">' in rows, "the page of the usual level"
