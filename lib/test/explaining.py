# SPDX-License-Identifier: MIT
"""Runs of explain: what the program did, and what was said of it."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Iterator

import pytest

TREE = Path(__file__).resolve().parents[2]
ARCH = os.environ.get("ARCH", platform.machine())
USER = ["setpriv", "--reuid=64321", "--regid=64321", "--clear-groups"]
FAULTS, SWITCHES, CYCLES, CLOCK = "1:2", "1:3", "0:0", "1:1"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="sets user ids")


@pytest.fixture(scope="session", name="place")
def place_() -> Iterator[Path]:
    """explain and the program that is explained, where every user can run them."""
    subprocess.run(["make", "-s", "--no-print-directory", f"ARCH={ARCH}", "explain"], cwd=TREE, check=True,
                   capture_output=True, timeout=300)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        shutil.copy(TREE / "build" / ARCH / "explain", place / "explain")
        subprocess.run(["gcc", "-O1", "-pthread", "-o", place / "asks", TREE / "lib/test/explain/asks.c"],
                       check=True, timeout=300)
        yield place


class Explained:
    """A run: what the program did, and what was said of it."""

    def __init__(self, place: Path, *words: str, before: tuple[str, ...] = (), options: tuple[str, ...] = (),
                 program: str = "", limit: Any = None) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o777)
            told = Path(folder, "told.json")
            command = [*before, str(place / "explain"), *options, "--json", str(told), "--",
                       program or str(place / "asks"), *words]
            self.done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False,
                                       preexec_fn=limit)
            self.told: dict[str, Any] = json.loads(told.exists() and told.read_text(encoding="utf-8") or "{}")
        self.text = " ".join(self.done.stderr.split())

    @property
    def errors(self) -> list[int]:
        """What the program says of its opens."""
        return [int(line) for line in self.done.stdout.split()]

    def numbers(self) -> list[int]:
        """All that it says, as numbers."""
        return [int(word) for word in self.done.stdout.split()]

    def one(self) -> dict[str, Any]:
        """The one kind of call that was made."""
        assert len(self.told["asked"]) == 1, self.told
        shape: dict[str, Any] = self.told["asked"][0]
        return shape

    def gate(self, shape: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self.told["gates"][shape["gate"] - 1]
        return found


def paranoid() -> int:
    return int(Path("/proc/sys/kernel/perf_event_paranoid").read_text(encoding="utf-8"))


def has_core_pmu() -> bool:
    return any(Path("/sys/bus/event_source/devices", name).exists() for name in ("cpu", "cpu_core")) or \
        any(Path("/sys/bus/event_source/devices").glob("armv8*"))
