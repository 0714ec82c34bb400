# SPDX-License-Identifier: MIT
"""What a guest is told to do, as the lines its init reads: from its initramfs, or from the line.

    time=SECONDS        the date; a guest whose state was saved yesterday would not know
    level=LEVEL         set perf_event_paranoid and run; several are several runs of one guest
    suite=NAME          the suite of the lines that follow
    plan=PERSONA PROBE  run this and no other probe (else what the suite selects)
    arg=WORD            an argument for run.sh
    @@go LINES          that was all, in so many lines
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from kernels.errors import Refused
from kernels.place.channel import safe_path

Step = tuple[str, str]
LEVELS = ("-1", "0", "1", "2", "3", "4")


@dataclass(frozen=True)
class Work:
    """The suite, run.sh's arguments, and either everything or the steps that are left."""

    suite: str
    args: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    plan: tuple[Step, ...] = ()

    def only(self, plan: tuple[Step, ...], *flags: str) -> Work:
        return replace(self, plan=plan, args=(*self.args, *flags))

    def text(self) -> bytes:
        lines = [f"time={int(time.time())}", f"suite={self.suite}"]
        lines += [f"level={level}" for level in self.levels]
        lines += [f"plan={persona} {probe}" for persona, probe in self.plan]
        lines += [f"arg={word}" for word in self.args]
        if any("\n" in line or "\r" in line for line in lines):
            raise Refused("an argument for the guest has a line break in it")
        return "".join(f"{line}\n" for line in (*lines, f"@@go {len(lines)}")).encode()


def answer(step: Step) -> str:
    """Where in a result the answer to a step is."""
    return f"{step[0]}/{step[1]}.ktap"


def read_plan(text: str) -> list[Step]:
    """A plan as run.sh in a guest sent it: two words a line that name a place among the results,
    each once, no more than a guest may send."""
    lines = (line.split() for line in text.splitlines()[:50_000] if "/" not in line)
    steps = ((words[0], words[1]) for words in lines if len(words) == 2)
    return list(dict.fromkeys(step for step in steps if safe_path(answer(step))))


def declared(catalogue: str, key: str) -> set[str]:
    """The probes of a catalogue whose declaration has a line KEY=..."""
    found, probe = set(), ""
    for line in catalogue.splitlines():
        name, _, value = line.partition("=")
        if name == "id":
            probe = value
        elif name == key:
            found.add(probe)
    return found
