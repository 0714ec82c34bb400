# SPDX-License-Identifier: MIT
"""A small site with everything a page can show."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="python3-sqlalchemy is not installed")

from reports import catalogue, expect
from reports.database import connect, matrix, store
from reports.database.test.conftest import sealed
from reports.site import build, model
from reports.test.conftest import make_run

__all__ = ["make_run"]      # a fixture

HOSTILE = ("<script>alert(1)</script>", "\u202egnp.exe", "=cmd()", "\\x1b[31m red", "B" * 10_000,
           "\"'><img src=x onerror=alert(1)>", "</title><b>", "{{ 7*7 }}", "javascript:alert(1)")
VERDICTS = ("yes", "no", "broken", "blocked", "absent", "hazard", "unknown")
AREAS, PROBES, POINTS = ("alpha", "beta", "gamma"), 12, 4


def declared() -> str:
    """The declarations of made-up probes."""
    return "\n".join(
        f"id={area}.probe{probe}\ntitle=what {area} does, number {probe}\nsince=5.{probe}\n"
        f"commit=9ecda41acb97\n" + "".join(f"point=point{at} it works, case {at}\n" for at in range(POINTS))
        for area in AREAS for probe in range(PROBES))


def answer(word: str, reason: str) -> dict[str, Any]:
    made: dict[str, Any] = {"verdict": word}
    if word != "yes":
        made["reason"] = reason
    if word == "broken":
        made["evidence"] = [reason, "seen=1 want=2"]
    return made


def make(number: int, hostile: str = "") -> dict[str, Any]:
    """A result: verdicts turn with the number, so that kernels differ."""
    said = hostile or "EACCES: needs CAP_PERFMON"
    personas = {}
    for order, persona in enumerate(("root", "perfmon", "user")):
        probes = {}
        for area in AREAS:
            for probe in range(PROBES):
                words = ["yes" if (probe + at) % 3 else VERDICTS[(number + at + probe) % 7]
                         for at in range(POINTS)]
                if order and not probe % 4:
                    words = ["blocked"] * POINTS
                probes[f"{area}.probe{probe}"] = {"status": "done", "ms": 3, "facts": {}, "points": {
                    f"point{at}": answer(word, said) for at, word in enumerate(words)}}
        probes["clock.per_cpu"] = {"status": "done", "points": {"compared": {"verdict": "yes"}},
                                   "facts": {"offsets": "0:-100+-40 1:250+-60"}}
        personas[persona] = {"environment": {"uid": "0"}, "probes": probes}
    return sealed({
        "format": 1, "kind": "result", "suite": "default", "unexpected": [], "personas": personas,
        "started": f"2026-11-2{number % 3}T10:00:00Z", "environment": {"paranoid": "2"},
        "tool": {"name": "perfmodes", "version": "0.1", "catalogue": "0" * 12},
        "identity": {"arch": ("x86_64", "aarch64")[number % 2], "release": f"6.{number}.0-test",
                     "version": hostile or "#1 SMP", "cpu_model": [hostile or f"CPU {number}"]}})


def build_into(folder: Path, results: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site of these results."""
    from reports import text
    from reports.database import command
    monkeypatch.setattr(command, "declarations", lambda _connection: catalogue.parse(declared()))
    engine = connect.open_engine(str(folder / "site.db"), create=True)
    adder = store.Store(engine, expect.Expectations())
    adder.fallback = catalogue.parse(declared())
    for number, result in enumerate(results):
        path = folder / f"{number}.result.json"
        path.write_text(text.dump_json(result), encoding="utf-8")
        outcome = list(adder.add([path]))
        assert [each.what for each in outcome] == [store.ADDED], outcome
    with connect.reading(engine) as connection:
        build.build(model.load(connection, matrix.Filter()), folder / "site", lambda _said: None)
    return folder / "site"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The site of six kernels and as many hostile ones."""
    folder = tmp_path_factory.mktemp("site")
    results = [make(number) for number in range(6)]
    results += [make(10 + number, said.replace("\x1b", " ")) for number, said in enumerate(HOSTILE)]
    with pytest.MonkeyPatch.context() as patched:
        site = build_into(folder, results, patched)
    yield site


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "peer(group): needs a large peer, `.ci/install GROUP`; make check-peers")
