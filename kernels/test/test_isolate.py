# SPDX-License-Identifier: MIT
"""Guests that go down while a probe runs: who is accused, what is asked again, what is left."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from test_boot import ENV, KTAP, Stub, frame, rows

from kernels.place import isolate, work
from kernels.place.isolate import Ended, Isolation
from kernels.place.outcome import Outcome
from kernels.place.place import Order
from kernels.place.report import Report
from kernels.place.steps import Step, declared, read_plan

A, B, C = ("root", "a.b"), ("root", "c.d"), ("root", "e.f")
PLAN = "".join(f"{persona} {probe}\n" for persona, probe in (A, B, C))
CATALOGUE = "id=a.b\ntitle=x\n\nid=c.d\nhazard=hangs\n\nid=e.f\ndisturbs=CPUs\n"
END = "echo '@@end 7' > $results; echo '@@exit 0' > $results; sleep 60"
PANIC = "echo 'Kernel panic - not syncing: oh dear' > $console; exit"


def answers(folder: Path, *steps: Step) -> None:
    """Files for a fake guest to send: what it starts with, and one answer each."""
    first = frame("env", ENV) + frame("catalogue", CATALOGUE.encode())
    first += frame("plan", PLAN.encode()) + frame("root/env", b"uid=0\n")
    (folder / "first").write_bytes(first)
    (folder / "started").write_bytes(frame("root/env", b"uid=0\n"))
    for persona, probe in steps:
        (folder / probe).write_bytes(frame(f"{persona}/{probe}.ktap", KTAP))


def go(folder: Path, first: str, *cases: str, start: bool = True) -> tuple[Report, Path]:
    """A row whose first guest does `first`, and later ones as `cases` say by their plan."""
    answers(folder, A, B, C)
    if not start:
        (folder / "started").write_bytes(b"")
    text = "\n".join(cases)
    body = f"""init
