#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""scale.py RESULT NUMBER FOLDER - how long a database of so many synthetic results takes.

Each is RESULT (a result.json) on another kernel and device, with some verdicts, reasons and facts of its
own. Prints CPU seconds and bytes for adding them, asking for one point, and building the site.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reports import expect, result as results
from reports.database import connect, matrix, query, source, store
from reports.site import build, model

RELEASES = [f"{major}.{minor}.{patch}-generic" for major in (5, 6) for minor in (4, 10, 15, 18)
            for patch in (1, 7, 30, 61, 99)]
DEVICES = 250
CHANGED = 0.01      # of the points of a result


def vary(base: dict[str, Any], number: int) -> dict[str, Any]:
    """The result of another device, the same for the same number."""
    chance = random.Random(number)
    made: dict[str, Any] = json.loads(json.dumps(base))
    made["identity"]["release"] = RELEASES[number % len(RELEASES)]
    made["identity"]["cpu_model"] = [f"CPU {chance.randrange(DEVICES)}"]
    made["started"] = f"2026-{1 + number // 2000 % 9:02}-{1 + number // 80 % 25:02}T10:{number % 60:02}:00Z"
    for part in made["personas"].values():
        for record in part["probes"].values():
            record["ms"] = chance.randrange(500)
            for name in record["facts"]:
                if type(record["facts"][name]) is int:
                    record["facts"][name] += chance.randrange(100)
            for name, point in record["points"].items():
                if chance.random() < CHANGED:
                    record["points"][name] = {"verdict": "blocked",
                                              "reason": f"held back, case {chance.randrange(50)}"}
    made["summary"] = {name: results._summary(part) for name, part in made["personas"].items()}
    made["id"] = results.content_id(made)
    return made


def files(base: dict[str, Any], number: int, folder: Path, spent: list[float]) -> Iterator[source.Found]:
    for at in range(number):
        began = time.process_time()
        path = folder / "one.result.json"
        path.write_text(json.dumps(vary(base, at)), encoding="utf-8")
        spent[0] += time.process_time() - began
        yield source.Found(path, str(at))


def main() -> int:
    base = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    number, folder = int(sys.argv[2]), Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{number}.db"
    engine = connect.open_engine(str(file), create=True)
    adder = store.Store(engine, expect.read(expect.FOLDER))
    making, began, wall = [0.0], time.process_time(), time.monotonic()
    bad = 0
    for found in files(base, number, folder, making):
        bad += adder.add_one(found).what == store.REJECTED
    added = time.process_time() - began - making[0]
    print(f"{number}: added in {added:.1f} s of CPU ({1000 * added / number:.0f} ms each), {bad} rejected, "
          f"wall {time.monotonic() - wall:.0f} s with making them; {file.stat().st_size / 1e6:.1f} MB", flush=True)
    with connect.reading(engine) as connection:
        began = time.process_time()
        loaded = matrix.load(connection)
        key = next(key for key in loaded.ids if key.startswith("ring."))
        rows = sum(1 for _row in loaded.of_point(key))
        print(f"{number}: one point over {rows} columns in {time.process_time() - began:.2f} s of CPU", flush=True)
        began = time.process_time()
        query.coverage(loaded)
        print(f"{number}: coverage in {time.process_time() - began:.2f} s of CPU", flush=True)
        began = time.process_time()
        pages, _missing = build.build(model.load(connection, matrix.Filter()), folder / f"site{number}",
                                      lambda _said: None)
        print(f"{number}: site of {pages.count} files, {pages.bytes / 1e6:.1f} MB in "
              f"{time.process_time() - began:.1f} s of CPU; at most "
              f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB of memory", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
