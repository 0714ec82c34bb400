# SPDX-License-Identifier: MIT
"""The search for the kernel where an answer changed: rows, verdicts, and what it must not hide."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernels import matrix
from kernels.errors import Missing, Usage
from kernels.show import bisect
from kernels.show.bisect import Answer, Search

LISTED = matrix.load()
WORDS = {"y": "yes", "n": "no", "b": "broken", "?": "unknown", "-": ""}


def search(said: str) -> Search:
    """Rows a, b, c ... that answer so."""
    rows = [chr(ord("a") + index) for index in range(len(said))]
    return Search(rows, lambda row: Answer(row, f"6.{row}", WORDS[said[rows.index(row)]], "why"))


@pytest.mark.parametrize(
    ("said", "last", "first"),
    [("yn", "a", "b"), ("ynn", "a", "b"), ("yyn", "b", "c"), ("nnnnnnny", "g", "h"),
     ("nyyyyyyy", "a", "b"), ("nnnnyyyyyy", "d", "e"), ("y?n", "a", "c"), ("y?-?nn", "a", "e"),
     ("yyy?nn", "c", "e")],
)  # fmt: skip
def test_the_border_is_found(said: str, last: str, first: str) -> None:
    found = search(said)
    one, two = found.run()
    assert (one.row, two.row) == (last, first) and not found.contradictions(one, two)
    assert sum(found.told(answer) for answer in found.seen.values()) <= 2 + len(said).bit_length()


def test_each_row_is_asked_once() -> None:
    asked: list[str] = []
    found = search("nnnnyyyyyy")
    ask = found.ask
    found.ask = lambda row: (asked.append(row), ask(row))[1]
    found.run()
    found.at(0)
    assert len(asked) == len(set(asked)) < 10


@pytest.mark.parametrize("said, why", [("yyy", "both say yes"), ("?yn", "a does not tell"),
                                       ("yy-", "c does not tell")])  # fmt: skip
def test_where_there_is_nothing_to_find_the_reason_is_said(said: str, why: str) -> None:
    with pytest.raises(Missing, match=why):
        search(said).run()


def test_an_answer_that_changes_more_than_once_is_told() -> None:
    found = search("ynynn")
    for index in range(5):
        found.at(index)
    last, first = found.run()
    lines = bisect.report(found, last, first, "x.y.z")
    assert (last.row, first.row) == ("c", "d")
    assert "not one change: b says no, where one change would have yes" in lines


def test_a_third_answer_is_told() -> None:
    found = search("ybn")
    last, first = found.run()
    assert (last.row, first.row) == ("a", "b")
    assert "not one change: b says broken, where one change would have no" in (
        bisect.report(found, last, first, "x.y.z"))  # fmt: skip


def test_what_was_not_asked_is_named() -> None:
    found = search("nnnnyyyyyy")
    lines = bisect.report(found, *found.run(), "x.y.z")
    assert lines[0] == "x.y.z changed between these two:" and "6.d" in lines[1] and "6.e" in lines[2]
    assert any(line.startswith("not asked: ") and "--all" in line for line in lines)


def test_rows_are_in_the_order_of_their_series() -> None:
    names = [row.name for row in bisect.between(LISTED, "amd64-newest", "amd64-5.10")]
    assert names[0] == "amd64-5.10" and names[-1] == "amd64-newest"
    assert names.index("amd64-6.1") < names.index("amd64-6.12") and "amd64-newest-pmu" not in names


@pytest.mark.parametrize(
    ("one", "two", "why"),
    [("amd64-5.10", "arm64-newest", "more than their kernel"), ("amd64-5.10", "vax", "no kernel"),
     ("arm64-newest", "arm64-newest-nopmu", "more than their kernel"),
     ("amd64-6.1", "amd64-6.1", "one series")],
)  # fmt: skip
def test_rows_that_cannot_be_compared_are_refused(one: str, two: str, why: str) -> None:
    with pytest.raises(Usage, match=why):
        bisect.between(LISTED, one, two)


@pytest.mark.parametrize("point", ["sw.clocks", "sw", "", "sw.clocks.", "../x.y.z", "a b.c.d"])
def test_a_point_is_a_probe_and_a_name(point: str) -> None:
    with pytest.raises(Usage, match="is no point"):
        bisect.split(point)


def test_the_answer_of_a_result(tmp_path: Path) -> None:
    assert bisect.split("sw.clocks.cpu.stops") == ("sw.clocks", "cpu.stops")
    points = {"cpu": {"verdict": "broken", "reason": "lost"}, "task": {"verdict": "yes"}}
    result = {"identity": {"release": "6.1.0"},
              "personas": {"root": {"probes": {"sw.clocks": {"points": points}}}}}  # fmt: skip
    (tmp_path / "result.json").write_text(json.dumps(result))
    assert bisect.answer_of(tmp_path, "a", "root", "sw.clocks.cpu") == (
        Answer("a", "6.1.0", "broken", "lost"))  # fmt: skip
    assert bisect.answer_of(tmp_path, "a", "user", "sw.clocks.cpu").verdict == ""
    assert bisect.answer_of(tmp_path / "none", "a", "root", "sw.clocks.cpu").verdict == ""
    with pytest.raises(Usage, match="it has: cpu task"):
        bisect.answer_of(tmp_path, "a", "root", "sw.clocks.nothing")


def test_another_build_asks_again(tmp_path: Path) -> None:
    program = tmp_path / "bin/probes/sw/clocks"
    program.parent.mkdir(parents=True)
    folders = []
    for data in (b"one", b"two", b"two"):
        program.write_bytes(data)
        folders.append(bisect.cache(tmp_path, tmp_path, "sw.clocks", "root"))
    assert len(set(folders)) == 2 and folders[0].parent == tmp_path / "bisect"
    with pytest.raises(Usage, match="no probe"):
        bisect.cache(tmp_path, tmp_path, "sw.nothing", "root")
