# SPDX-License-Identifier: MIT
"""Guests that may go down: probes that could end one get a fresh one each, and the rest goes on.

A guest that goes down among several probes accuses the one that was running; that one is asked
again alone. Alone, a probe whose guest goes down is asked once more, for emulators fail too: a file
in the probe's place says how many of the two went down, and with which last words. What that means
for a verdict is for reports to say.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kernels.guest.boot import Outcome
from kernels.guest.work import Step, answer
from kernels.place.channel import printable

DOWN = ("panic", "hang", "shutdown")
TRIES = 2
MOST = 12  # guests of one row that may go down; what is left then stays unanswered
GUESTS = 200  # guests of one row: four personas, some twenty probes that want one of their own
LINES, WIDTH = 24, 300
TELLING = re.compile(r"BUG:|Oops|[Pp]anic|Unable to handle|general protection|lockup|stall")


@dataclass
class Ended:
    """One guest: how it ended, what it answered, where its console is."""

    outcome: Outcome
    answered: frozenset[Step]
    console: Path


@dataclass
class Throwaway:
    """The steps that are left, and what became of them. `run` starts a guest for some steps."""

    folder: Path
    run: Callable[[tuple[Step, ...]], Ended]
    left: deque[tuple[Step, ...]] = field(default_factory=deque)
    downs: dict[Step, list[str]] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    fallen: int = 0

    def accuse(self, steps: list[Step]) -> None:
        """A guest went down with these unanswered: the first was running."""
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
            self.lost.append(f"{_names(steps)}: {before} before")
            self.left.clear()

    def _settle(self, steps: tuple[Step, ...], guest: Ended) -> None:
        missing = [step for step in steps if step not in guest.answered]
        if missing and (guest.outcome.infra or guest.outcome.ended not in DOWN):
            said = f"{guest.outcome.ended}: {guest.outcome.reason}"
            self.lost.append(f"{_names(tuple(missing))}: {said}")
        elif missing and len(steps) > 1:
            self.fallen += 1
            self.accuse(missing)
        elif missing:
            self.fallen += 1
            self._alone(steps[0], guest)
        elif len(steps) == 1 and steps[0] in self.downs:
            self._note(steps[0], TRIES)

    def _alone(self, step: Step, guest: Ended) -> None:
        told = self.downs.setdefault(step, [])
        told.append(guest.outcome.ended)
        last = self._console(step)
        last.parent.mkdir(exist_ok=True)
        last.write_bytes(guest.console.read_bytes())
        if len(told) < TRIES:
            self.left.appendleft((step,))
        else:
            self._note(step, TRIES)

    def _console(self, step: Step) -> Path:
        return self.folder / "down" / f"{step[0]}.{step[1]}.console.log"

    def _note(self, step: Step, tries: int) -> None:
        """The file in place of the probe's answer. No probe can write one: it says bytes=0."""
        told = self.downs[step]
        lines = [f"#:guest: ended={told[-1]} times={len(told)} of={tries}"]
        lines += [f"#:guest: console {line}" for line in last_words(self._console(step))]
        lines.append(
            "#:launch: exit=0 signal=0 ms=0 timeout=0 truncated=0 leftover=0 bytes=0"
        )
        path = self.folder / answer(step)
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _names(steps: tuple[Step, ...]) -> str:
    shown = ", ".join(" ".join(step) for step in steps[:3])
    return shown + (f" and {len(steps) - 3} more" if len(steps) > 3 else "")


def last_words(console: Path) -> list[str]:
    """From the first line that tells of trouble on; else the end."""
    text = printable(console.read_bytes()[-(64 << 10) :].replace(b"\r", b""))
    lines = [line.strip()[:WIDTH] for line in text.splitlines() if line.strip()]
    first = next((at for at, line in enumerate(lines) if TELLING.search(line)), len(lines) - LINES)
    return lines[max(first, 0) :][:LINES]
