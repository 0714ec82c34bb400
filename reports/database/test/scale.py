#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""scale.py RESULT NUMBER FOLDER [--site] - how long a database of so many synthetic results takes.

Each is RESULT (a result.json) on another kernel and device, with some verdicts, reasons and facts of its
own. Adds what is not there yet, and prints CPU seconds and bytes for adding, asking, and with --site for
the site. FOLDER keeps the database; the results themselves are not kept.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reports import expect, result as results, text
from reports.database import connect, matrix, query, source, store
from reports.site import build, model

RELEASES = [f"{major}.{minor}.{patch}-generic" for major in (5, 6) for minor in (4, 10, 15, 18)
            for patch in (1, 7, 30, 61, 99)]
PER_DEVICE = 10     # results, on average
CHANGED = 0.01      # of the points of a result
STEP = 1000


def varied(record: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """The part of a probe as another run would give it."""
    made = record | {"ms": chance.randrange(500)}
    if record["facts"]:
        made["facts"] = {name: value + chance.randrange(100) if type(value) is int else value
                         for name, value in record["facts"].items()}
    if chance.random() < CHANGED * len(record["points"]):
        name = chance.choice(sorted(record["points"]))
        made["points"] = record["points"] | {name: {"verdict": "blocked",
                                                    "reason": f"held back, case {chance.randrange(50)}"}}
    return made


def vary(base: dict[str, Any], number: int, devices: int) -> dict[str, Any]:
    """The result of another device, the same for the same number."""
    chance = random.Random(number)
    made = base | {
        "identity": base["identity"] | {"release": RELEASES[number % len(RELEASES)],
                                        "cpu_model": [f"CPU {chance.randrange(devices)}"]},
        "started": f"2026-{1 + number // 2000 % 9:02}-{1 + number // 80 % 25:02}T10:{number % 60:02}:00Z",
        "personas": {persona: part | {"probes": {
            probe: varied(record, chance) for probe, record in part["probes"].items()}}
            for persona, part in base["personas"].items()}}
    made["summary"] = {name: results._summary(part) for name, part in made["personas"].items()}
    made["id"] = results.content_id(made)
    return made


def files(base: dict[str, Any], numbers: range, folder: Path, devices: int) -> Iterator[source.Found]:
    for at in numbers:
        path = folder / "one.result.json"
        path.write_text(json.dumps(vary(base, at, devices)), encoding="utf-8")
        yield source.Found(path, str(at))


@contextmanager
def measured(what: str) -> Iterator[None]:
    began, wall = time.process_time(), time.monotonic()
    yield
    print(f"{what}: {time.process_time() - began:.2f} s of CPU, {time.monotonic() - wall:.1f} s wall", flush=True)


def add(base: dict[str, Any], number: int, file: Path) -> None:
    engine = connect.open_engine(str(file), create=True)
    adder = store.Store(engine, expect.read(expect.FOLDER))
    for start in range(0, number, STEP):
        spent, wall, outcomes = 0.0, 0.0, []
        numbers = range(start, min(start + STEP, number))
        for found in files(base, numbers, file.parent, max(10, number // PER_DEVICE)):
            began, at = time.process_time(), time.monotonic()
            outcomes.append(adder.add_one(found).what)
            spent, wall = spent + time.process_time() - began, wall + time.monotonic() - at
        counts = {word: outcomes.count(word) for word in sorted(set(outcomes))}
        print(f"up to {numbers.stop}: {counts} in {spent:.1f} s of CPU ({1000 * spent / len(numbers):.0f} ms each), "
              f"{wall:.1f} s wall; {file.stat().st_size / 1e6:.1f} MB", flush=True)
    engine.dispose()


def ask(file: Path) -> None:
    with connect.reading(connect.open_engine(str(file))) as connection:
        with measured("load"):
            loaded = matrix.load(connection)
        key = next(key for key in loaded.ids if key.startswith("ring."))
        with measured(f"one point over {len(loaded.columns)} columns"):
            list(loaded.of_point(key))
        with measured("history of a point"):
            query.history(loaded, key)
        with measured("coverage"):
            query.coverage(loaded)
        with measured("classes"):
            query.classes(loaded)


def site(file: Path, folder: Path) -> None:
    with connect.reading(connect.open_engine(str(file))) as connection, measured("site"):
        pages, missing = build.build(model.load(connection, matrix.Filter()), folder, lambda _said: None)
    data = (folder / "data.js").stat().st_size if not missing else 0
    print(f"site: {pages.count} files, {pages.bytes / 1e6:.1f} MB, data.js {data / 1e6:.2f} MB; {missing}", flush=True)


def main() -> int:
    base = text.load_json(Path(sys.argv[1]))
    number, folder = int(sys.argv[2]), Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{number}.db"
    add(base, number, file)
    ask(file)
    if "--site" in sys.argv:
        site(file, folder / f"site{number}")
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB of memory")
    return 0


if __name__ == "__main__":
    sys.exit(main())
