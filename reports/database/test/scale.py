#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""scale.py RESULT NUMBER FOLDER [--db URL] [--site] - how long a database of so many synthetic results takes.

Each is RESULT (a result.json) on one of 600 kernels and on another device, with some verdicts, reasons and facts of
its own. Adds what is not there yet, and prints CPU seconds, bytes and memory for adding, asking, and with --site for
the site, whole and after one more result. FOLDER keeps the database, or --db URL says where it is; the results
themselves are not kept. Memory is that of this program, at most until then.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import text as sql
from sqlalchemy.engine import Engine

from reports import expect, result as results, text
from reports.database import connect, matrix, query, source, store
from reports.site import build, model

RELEASES = [f"{major}.{minor}.{patch}-generic" for patch in range(0, 150, 10) for major in (5, 6) for minor in range(20)]
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


class Writer:
    """Writes varied results as text.dump_json() does, which is slow: the text of what is the base's is kept."""
    FACTS, TOOK = 1 << 40, 1 << 41      # in the place of what is another's each time

    def __init__(self, base: dict[str, Any]) -> None:
        self.kept = {id(record["points"]): self._steady(record)
                     for part in base["personas"].values() for record in part["probes"].values()}

    def _steady(self, record: dict[str, Any]) -> str:
        return text.dump_json(record | {"ms": self.TOOK, "facts": self.FACTS}).rstrip().replace("\n", "\n    ")

    def _probe(self, record: dict[str, Any]) -> str:
        said = self.kept.get(id(record["points"])) or self._steady(record)
        facts = ",".join(f'\n      "{name}": {json.dumps(record["facts"][name], ensure_ascii=False)}' for name in sorted(record["facts"]))
        facts = f"{{{facts}\n     }}" if facts else "{}"
        return said.replace(str(self.TOOK), str(record["ms"])).replace(str(self.FACTS), facts)

    def write(self, made: dict[str, Any]) -> str:
        said = text.dump_json(made | {"personas": {name: part | {"probes": {}} for name, part in made["personas"].items()}})
        pieces = said.split('"probes": {}')
        for number, name in enumerate(sorted(made["personas"])):
            probes = made["personas"][name]["probes"]
            pieces[number] += '"probes": {\n' + ",\n".join(
                f'    "{probe}": {self._probe(probes[probe])}' for probe in sorted(probes)) + "\n   }"
        return "".join(pieces)


def files(base: dict[str, Any], numbers: range, folder: Path, devices: int, spent: list[float]) -> Iterator[source.Found]:
    """The results, each in the place of the one before; `spent` is what making them took."""
    path, writer = folder / "one.result.json", Writer(base)
    for at in numbers:
        began = time.process_time()
        path.write_text(writer.write(vary(base, at, devices)), encoding="utf-8")
        gc.collect(0)   # what the writer of JSON leaves in circles
        spent.append(time.process_time() - began)
        yield source.Found(path, str(at))


@contextmanager
def measured(what: str) -> Iterator[None]:
    began, wall = time.process_time(), time.monotonic()
    yield
    print(f"{what}: {time.process_time() - began:.2f} s of CPU, {time.monotonic() - wall:.1f} s wall", flush=True)


def memory() -> str:
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB of memory"


def size(engine: Engine, file: Path) -> int:
    """The bytes of a database."""
    if engine.dialect.name == "sqlite":
        return file.stat().st_size
    with engine.connect() as connection:
        return int(connection.execute(sql("SELECT pg_database_size(current_database())")).scalar() or 0)


def add(base: dict[str, Any], numbers: range, devices: int, where: str, folder: Path) -> None:
    """Add the results of these numbers, and say what each step of them takes."""
    engine = connect.open_engine(where, create=True)
    adder = store.Store(engine, expect.read(expect.FOLDER))
    was = 0
    for start in range(numbers.start, numbers.stop, STEP):
        some = range(start, min(start + STEP, numbers.stop))
        making: list[float] = []
        began, at = time.process_time(), time.monotonic()
        outcomes = [outcome.what for outcome in adder.add_found(files(base, some, folder, devices, making))]
        spent, wall = time.process_time() - began - sum(making), time.monotonic() - at
        counts = {word: outcomes.count(word) for word in sorted(set(outcomes))}
        now = size(engine, Path(where))
        print(f"up to {some.stop}: {counts} in {spent:.1f} s of CPU ({1000 * spent / len(some):.1f} ms each), "
              f"{wall:.1f} s wall with making them; {now / 1e6:.1f} MB, "
              f"{(now - was) / len(some) / 1e3:.1f} kB each; {memory()}", flush=True)
        was = now
    engine.dispose()


def ask(where: str) -> None:
    with connect.reading(connect.open_engine(where)) as connection:
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
    print(f"asking: {memory()}", flush=True)


def site(where: str, folder: Path, what: str) -> None:
    with connect.reading(connect.open_engine(where)) as connection, measured(f"site, {what}"):
        pages, missing = build.build(model.load(connection, matrix.Filter()), folder, lambda _said: None)
    print(f"site: {pages.count} pages{missing and f'; {missing}'}; {memory()}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=Path, metavar="RESULT")
    parser.add_argument("number", type=int, metavar="NUMBER")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--db", metavar="URL")
    parser.add_argument("--site", action="store_true")
    args = parser.parse_args()
    base, devices = text.load_json(args.result), max(10, args.number // PER_DEVICE)
    args.folder.mkdir(parents=True, exist_ok=True)
    where = args.db or str(args.folder / f"{args.number}.db")
    add(base, range(args.number), devices, where, args.folder)
    ask(where)
    if args.site:
        site(where, args.folder / f"site{args.number}", "whole")
        add(base, range(args.number, args.number + 1), devices, where, args.folder)
        site(where, args.folder / f"site{args.number}", "after one more result")
    return 0


if __name__ == "__main__":
    sys.exit(main())
