# SPDX-License-Identifier: MIT
"""How a run at a place ended. None of these words is a verdict about a kernel."""

from __future__ import annotations

from dataclasses import dataclass, field

DOWN = ("panic", "hang", "shutdown", "died")  # with a probe that may be why


@dataclass
class Outcome:
    """How one run ended. Only `done` means that the results are whole.

    done        end marker seen, every announced file is here
    incomplete  run.sh ended without an end marker, or files were refused
    shutdown    the machine powered off or restarted before the end marker
    panic       the kernel panicked or reset itself
    hang        nothing more came within the time allowed
    flood       the console or the results line exceeded its limit and was cut off
    spoilt      the kernel failed in a probe and went on; the rest of the order is for another machine
    dropped     the connection was lost; the machine itself may be well
    died        the emulator or the transport ended by itself or never started
    interrupted somebody ended the run; what had finished is kept
    clock       done, but the machine's clock was wrong, so its measurements are void

    `stage` is how far the run got: boot, ready (waits for work), init (has its work), probes.
    `start` says what the machine was started from: cold, or a snapshot. `complaints` are lines of
    its console that report a fault of its kernel, each after the file that had come last.
    """

    ended: str = ""
    reason: str = ""
    stage: str = "boot"
    wall: float = 0.0
    cpu: float = 0.0
    times: dict[str, float] = field(default_factory=dict)
    cpu_times: dict[str, float] = field(default_factory=dict)
    start: str = "cold"
    complaints: list[str] = field(default_factory=list)

    @property
    def infra(self) -> bool:
        """The machinery failed: the outcome says nothing about the kernel."""
        before = self.ended not in ("done", "flood") and self.stage != "probes"
        return before or self.ended == "clock"
