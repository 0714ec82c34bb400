# SPDX-License-Identifier: MIT
"""What lint says of the records of how each point was seen to fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_lint import good_tree

from reports import lint, mutation, verbs
from reports.mutation import Seen

KILLED = Seen("broken", "user", "read-zeros", "6.18/x86_64")


@pytest.fixture
def tree(tmp_path: Path, make_elf) -> Path:
    """A tree with one probe, built: ring.a with the points a and one.b."""
    good_tree(tmp_path)
    program = tmp_path / "build" / "x" / "probes" / "ring" / "a"
    program.parent.mkdir(parents=True)
    program.write_bytes(make_elf("a", "id=ring.a\ntitle=t\nsince=4.7\npoint=a x\npoint=one.b y").read_bytes())
    return tmp_path


def test_a_record_is_read_back_as_it_was_written(tree: Path) -> None:
    mutation.write(tree, "ring.a", {"a": KILLED, "one.b": Seen("blocked", "user", "not-here", "5.10/x86_64")})
    assert mutation.read(tree)["ring.a.a"] == KILLED and len(mutation.read(tree)) == 2
    assert list(lint.tree(tree)) == [] and list(lint.notes(tree)) == []
    mutation.write(tree, "ring.a", {})
    assert mutation.paths(tree) == []


def test_a_new_point_is_a_note_and_no_finding(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mutation.write(tree, "ring.a", {"a": KILLED})
    assert list(lint.tree(tree)) == []
    assert list(lint.notes(tree)) == [
        "note: ring.a: 1 of 2 points not yet shown to fail: make falsify PROBE=ring.a"]
    assert verbs.main(["lint", "--tree", str(tree)]) == 0
    said = capsys.readouterr().out
    assert "note: ring.a: 1 of 2" in said and "nothing found" in said


@pytest.mark.parametrize("probe, name, said", [
    ("ring.a", "gone", "stale: no point gone; run make falsify PROBE=ring.a"),
    ("ring.gone", "a", "stale: there is no such probe; remove the file")])
def test_a_stale_record_is_found(tree: Path, probe: str, name: str, said: str) -> None:
    mutation.write(tree, probe, {name: KILLED})
    assert [(f.rule, f.message) for f in lint.tree(tree)] == [("mutation", said)]


@pytest.mark.parametrize("line", ["a broken user", "a convicted user read-zeros 6.18/x86_64"])
def test_an_ill_formed_record_is_found(tree: Path, line: str) -> None:
    path = mutation.path_of(tree, "ring.a")
    path.parent.mkdir(parents=True)
    path.write_text(line + "\n")
    assert [f.message for f in lint.tree(tree)] == ["not: point verdict persona fault kernel"]


@pytest.mark.parametrize("how, weight", [
    (KILLED, 3), (Seen("no", "user"), 3), (Seen("broken", "user", "open-eacces"), 2),
    (Seen("unknown", "user", "read-zeros"), 2), (Seen("blocked", "user"), 1),
    (Seen("unknown", "user", "open-eacces"), 1), (Seen("absent", "root", "not-here"), 0), (Seen("yes", "root"), 0)])
def test_what_shows_how_much(how: Seen, weight: int) -> None:
    assert how.weight == weight


def test_a_kill_where_nothing_works_is_of_the_points_own_only_where_it_asks_about_that(tree: Path) -> None:
    path = tree / mutation.BLANKET
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("# a comment\nread-zeros ring.b*\n")
    blanket = mutation.Blanket(tree)
    assert [blanket.own(point, KILLED) for point in ("ring.a.a", "ring.bad")] == [False, True]
    assert blanket.worth("ring.a.a", KILLED) == 3 and blanket.worth("ring.bad", KILLED) == 4
    other = Seen("broken", "user", "poll.always", "6.18/x86_64")
    assert blanket.own("ring.a.a", other) and not blanket.own("ring.a.a", Seen("unknown", "user", "poll.always"))


def test_points_are_counted_by_what_kills_them(tree: Path) -> None:
    path = tree / mutation.BLANKET
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("read-zeros\n")
    mutation.write(tree, "ring.a", {"a": KILLED, "one.b": Seen("absent", "user", "not-here", "6.18/x86_64")})
    found = mutation.standing(tree, lint._built(tree))
    assert found == {"own": [], "blanket": ["ring.a.a"], "not": [], "never": ["ring.a.one.b"]}


@pytest.mark.parametrize("reason, found", [("", 1), ("ring.a.a  it is so\n", 0)])
def test_a_point_that_nothing_kills_needs_a_reason(tree: Path, reason: str, found: int) -> None:
    path = tree / mutation.REASONS
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(reason)
    mutation.write(tree, "ring.a", {"a": Seen("unknown", "user", "poll.always", "6.18/x86_64"), "one.b": KILLED})
    told = [f.message for f in lint.tree(tree) if f.rule == "mutation"]
    assert len(told) == found and all("unexplained: ring.a.a" in text for text in told)


@pytest.mark.parametrize("reason, stale", [("ring.a.a  it is so", 0), ("ring.gone.*  it is so", 1)])
def test_a_reason_excuses_a_point_and_goes_stale_with_it(tree: Path, reason: str, stale: int) -> None:
    path = tree / mutation.REASONS
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(reason + "\n")
    mutation.write(tree, "ring.a", {"one.b": Seen("absent", "user", "not-here", "6.18/x86_64")})
    assert len([f for f in lint.tree(tree) if f.rule == "mutation"]) == stale
    assert len(list(lint.notes(tree))) == stale
