# SPDX-License-Identifier: MIT
"""`device labgrid:PLACE`: a place of a labgrid coordinator is reserved, and is a device by ssh or by
its serial console as long as it is ours."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernels.errors import Missing, RowError, Usage, reason
from kernels.lab import labgrid
from kernels.place.engine import Engine
from kernels.place.follow import Pace
from kernels.place.owner import Owner
from kernels.place.private import Private
from kernels.place.remote import RemotePlace
from kernels.place.report import Report, Request
from kernels.place.serial import SerialLink
from kernels.place.ssh import SshLink

WAYS = ("NetworkService", "NetworkSerialPort")
HOST = re.compile(r"[\w][\w.-]*|[0-9A-Fa-f:.]+")


@dataclass
class LabgridPlace:
    """A place of labgrid. `address` is as labgrid.asked() takes it; `bundles` gives the bundle for a
    machine."""

    name: str
    address: str
    bundles: Callable[[str], AbstractContextManager[dict[str, Path | str]]]
    owner: Owner = Owner()
    private: Private = field(default_factory=Private)
    pace: Pace = Pace()
    config: Path | None = None
    clear: bool = False

    def health(self) -> str:
        """Why nothing can be reserved, or ''."""
        try:
            labgrid.fitting(labgrid.asked(self.address))
        except (RowError, OSError) as error:
            return self.private.text(reason(error))
        return ""

    def run(
        self, request: Request, results: Path, say: Callable[[str], None], stop: threading.Event
    ) -> Report:
        """The report of a run. Only an interrupt is raised; a failure is the reason in the report."""
        report = Report(self.name)
        try:
            of = labgrid.asked(self.address)
            self.private.add([of.coordinator.rpartition(":")[0] or of.coordinator, *of.place])
            with labgrid.held(self.address, say, stop) as (name, found):
                self.private.add([name])
                report = self._on(found, request, results, say, stop)
        except (RowError, Usage) as error:
            report.error = self.private.text(str(error))
        except OSError as error:
            report.error = f"{error.strerror or error} ({type(error).__name__})"
        return report

    def _on(
        self, found: list[dict[str, Any]], request: Request, results: Path, say: Callable[[str], None],
        stop: threading.Event,
    ) -> Report:  # fmt: skip
        link = self._link(found)
        kind = "ssh" if isinstance(link, SshLink) else "serial"
        self.private.add(link.names)
        place = RemotePlace(self.name, link, kind, self.owner, self.pace, self.private)
        place.clear = self.clear
        place.record["scheduler"] = "labgrid"
        try:
            say("connecting")
            ill = place.health()
            if ill:
                raise Missing(ill)
            with self.bundles(place.facts().machine) as whole:
                engine = Engine(results, request, whole, lambda name, state: say(state), stop)
                return engine.run(place)
        finally:
            link.close()

    def _link(self, found: list[dict[str, Any]]) -> SshLink | SerialLink:
        """By ssh where the place has it, else by its console."""
        by = {told.get("cls"): told for told in reversed(found)}
        if not any(way in by for way in WAYS):
            have = " ".join(str(told.get("cls"))[:40] for told in found) or "nothing"
            raise Missing(f"the place has neither {' nor '.join(WAYS)}; it has {have}")
        told = by.get(WAYS[0]) or by[WAYS[1]]
        params = told["params"]
        if not told.get("avail", True):
            raise Missing(f"{told['cls']} of the place is not available: its exporter says so")
        host = str(params.get("address" if WAYS[0] in by else "host"))
        if not HOST.fullmatch(host) or not isinstance(params.get("port", 22), int):
            raise Missing(f"{told['cls']} of the place has no usable address: {host[:60]!r}")
        host = f"[{host}]" if ":" in host else host
        jump = jump_to(params)
        if WAYS[0] in by:
            target = f"{params.get('username') or 'root'}@{host}:{params.get('port') or 22}"
            return SshLink(target, self.config, jump=jump)
        if jump:
            raise Missing(f"the console of the place is reached by way of {jump} only: give it a NetworkService")
        return SerialLink(f"tcp:{host}:{params.get('port')}@{params.get('speed') or 115200}")


def jump_to(params: dict[str, Any]) -> str:
    """The host to go by, where labgrid says that the exporter is the only way."""
    extra = params.get("extra")
    required = isinstance(extra, dict) and extra.get("proxy_required")
    jump = str(extra.get("proxy") or "") if isinstance(extra, dict) and required else ""
    return jump or os.environ.get("LG_PROXY", "")
