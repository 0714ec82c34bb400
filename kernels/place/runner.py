# SPDX-License-Identifier: MIT
"""Runs an order at one place: one run for all of it, and more for what the first left open."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from kernels.place.channel import Channel, printable
from kernels.place.isolate import TRIES, Ended, Isolation
from kernels.place.judge import RECORD
from kernels.place.outcome import DOWN, Outcome
from kernels.place.place import Order, Place
from kernels.place.report import Report, Request
from kernels.place.steps import Step, answer, declared, read_plan

HAZARD = " # SKIP hazard: "  # of a probe that would run with --hazards
ATTEMPTS = 2
SPOILT = 40  # machines that are given up because a probe made their kernel fail; the next one serves to its end
TAIL = 2000
KILLED = "the command was killed; what had arrived is here"


@dataclass
class Runner:
    """All runs at one place; their files come together in `part`."""

    place: Place
    report: Report
    request: Request
    order: Order
    part: Path
    stop: threading.Event = field(default_factory=threading.Event)
    on_state: Callable[[str], None] = lambda state: None
    earlier: Path | None = None  # results of which the answers are kept
    asked: list[str] = field(default_factory=list)  # for boot.json: what was asked

    def run(self) -> dict[str, Any]:
        """Run everything. Returns what boot.json says."""
        channel = self._went_on() or self._first()
        if not self.report.outcome.infra:
            self._rest()
        shutil.rmtree(self.part / ".again", ignore_errors=True)
        return self._record(channel)

    def _note(self) -> None:
        """Write down what is asked here: this command may be killed."""
        outcome, self.report.outcome = self.report.outcome, Outcome("interrupted", KILLED, "probes")
        channel = Channel(self.part)
        channel.log.touch()
        (self.part / RECORD).write_text(json.dumps(self._record(channel), indent=1) + "\n")
        self.report.outcome = outcome

    def interrupted(self) -> dict[str, Any]:
        """What boot.json says about a run that somebody ended. Its answers so far are whole."""
        shutil.rmtree(self.part / ".again", ignore_errors=True)
        said = "an interrupt ended the run; what had finished is here"
        self.report.outcome = Outcome("interrupted", said, "probes")
        return self._record(Channel(self.part))

    def _run(self, order: Order, channel: Channel) -> Outcome:
        channel.log.touch()
        ill = self.place.health()
        if ill:
            before = self.report.guests[-1]["ended"] if self.report.guests else ""
            return Outcome("dropped" if before == "dropped" else "died", ill)
        spoilt = sum(guest["ended"] == "spoilt" for guest in self.report.guests)
        order = replace(order, unspoilt=spoilt < SPOILT and len(order.levels) < 2)
        outcome = self.place.run(order, channel, self.stop)
        self.place.get(channel)
        return outcome

    def _went_on(self) -> Channel | None:
        """Take over the answers of the earlier run, as of one whose connection was lost."""
        if not self.earlier or not read_plan(_text(self.earlier / "plan")):
            return None
        shutil.rmtree(self.part, ignore_errors=True)
        shutil.copytree(self.earlier, self.part, symlinks=True)
        for name in ("boot.json", "result.json", "profile.json"):
            (self.part / name).unlink(missing_ok=True)
        self._note()
        channel, report = Channel(self.part), self.report
        report.attempts, report.release = 1, str(self.place.facts().record.get("release", ""))
        report.outcome = Outcome("dropped", "the earlier run was not whole", "probes")
        return channel

    def _first(self) -> Channel:
        """Run the whole order; once more if the machinery failed."""
        report = self.report
        for report.attempts in range(1, ATTEMPTS + 1):
            shutil.rmtree(self.part, ignore_errors=True)
            self.part.mkdir(parents=True)
            channel = Channel(self.part)
            self._note()
            channel.on_file = lambda name: self.on_state(f"{len(channel.files)} files, {name}")
            self.on_state("starting")
            report.outcome = self._run(self.order, channel)
            report.book(report.outcome, "all")
            if not report.outcome.infra:
                break
        report.release = channel.release
        return channel

    def _rest(self) -> None:
        """Run the probes that need a run of their own, and those left unanswered by an early
        end."""
        report, outcome = self.report, self.report.outcome
        early = outcome.ended in (*DOWN, "dropped", "spoilt")
        if len(self.order.levels) > 1 or not (early or outcome.ended == "done"):
            return
        steps = read_plan(_text(self.part / "plan"))
        hazards, disturbing = self._apart(steps)
        missing = [step for step in steps if not (self.part / answer(step)).exists()]
        apart = {*hazards, *disturbing}
        rest = Isolation(self.part, lambda some: self._some(some, apart.issuperset(some)))
        rest.left += [(step,) for step in (*hazards, *disturbing)]
        left = [step for step in missing if step not in apart]
        if outcome.ended in DOWN:
            rest.accuse(left)
        elif early and left:
            rest.left.appendleft(tuple(left))
        rest.finish()
        report.lost = rest.lost
        report.downs = [
            f"{' '.join(step)}: {told[-1]}, {len(told)} of {TRIES} guests"
            for step, told in rest.downs.items()
        ]
        if early and (missing or self.earlier or outcome.ended == "spoilt") and not rest.lost:
            report.outcome = replace(outcome, ended="done", reason="")

    def _apart(self, steps: list[Step]) -> tuple[list[Step], list[Step]]:
        """Hazards and disturbing probes, as far as they were asked for and, as root, wherever a
        place allows them. The first run did neither; what is a hazard on that kernel alone said so then."""
        catalogue = _text(self.part / "catalogue")
        hazards = declared(catalogue, "hazard") if self.request.hazards else set()
        if self.request.hazards:
            hazards |= {step[1] for step in steps if HAZARD in _text(self.part / answer(step))}
        disturbs = declared(catalogue, "disturbs") if self._disturb else set()
        as_all = self.request.may_disturb
        return (
            [step for step in steps if step[1] in hazards],
            [step for step in steps if step[1] in disturbs - hazards and (as_all or step[0] == "root")],
        )

    @property
    def _disturb(self) -> bool:
        allowed = self.request.root_disturbs and self.place.facts().disturb
        return self.request.may_disturb or allowed

    def _some(self, steps: tuple[Step, ...], allowed: bool) -> Ended:
        """Run a few steps and move their answers to `part`."""
        request, here = self.request, self.part / ".again"
        flags = ("--may-disturb",) * self._disturb + ("--hazards",) * request.hazards
        order = self.order.only(steps, *(flags if allowed else ()))
        what = " ".join(steps[0]) if len(steps) == 1 else f"{len(steps)} probes"
        for _ in range(ATTEMPTS):
            shutil.rmtree(here, ignore_errors=True)
            here.mkdir()
            self.on_state(what)
            channel = Channel(here)
            outcome = self._run(order, channel)
            self.report.book(outcome, what)
            if not outcome.infra:
                break
        answered = frozenset(step for step in steps if _move(here, self.part, step))
        return Ended(outcome, answered, channel.log)

    def _record(self, channel: Channel) -> dict[str, Any]:
        report, known = self.report, self.place.facts().record
        facts: dict[str, Any] = {
            "format": 1,
            "asked": self.asked,
            **known,
            "release": report.release or known.get("release", ""),
            **asdict(report.outcome),
            "infra": report.outcome.infra,
            "total_wall": report.wall,
            "total_cpu": report.cpu,
            "attempts": report.attempts,
            "limits": list(self.place.facts().limits),
            "guests": report.guests,
            "went_down": report.downs,
            "unanswered": report.lost,
            "levels_refused": channel.missing_runs,
            "files": channel.frames,
            "noise_bytes": channel.noise,
            "refused": channel.refused,
        }
        if report.outcome.ended != "done":
            facts["console_tail"] = console_tail(channel.log)
        return facts


def console_tail(path: Path) -> str:
    """The end of the console output, made printable."""
    return printable(path.read_bytes()[-TAIL:])


def _text(path: Path) -> str:
    try:
        return path.read_bytes()[: 4 << 20].decode("utf-8", "backslashreplace")
    except OSError:
        return ""


def _move(source: Path, target: Path, step: Step) -> bool:
    """Move the answer to a step from one run's files to the result. False if there is none."""
    name = answer(step)
    if not (source / name).is_file():
        return False
    (target / step[0]).mkdir(exist_ok=True)
    (source / name).replace(target / name)
    return True
