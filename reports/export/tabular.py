# SPDX-License-Identifier: MIT
"""A line or object for each answer: CSV, JSON, Markdown."""

from __future__ import annotations

import csv as csv_module
import io
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from reports import expect, table as tables, text
from reports.export.common import NAME_LIMIT, REASON_LIMIT, Options, Result, cells

ARCH_LIMIT = 100
HEADS = ("result", "arch", "release", "persona", "point", "verdict", "reason")
# What a spreadsheet takes for a formula when a cell starts with it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")


def safe_cell(value: str) -> str:
    """A text that no spreadsheet calculates: an apostrophe before what would be a formula."""
    return f"'{value}" if value.lstrip(' \'"').startswith(_FORMULA) else value


def rows(results: Sequence[Result], persona: str = "") -> Iterator[dict[str, str]]:
    for cell in cells(results, persona):
        identity = cell.result["identity"]
        yield {"result": cell.result["id"], "arch": text.clean(identity["arch"], ARCH_LIMIT),
               "release": text.clean(identity["release"], NAME_LIMIT), "persona": cell.persona,
               "point": cell.key, "verdict": cell.verdict, "reason": cell.reason}


def csv(results: Sequence[Result], options: Options) -> str:
    """As RFC 4180 has it, with a line of heads."""
    out = io.StringIO()
    writer = csv_module.writer(out)
    writer.writerow(HEADS)
    safe = cache(safe_cell)     # most texts are there again and again
    reason = cache(lambda said: safe_cell(text.clean(said, REASON_LIMIT)))
    for result in results:
        identity = result["identity"]
        begin = [safe(each) for each in (result["id"], text.clean(identity["arch"], ARCH_LIMIT),
                                         text.clean(identity["release"], NAME_LIMIT))]
        writer.writerows([*begin, safe(persona), safe(f"{probe}.{name}"), safe(point["verdict"]), reason(point.get("reason", ""))]
                         for persona, probe, name, point in expect.points(result) if options.persona in ("", persona))
    return out.getvalue()


def table(results: Sequence[Result], options: Options) -> dict[str, Any]:
    """The rows as an object."""
    made: list[Any] = [{key: value for key, value in row.items() if value}
                       for row in rows(results, options.persona)]
    return {"format": 1, "kind": "cells", "cells": made}


def json(results: Sequence[Result], options: Options) -> str:
    return text.dump_json(table(results, options))


def markdown(results: Sequence[Result], options: Options) -> str:
    """The points that differ, side by side; all points of a single result."""
    columns = tables.columns(list(results), options.persona or None)
    return "\n".join(tables.as_markdown(columns, len(results) == 1)) + "\n"
