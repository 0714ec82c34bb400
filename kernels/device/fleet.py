# SPDX-License-Identifier: MIT
"""All devices of one command that are reached from here. Each has a thread of its own that looks at it,
brings the bundle, runs and clears up, so that none waits for what another does; only for its turn."""

from __future__ import annotations

import argparse
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from kernels import ROOT, matrix
from kernels.device import hooks
from kernels.device.lock import locked
from kernels.errors import RowError, reason
from kernels.options import request, suite_file
from kernels.place.bundle import bundles, with_suite
from kernels.place.engine import Engine
from kernels.place.link import AWAY
from kernels.place.remote import RemotePlace
from kernels.place.report import Report

Said: TypeAlias = Callable[[str, str], None]
Ended: TypeAlias = Callable[[Report], None]
THREADS = 1000
CONNECTIONS = 4.0 * (os.cpu_count() or 1)  # new ones a second: setting one up takes CPU here


@dataclass
class Turns:
    """Turns at a steady pace. One that has had its turn holds up no other, whatever it waits for."""

    rate: float = CONNECTIONS
    _next: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait(self, stop: threading.Event) -> None:
        with self._lock:
            at = self._next = max(time.monotonic(), self._next + 1 / self.rate)
        if stop.wait(max(at - time.monotonic(), 0)):
            raise KeyboardInterrupt


def without_bundle(machine: str) -> str:
    """Why there is no bundle for a machine, whatever is installed; empty if one can be made."""
    known = list(dict.fromkeys(arch.bundle for arch in matrix.load().arches.values() if arch.triple))
    if machine in known or machine == platform.machine() or (ROOT / "build" / machine / "bundle").is_dir():
        return ""
    own = f"with a compiler of yours: make ARCH={machine} CROSS_COMPILE=... bundle"
    return f"its machine is {machine}, and bundles are made for {' '.join(known)}; {own}"


class Slots:
    """So many devices run at a time. One that is waited for, as its link is lost, leaves its slot to another, and
    goes on at once when it is back: its run never stopped."""

    def __init__(self, count: int) -> None:
        self._free, self._changed = count, threading.Condition()

    @contextmanager
    def one(self, stop: threading.Event) -> Iterator[None]:
        with self._changed:
            while self._free < 1:
                self._changed.wait(0.5)
                if stop.is_set():
                    raise KeyboardInterrupt
            self._free -= 1
        away = AWAY.set(self._left)
        try:
            yield
        finally:
            AWAY.reset(away)
            self._add(1)

    @contextmanager
    def _left(self) -> Iterator[None]:
        self._add(1)
        try:
            yield
        finally:
            self._add(-1)

    def _add(self, more: int) -> None:
        with self._changed:
            self._free += more
            self._changed.notify_all()


class Groups:
    """Of some groups of devices only so many may be at work at a time: those of a hub, of a power supply."""

    def __init__(self, limits: dict[str, int] | None = None, members: dict[str, tuple[str, ...]] | None = None) -> None:
        self._free = dict(limits or {})
        self._of = {name: [tag for tag in tags if tag in self._free] for name, tags in (members or {}).items()}
        self._changed = threading.Condition()

    @contextmanager
    def of(self, name: str, stop: threading.Event, say: Callable[[str], None]) -> Iterator[None]:
        """Have a place in all groups of this device. It is taken in all at once, so that nobody holds one
        while waiting for another."""
        mine = self._of.get(name, [])
        with self._changed:
            while full := [tag for tag in mine if not self._free[tag]]:
                say(f"waiting: {full[0]} is at its limit")
                self._changed.wait(0.5)
                if stop.is_set():
                    raise KeyboardInterrupt
            for tag in mine:
                self._free[tag] -= 1
        try:
            yield
        finally:
            with self._changed:
                for tag in mine:
                    self._free[tag] += 1
                self._changed.notify_all()


