# SPDX-License-Identifier: MIT
"""A row of the matrix as a place: every run is a fresh guest."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kernels.errors import Missing, RowError
from kernels.guest import initramfs, machine
from kernels.guest.boot import boot
from kernels.guest.setup import Setup, find_initrd, find_kernel, prepare
from kernels.guest.watch import Task
from kernels.matrix import Row
from kernels.place import work
from kernels.place.channel import Channel
from kernels.place.outcome import Outcome
from kernels.place.place import Facts, Order
from kernels.source import emulator
from kernels.source.fetch import Fetcher


@dataclass(frozen=True)
class Options:
    """How guests are started.

    cold    boot every guest, start none from a snapshot
    saved   start from a snapshot even the guest that runs a whole order
    keep    leave kernel and initramfs in the result
    kvm     use KVM where the row allows it
    """

    cold: bool = False
    saved: bool = False
    keep: bool = False
    kvm: bool = False


class GuestPlace:
    """An emulator for one row. Guests are disposable, so everything is allowed in them."""

    def __init__(self, row: Row, fetcher: Fetcher, options: Options = Options()) -> None:
        self.row, self.fetcher, self.options = row, fetcher, options
        self.setup: Setup | None = None
        self._kept: Order | None = None
        self._version = ""

    def facts(self) -> Facts:
        row, setup = self.row, self.setup
        known = setup.kernel.facts if setup else {}
        runs_on = machine.emulator(row, self.options.kvm)
        env = {"emulator": runs_on, "kernel_row": row.name, **known}
        record = {"row": row.name, "arch": row.arch.name, "emulator": runs_on, **known}
        if setup and self._version:
            env["emulator_version"] = self._version.split()[0]
        if setup:
            record |= {"qemu_version": self._version, "no_snapshot": setup.why}
        return Facts(row.name, row.arch.bundle, env, record, row.limits, True, True)

    def health(self) -> str:
        try:
            if self.row.arch.runner == "qemu" and not self.row.emulator:
                machine.program(self.row)
        except Missing as error:
            return str(error)
        return ""

    @contextmanager
    def put(self, bundle: Path) -> Iterator[None]:
        """The bundle becomes part of an initramfs in memory; nothing is left on disk."""
        row = emulator.private(self.row, self.fetcher)
        kernel = find_kernel(row, self.fetcher)
        initrd = find_initrd(row, self.fetcher, bundle, kernel.module)
        cold, kvm = self.options.cold, self.options.kvm
        self._version = machine.qemu_version(row)
        self.setup = prepare(row, kernel, initrd, cold, kvm, self.fetcher.cache)
        try:
            yield
        finally:
            self.setup = None

    def run(self, order: Order, channel: Channel, stop: threading.Event) -> Outcome:
        """One guest. A snapshot that fails is not used again, nor one whose guest has hung: with -icount all
        guests of it do the same, so one that was booted has to show that it is the kernel that hangs. The reason is
        kept beside the snapshot."""
        setup = self._setup(order)
        skip = tuple(word for known in setup.row.skip for word in ("--skip", known))
        order = replace(order, args=(*order.args, *skip))
        saved, row = setup.snapshot, setup.row
        outcome = boot(
            replace(row, timeout=order.limit or row.timeout),
            setup.kernel.path,
            setup.initrd,
            channel,
            channel.log,
            Task(work.text(order), saved, unspoilt=order.unspoilt),
            kvm=self.options.kvm,
            stop=stop,
        )
        if saved and (outcome.infra or outcome.ended == "hang"):
            saved.refuse(f"a guest of it ended so: {outcome.ended}: {outcome.reason}")
        self._kept = None if order.plan else order
        return outcome

    def _setup(self, order: Order) -> Setup:
        """A whole suite runs in a guest that was booted for it."""
        if not self.setup:
            raise RowError("no bundle has been put here")
        return self.setup if order.plan or self.options.saved else self.setup.cold()

    def get(self, channel: Channel) -> None:
        """There is nothing to fetch from a guest that has ended. --keep adds what was booted."""
        if self.options.keep and self.setup and self._kept:
            archive = initramfs.work_archive(work.text(self._kept))
            (channel.target / "initrd").write_bytes(self.setup.initrd + archive)
            shutil.copyfile(self.setup.kernel.path, channel.target / "kernel")
