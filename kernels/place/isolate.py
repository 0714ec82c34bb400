# SPDX-License-Identifier: MIT
"""Find the probe that brings a machine down, and run all others nevertheless.

When a machine goes down among several probes, the one that was running is accused and run again
alone. If the machine goes down again, the probe gets a second try, because emulators fail too. A
file in the place of the probe's answer says how often the machine went down and with which last
words. What that means for a verdict is for reports to say. An emulator that dies is handled alike;
it says nothing about a kernel. What follows a probe that spoilt its machine is asked of another one.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kernels.place.channel import printable
from kernels.place.outcome import DOWN, Outcome
from kernels.place.steps import Step, answer, named

TRIES = 2
MOST = 12  # times that a machine may go down; what is left then stays unanswered
GUESTS = 200  # runs at one place; four personas with some twenty hazards each are 80
LINES, WIDTH = 24, 300
TELLING = re.compile(r"BUG:|Oops|[Pp]anic|Unable to handle|general protection|lockup|stall")


@dataclass
class Ended:
    """One run: how it ended, which steps it answered, where its console is."""

    outcome: Outcome
    answered: frozenset[Step]
    console: Path


@dataclass
class Isolation:
    """The steps that are left, and what became of them. `run` runs some steps at the place.

    downs  each probe that went down alone, and how each time ended
    lost   steps that stay unanswered, with the reason
    """

    folder: Path
    run: Callable[[tuple[Step, ...]], Ended]
    left: deque[tuple[Step, ...]] = field(default_factory=deque)
    downs: dict[Step, list[str]] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    fallen: int = 0
    reasons: dict[Step, str] = field(default_factory=dict)

    def accuse(self, steps: list[Step]) -> None:
        """The machine went down with these unanswered: the first of them was running."""
        if steps:
            self.left.appendleft((steps[0],))
        if steps[1:]:
            self.left.insert(1, tuple(steps[1:]))

    def finish(self) -> None:
        started = 0
        while self.left and self.fallen < MOST and started < GUESTS:
            steps = self.left.popleft()
            started += 1
            self._settle(steps, self.run(steps))
        if self.left:
            steps = tuple(step for some in self.left for step in some)
            before = f"{MOST} guests went down" if self.fallen >= MOST else f"{GUESTS} guests ran"
            self.lost.append(f"{named(steps)}: {before} before")
            self.left.clear()

    def _settle(self, steps: tuple[Step, ...], ran: Ended) -> None:
        missing = [step for step in steps if step not in ran.answered]
        ended, moved = ran.outcome.ended, len(missing) < len(steps)
        if missing and ended in ("dropped", "spoilt") and moved:
            self.left.appendleft(tuple(missing))
        elif missing and (ran.outcome.infra or ended not in DOWN):
            said = f"{ran.outcome.ended}: {ran.outcome.reason}"
            self.lost.append(f"{named(tuple(missing))}: {said}")
        elif missing and len(steps) > 1:
            self.fallen += 1
            self.accuse(missing)
        elif missing:
            self.fallen += 1
            self._alone(steps[0], ran)
        elif len(steps) == 1 and steps[0] in self.downs:
            self._note(steps[0], TRIES)

    def _alone(self, step: Step, ran: Ended) -> None:
        told = self.downs.setdefault(step, [])
        told.append(ran.outcome.ended)
        self.reasons[step] = ran.outcome.reason
        last = self._console(step)
        last.parent.mkdir(exist_ok=True)
        last.write_bytes(ran.console.read_bytes())
        if len(told) < TRIES:
            self.left.appendleft((step,))
        else:
            self._note(step, TRIES)

    def _console(self, step: Step) -> Path:
        return self.folder / "down" / f"{step[0]}.{step[1]}.console.log"

    def _note(self, step: Step, tries: int) -> None:
        """The file in place of the probe's answer. No probe can have written it: it says
        bytes=0."""
        told = self.downs[step]
        lines = [f"#:guest: ended={told[-1]} times={len(told)} of={tries}"]
        if told[-1] == "died":
            lines.append(f"#:guest: console {printable(self.reasons[step].encode())[:WIDTH]}")
        lines += [f"#:guest: console {line}" for line in last_words(self._console(step))]
        lines.append(
            "#:launch: exit=0 signal=0 ms=0 timeout=0 truncated=0 leftover=0 bytes=0"
        )
        path = self.folder / answer(step)
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def last_words(console: Path) -> list[str]:
    """The console from the first line that tells of trouble on; without one, its end."""
    text = printable(console.read_bytes()[-(64 << 10) :].replace(b"\r", b""))
    lines = [line.strip()[:WIDTH] for line in text.splitlines() if line.strip()]
    first = next((at for at, line in enumerate(lines) if TELLING.search(line)), len(lines) - LINES)
    return lines[max(first, 0) :][:LINES]
