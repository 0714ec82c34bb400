# SPDX-License-Identifier: MIT
"""The guests one row takes: one for everything, fresh ones for what may end a guest."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from kernels.guest import machine
from kernels.guest.boot import Outcome, Task, boot
from kernels.guest.work import Step, Work, answer, declared, read_plan
from kernels.matrix import Row
from kernels.place.channel import Channel, printable
from kernels.place.isolate import DOWN, TRIES, Ended, Throwaway
from kernels.place.report import Report, Seat, Wishes

ATTEMPTS = 2
TAIL = 2000


@dataclass
class Guests:
    """All guests of a row; their files come together in `part`."""

    report: Report
    seat: Seat
    work: Work
    wishes: Wishes
    part: Path
    stop: threading.Event = field(default_factory=threading.Event)
    on_state: Callable[[Row, str], None] = lambda row, state: None

    def run(self) -> dict[str, Any]:
        """Ask everything. Returns what boot.json says."""
        channel = self._first()
        if not self.report.outcome.infra:
            self._rest()
        shutil.rmtree(self.part / ".guest", ignore_errors=True)
        return self._facts(channel)

    def _guest(self, seat: Seat, work: Work, channel: Channel, console: Path) -> Outcome:
        """One guest. A snapshot that fails is given up for good, with the reason beside it."""
        saved = seat.snapshot
        outcome = boot(
            seat.row,
            seat.kernel.path,
            seat.initrd,
            channel,
            console,
            Task(work.text(), saved),
            kvm=self.wishes.kvm,
            stop=self.stop,
        )
        if saved and outcome.infra:
            saved.refuse(f"a guest of it ended so: {outcome.ended}: {outcome.reason}")
        return outcome

    def _first(self) -> Channel:
        """The guest that is asked everything; once more when the machinery failed."""
        row, report = self.seat.row, self.report
        saved = self.wishes.narrowed or self.wishes.may_disturb or self.wishes.hazards
        for report.attempts in range(1, ATTEMPTS + 1):
            shutil.rmtree(self.part, ignore_errors=True)
            self.part.mkdir(parents=True)
            channel = Channel(self.part)
            channel.on_file = lambda name: self.on_state(row, f"{len(channel.files)} files, {name}")
            self.on_state(row, "booting")
            seat, log = self.seat if saved else self.seat.cold(), self.part / "console.log"
            report.outcome = self._guest(seat, self.work, channel, log)
            report.book(report.outcome, "all")
            if not report.outcome.infra:
                break
        report.release = channel.release
        return channel

    def _rest(self) -> None:
        """Probes that need a guest of their own, and those a fallen guest left unanswered."""
        report, outcome = self.report, self.report.outcome
        if len(self.work.levels) > 1 or outcome.ended not in ("done", *DOWN):
            return
        steps = read_plan(_text(self.part / "plan"))
        hazards, disturbing = self._apart(steps)
        missing = [step for step in steps if not (self.part / answer(step)).exists()]
        apart = {*hazards, *disturbing}
        rest = Throwaway(self.part, lambda some: self._some(some, apart.issuperset(some)))
        rest.left += [(step,) for step in (*hazards, *disturbing)]
        if outcome.ended in DOWN:
            rest.accuse([step for step in missing if step not in apart])
        rest.finish()
        report.lost = rest.lost
        report.downs = [
            f"{' '.join(step)}: {told[-1]}, {len(told)} of {TRIES} guests"
            for step, told in rest.downs.items()
        ]
        if outcome.ended in DOWN and missing and not rest.lost:
            report.outcome = replace(outcome, ended="done", reason="")

    def _apart(self, steps: list[Step]) -> tuple[list[Step], list[Step]]:
        """Hazards, and what disturbs, as far as either may be done. The first guest did neither."""
        catalogue = _text(self.part / "catalogue")
        hazards = declared(catalogue, "hazard") if self.wishes.hazards else set()
        disturbs = declared(catalogue, "disturbs") if self.wishes.may_disturb else set()
        return (
            [step for step in steps if step[1] in hazards],
            [step for step in steps if step[1] in disturbs - hazards],
        )

    def _some(self, steps: tuple[Step, ...], allowed: bool) -> Ended:
        """A fresh guest for a few steps; their answers take their places in `part`."""
        wishes, here = self.wishes, self.part / ".guest"
        flags = ("--may-disturb",) * wishes.may_disturb + ("--hazards",) * wishes.hazards
        work = self.work.only(steps, *(flags if allowed else ()))
        what = " ".join(steps[0]) if len(steps) == 1 else f"{len(steps)} probes"
        for _ in range(ATTEMPTS):
            shutil.rmtree(here, ignore_errors=True)
            here.mkdir()
            self.on_state(self.seat.row, what)
            outcome = self._guest(self.seat, work, Channel(here), here / "console.log")
            self.report.book(outcome, what)
            if not outcome.infra:
                break
        answered = frozenset(step for step in steps if _move(here, self.part, step))
        return Ended(outcome, answered, here / "console.log")

    def _facts(self, channel: Channel) -> dict[str, Any]:
        row, report = self.report.row, self.report
        facts = {
            "format": 1,
            "row": row.name,
            "arch": row.arch.name,
            "release": report.release,
            **asdict(report.outcome),
            "infra": report.outcome.infra,
            "total_wall": report.wall,
            "total_cpu": report.cpu,
            "attempts": report.attempts,
            "emulator": machine.emulator(row, self.wishes.kvm),
            "qemu_version": machine.qemu_version(row),
            **self.seat.kernel.facts,
            "limits": list(row.limits),
            "no_snapshot": self.seat.why,
            "guests": report.guests,
            "went_down": report.downs,
            "unanswered": report.lost,
            "levels_refused": channel.missing_runs,
            "files": channel.frames,
            "noise_bytes": channel.noise,
            "refused": channel.refused,
        }
        if report.outcome.ended != "done":
            facts["console_tail"] = console_tail(self.part / "console.log")
        return facts


def console_tail(path: Path) -> str:
    """The last of what the guest said, printable."""
    return printable(path.read_bytes()[-TAIL:])


def _text(path: Path) -> str:
    try:
        return path.read_bytes()[: 4 << 20].decode("utf-8", "backslashreplace")
    except OSError:
        return ""


def _move(source: Path, target: Path, step: Step) -> bool:
    """The answer to a step, from a guest's files to its place. False: there is none."""
    name = answer(step)
    if not (source / name).is_file():
        return False
    (target / step[0]).mkdir(exist_ok=True)
    (source / name).replace(target / name)
    return True