send() {{ cat {folder}/$1 > $results; }}
plan=$(grep -a ^plan= "$initrd" | tr -d '\\n')
case $plan in '') send first; {first} ;; *) send started ;; esac
case $plan in
{text}
esac
"""
    stub = Stub(folder, {"a": body})
    stub.request = replace(stub.request, may_disturb=True, hazards=True)
    return stub.boot(rows("a")[0]), folder / "results" / "a"


def test_the_one_that_was_running_is_accused_and_the_rest_goes_on(tmp_path: Path) -> None:
    report, folder = go(
        tmp_path,
        f"send a.b; {PANIC}",
        f"*c.d*) {PANIC} ;;",
        "*e.f*) send e.f; echo '@@end 2' > $results; echo '@@exit 0' > $results; sleep 9 ;;",
    )
    told = (folder / "root" / "c.d.ktap").read_text()
    assert told.startswith("#:guest: ended=panic times=2 of=2\n#:guest: console Kernel panic")
    assert told.endswith("bytes=0\n") and (folder / "root" / "e.f.ktap").read_bytes() == KTAP
    assert (report.outcome.ended, report.downs) == ("done", ["root c.d: panic, 2 of 2 guests"])
    assert report.status == 1 and not report.lost and not (folder / ".again").exists()
    assert "oh dear" in (folder / "down" / "root.c.d.console.log").read_text()
    facts = json.loads((folder / "boot.json").read_text())
    assert [guest["of"] for guest in facts["guests"]] == ["all", "root c.d", "root c.d", "root e.f"]
    found = json.loads((folder / "result.json").read_text())["personas"]["root"]["probes"]
    assert found["c.d"]["status"] == "guest_down"


def test_hazards_have_leave_and_a_guest_each(tmp_path: Path) -> None:
    """The first guest has no leave; the later ones do, one probe each, all answers are theirs."""
    leave = f"grep -qa '^arg=--hazards' $initrd || exit; grep -a ^plan= $initrd >> {tmp_path}/asked"
    done = "echo '@@end 2' > $results; echo '@@exit 0' > $results; sleep 9"
    report, _ = go(
        tmp_path,
        "if grep -qa '^arg=--hazards' $initrd; then exit; fi; send a.b; send c.d; send e.f; "
        "echo '@@end 7' > $results; echo '@@exit 0' > $results; sleep 9",
        f"*) {leave}; send ${{plan#*root }}; {done} ;;",
    )
    assert report.outcome.ended == "done" and not report.downs and not report.lost
    asked = [line for line in (tmp_path / "asked").read_text().splitlines()]
    assert sorted(asked) == ["plan=root c.d", "plan=root e.f"]


def test_what_a_probe_calls_a_hazard_there_has_leave_and_a_guest_of_its_own(tmp_path: Path) -> None:
    """It declares none: it is one on such a kernel alone, as SIGTRAP of events is on a real-time one."""
    said = KTAP.replace(b"1..0\n", b"1..1\nok 1 global.x # SKIP hazard: it may crash; runs only with --hazards\n")
    (tmp_path / "said").write_bytes(frame("root/a.b.ktap", said))
    done = "echo '@@end 2' > $results; echo '@@exit 0' > $results; sleep 9"
    report, folder = go(
        tmp_path,
        "send said; send c.d; send e.f; echo '@@end 7' > $results; echo '@@exit 0' > $results; sleep 9",
        f"*) grep -a ^plan= $initrd >> {tmp_path}/asked; send ${{plan#*root }}; {done} ;;",
    )
    assert report.outcome.ended == "done" and (folder / "root/a.b.ktap").read_bytes() == KTAP
    assert sorted((tmp_path / "asked").read_text().splitlines()) == ["plan=root a.b", "plan=root c.d", "plan=root e.f"]


def test_an_emulator_that_fails_is_no_verdict(tmp_path: Path) -> None:
    report, folder = go(
        tmp_path, f"send a.b; send c.d; send e.f; {END}", "*) exit 1 ;;", start=False
    )
    assert report.status == 1 and not report.downs
    assert [what.split(":")[0] for what in report.lost] == ["root c.d", "root e.f"]
    assert not (folder / "down").exists()
    assert (folder / "root" / "c.d.ktap").read_bytes() == KTAP, "the first answer stays"


def run_of(ends: Callable[[tuple[Step, ...]], str], folder: Path) -> Callable[..., Ended]:
    console = folder / "console"
    console.write_bytes(b"all is well\nBUG: x\n\033[0mlast\n")

    def run(steps: tuple[Step, ...]) -> Ended:
        ended = ends(steps)
        outcome = Outcome(ended, "", "boot" if ended == "died" else "probes")
        return Ended(outcome, frozenset(steps if ended == "done" else ()), console)

    return run


def test_once_of_twice_is_told_as_such(tmp_path: Path) -> None:
    turns = iter(["hang", "done"])
    rest = Isolation(tmp_path, run_of(lambda steps: next(turns), tmp_path))
    rest.left.append((A,))
    rest.finish()
    told = (tmp_path / "root" / "a.b.ktap").read_text()
    assert "ended=hang times=1 of=2" in told
    assert "console BUG: x\n#:guest: console ?[0mlast\n" in told and "all is well" not in told


def test_among_others_is_no_proof(tmp_path: Path) -> None:
    """A guest of several went down; alone, the accused one answers: nothing is said of it."""
    rest = Isolation(tmp_path, run_of(lambda s: "done" if len(s) == 1 else "panic", tmp_path))
    rest.left.append((A, B, C))
    rest.finish()
    assert not rest.downs and not rest.lost and not (tmp_path / "root").exists()


def test_a_kernel_that_always_falls_comes_to_an_end(tmp_path: Path) -> None:
    steps = tuple(("root", f"a.p{number}") for number in range(50))
    rest = Isolation(tmp_path, run_of(lambda some: "panic", tmp_path))
    rest.left.append(steps)
    rest.finish()
    assert rest.fallen == isolate.MOST and "guests went down before" in rest.lost[-1]


def test_a_plan_without_end_comes_to_one(tmp_path: Path) -> None:
    """A guest names as many hazards as it likes; each would be a guest of its own."""
    rest = Isolation(tmp_path, run_of(lambda some: "incomplete", tmp_path))
    rest.left += [(("root", f"a.p{number}"),) for number in range(50_000)]
    rest.finish()
    assert len(rest.lost) == isolate.GUESTS + 1 and not rest.left
    assert rest.lost[-1].endswith("and 49797 more: 200 guests ran before")


def test_what_a_guest_is_told() -> None:
    order = Order("quick", ("--env", "a b=c"), ("2",)).only((A, B), "--hazards")
    lines = work.text(order).decode().splitlines()
    assert lines[0].startswith("time=1") and lines[-1] == f"@@go {len(lines) - 1}"
    assert lines[1:-1] == [
        "suite=quick", "level=2", "plan=root a.b", "plan=root c.d",
        "arg=--env", "arg=a b=c", "arg=--hazards",
    ]
    with pytest.raises(Exception, match="line break"):
        work.text(Order("quick", ("a\nb",)))


def test_plans_and_declarations_of_guests_are_read_with_care() -> None:
    assert read_plan("root a.b\nnonsense\na b c\n\nuser c.d\n") == [A, ("user", "c.d")]
    assert read_plan("root a.b\nroot a.b\n") == [A]
    assert declared(CATALOGUE, "hazard") == {"c.d"} and declared("hazard=x\n", "id") == set()


@pytest.mark.parametrize(
    "line", ["/etc a.b", "../.. a.b", "root ../../a.b", "root /a.b", ".guest a.b", "a/b c", "a\0 b"]
)
def test_a_plan_names_no_place_outside_the_results(line: str) -> None:
    """What a guest calls a step becomes the name of a file when the guest goes down."""
    assert read_plan(f"{line}\nroot a.b\n") == [A]
