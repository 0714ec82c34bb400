# SPDX-License-Identifier: MIT
"""What every place promises, asked of each that can run here, and an engine whose places fail.

The bundle is a run.sh of a few lines: its suites are named after what they do. A new place adds a
line to PLACES.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kernels import matrix
from kernels.errors import RowError
from kernels.guest.place import GuestPlace, Options
from kernels.place import local
from kernels.place.channel import Channel
from kernels.place.engine import Engine
from kernels.place.local import LocalPlace
from kernels.place.outcome import Outcome
from kernels.place.place import Facts, Order, Place
from kernels.place.report import Report, Wishes
from kernels.place.steps import Step, answer
from kernels.source import fetch

KTAP = (
    b"TAP version 13\n1..0\n"
    b"#:launch: exit=0 signal=0 ms=1 timeout=0 truncated=0 leftover=0 bytes=20\n"
)
STEPS: tuple[Step, ...] = (("root", "a.b"), ("root", "c.d"), ("user", "a.b"))
PLAN = "".join(f"{persona} {probe}\n" for persona, probe in STEPS)
FIRST = {"env": b"format=1\narch=x86_64\nrelease=6.1.0\n", "catalogue": b"id=a.b\n\nid=c.d\n",
         "plan": PLAN.encode()}  # fmt: skip
RUN = r"""#!/bin/sh
suite=good out='' tee=''
while [ $# -gt 0 ]; do
	case $1 in
	--suite) suite=$2; shift ;;
	--resume) suite=resumed ;;
	--out) out=$2; shift ;;
	--tee) tee=$2; shift ;;
	esac
	shift
done
mkdir -p "$out/root" "$out/user"
put() { cat > "$out/.$$" && mv "$out/.$$" "$out/$1"; }
send() {
	set -- "$1" $(cksum < "$out/$1")
	{ echo "@@file $1 $3 $2"; cat "$out/$1"; echo; } >> "$tee"
}
first() { cat "${0%/*}/$1" | put "$1"; send "$1"; }
probe() { cat "${0%/*}/ktap" | put "$1"; send "$1"; }
if [ $suite = resumed ]; then
	count=3
	while read -r persona id; do probe "$persona/$id.ktap"; count=$((count + 1)); done < "$out/plan"
	for name in env catalogue plan; do send $name; done
	echo "@@end $count" >> "$tee"
	exit 0
fi
for name in env catalogue plan; do first $name; done
probe root/a.b.ktap
case $suite in
good) probe root/c.d.ktap; probe user/a.b.ktap; echo "@@end 6" >> "$tee" ;;
slow) echo "a word" >&2; (sleep 77) & sleep 77 ;;
quits) echo "no room" >&2; exit 3 ;;
short) echo "@@end 6" >> "$tee" ;;
unsent) cat "${0%/*}/ktap" | put root/c.d.ktap; exit 3 ;;
evil)
	for name in ../evil /tmp/evil root/../../evil .hidden boot.json a/b/c/d; do
		printf '@@file %s 1 1\nx\n' "$name"
	done >> "$tee"
	printf '@@file root/c.d.ktap 5 1\n12345\n' >> "$tee"
	ln -s /etc/passwd "$out/user/x.y.ktap"
	echo "@@end 4" >> "$tee" ;;
