# SPDX-License-Identifier: MIT
"""A point that is blocked because its event counts the kernel says so, or is noted."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import MakeRun, ktap

from reports import kernel_part, lint, verbs

CATALOGUE = """\
id=tracepoint.a
title=hits
since=2.6.31
point=hits 5 hits are 5
point=in_kernel hits in the kernel are 5
point=rooted 5 hits are 5
needs=root

"""
TREE = Path(__file__).parents[2]
REFUSED = "EACCES: perf_event_paranoid=2 refuses an event that counts the kernel; needs <= 1 or CAP_PERFMON"


def said(*reasons: str) -> str:
    points = zip(("hits", "in_kernel", "rooted"), reasons, strict=True)
    return ktap("TAP version 13\n1..3\n" + "".join(f"ok {number} global.{name}{f' # SKIP blocked: {why}' if why else ''}\n"
                        for number, (name, why) in enumerate(points, 1)))


def notes(make_run: MakeRun, listed: str, *reasons: str) -> list[str]:
    run = make_run({"user": {"tracepoint.a": said(*reasons)}}, catalogue=CATALOGUE)
    (run.parent / "reports/data").mkdir(parents=True)
    (run.parent / kernel_part.FILE).write_text(f"# x\n{listed}")
    return list(lint.result_notes(run, run.parent))


def test_only_what_does_not_speak_of_the_kernel_is_noted(make_run: MakeRun) -> None:
    found = notes(make_run, "", REFUSED, REFUSED, REFUSED)
    assert [line.split(": ")[1] for line in found] == ["tracepoint.a.hits"]


def test_another_refusal_is_not_noted(make_run: MakeRun) -> None:
    assert not notes(make_run, "", "needs root", "needs root", "")


@pytest.mark.parametrize("listed,found", [("tracepoint.a.* the scheduler's registers\n", 0), ("other.* x\n", 1)])
def test_a_reason_excuses_what_it_matches(make_run: MakeRun, listed: str, found: int) -> None:
    assert len(notes(make_run, listed, REFUSED, "", "")) == found


def test_a_note_is_no_finding(make_run: MakeRun, capsys: pytest.CaptureFixture[str],
                              monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TREE)
    run = make_run({"user": {"tracepoint.a": said(REFUSED, "", "")}}, catalogue=CATALOGUE)
    assert verbs.main(["lint", "--result", str(run)]) == 0
    assert "note: tracepoint.a.hits: blocked by an event that counts the kernel" in capsys.readouterr().out


def test_each_excuse_has_a_reason() -> None:
    assert all(why for why in kernel_part.excuses(TREE).values())
