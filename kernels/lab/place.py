# SPDX-License-Identifier: MIT
"""`device lava:IDENTITY/DEVICE-TYPE`: a job is written, submitted and waited for, and its result is
where that of a device of one's own would be."""

from __future__ import annotations

import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from kernels.errors import Missing, RowError, Usage
from kernels.lab import lava
from kernels.lab.result import taken_in
from kernels.place.channel import printable
from kernels.place.private import Private
from kernels.place.report import Report, Request


class Scheduled(Protocol):
    """A place whose turn somebody else decides."""

    @property
    def name(self) -> str:
        """As in Facts."""

    def health(self) -> str:
        """Why it cannot be asked for, or ''."""

    def run(
        self, request: Request, results: Path, say: Callable[[str], None], stop: threading.Event
    ) -> Report:
        """Wait for the turn, run, and leave the place to others again. Only an interrupt is raised: `stop`
        says so."""


@dataclass(frozen=True)
class Lab:
    """Where a lab's jobs come from. `bundle` is the address that its devices fetch the bundle from,
    or a folder on them; `base` a job of the lab that boots such a device."""

    bundle: str = ""
    base: str = ""


@dataclass
class LavaPlace:
    """A device type of a lab. `address` is IDENTITY/DEVICE-TYPE, the identity one of lavacli's."""

    name: str
    address: str
    lab: Lab
    private: Private
    every: float = lava.ASKED_EVERY
    resume: bool = False  # take up the job of an earlier run

    def health(self) -> str:
        """Why no job can be submitted, or ''."""
        try:
            lava.lavacli(self.address.partition("/")[0], "devices", "list", limit=60)
        except RowError as error:
            return self.private.text(str(error))
        return ""

    def job(self, request: Request) -> str:
        """The job that asks for the same. Raises Usage."""
        from kernels.lab import job  # needs python3-yaml

        order = request.order
        if request.may_disturb or request.hazards or order.levels:
            raise Usage(f"{self.name}: a job of a lab changes nothing on its device")
        if not self.lab.bundle or not self.lab.base:
            raise Usage(
                f"{self.name}: needs `bundle`, from where its devices fetch bundle.tar.gz, and `base`, "
                "a job of the lab that boots them (in devices.toml, or --bundle and --base)"
            )
        minutes = max(1, round(order.limit / 60)) if order.limit else 30
        test = job.test_action(order.suite, self.lab.bundle, order.args, minutes)
        kind = self.address.partition("/")[2]
        if not job.NAME.fullmatch(kind):
            raise Usage(f"{self.name}: lava:IDENTITY/DEVICE-TYPE, not {self.address!r}")
        return job.text(job.of_lab(Path(self.lab.base), test, minutes, order.suite, kind))

    def run(
        self, request: Request, results: Path, say: Callable[[str], None], stop: threading.Event
    ) -> Report:
        """The report of a job. Only an interrupt is raised; a failure is the reason in the report."""
        part = results / f"{self.name}.part"
        shutil.rmtree(part, ignore_errors=True)
        report = Report(self.name)
        try:
            report = self._fetch(request, results, part, say, stop)
            report.name = self.name
            shutil.rmtree(results / self.name, ignore_errors=True)
            part.rename(results / self.name)
        except (RowError, Usage) as error:
            report.error = self.private.text(str(error))
        except ModuleNotFoundError as error:
            report.error = f"no Python module {error.name!r}; install the package python3-yaml"
        except OSError as error:
            report.error = f"{error.strerror or error} ({type(error).__name__})"
        return report

    def _fetch(
        self, request: Request, results: Path, part: Path, say: Callable[[str], None], stop: threading.Event
    ) -> Report:
        """The number of the job is kept beside the results until it has ended, its log where it failed."""
        identity = self.address.partition("/")[0]
        if not identity:
            raise Missing(f"lava:IDENTITY/DEVICE-TYPE, not {self.address!r}")
        kept, log = results / f"{self.name}.job", results / f"{self.name}.logs.yaml"
        number = self._known(kept) if self.resume else ""
        if not number:
            with tempfile.TemporaryDirectory(prefix="pm-lab-") as folder:
                number = lava.submitted(self.job(request), identity, Path(folder))
            kept.write_text(f"{number}\n", encoding="utf-8")
        say(f"job {number} {lava.address(identity, number)}".rstrip())
        try:
            text = lava.log_of(identity, number, say, stop, self.every)
        except lava.Cancelled:
            kept.unlink(missing_ok=True)
            raise
        log.write_text(text, encoding="utf-8")
        told = lava.patiently(lambda: lava.shown(identity, number), say, stop, self.every)
        kept.unlink(missing_ok=True)
        self.private.add_known([str(told.get("device") or "")])
        try:
            report = taken_in(log, part, self.private)
        except RowError as error:
            health = str(told.get("health", "unknown")).lower()[:40]
            why = "; ".join(filter(None, [lava.judged(text), str(error).replace(str(log), "its log")]))
            said = f"job {number} on {told.get('device')} ended {health}: {why}; log: {log}"
            raise Missing(printable(said.encode())) from None
        log.unlink()
        return report

    @staticmethod
    def _known(kept: Path) -> str:
        """The number of a job of an earlier run that nobody has seen end."""
        try:
            number = kept.read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            return ""
        return number if re.fullmatch(lava.NUMBER, number) else ""


@contextmanager
def jobs_of(
    places: Sequence[Scheduled], request: Request, results: Path, state: Callable[[str, str], None],
    ended: Callable[[Report], None],
) -> Iterator[list[Report]]:  # fmt: skip
    """Run each while the body runs, and wait for their ends after it. The list is full then. If the
    body or the wait is interrupted, all are told to stop."""
    stop, reports = threading.Event(), list[Report]()
    with ThreadPoolExecutor(max(1, len(places))) as pool:
        futures = [
            pool.submit(place.run, request, results, partial(state, place.name), stop) for place in places
        ]
        try:
            yield reports
            for future in as_completed(futures):
                reports.append(future.result())
                ended(reports[-1])
        except BaseException:
            stop.set()
            raise
