# SPDX-License-Identifier: MIT
"""Drives a list of places from bundle to finished result directory. One never stops another."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kernels.errors import Missing, Refused, RowError
from kernels.place.judge import RECORD, judge
from kernels.place.place import Facts, Order, Place
from kernels.place.report import Report, Request
from kernels.place.runner import Runner
from reports.text import Unusable, load_json


def asked(request: Request, bundle: Path) -> list[str]:
    """What is asked, and by which programs."""
    manifest = bundle / "MANIFEST"
    made = hashlib.sha256(manifest.read_bytes()).hexdigest() if manifest.exists() else ""
    flags = f"disturb={request.may_disturb} hazards={request.hazards}"
    return [made, flags, request.order.suite, *request.order.levels, *request.order.args]


@dataclass
class Engine:
    """What all places of one run share.

    bundles   for each machine its bundle, or why there is none
    on_state  told what a place is doing just now
    """

    results: Path
    request: Request
    bundles: dict[str, Path | str]
    on_state: Callable[[str, str], None] = lambda name, state: None
    stop: threading.Event = field(default_factory=threading.Event)
    resume: bool = False  # keep what an earlier run has answered, if it was asked the same

    def run_all(
        self,
        places: list[Place],
        jobs: int,
        on_report: Callable[[Report], None],
        live: AbstractContextManager[None] | None = None,
    ) -> list[Report]:
        """Run all places, `jobs` at a time. An interrupt ends all runs and is raised again."""
        reports: list[Report] = []
        with live or nullcontext(), ThreadPoolExecutor(jobs) as pool:
            futures: list[Future[Report]] = [pool.submit(self.run, place) for place in places]
            try:
                for future in as_completed(futures):
                    reports.append(future.result())
                    on_report(reports[-1])
            except BaseException:
                self.stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        return reports

    def run(self, place: Place) -> Report:
        """Run one place. Only an interrupt is raised; a failure becomes the reason in the
        report."""
        report = Report(place.facts().name)
        try:
            self._run(place, report)
        except RowError as error:
            report.error = str(error)
        except OSError as error:
            report.error = f"{error.strerror or error} ({type(error).__name__})"
        return report

    def _run(self, place: Place, report: Report) -> None:
        machine = place.facts().machine
        bundle = self.bundles.get(machine, f"no bundle for {machine}")
        if isinstance(bundle, str):
            raise Missing(bundle)
        ill = place.health()
        if ill:
            raise Missing(ill)
        say = lambda state: self.on_state(report.name, state)  # noqa: E731
        part = self.results / f"{report.name}.part"
        say("preparing")
        with place.put(bundle):
            order = self._order(place.facts())
            if self.resume:
                self._left_by_a_killed_one(part)
            earlier = self._earlier(place.facts(), bundle) if self.resume else None
            runner = Runner(place, report, self.request, order, part, self.stop, say, earlier)
            runner.asked = asked(self.request, bundle)
            try:
                record = runner.run()
            except KeyboardInterrupt:
                self._keep(part, runner.interrupted())
                raise
        self._publish(part, record)
        self._judge(report, say)

    def _earlier(self, facts: Facts, bundle: Path) -> Path | None:
        """Results that are not whole, of the same questions to the same kernel by the same programs."""
        folder = self.results / facts.name
        try:
            told = load_json(folder / RECORD)
            same = told["asked"] == asked(self.request, bundle) and told["release"] == facts.record["release"]
        except (Unusable, OSError, AttributeError, KeyError, TypeError):
            return None
        return folder if same and len(self.request.order.levels) < 2 else None

    def _left_by_a_killed_one(self, part: Path) -> None:
        try:
            told = load_json(part / RECORD)
        except (Unusable, OSError):
            return
        shutil.rmtree(part / ".again", ignore_errors=True)
        if isinstance(told, dict):
            self._keep(part, told)

    def _keep(self, part: Path, record: dict[str, Any]) -> None:
        """Keep what had finished before an interrupt, unless an earlier run left more."""
        earlier = self.results / part.name.removesuffix(".part")
        now, before = (len(list(folder.glob("**/*.ktap"))) for folder in (part, earlier))
        if now > before:
            self._publish(part, record)
        else:
            shutil.rmtree(part, ignore_errors=True)

    def _publish(self, part: Path, record: dict[str, Any]) -> None:
        name = part.name.removesuffix(".part")
        (part / RECORD).write_text(json.dumps(record, indent=1) + "\n")
        shutil.rmtree(self.results / name, ignore_errors=True)
        part.rename(self.results / name)

    def _order(self, facts: Facts) -> Order:
        """The order of the user, with the lines for env that describe the place."""
        if self.request.hazards > facts.hazards or self.request.may_disturb > facts.disturb:
            raise Refused("--hazards and --may-disturb are not for this place")
        lines = [f"{key}={value}" for key, value in facts.env.items()]
        lines += [f"limit={limit}" for limit in facts.limits]
        pairs = [word for line in lines for word in ("--env", line)]
        order = self.request.order
        return replace(order, args=(*order.args, "--no-install", "--quiet", *pairs))

    def _judge(self, report: Report, say: Callable[[str], None]) -> None:
        """Let `reports` judge the result, unless the machinery failed."""
        if report.outcome.infra:
            ended = f"{report.outcome.ended}: {report.outcome.reason}"
            report.error = f"{ended} ({report.attempts} attempts)"
            return
        say("reporting")
        judge(report, self.results / report.name)
