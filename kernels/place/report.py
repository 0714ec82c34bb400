# SPDX-License-Identifier: MIT
"""What was asked for, what a row's guests are started from, and what became of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from kernels.guest.boot import Outcome
from kernels.guest.snapshot import Snapshot
from kernels.matrix import Row


@dataclass(frozen=True)
class Wishes:
    """What the user asked for, the same for every row."""

    suite: str = "default"
    guest_args: tuple[str, ...] = ()
    levels: tuple[str, ...] = ("2",)
    may_disturb: bool = False
    hazards: bool = False
    narrowed: bool = False
    cold: bool = False
    timeout: int = 0
    keep: bool = False
    kvm: bool = False
    build: bool = True


@dataclass
class Report:
    """What became of a row; `error` says why there is no result."""

    row: Row
    outcome: Outcome = field(default_factory=Outcome)
    error: str = ""
    release: str = ""
    attempts: int = 0
    verdicts: dict[str, dict[str, int]] = field(default_factory=dict)
    downs: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    guests: list[dict[str, Any]] = field(default_factory=list)
    wall: float = 0.0
    cpu: float = 0.0
    unexpected: dict[str, int] = field(default_factory=dict)
    resumed: bool = False

    @property
    def status(self) -> int:
        """0 fine, 1 something to look at, 3 could not run."""
        if self.row.unavailable:
            return 0
        if self.error or self.outcome.infra:
            return 3
        fine = self.outcome.ended == "done" and not (self.unexpected or self.downs or self.lost)
        return 0 if fine else 1

    def book(self, outcome: Outcome, what: str) -> None:
        """One guest more. The row's times are those of all of them."""
        self.guests.append({"of": what, **asdict(outcome)})
        self.wall = round(self.wall + outcome.wall, 2)
        self.cpu = round(self.cpu + outcome.cpu, 2)


@dataclass(frozen=True)
class Kernel:
    path: Path
    facts: dict[str, str]
    qemu_args: tuple[str, ...] = ()


@dataclass(frozen=True)
class Seat:
    """What every guest of a row is started from, and why not from a snapshot."""

    row: Row
    kernel: Kernel
    initrd: bytes
    saved: Snapshot | None = None
    without: str = ""

    @property
    def snapshot(self) -> Snapshot | None:
        return self.saved if self.saved and not self.saved.refused else None

    @property
    def why(self) -> str:
        return self.without or (self.saved.refused if self.saved else "")

    def cold(self) -> Seat:
        return replace(self, saved=None)
