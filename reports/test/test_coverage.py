# SPDX-License-Identifier: MIT
"""The table of other suites' tests: its format, what its globs match, what is printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import CATALOGUE

from reports import catalogue, coverage, lint, schema, verbs
from reports.text import Unusable

ROOT = Path(__file__).resolve().parents[2]
TABLE = """format = 1
[[suite]]
id = "peer"
title = "a peer suite"
version = "1.0"
test = [
 {name = "newest_one", probes = ["ring.write_backward.*"], note = "ours asks more"},
 {name = "clock", probes = ["sw.clock.counts"], lacks = "the other half"},
 {name = "trace", because = "hardware", why_not = "needs a trace unit"},
]
"""
POINTS = coverage.Points(catalogue.parse(CATALOGUE))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "coverage.toml"
    path.write_text(TABLE)
    return path


def changed(path: Path, old: str, new: str) -> Path:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


def run(*args: object) -> int:
    return verbs.main(["coverage", *map(str, args)])


@pytest.fixture
def declared(tmp_path: Path) -> Path:
    path = tmp_path / "catalogue"
    path.write_text(CATALOGUE)
    return path


def test_each_test_has_one_of_three_states(table: Path) -> None:
    suite, = coverage.read(table)
    assert [test.state for test in suite.tests] == ["covered", "in part", "not covered"]
    assert [test.name for test in suite.of("in part")] == ["clock"]
    assert [test.remark for test in suite.tests] == [
        "ours asks more", "lacks the other half", "hardware: needs a trace unit"]


@pytest.mark.parametrize(("old", "new"), [
    ('because = "hardware", why_not = "needs a trace unit"', 'note = "hm, well"'),
    (', why_not = "needs a trace unit"', ""),
    ('because = "hardware", ', ""),
    ('because = "hardware"', 'because = "lazy"'),
    ('because = "hardware"', 'lacks = "everything", because = "hardware"'),
    ('lacks = "the other half"', 'because = "gap", why_not = "both at once"'),
    ('["sw.clock.counts"]', "[]"),
    ('["sw.clock.counts"]', '["*"]'),
    ('["sw.clock.counts"]', '["sw.clock.counts", "sw.clock.counts"]'),
    ('name = "clock", ', ""),
    ('name = "clock"', 'name = "trace"'),
    ("format = 1", "format = 2"),
    ('version = "1.0"', 'version = "1.0"\nurl = "x"'),
    ("test = [", "test = ]"),
])
def test_an_ill_formed_table_is_refused(table: Path, old: str, new: str) -> None:
    assert coverage.check(table) == []
    problem, = coverage.check(changed(table, old, new))
    assert problem.removeprefix(f"{table.parent}/").startswith(("coverage.toml: ", "peer: ")) and "\n" not in problem


def test_a_table_that_is_not_there_or_too_large_is_refused(table: Path) -> None:
    with pytest.raises(Unusable, match="No such file"):
        coverage.read(table.with_name("other.toml"))
    table.write_text(table.read_text() + "#" * (1 << 20))
    with pytest.raises(Unusable, match="larger than"):
        coverage.read(table)


def test_points_are_counted_without_facts_and_without_meta() -> None:
    found = catalogue.parse(CATALOGUE + "\nid=meta.a\ntitle=t\nsince=4.7\npoint=b c\n")
    points = coverage.Points(found)
    assert [points.count(glob) for glob in
            ("ring.write_backward.*", "sw.*", "*.max_pages", "meta.*", "ring.*.pla?n")] == [
                2, 1, 0, 0, 1]


def test_a_glob_without_a_point_is_told(table: Path) -> None:
    suites = coverage.read(changed(table, "sw.clock.counts", "sw.clock.ticks"))
    assert list(coverage.stale(suites, POINTS)) == [
        "peer: clock: sw.clock.ticks matches no point"]
    assert list(coverage.stale(suites, POINTS, ["sw.other"])) != []
    assert list(coverage.stale(suites, POINTS, ["sw.clock"])) == []


def test_the_verb_counts_and_exits_1_on_a_stale_glob(table, declared, capsys) -> None:
    assert run("--count", "--data", table, declared) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [re.findall(r"\d+", line) for line in lines] == [["3", "1", "1", "1"]] * 2
    assert [line.split()[0] for line in lines] == ["peer", "all"]
    changed(table, "sw.clock.counts", "sw.clock.ticks")
    assert run("--count", "--data", table, declared) == 1
    assert "sw.clock.ticks matches no point" in capsys.readouterr().err


def test_totals_are_sums(table: Path) -> None:
    twice = coverage.read(table) * 2
    assert coverage.counts(twice)[-1] == (
        "all", 6, {"covered": 2, "in part": 2, "not covered": 2})


def test_the_listing_tells_what_is_missing_and_why(table, declared, capsys) -> None:
    assert run("--width", 44, "--data", table, declared) == 0
    out = capsys.readouterr().out
    assert "in part      clock: lacks the other half\n" in out and "newest_one" not in out
    assert "not covered  trace: hardware: needs a\n" + " " * 15 + "trace unit\n" in out


def test_the_page_is_markdown_with_every_test_once(table, declared, capsys) -> None:
    changed(table, "needs a trace unit", "needs a <b>|unit|")
    assert run("--markdown", "--data", table, declared) == 0
    page = capsys.readouterr().out
    assert "| newest\\_one | ring.write\\_backward.\\*\u00a0(2) | ours asks more |" in page
    assert "| trace | hardware | needs a \\<b\\>\\|unit\\| |" in page
    assert "| clock | sw.clock.counts\u00a0(1) | the other half |" in page
    assert "| [peer](#suite-1) | 1.0 | 3 | 1 | 1 | 1 |" in page and "Not covered: 1 hardware." in page
    assert all(line.endswith("|") for line in page.splitlines() if line.startswith("|"))
    assert "\n\n\n" not in page.replace("\n\n\n<a", "\n\n<a")


def test_validate_takes_the_table_for_what_it_is(table: Path, capsys) -> None:
    assert verbs.main(["validate", str(table)]) == 0
    changed(table, '"hardware"', '"lazy"')
    assert verbs.main(["validate", str(table)]) == 1
    assert "because" in capsys.readouterr().out


def tree(top: Path, make_elf, *, built: bool) -> Path:
    """A tree with a table, the sources of two probes, and one of them or none built."""
    for name in ("ring/write_backward", "sw/clock"):
        (top / "probes" / name).parent.mkdir(parents=True)
        (top / "probes" / f"{name}.c").write_text("")
    program = top / "build" / "x" / "probes" / "ring" / "write_backward"
    program.parent.mkdir(parents=True)
    if built:
        program.write_bytes(make_elf("backward", CATALOGUE.split("\n\n")[0]).read_bytes())
    path = top / coverage.DATA
    path.parent.mkdir(parents=True)
    path.write_text(TABLE)
    return path


def findings(top: Path) -> list[str]:
    return [finding.message for finding in lint.tree(top) if finding.rule == "coverage"]


def test_the_lint_tells_stale_globs_but_not_of_unbuilt_probes(tmp_path, make_elf) -> None:
    path = tree(tmp_path, make_elf, built=True)
    assert findings(tmp_path) == []
    changed(path, "ring.write_backward.*", "ring.write_backward.oldest")
    assert findings(tmp_path) == [
        "peer: newest_one: ring.write_backward.oldest matches no point"]
    (tmp_path / "probes" / "sw" / "clock.c").unlink()
    assert len(findings(tmp_path)) == 2


def test_the_verb_says_that_probes_are_not_built(tmp_path, make_elf, monkeypatch, capsys) -> None:
    path = tree(tmp_path, make_elf, built=True)
    monkeypatch.chdir(tmp_path)
    assert run("--count") == 0
    assert capsys.readouterr().err == (
        "reports: 1 probes are not built: patterns of theirs are not judged\n")
    changed(path, "ring.write_backward.*", "ring.write_backward.oldest")
    assert run("--count") == 1


def test_the_lint_tells_an_ill_formed_table(tmp_path: Path, make_elf) -> None:
    path = tree(tmp_path, make_elf, built=False)
    assert findings(tmp_path) == []
    changed(path, '"hardware"', '"lazy"')
    assert len(findings(tmp_path)) == 1


def test_the_table_of_this_tree_follows_its_format() -> None:
    suites = coverage.read(ROOT / coverage.DATA)
    assert {suite.id for suite in suites} == {
        "perf_event_tests", "selftests/perf_events", "selftests/powerpc/pmu", "ltp", "perf test"}
    used = {test.because for suite in suites for test in suite.tests if test.because}
    assert used <= set(coverage.BECAUSE)


def test_the_schema_and_the_page_know_the_same_kinds() -> None:
    validator = schema._validator("coverage").schema
    kinds = validator["$defs"]["test"]["properties"]["because"]["enum"]
    assert sorted(kinds) == sorted(coverage.BECAUSE)
