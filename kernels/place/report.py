# SPDX-License-Identifier: MIT
"""What was asked for, and what became of one place."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from kernels.place.outcome import Outcome
from kernels.place.place import Order


@dataclass(frozen=True)
class Request:
    """What the user asked for, the same for every place.

    may_disturb    run what disturbs the machine, as every persona; refused where that is not allowed
    root_disturbs  run it as root wherever it is allowed
    """

    order: Order = Order("default")
    may_disturb: bool = False
    hazards: bool = False
    root_disturbs: bool = False


@dataclass
class Report:
    """What became of a place. `error` says why there is no result, `unavailable` why it was not
    even tried; `faults` and `late` are what its kernel complained of while probes ran."""

    name: str
    outcome: Outcome = field(default_factory=Outcome)
    error: str = ""
    release: str = ""
    attempts: int = 0
    verdicts: dict[str, dict[str, int]] = field(default_factory=dict)
    downs: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    guests: list[dict[str, Any]] = field(default_factory=list)
    wall: float = 0.0
    cpu: float = 0.0
    unexpected: dict[str, int] = field(default_factory=dict)
    resumed: bool = False
    unavailable: str = ""
    declined: bool = False  # nothing was asked of it, for a reason that is none of the place's

    @property
    def status(self) -> int:
        """0: as expected, 1: something to look at, 3: could not run."""
        if self.unavailable:
            return 0
        if self.error or self.outcome.infra:
            return 3
        found = self.unexpected or self.downs or self.lost or self.faults
        return 0 if self.outcome.ended == "done" and not found else 1

    def book(self, outcome: Outcome, what: str) -> None:
        """Add one run. The times of a place are the sums over its runs."""
        self.guests.append({"of": what, **asdict(outcome)})
        self.wall = round(self.wall + outcome.wall, 2)
        self.cpu = round(self.cpu + outcome.cpu, 2)