@dataclass
class Bundles:
    """The bundle for each machine, found or built when the first device of that machine is known."""

    args: argparse.Namespace
    _made: dict[str, Path | str] = field(default_factory=dict)
    _locks: dict[str, threading.Lock] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _kept: ExitStack = field(default_factory=ExitStack)

    def of(self, machine: str) -> Path | str:
        with self._lock:
            mine = self._locks.setdefault(machine, threading.Lock())
        lacking = without_bundle(machine)
        if lacking:
            return lacking
        with mine:
            if machine not in self._made:
                found = bundles([machine], not self.args.no_build, not self.args.no_install)
                suited = with_suite(found, suite_file(self.args), self.args.replay)
                with self._lock:
                    self._made |= self._kept.enter_context(suited)
            return self._made[machine]

    def close(self) -> None:
        self._kept.close()


@dataclass
class Fleet:
    """`folder` is for the results, `jobs` the most devices that run at a time."""

    args: argparse.Namespace
    folder: Path
    state: Said
    ended: Ended
    stop: threading.Event = field(default_factory=threading.Event)
    turns: Turns = field(default_factory=Turns)
    groups: Groups = field(default_factory=lambda: Groups())

    def __post_init__(self) -> None:
        self.bundles, self._slots = Bundles(self.args), Slots(self.args.jobs)

    def run(self, places: list[RemotePlace]) -> list[Report]:
        """An interrupt ends all runs and is raised again."""
        reports: list[Report] = []
        pool = ThreadPoolExecutor(max(1, min(len(places), THREADS)))
        try:
            for future in as_completed([pool.submit(self._one, place) for place in places]):
                reports.append(future.result())
                self.ended(reports[-1])
        finally:
            self.stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            self.bundles.close()
        return reports

    def _one(self, place: RemotePlace) -> Report:
        place.stop, place.say = self.stop, lambda state: self.state(place.name, state)
        waiting = lambda: self.state(place.name, "waiting: another command of yours has it")  # noqa: E731
        try:
            hours = place.owner.refuses("", "")
            if hours:
                return Report(place.name, error=hours, declined=True)
            with locked(place.address, self.stop, waiting), self.groups.of(place.name, self.stop, place.say):
                with hooks.around(place.owner, place.name, self.stop, place.say):
                    if place.owner.before:
                        place.forget()
                    return self._again_and_again(place)
        except (RowError, OSError) as error:
            return Report(place.name, error=place.private.text(reason(error)))
        finally:
            place.link.close()

    def _again_and_again(self, place: RemotePlace) -> Report:
        """As often as its owner allows, with the power cycled in between; what was answered is kept."""
        report = self._run(place, self.args.resume)
        for again in range(1, place.owner.retries + 1):
            whole = report.outcome.ended == "done" and not (report.error or report.outcome.infra or report.lost)
            if whole or report.declined:
                break
            why = report.error or f"{report.outcome.ended}: {report.outcome.reason or ', '.join(report.lost)}"
            self.state(place.name, f"again, {again} of {place.owner.retries}, after {why}")
            if place.owner.power_cycle:
                self.state(place.name, hooks.run(place.owner.power_cycle, place.name, self.stop))
                place.forget()
            report = self._run(place, True)
            report.attempts += again
        return report

    def _run(self, place: RemotePlace, resume: bool) -> Report:
        self.state(place.name, "connecting")
        self.turns.wait(self.stop)
        ill = place.health()
        if ill:
            return Report(place.name, error=ill, declined=ill == place.declines())
        machine = place.facts().machine
        bundle = self.bundles.of(machine)
        if isinstance(bundle, str):
            return Report(place.name, error=bundle, declined=True)
        self.state(place.name, "waiting")
        with self._slots.one(self.stop):
            if self.stop.is_set():
                raise KeyboardInterrupt
            asked = request(self.args)
            engine = Engine(self.folder, asked, {machine: bundle}, self.state, self.stop, resume)
            return engine.run(place)
