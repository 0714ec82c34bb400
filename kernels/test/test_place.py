# SPDX-License-Identifier: MIT
"""What every place promises, asked of each that can run here.

The bundle is a run.sh of a few lines: its suites are named after what they do. A new place adds a
line to PLACES.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest
from fake_place import FIRST, KTAP, STEPS, Fake, processes
from tiny_bundle import NAP
from sshd import a_device, wait_until

from kernels import ROOT, matrix
from kernels.errors import RowError
from kernels.guest.place import GuestPlace, Options
from kernels.place import local
from kernels.place.channel import Channel
from kernels.place.local import LocalPlace
from kernels.place.outcome import Outcome
from kernels.place.place import Order, Place
from kernels.place.steps import answer
from kernels.source import fetch

def a_guest() -> Place:
    cold = Options(cold=True)  # whether saving works in time is another test's question
    return GuestPlace(matrix.load().rows["amd64-5.10"], fetch.fetcher(), cold)


PLACES: dict[str, Callable[[], Place | AbstractContextManager[Place]]] = {
    "local": LocalPlace,
    "fake": Fake,
    "guest": a_guest,
    "ssh": partial(a_device, "sshd"),
    "dropbear": partial(a_device, "dropbear"),
}
SLOW = {"guest": 40, "ssh": 4, "dropbear": 4}  # seconds that a run takes before its first probe, and some more


@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in PLACES]
)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    made = PLACES[request.param]()
    if isinstance(made, AbstractContextManager):
        with made as place:
            yield place
    else:
        yield made


def limits(place: Place) -> tuple[int, ...]:
    """Seconds after which a run is given up: enough for what it does before it hangs, and more and more of them."""
    return (SLOW["guest"], 400) if isinstance(place, GuestPlace) else (4, 40, 400)


def ask(place: Place, bundle: Path, order: Order, target: Path) -> tuple[Outcome, Channel]:
    """One run, and what arrived."""
    channel = Channel(target)
    target.mkdir()
    with place.put(bundle):
        outcome = place.run(order, channel, threading.Event())
        place.get(channel)
        place.get(channel)
    return outcome, channel


def arrived(target: Path) -> list[str]:
    files = (path for path in target.rglob("*") if path.is_file())
    return sorted(str(path.relative_to(target)) for path in files if path.name != "console.log")


ALL = sorted([*FIRST, *map(answer, STEPS)])
PART = sorted([*FIRST, answer(STEPS[0])])


def test_a_place_knows_itself_before_anything_is_there(place: Place) -> None:
    facts = place.facts()
    assert facts.name and facts.machine and place.health() == ""
    lost = isinstance(place, GuestPlace)
    assert (facts.disturb, facts.hazards) == (lost, lost), "no other of these may be lost"
    with pytest.raises(RowError, match="no bundle"):
        place.run(Order("good"), Channel(Path("/nowhere")), threading.Event())


def test_a_whole_run(place: Place, bundle: Path, tmp_path: Path) -> None:
    outcome, channel = ask(place, bundle, Order("good"), tmp_path / "out")
    assert (outcome.ended, outcome.stage, outcome.infra) == ("done", "probes", False)
    assert arrived(tmp_path / "out") == ALL and not channel.refused and channel.release
    assert (tmp_path / "out" / "user" / "a.b.ktap").read_bytes() == KTAP
    with pytest.raises(RowError, match="no bundle"):
        place.run(Order("good"), channel, threading.Event())


def test_only_the_steps_of_a_plan(place: Place, bundle: Path, tmp_path: Path) -> None:
    outcome, channel = ask(place, bundle, Order("good").only(STEPS[1:]), tmp_path / "out")
    assert outcome.ended == "done", (outcome, channel.log.read_text())
    assert [name for name in arrived(tmp_path / "out") if "/" in name] == [*map(answer, STEPS[1:])]


@pytest.mark.parametrize(
    ("suite", "ended", "kept"),
    [
        ("slow", "hang", PART),
        ("quits", "incomplete", PART),
        ("short", "incomplete", PART),
        ("unsent", "incomplete", sorted([*PART, answer(STEPS[1])])),
        ("evil", "incomplete", PART),
        ("flood", "flood", PART),
    ],
)
def test_what_was_finished_is_kept(
    place: Place, bundle: Path, tmp_path: Path, suite: str, ended: str, kept: list[str]
) -> None:
    """However a run ends: an Outcome, the files that were whole, and none of another name."""
    if suite == "unsent" and isinstance(place, GuestPlace):
        kept = PART  # it went down with the guest
    # What is to hang is given more time where a busy machine did not let it come so far.
    for limit in limits(place) if ended == "hang" else (900,):
        began, out = time.monotonic(), tmp_path / "out"
        shutil.rmtree(out, ignore_errors=True)
        outcome, channel = ask(place, bundle, Order(suite, limit=limit), out)
        assert time.monotonic() - began < 300 + limit
        if arrived(out) == kept:
            break
    assert (outcome.ended, outcome.infra) == (ended, False), outcome
    assert arrived(out) == kept
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle", "out"]
    assert bool(channel.refused) == (suite == "evil") and channel.log.exists()
    assert outcome.reason and "\n" not in outcome.reason


def test_files_arrive_while_the_run_goes_on_and_an_interrupt_ends_it(
    place: Place, bundle: Path, tmp_path: Path
) -> None:
    stop, channel = threading.Event(), Channel(tmp_path)
    channel.on_file = lambda name: stop.set() if "/" in name else None
    began = time.monotonic()
    with place.put(bundle), pytest.raises(KeyboardInterrupt):
        place.run(Order("slow", limit=900), channel, stop)
    assert time.monotonic() - began < 600 and (tmp_path / answer(STEPS[0])).exists()


def test_nothing_is_left_at_this_machine(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local.tempfile, "tempdir", str(tmp_path))
    place = LocalPlace()
    with pytest.raises(RowError, match="perf_event_paranoid"), place.put(bundle):
        ran = place.run(Order("slow", limit=1), Channel(tmp_path / "bundle"), threading.Event())
        assert ran.ended == "hang" and list(tmp_path.glob("pm-local-*"))
        place.run(Order("good", levels=("1",)), Channel(tmp_path), threading.Event())
    assert not list(tmp_path.glob("pm-local-*"))
    wait_until(lambda: f"sleep\0{NAP}\0".encode() not in list(processes("cmdline")))  # killed, and on its way out
    monkeypatch.setattr(local.tempfile, "tempdir", str(tmp_path / "none"))
    assert "not writable" in place.health()


def test_a_real_bundle_leaves_what_run_sh_leaves(tmp_path: Path) -> None:
    """The same files by the interface and by hand; no file is lost or added on the way."""
    built = ROOT / "build" / platform.machine() / "bundle"
    if not (built / "run.sh").exists():
        pytest.skip("no bundle: make bundle")
    words = ("--suite", "quick", "--probe", "sw.*", "--no-install", "--quiet")
    subprocess.run([built / "run.sh", *words, "--out", tmp_path / "hand"], check=True, timeout=900)
    order = Order("quick", words[2:], limit=900)
    outcome, channel = ask(LocalPlace(), built, order, tmp_path / "out")
    assert outcome.ended == "done" and not channel.noise, (outcome, channel.log.read_text())
    assert arrived(tmp_path / "out") == arrived(tmp_path / "hand") and channel.frames > 6
