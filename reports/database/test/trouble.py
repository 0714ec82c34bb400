#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""trouble.py RESULT NUMBER KILLS DATABASE - so many results are added to a database (a file or a URL) by a writer that is
killed (SIGKILL) so many times and begun again, while a reader asks it. Each of its results must be whole at the end, and
each state that the reader saw must be: results that were there stay, and no run lacks its sheet. Prints what was seen."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sqlalchemy import func, select

from reports import text
from reports.database import connect, store, tables, whole
from reports.database.test.scale import vary

FIRST = 1_000_000       # numbers that no other test has


def count(where: str) -> int:
    engine = connect.open_engine(where)
    with connect.reading(engine) as connection:
        found = int(connection.execute(select(func.count()).select_from(tables.RESULT)).scalar() or 0)
    engine.dispose()
    return found


def look(where: str) -> tuple[int, float]:
    """How many results a reader sees, each with all its runs and their sheets; and how long it took."""
    began = time.monotonic()
    engine = connect.open_engine(where)
    with connect.reading(engine) as connection:
        results = int(connection.execute(select(func.count()).select_from(tables.RESULT)).scalar() or 0)
        runs = select(func.count(func.distinct(tables.RUN.c.result))).select_from(
            tables.RUN.join(tables.SHEET, tables.SHEET.c.id == tables.RUN.c.sheet))
        assert connection.execute(runs).scalar() == results, "a result without a run, or a run without its sheet"
    engine.dispose()
    return results, time.monotonic() - began


def main() -> int:
    base, number, kills, where = text.load_json(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    if number < (kills + 1) * store.TOGETHER:
        sys.exit(f"{kills} kills need {(kills + 1) * store.TOGETHER} results or more: {store.TOGETHER} share a transaction")
    begun_with, seen, took, killed = count(where), [count(where)], [0.0], 0
    with tempfile.TemporaryDirectory(prefix="perfmodes-") as made:
        files = []
        for at in range(FIRST, FIRST + number):
            files.append(Path(made) / f"{at}.result.json")
            files[-1].write_text(json.dumps(vary(base, at, 100)), encoding="utf-8")
        while True:
            writer = subprocess.Popen([sys.executable, "-m", "reports", "db", "add", "--db", where, *files],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            until = seen[-1] + max(1, number // (kills + 1) - store.TOGETHER + 1)
            while writer.poll() is None:
                results, seconds = look(where)
                assert results >= seen[-1], "a result was there and is gone"
                seen.append(results)
                took.append(seconds)
                if killed < kills and results >= until:
                    writer.kill()
                    killed += 1
                    break
            if writer.wait() == 0:
                break
    engine = connect.open_engine(where)
    with connect.reading(engine) as connection:
        new = [digest for (digest,) in connection.execute(
            select(tables.RESULT.c.digest).order_by(tables.RESULT.c.id.desc()).limit(number))]
        bad = [digest for digest in new if whole.result(connection, digest)["id"] != digest]
        sound = connection.exec_driver_sql("PRAGMA integrity_check").scalar() if engine.dialect.name == "sqlite" else "ok"
    engine.dispose()
    now = count(where)
    print(f"{where.partition('://')[0]}: {now} results, {begun_with} of them there before; killed {killed} times; "
          f"{len(took) - 1} looks, the longest {max(took):.2f} s; {len(bad)} that are not whole; {sound}")
    return 0 if now == begun_with + number and not bad and sound == "ok" and killed == kills else 1


if __name__ == "__main__":
    sys.exit(main())
