# SPDX-License-Identifier: MIT
"""Expectations: derived from `since`, and the deviations that are written down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import CLOCK, GOOD, MakeRun, ktap

from reports import expect, result

NO = GOOD.replace("ok 2 global.plain", "ok 2 global.plain # SKIP no: EINVAL")
BROKEN = GOOD.replace("ok 2 global.plain", "#:perfmodes: observed=0\nnot ok 2 global.plain")


def entry(when: str, verdict: str = '"broken"', point: str = "plain") -> str:
    return (f'format = 1\n[[deviation]]\npoint = "{point}"\nwhen = {when}\nverdict = {verdict}\n'
            'reason = "known to lie there"\nlink = "https://example.org/issues/1"\n')


def judge(run: Path, folder: Path, said: str = "") -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    if said:
        (folder / "ring.write_backward.toml").write_text(said)
    read = expect.read(folder)
    assert read.problems == []
    return result.build(run, read)


@pytest.mark.parametrize("said,code,release,keys", [
    (GOOD, 0, "6.1.0", []),
    (NO, 0, "6.1.0", ["ring.write_backward.plain"]),
    (NO, 0, "4.7", ["ring.write_backward.plain"]),
    (NO, 0, "4.6.7", []),
    (NO, 0, "no number", []),
    (BROKEN, 1, "6.1.0", ["ring.write_backward.plain"]),
    (BROKEN, 1, "3.10.0", ["ring.write_backward.plain"]),
])
def test_since_says_what_is_unexpected(make_run: MakeRun, tmp_path: Path, said: str, code: int,
                                       release: str, keys: list[str]) -> None:
    run = make_run({"root": {"ring.write_backward": ktap(said, code)}}, release=release)
    assert [entry["key"] for entry in judge(run, tmp_path / "e")["unexpected"]] == keys


def test_yes_before_its_time_is_news(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run({"root": {"ring.write_backward": ktap(GOOD)}}, release="4.6.0-vendor")
    made = judge(run, tmp_path / "e")
    assert made["unexpected"] == [] and len(made["news"]) == 2


@pytest.mark.parametrize("when,covered", [
    ('{arch = "x86_64"}', True), ('{arch = "arm*"}', False), ('{arch = ["arm*", "x86*"]}', True),
    ('{release = ">=6.1,<6.2"}', True), ('{release = "<6.1"}', False),
    ('{release = "==6.1.0"}', True), ('{release = "6.1.*"}', True),
    ('{emulator = "qemu-tcg"}', False), ('{emulator = "!qemu-*"}', True),
    ('{arch = "!x86*"}', False), ('{persona = "root"}', True), ('{persona = "user"}', False),
    ('{uid = "0"}', True), ('{paranoid = "2", arch = "x86_64"}', True),
    ('{paranoid = "3", arch = "x86_64"}', False), ('{cpu_model = "*CPU"}', True),
    ('{broken = "ring.write_backward.plain"}', True), ('{broken = "breakpoint.access.w.counts"}', False),
])
def test_conditions_ask_the_environment(make_run: MakeRun, tmp_path: Path, when: str,
                                        covered: bool) -> None:
    run = make_run({"root": {"ring.write_backward": ktap(BROKEN, 1)}})
    assert (judge(run, tmp_path / "e", entry(when))["unexpected"] == []) is covered


@pytest.mark.parametrize("cause,covered", [("broken", True), ("unknown", True), ("yes", False)])
def test_a_cause_that_could_not_be_told_is_that_of_another_persona(make_run: MakeRun, tmp_path: Path, cause: str,
                                                                   covered: bool) -> None:
    """Of root both points are broken, one because of the other; of the user's the cause may be untold."""
    line = "ok 1 ring.newest"
    both = BROKEN.replace(line, f"#:perfmodes: observed=1\nnot {line}")
    user = {"broken": both, "unknown": BROKEN.replace(line, f"not {line}"), "yes": BROKEN}[cause]
    run = make_run({"root": {"ring.write_backward": ktap(both, 1)}, "user": {"ring.write_backward": ktap(user, 1)}})
    made = judge(run, tmp_path / "e", entry('{broken = "ring.write_backward.newest"}'))
    unexpected = {(each["persona"], each["key"]) for each in made["unexpected"]}
    assert (("user", "ring.write_backward.plain") not in unexpected) is covered
    assert ("root", "ring.write_backward.plain") not in unexpected


def test_a_flaky_point_may_be_either(make_run: MakeRun, tmp_path: Path) -> None:
    either = entry('{arch = "*"}', '["broken", "yes"]')
    for name, said, code in (("one", GOOD, 0), ("two", BROKEN, 1)):
        run = make_run({"root": {"ring.write_backward": ktap(said, code)}}, name)
        made = judge(run, tmp_path / "e", either)
        assert made["unexpected"] == [] and "news" not in made


