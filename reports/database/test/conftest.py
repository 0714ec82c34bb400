# SPDX-License-Identifier: MIT
"""Results to fill a database with."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from reports import catalogue, expect, result as results, text
from reports.test.conftest import make_run

pytest.importorskip("sqlalchemy", reason="python3-sqlalchemy is not installed")

from reports.database import connect, store

CATALOGUE = """id=ring.write_backward
title=ring written backward
since=4.7
commit=9ecda41acb97
point=newest newest record at data_head
point=plain plain works
fact=max_pages int pages largest data area

id=hw.count
title=a hardware counter
since=2.6.31
needs=pmu
point=cycles cycles count
point=instructions instructions count

id=task.two
title=two CPUs
since=2.6.31
point=moves it moves
needs=cpu2
"""
POINTS = {"ring.write_backward": ("newest", "plain"), "hw.count": ("cycles", "instructions"),
          "task.two": ("moves",)}

__all__ = ["make_run"]      # a fixture of these tests as well

Result = dict[str, Any]


def point(verdict: str, reason: str = "for a reason") -> dict[str, Any]:
    made: dict[str, Any] = {"verdict": verdict}
    if verdict != "yes":
        made["reason"] = reason
    if verdict == "broken":
        made["evidence"] = ["seen=1 want=2"]
    return made


def sealed(result: Result) -> Result:
    """The result with the summary and the id that fit its content."""
    result["summary"] = {persona: results._summary(part)
                         for persona, part in result["personas"].items()}
    result["id"] = results.content_id(result)
    return result


def make(release: str = "6.1.0-18-amd64", arch: str = "x86_64", started: str = "2026-11-20T10:00:00Z",
         personas: dict[str, dict[str, str]] | None = None, reason: str = "for a reason",
         identity: dict[str, Any] | None = None, environment: dict[str, Any] | None = None) -> Result:
    """A result; `personas` gives the verdicts that are not yes: persona -> key -> verdict."""
    asked = personas if personas is not None else {"root": {}, "user": {}}
    made: Result = {
        "format": 1, "kind": "result", "suite": "default", "started": started, "unexpected": [],
        "tool": {"name": "perfmodes", "version": "0.1", "catalogue": catalogue.parse(CATALOGUE).digest()},
        "identity": {"arch": arch, "release": release, "cpu_model": ["A CPU"]} | (identity or {}),
        "environment": {"paranoid": "2", "cpus_possible": "2"} | (environment or {}),
        "personas": {persona: {"environment": {"uid": "0"}, "probes": {
            probe: {"status": "done", "exit": 0, "ms": 3, "facts": {"max_pages": 128},
                    "points": {name: point(verdicts.get(f"{probe}.{name}", "yes"), reason)
                               for name in names}}
            for probe, names in POINTS.items()}} for persona, verdicts in asked.items()}}
    return sealed(copy.deepcopy(made))


class Database:
    """A database file and what puts results into it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "test.db"
        self.engine = connect.open_engine(str(self.file), create=True)
        self.store = store.Store(self.engine, expect.Expectations())
        self.store.fallback = catalogue.parse(CATALOGUE)
        self.made = 0

    def write(self, result: Result) -> Path:
        self.made += 1
        path = self.folder / f"{self.made}.result.json"
        path.write_text(text.dump_json(result), encoding="utf-8")
        return path

    def add(self, *given: Result) -> list[store.Outcome]:
        return list(self.store.add([self.write(result) for result in given]))


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "peer(group): needs a large peer, `.ci/install GROUP`; make check-peers")
