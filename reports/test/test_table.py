# SPDX-License-Identifier: MIT
"""Several kernels side by side: what differs, under which heads, and how much is the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from small import Said, put, result

from reports import table, verbs


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def kernel(**points: str) -> Said:
    return {"root": {"ring.order": points}}


def printed(capsys, *args: object) -> list[str]:
    assert verbs.main(["table", *map(str, args)]) == 0
    return capsys.readouterr().out.splitlines()


def test_only_what_differs_is_shown_and_the_rest_is_counted(capsys, tmp_path: Path) -> None:
    old = put(tmp_path / "old", result(kernel(a="no: EINVAL", b="absent: none", c="yes", d="broken: 1"),
                                       release="5.10.1"))
    new = put(tmp_path / "new", result(kernel(a="yes", b="absent: other", c="yes", d="broken: 2"),
                                       release="6.1.1"))
    lines = printed(capsys, old, new)
    assert [line.split() for line in lines[:5]] == [
        ["5.10.1", "6.1.1"], ["point", "root", "root"], [],
        ["ring.order.a", "no", "yes", "EINVAL"], []]
    assert lines[5] == ("3 points the same wherever asked (1 yes, 1 broken, 1 absent); --all shows them")
    every = printed(capsys, "--all", old, new)
    assert sum(line.startswith("ring.order.") for line in every) == 4
    assert not any("--all" in line for line in every)
    markdown = printed(capsys, "--markdown", old, new)
    assert len(markdown) == 5 and markdown[-1].startswith("3 points the same")


def test_nothing_that_differs_is_said_too(capsys, tmp_path: Path) -> None:
    a = put(tmp_path / "a", result(kernel(a="yes", b="no: x"), release="5.10"))
    b = put(tmp_path / "b", result(kernel(a="yes", b="no: x"), release="6.1"))
    assert printed(capsys, a, b)[0] == (
        "2 points the same wherever asked (1 yes, 1 no); --all shows them")


def test_one_persona_of_one_result_is_what_is_not_yes(capsys, tmp_path: Path) -> None:
    lines = printed(capsys, put(tmp_path / "a", result(kernel(a="yes", b="no: x"))), "--persona", "root")
    assert any(line.split() == ["ring.order.b", "no", "x"] for line in lines)
    assert "1 point yes; --all shows them" in lines


def test_facts_that_are_not_shown_are_counted(capsys, tmp_path: Path) -> None:
    made = [result(kernel(a="yes", b=word), release=release)
            for word, release in (("yes", "5.1"), ("no: x", "6.1"))]
    for each in made:
        each["personas"]["root"]["probes"]["ring.order"]["facts"] = {"max": 7}
    paths = [put(tmp_path / str(index), each) for index, each in enumerate(made)]
    assert any("1 fact not shown" in line for line in printed(capsys, *paths))
    assert any(line.split()[:3] == ["ring.order.max", "7", "7"] for line in printed(capsys, "--all", *paths))


def heads(*made: tuple[str, str, str]) -> list[str]:
    """Titles of results with this path, release and level."""
    results = [result(kernel(a="yes"), release=release) | {"environment": {"paranoid": level}}
               for _, release, level in made]
    return [column.title for column in
            table.columns(results, None, table.names_of([Path(path) for path, _, _ in made]))]


def test_rows_that_share_a_release_are_headed_by_their_names() -> None:
    assert heads(("r/power8/x.json", "7.2", "2"), ("r/power9/x.json", "7.2", "2"),
                 ("r/amd64/x.json", "6.1", "2")) == ["power8 7.2 root", "power9 7.2 root", "6.1 root"]


def test_levels_tell_twins_apart_better_than_names() -> None:
    assert heads(("r/a/paranoid-1/x.json", "6.1", "1"), ("r/a/paranoid-3/x.json", "6.1", "3")) == [
        "6.1 paranoid 1 root", "6.1 paranoid 3 root"]
    assert heads(("r/a/paranoid-1/x.json", "6.1", "1"), ("r/b/paranoid-1/x.json", "6.1", "1")) == [
        "a/paranoid-1 6.1 root", "b/paranoid-1 6.1 root"]


def test_the_same_file_twice_has_numbers() -> None:
    assert heads(("a/x.json", "6.1", "2"), ("a/x.json", "6.1", "2")) == ["6.1 #1 root", "6.1 #2 root"]


def test_a_name_of_the_file_system_is_escaped() -> None:
    assert "\x1b" not in "".join(heads(("a\x1b[2J/x.json", "6.1", "2"), ("b/x.json", "6.1", "2")))