def test_better_than_written_down_is_news_worse_is_unexpected(make_run: MakeRun,
                                                              tmp_path: Path) -> None:
    run = make_run({"root": {"ring.write_backward": ktap(GOOD)}})
    made = judge(run, tmp_path / "e", entry('{arch = "*"}'))
    assert made["unexpected"] == []
    assert made["news"][0]["expected"] == ["broken"]
    worse = make_run({"root": {"ring.write_backward": ktap(BROKEN, 1)}}, "worse")
    made = judge(worse, tmp_path / "e", entry('{arch = "*"}', '"no"'))
    assert made["unexpected"][0]["verdict"] == "broken"


def test_a_deviation_asks_nothing_of_what_could_not_be_told(make_run: MakeRun,
                                                            tmp_path: Path) -> None:
    said = GOOD.replace("ok 2 global.plain", "ok 2 global.plain # SKIP blocked: paranoid=3")
    run = make_run({"root": {"ring.write_backward": ktap(said)}})
    made = judge(run, tmp_path / "e", entry('{arch = "*"}'))
    assert made["unexpected"] == [] and "news" not in made


def test_what_could_not_be_told_is_never_unexpected(make_run: MakeRun, tmp_path: Path) -> None:
    for word in ("blocked", "absent", "hazard", "no such word"):
        said = CLOCK.replace("global.counts\n", f"global.counts # SKIP {word}: x\n", 2)
        run = make_run({"root": {"sw.clock": ktap(said)}}, word.replace(" ", "_"))
        assert judge(run, tmp_path / "e")["unexpected"] == []


@pytest.mark.parametrize("bad", [
    "", "format = 1\n", "format = 2\n" + entry('{arch = "x"}')[11:], "[[[", "format = \xff",
    entry("{}"), entry('{arch = "x"}', '"blocked"'), entry('{arch = "x"}', '["no"]'),
    entry('{arch = 3}'), entry('{release = ">=six"}'), entry('{release = "<6.1,>"}'),
    entry('{arch = "x"}').replace("https", "ftp"), entry('{arch = "x"}').replace("reason", "why"),
    entry('{arch = "x"}').replace("known to lie there", "flaky"),
    entry('{arch = "x"}') + "colour = 1\n",
])
def test_bad_entries_are_named_and_the_good_still_count(tmp_path: Path, bad: str) -> None:
    (tmp_path / "a.bad.toml").write_text(bad, encoding="latin-1")
    (tmp_path / "b.good.toml").write_text(entry('{arch = "x"}'))
    found = expect.read(tmp_path)
    assert len(found.problems) == 1 and found.problems[0].startswith("a.bad.toml")
    assert [deviation.probe for deviation in found.deviations] == ["b.good"]


def test_releases_are_compared_as_numbers() -> None:
    assert expect.release_of("6.10.3-amd64") == (6, 10, 3)
    assert expect.release_of("4.9-rc1") == (4, 9, 0)
    assert expect.release_of("next") is None
    assert (expect.release_of("6.10") or ()) > (expect.release_of("6.9.9") or ())


def test_the_example_in_the_readme_is_valid(tmp_path: Path) -> None:
    readme = Path(__file__).resolve().parents[2] / "suites" / "expect" / "README.md"
    example = readme.read_text(encoding="utf-8").partition("```toml\n")[2].partition("```")[0]
    (tmp_path / "ring.write_backward.toml").write_text(example)
    assert expect.check(tmp_path / "ring.write_backward.toml") == []
    assert len(expect.read(tmp_path).deviations) == 1


@pytest.mark.parametrize("link, good", [
    ("https://lore.kernel.org/linux-perf-users/20260101120000.12345-1-a@example.org/", True),
    ("https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/commit/?id=d06bf78e55d5", True),
    ("https://gitlab.com/qemu-project/qemu/-/issues/1", True),
    ("https://bugzilla.kernel.org/show_bug.cgi?id=1", True),
    ("commit d06bf78e55d5 (\"perf: a subject\") (v6.18)", True),
    ("seen on 6.1 mips64, reproducer ring.write_backward", True),
    ("seen on 5.10, 6.18 x86_64, uml, reproducer ring.write_backward", True),
    ("https://gitlab.com/qemu-project/qemu/-/blob/v7.2.0/target/ppc/power8-pmu.c", False),
    ("https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/kernel/events/core.c", False),
    ("https://example.org/", False), ("http://lore.kernel.org/a/b@c", False), ("commit d06bf", False),
    ("seen on, reproducer ring.write_backward", False), ("seen on 6.1 mips64", False),
    ("seen on 6.1, reproducer somewhere", False), ("seen by me", False)])
def test_a_link_is_something_that_can_be_answered(tmp_path: Path, link: str, good: bool) -> None:
    path = tmp_path / "ring.write_backward.toml"
    path.write_text(entry('{arch = "x86_64"}').replace('"https://example.org/issues/1"', f"'{link}'"))
    problems = expect.check(path)
    assert problems == [] if good else "is no thread, commit or bug" in problems[0]


def test_the_source_that_explains_it_stands_beside_the_link(tmp_path: Path) -> None:
    path = tmp_path / "ring.write_backward.toml"
    path.write_text(entry('{arch = "x86_64"}') + 'source = "https://example.org/kernel/events/core.c"\n')
    assert expect.check(path) == []