flood) while :; do echo 0123456789abcdef; done >> "$tee" ;;
esac
"""


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder = tmp_path / "bundle"
    folder.mkdir()
    (folder / "run.sh").write_text(RUN)
    (folder / "run.sh").chmod(0o755)
    (folder / "ktap").write_bytes(KTAP)
    for name, data in FIRST.items():
        (folder / name).write_bytes(data)
    return folder


@dataclass
class Fake:
    """A place out of a script: a suite is a list of what happens, one entry a run."""

    name: str = "fake"
    script: list[str] = field(default_factory=list)
    ill: str = ""
    ran: list[tuple[Step, ...]] = field(default_factory=list)
    there: bool = False

    def facts(self) -> Facts:
        return Facts(self.name, "x86_64", {"place": "fake"}, {"row": self.name}, ("nothing",))

    def health(self) -> str:
        return self.ill

    @contextmanager
    def put(self, bundle: Path) -> Iterator[None]:
        self.there = True
        try:
            yield
        finally:
            self.there = False

    def run(self, order: Order, channel: Channel, stop: threading.Event) -> Outcome:
        if not self.there:
            raise RowError("no bundle has been put here")
        channel.release, channel.probing = "6.1.0", True
        channel.log.write_bytes(b"a word\n")
        what = self.script[min(len(self.ran), len(self.script) - 1)] if self.script else order.suite
        self.ran.append(order.plan)
        if not order.plan:
            for name, data in FIRST.items():
                channel.take(name, data)
        return getattr(self, f"_{what}")(order.plan or STEPS, channel, order.limit, stop)

    def get(self, channel: Channel) -> None:
        pass

    def _send(self, steps: tuple[Step, ...], channel: Channel) -> None:
        for step in steps:
            channel.take(answer(step), KTAP)

    def _good(self, steps: tuple[Step, ...], channel: Channel, *rest: object) -> Outcome:
        self._send(steps, channel)
        return Outcome("done", stage="probes")

    def _dropped(self, steps: tuple[Step, ...], channel: Channel, *rest: object) -> Outcome:
        self._send(steps[:1], channel)
        return Outcome("dropped", "the connection was lost", "probes")

    def _panic(self, steps: tuple[Step, ...], channel: Channel, *rest: object) -> Outcome:
        self._send(steps[:1] if len(steps) == 3 else (), channel)
        return Outcome("panic", "oh dear", "probes")

    def _slow(
        self, steps: tuple[Step, ...], channel: Channel, limit: int, stop: threading.Event
    ) -> Outcome:
        self._send(steps[:1], channel)
        if stop.wait(limit or 60):
            raise KeyboardInterrupt
        return Outcome("hang", f"not done after {limit} s", "probes")

    def _quits(self, steps: tuple[Step, ...], channel: Channel, *rest: object) -> Outcome:
        self._send(steps[:1], channel)
        return Outcome("incomplete", "run.sh ended with status 3: no room", "probes")

    _short = _quits

    def _unsent(self, steps: tuple[Step, ...], channel: Channel, *rest: object) -> Outcome:
        self._send(steps[:2], channel)
        return Outcome("incomplete", "run.sh ended with status 3", "probes")

    def _evil(self, steps: tuple[Step, ...], channel: Channel, *rest: object) -> Outcome:
        self._send(steps[:1], channel)
        for name in ("../evil", "/tmp/evil", "root/../../evil", ".hidden", "boot.json", "a/b/c/d"):
            channel.take(name, b"x")
        return Outcome("incomplete", "refused", "probes")

    def _flood(self, steps: tuple[Step, ...], channel: Channel, *rest: object) -> Outcome:
        self._send(steps[:1], channel)
        channel.feed(b"0123456789abcdef\n" * 20_000)
        return Outcome("flood", channel.flood, "probes")

    def _dead(self, *rest: object) -> Outcome:
        return Outcome("died", "no answer")

    def _full(self, *rest: object) -> Outcome:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def a_guest() -> Place:
    cold = Options(cold=True)  # whether saving works in time is another test's question
    return GuestPlace(matrix.load().rows["amd64-5.10"], fetch.fetcher(), cold)


PLACES = {"local": LocalPlace, "fake": Fake, "guest": a_guest}
SLOW = {"guest": 40}  # seconds that a run takes before its first probe, and some more


@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in PLACES]
)
def place(request: pytest.FixtureRequest) -> Place:
    made: Place = PLACES[request.param]()
    return made


def limit(place: Place) -> int:
    return SLOW["guest"] if isinstance(place, GuestPlace) else 4


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
    began = time.monotonic()
    order, out = Order(suite, limit=limit(place)), tmp_path / "out"
    outcome, channel = ask(place, bundle, order, out)
    assert (outcome.ended, outcome.infra) == (ended, False), outcome
    if suite == "unsent" and isinstance(place, GuestPlace):
        kept = PART  # it went down with the guest
    assert arrived(out) == kept and time.monotonic() - began < 20 + order.limit
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
        place.run(Order("slow", limit=90), channel, stop)
    assert time.monotonic() - began < 60 and (tmp_path / answer(STEPS[0])).exists()


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
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(line == b"sleep\x0077\x00" for line in lines)
    monkeypatch.setattr(local.tempfile, "tempdir", str(tmp_path / "none"))
    assert "not writable" in place.health()


# ------------------------------------------------------------------------------ the engine


def run_all(
    tmp_path: Path, places: list[Place], wishes: Wishes = Wishes(Order("good", limit=1))
) -> dict[str, Report]:
    engine = Engine(tmp_path / "results", wishes, {"x86_64": tmp_path})
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
    report = run_all(tmp_path, [place], Wishes(Order("good"), hazards=True))["a"]
    assert report.status == 3 and "not for this place" in report.error and not place.ran


def test_an_interrupt_ends_all_places(tmp_path: Path) -> None:
    engine = Engine(tmp_path / "results", Wishes(Order("slow")), {"x86_64": tmp_path})
    threading.Timer(0.5, engine.stop.set).start()
    with pytest.raises(KeyboardInterrupt):
        engine.run_all([Fake("a"), Fake("b"), Fake("c")], 2, lambda report: None)
    assert not list((tmp_path / "results").iterdir())


