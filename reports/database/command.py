# SPDX-License-Identifier: MIT
"""The verb `db`: adds results to a database and asks it."""

from __future__ import annotations

import argparse
import fnmatch
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import date
from pathlib import Path
from typing import Any

from rich.status import Status
from sqlalchemy.engine import Connection

from reports import catalogue, expect, speak, terminal, text
from reports.catalogue import Catalogue
from reports.database import connect, machine, matrix, query, store, usage, whole
from reports.text import Unusable

OK, BAD = 0, 1
Rows = Iterator[dict[str, Any]]


def _say(line: str) -> None:
    print(text.clean(line, 2000))


def add(args: argparse.Namespace) -> int:
    """Add results; what is rejected is told with its reason, and the rest is added all the same."""
    where = store.Store(connect.open_engine(args.db, create=True), expect.read(expect.FOLDER))
    counts = dict.fromkeys((store.ADDED, store.KNOWN, store.REJECTED), 0)
    with Status("adding", console=terminal.console(stderr=True)) if sys.stderr.isatty() \
            else nullcontext() as status:
        for outcome in where.add(args.result):
            counts[outcome.what] += 1
            if status:
                status.update(f"{sum(counts.values())} results")
            if outcome.what == store.REJECTED:
                why = outcome.why.removeprefix(f"{outcome.name}: ")
                speak.error(f"rejected: {outcome.name}: {why}")
    _say(", ".join(f"{count} {word}" for word, count in counts.items()) + f": {connect.shown(args.db)}")
    return BAD if counts[store.REJECTED] else OK


def _list(made: matrix.Matrix, _args: argparse.Namespace) -> Rows:
    seen: dict[int, list[str]] = {}
    for column in made.columns:
        seen.setdefault(column.result.id, []).append(column.persona)
    results = {column.result.id: column.result for column in made.columns}
    for number, each in results.items():
        yield {"result": each.digest, "arch": each.kernel.arch, "release": each.kernel.release,
               "device": each.device.label, "kind": each.device.kind, "started": each.started,
               "suite": each.suite, "personas": " ".join(seen[number]), "source": each.source}


def _point(made: matrix.Matrix, args: argparse.Namespace) -> Rows:
    for column, answer in made.of_point(args.key):
        result = column.result
        row: dict[str, Any] = {
            "arch": result.kernel.arch, "release": result.kernel.release, "persona": column.persona,
            "verdict": answer.verdict, "reason": made.reason(answer), "device": result.device.label,
            "kind": result.device.kind, "result": result.digest}
        probe = ".".join(args.key.split(".")[:2])       # area and name
        said = whole.transcripts(made.connection, column.run).get(probe)
        found = whole.line_of(said, args.key.removeprefix(f"{probe}.")) if said else None
        if found:
            row |= {"line": f"{column.persona}/{probe}.ktap:{found[0]}", "said": found[1]}
        yield row


def _history(made: matrix.Matrix, args: argparse.Namespace) -> Rows:
    for found in query.history(made, args.key):
        for step in found.steps:
            yield {"arch": found.arch, "release": step.release,
                   "verdicts": " ".join(f"{word}:{count}" for word, count in sorted(step.counts.items()))}
        yield {"arch": found.arch, "release": "works since", "verdicts": str(found.first() or "never seen")}
        if found.last():
            yield {"arch": found.arch, "release": "gone since", "verdicts": str(found.last())}


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def _coverage(made: matrix.Matrix, args: argparse.Namespace) -> Rows:
    used = usage.read(args.usage) if args.usage else None
    for key, each in sorted(query.coverage(made, used).items()):
        yield {"point": key, "hardware": each.hardware.total(), "yes": each.hardware["yes"],
               "share": _percent(each.share()), "in use": _percent(each.in_use()),
               "virtual or emulated": each.other.total(), "yes there": each.other["yes"]}


def _backports(made: matrix.Matrix, _args: argparse.Namespace) -> Rows:
    for each in query.backports(made, declarations(made.connection)):
        yield {"point": each.key, "since": each.since, "works on": ", ".join(each.kernels)}


def _lacking(made: matrix.Matrix, args: argparse.Namespace) -> Rows:
    found = query.lacking(made, args.key)
    for line in found.shared:
        yield {"what": "shared", "said": line}
    for reason, count in found.by_reason.most_common():
        yield {"what": f"{count} times", "said": reason}


def _classes(made: matrix.Matrix, _args: argparse.Namespace) -> Rows:
    for devices, missing in query.classes(made):
        yield {"devices": len(devices), "such as": devices[0].label, "lack": len(missing),
               "points": " ".join(missing[:12]) + (" ..." if len(missing) > 12 else "")}


def _changes(made: matrix.Matrix, args: argparse.Namespace) -> Rows:
    for change in query.between(made, args.old, args.new):
        yield change.as_json()


ASKED: dict[str, Callable[[matrix.Matrix, argparse.Namespace], Rows]] = {
    "list": _list, "point": _point, "history": _history, "coverage": _coverage,
    "backports": _backports, "lacking": _lacking, "classes": _classes, "changes": _changes}


def declarations(connection: Connection) -> Catalogue:
    """The declarations of the tree, or else those that came with the results."""
    try:
        return catalogue.gather([catalogue.built(Path("."))])
    except Unusable:
        pass
    return store.declarations(connection)


def _is_day(said: str) -> bool:
    try:
        return date.fromisoformat(said).isoformat() == said
    except ValueError:
        return False


def wanted(args: argparse.Namespace) -> matrix.Filter:
    """The filter that the options ask for. Raises Misused where nothing could ever fit."""
    if args.kind and not fnmatch.filter(machine.KINDS, args.kind):
        raise speak.Misused(speak.among("kind of machine", args.kind, machine.KINDS))
    if args.after and not _is_day(args.after):
        raise speak.Misused(f"--after {args.after[:40]}: not a day as in 2026-11-29")
    return matrix.Filter(args.kernel, args.arch, args.device, args.persona, args.kind, args.after,
                         not args.every)


def _print(rows: list[dict[str, Any]], args: argparse.Namespace) -> None:
    if args.json:
        sys.stdout.write(text.dump_json(rows))
        return
    heads = list(dict.fromkeys(name for row in rows for name in row))
    if args.query == "coverage" and rows:       # numbers, which nobody could tell apart
        _say("  ".join(heads))
        for row in rows:
            _say("  ".join(str(row[head]) or "-" for head in heads))
        return
    for row in rows:
        _say("  ".join(str(row[head]) for head in heads if row.get(head) not in (None, "")))


def ask(args: argparse.Namespace) -> int:
    """Ask a database; one line a row, or JSON."""
    with connect.reading(connect.open_engine(args.db)) as connection:
        if args.query == "export":
            sys.stdout.write(text.dump_json(whole.result(connection, args.key)))
            return OK
        made = matrix.load(connection, wanted(args))
        if not made.columns and args.query != "changes":
            speak.error("no result is in the database, or none fits")
        if args.query in ("point", "history", "lacking") and args.key not in made.ids:
            raise Unusable(text.clean(f"{args.key}: no result was asked this point{speak.near(args.key, made.ids)}", 300))
        rows = list(ASKED[args.query](made, args))
    _print(rows, args)
    worse = args.query == "changes" and any(row["regression"] for row in rows)
    return BAD if worse else OK


def work(args: argparse.Namespace) -> int:
    return add(args) if args.query == "add" else ask(args)
