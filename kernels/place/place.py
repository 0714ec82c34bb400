# SPDX-License-Identifier: MIT
"""The interface to a place where a bundle runs: a guest, this machine, a board, a phone, a lab.

To add a place, implement Place and add it to test_place.py, which runs the same checks against
every implementation. The engine uses nothing but these five methods.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from kernels.place.channel import Channel
from kernels.place.outcome import Outcome
from kernels.place.steps import Step


@dataclass(frozen=True)
class Facts:
    """What is known about a place. `env` and `record` may grow once a bundle has been put there.

    name      unique in a run; becomes the folder of the results
    machine   which bundle fits, as in build/MACHINE/bundle
    env       lines for the result's env: who this is, without host names or serial numbers
    record    what boot.json says about the place
    limits    what a result from here must not be read to say
    disturb   run.sh --may-disturb is allowed: CPUs and sysctls may be changed
    hazards   run.sh --hazards is allowed: the machine may be lost
    """

    name: str
    machine: str
    env: dict[str, str] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)
    limits: tuple[str, ...] = ()
    disturb: bool = False
    hazards: bool = False


@dataclass(frozen=True)
class Order:
    """What to run: `run.sh --suite SUITE ARGS`, or of that suite only the steps in `plan`.

    levels    values of perf_event_paranoid to set one after the other, a result each
    limit     seconds for the whole run; 0 leaves it to the place
    unspoilt  end it behind a probe in which the kernel failed (an oops, a stall, a process that cannot be killed):
              what follows is asked elsewhere. A place that has one machine need not heed it.
    """

    suite: str
    args: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    plan: tuple[Step, ...] = ()
    limit: int = 0
    unspoilt: bool = False

    def only(self, plan: tuple[Step, ...], *flags: str) -> Order:
        return replace(self, plan=plan, args=(*self.args, *flags))


class Place(Protocol):
    """Every method may raise RowError with a reason of one line; only run() and get() write
    results, and only through the channel, which treats whatever arrives as hostile."""

    def facts(self) -> Facts:
        """Cheap, and answered without a bundle. Never starts anything at the place."""

    def health(self) -> str:
        """Empty when a bundle could run here now, otherwise the reason. Asked before each run."""

    def put(self, bundle: Path) -> AbstractContextManager[object]:
        """Bring the bundle there. Leaving the context removes all that was brought, also after
        an error; a place that cannot be reached any more must not raise on leaving."""

    def run(self, order: Order, channel: Channel, stop: threading.Event) -> Outcome:
        """Run once and return how that ended. May be called again, with another channel.

        Each finished file goes to the channel while the run goes on, so that partial results
        survive whatever comes; what the place says besides goes to `channel.log`. When this
        returns or raises, nothing it started runs any more. A run that ends badly is an Outcome,
        never an exception. `stop` set: end the run and raise KeyboardInterrupt.
        """

    def get(self, channel: Channel) -> None:
        """After a run: fetch what finished there but has not arrived. Idempotent."""
