# SPDX-License-Identifier: MIT
"""An engine whose places fail: one never stops another, and what was finished is kept."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from fake_place import STEPS, Fake

from kernels import ROOT
from kernels.options import parser, request
from kernels.place.bundle import with_suite
from kernels.place.channel import Channel
from kernels.place.engine import Engine
from kernels.place.judge import resumable
from kernels.place.outcome import Outcome
from kernels.place.place import Facts, Order, Place
from kernels.place.report import Report, Request
from kernels.place.steps import Step, answer
from kernels.show import summary
from reports.text import Unusable


def run_all(
    tmp_path: Path, places: list[Place], request: Request = Request(Order("good", limit=1))
) -> dict[str, Report]:
    engine = Engine(tmp_path / "results", request, {"x86_64": tmp_path})
    ended: list[Report] = []
    reports = engine.run_all(places, 4, ended.append)
    assert ended == reports and len(reports) == len(places)
    return {report.name: report for report in reports}


def test_a_place_that_fails_never_stops_another(tmp_path: Path) -> None:
    scripts = {"good": ["good"], "dead": ["dead"], "full": ["full"], "quits": ["quits"],
               "evil": ["evil"], "flood": ["flood"]}  # fmt: skip
    places: list[Place] = [Fake(name, script) for name, script in scripts.items()]
    reports = run_all(tmp_path, [*places, Fake("ill", ["good"], "its battery is low")])
    assert {name: report.status for name, report in reports.items()} == {
        "good": 0, "dead": 3, "full": 3, "quits": 1, "evil": 1, "flood": 1, "ill": 3,
    }  # fmt: skip
    assert "died: no answer (2 attempts)" in reports["dead"].error
    assert "No space left" in reports["full"].error and "battery" in reports["ill"].error
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == [
        "dead", "evil", "flood", "full.part", "good", "quits",
    ]  # fmt: skip
    assert "root" in reports["quits"].verdicts, "what arrived is judged"


def test_a_dropped_connection_is_taken_up_again(tmp_path: Path) -> None:
    """Each time the rest is asked, until a run brings nothing any more."""
    place = Fake("a", ["dropped", "dropped", "good"])
    report = run_all(tmp_path, [place])["a"]
    assert place.ran == [(), STEPS[1:], STEPS[2:]]
    assert (report.outcome.ended, report.status, report.lost) == ("done", 0, [])
    assert all((tmp_path / "results" / "a" / answer(step)).exists() for step in STEPS)


def test_a_connection_that_stays_away_leaves_steps_unanswered(tmp_path: Path) -> None:
    place = Fake("a", ["dropped", "dead"])
    report = run_all(tmp_path, [place])["a"]
    assert report.status == 1 and report.outcome.ended == "dropped"
    assert report.lost == ["root c.d, user a.b: died: no answer"] and len(place.ran) == 3


def test_a_place_that_falls_ill_is_asked_nothing_more(tmp_path: Path) -> None:
    place = Fake("a", ["panic"])
    place.get = lambda channel: setattr(place, "ill", "it does not answer")  # type: ignore
    report = run_all(tmp_path, [place])["a"]
    assert len(place.ran) == 1 and "it does not answer" in report.lost[0]


def test_a_machine_that_goes_down_accuses_what_was_running(tmp_path: Path) -> None:
    place = Fake("a", ["panic", "panic", "panic", "good"])
    report = run_all(tmp_path, [place])["a"]
    assert report.downs == ["root c.d: panic, 2 of 2 guests"] and report.outcome.ended == "done"
    assert place.ran == [(), STEPS[1:2], STEPS[1:2], STEPS[2:]]


def test_what_a_place_does_not_allow_is_refused(tmp_path: Path) -> None:
    place = Fake("a", ["good"])
    report = run_all(tmp_path, [place], Request(Order("good"), hazards=True))["a"]
    assert report.status == 3 and "not for this place" in report.error and not place.ran


def test_what_disturbs_runs_as_root_where_a_place_allows_it(tmp_path: Path) -> None:
    order = Order("good")
    cases = [(Request(order, root_disturbs=True), True, [(), STEPS[1:2]]),
             (Request(order, root_disturbs=True), False, [()]), (Request(order), True, [()])]
    for number, (asked, allowed, ran) in enumerate(cases):
        place = Fake("a", disturb=allowed)
        assert run_all(tmp_path / str(number), [place], asked)["a"].status == 0
        assert place.ran == ran


def test_as_every_persona_only_when_asked(tmp_path: Path) -> None:
    place = Fake("a", disturb=True)
    user = ("user", "c.d")
    place.more = (user,)
    run_all(tmp_path / "root", [place], Request(Order("good"), root_disturbs=True))
    assert place.ran == [(), STEPS[1:2]]
    place.ran.clear()
    run_all(tmp_path / "all", [place], Request(Order("good"), may_disturb=True))
    assert place.ran == [(), STEPS[1:2], (user,)]


def test_an_interrupt_ends_all_places(tmp_path: Path) -> None:
    engine = Engine(tmp_path / "results", Request(Order("slow")), {"x86_64": tmp_path})
    threading.Timer(0.5, engine.stop.set).start()
    with pytest.raises(KeyboardInterrupt):
        engine.run_all([Fake("a"), Fake("b"), Fake("c")], 2, lambda report: None)
    for name in ("a", "b"):
        folder = tmp_path / "results" / name
        told = json.loads((folder / "boot.json").read_text())
        assert (told["ended"], told["infra"]) == ("interrupted", False)
        assert (folder / answer(STEPS[0])).exists(), "what had finished is kept"
        assert resumable(tmp_path / "results", name) is None, "and the rest is asked again"
    assert not list((tmp_path / "results").glob("*.part"))


def test_an_interrupt_never_replaces_what_was_more(tmp_path: Path) -> None:
    run_all(tmp_path, [Fake("a", ["good"])])
    engine = Engine(tmp_path / "results", Request(Order("slow")), {"x86_64": tmp_path})
    threading.Timer(0.5, engine.stop.set).start()
    with pytest.raises(KeyboardInterrupt):
        engine.run_all([Fake("a")], 1, lambda report: None)
    assert all((tmp_path / "results" / "a" / answer(step)).exists() for step in STEPS)


class Killed(BaseException):
    """As SIGKILL: nothing is put in order after it."""


class Known(Fake):
    """A device: which kernel it has is known before it has run. It is broken off after its first answer."""

    how: type[BaseException] = KeyboardInterrupt

    def facts(self) -> Facts:
        return replace(super().facts(), record={"release": "6.1.0"})

    def _broken_off(self, steps: tuple[Step, ...], channel: Channel, *rest: object) -> Outcome:
        self._send(steps[:1], channel)
        raise self.how


@pytest.mark.parametrize("how", [KeyboardInterrupt, Killed])
def test_what_was_answered_before_the_end_is_not_asked_again(tmp_path: Path, how: type[BaseException]) -> None:
    """Neither after an interrupt nor after a SIGKILL, which leaves the results where they were collected."""
    results, asked = tmp_path / "results", Request(Order("good", limit=1))
    place = Known("a", ["broken_off", "good"])
    place.how = how
    with pytest.raises(how):
        Engine(results, asked, {"x86_64": tmp_path}).run(place)
    assert (results / "a.part").exists() == (how is Killed)
    first = next(results.glob(f"a*/{answer(STEPS[0])}"))
    os.utime(first, (1, 1))
    report = Engine(results, asked, {"x86_64": tmp_path}, resume=True).run(place)
    assert report.outcome.ended == "done" and place.ran == [(), STEPS[1:]]
    assert (results / "a" / answer(STEPS[0])).stat().st_mtime == 1 and not (results / "a.part").exists()


def test_what_a_kernel_complains_of_is_told(tmp_path: Path) -> None:
    place = Fake("a", ["complains"])
    report = run_all(tmp_path, [place])["a"]
    assert report.faults == ["a.b (root): Oops: 0002 [#1] SMP",
                             "after root/a.b.ktap: WARNING: suspicious RCU usage"]
    assert report.late == ["c.d (root): perf: interrupt took too long (2 > 1), lowering"]
    assert report.status == 1
    assert "the kernel complained: a.b (root): Oops" in summary.line(report)
    assert resumable(tmp_path / "results", "a").faults == report.faults


def test_a_kernel_that_is_only_late_is_no_failure(tmp_path: Path) -> None:
    report = run_all(tmp_path, [Fake("a", ["late"])])["a"]
    assert (report.status, report.faults) == (0, []) and len(report.late) == 1
    assert "the kernel was late: c.d (root): perf" in summary.line(report)


def test_an_emulator_that_dies_accuses_what_was_running(tmp_path: Path) -> None:
    place = Fake("a", ["dies", "dies", "dies", "good"])
    report = run_all(tmp_path, [place])["a"]
    assert report.downs == ["root c.d: died, 2 of 2 guests"] and report.outcome.ended == "done"
    assert place.ran == [(), STEPS[1:2], STEPS[1:2], STEPS[2:]] and not report.lost
    made = json.loads((tmp_path / "results" / "a" / "result.json").read_text())
    assert made["personas"]["root"]["probes"]["c.d"]["status"] == "guest_down"
    assert made["summary"]["root"]["broken"] == 0, "that an emulator dies is no kernel's fault"


def test_an_emulator_that_dies_once_loses_nothing(tmp_path: Path) -> None:
    place = Fake("a", ["dies", "good"])
    report = run_all(tmp_path, [place])["a"]
    assert report.outcome.ended == "done" and not report.lost
    assert all((tmp_path / "results" / "a" / answer(step)).exists() for step in STEPS)


def test_a_suite_from_elsewhere_is_lent_to_the_bundle(tmp_path: Path) -> None:
    bundle, mine = tmp_path / "bundle", tmp_path / "mine.txt"
    (bundle / "suites").mkdir(parents=True)
    mine.write_text("sw.*\n")
    with with_suite({"x86_64": bundle, "vax": "no bundle"}, mine) as made:
        lent = Path(made["x86_64"])
        assert (lent / "suites" / "mine.txt").read_text() == "sw.*\n" and made["vax"] == "no bundle"
    assert not lent.exists() and not list((bundle / "suites").iterdir())
    with with_suite({"x86_64": bundle}, ROOT / "suites" / "quick.txt") as made:
        assert made == {"x86_64": "the bundle for x86_64 has no suite quick: build it again"}
    (bundle / "suites" / "quick.txt").touch()
    with with_suite({"x86_64": bundle}, ROOT / "suites" / "quick.txt") as made:
        assert made == {"x86_64": bundle}


def test_a_recording_is_lent_to_the_bundle_beside_its_suite(tmp_path: Path) -> None:
    bundle, recording = tmp_path / "bundle", tmp_path / "mine"
    (bundle / "suites").mkdir(parents=True)
    recording.write_bytes(b"{}")
    with with_suite({"x86_64": bundle}, ROOT / "suites" / "replay.txt", recording) as made:
        lent = Path(made["x86_64"], "suites")
        assert (lent / "replay.json").read_bytes() == b"{}" and "replay.*" in (lent / "replay.txt").read_text()
    assert not list((bundle / "suites").iterdir())
    with pytest.raises(Unusable):      # before anything is booted
        request(parser().parse_args(["run", "amd64-6.12", "--replay", str(recording)]))
