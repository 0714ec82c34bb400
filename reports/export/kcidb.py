# SPDX-License-Identifier: MIT
"""KCIDB I/O, version 5.3: a checkout, a build and the tests of each result.

KCIDB shows a test only under a build and a checkout. What a result knows of them is the release; so
both are made of that, and a commit is not claimed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from reports import text, wordlist
from reports.export.common import Cell, Options, Result, cells, title

SUFFIX = "json"
ORIGIN = "perfmodes"
EXCERPT_LIMIT = 4000
_PATH = re.compile(r"[^a-zA-Z0-9_.-]")


def _machine(identity: dict[str, Any]) -> str:
    names = [str(identity[key]) for key in ("board", "hypervisor", "emulator") if key in identity]
    return text.clean(", ".join([*names, *identity.get("cpu_model", [])]) or identity["arch"], 300)


def _test(cell: Cell, build: str) -> dict[str, Any]:
    status = next(row.kcidb for row in wordlist.VERDICTS if row.word == cell.verdict)
    identity = cell.result["identity"]
    made = {"id": f"{build}.{cell.persona}.{cell.key}", "origin": ORIGIN, "build_id": build,
            "path": _PATH.sub("_", f"{ORIGIN}.{cell.persona}.{cell.key}"), "status": status,
            "environment": {"comment": _machine(identity), "misc": {
                "persona": cell.persona, "hypervisor": identity.get("hypervisor", "none")}},
            "misc": {"verdict": cell.verdict} | ({"reason": cell.reason} if cell.reason else {})}
    if "started" in cell.result:
        made["start_time"] = cell.result["started"].replace("Z", "+00:00")
    if cell.evidence:
        made["log_excerpt"] = "\n".join(cell.evidence)[:EXCERPT_LIMIT]
    return made


def _measured(result: Result, build: str) -> Iterator[dict[str, Any]]:
    """The facts that are numbers."""
    for persona, part in result["personas"].items():
        for probe, record in part["probes"].items():
            for name, value in record["facts"].items():
                if isinstance(value, int) and not isinstance(value, bool):
                    path = f"{ORIGIN}.{persona}.{probe}.{name}"
                    yield {"id": f"{build}.{persona}.{probe}.{name}.fact", "origin": ORIGIN,
                           "build_id": build, "path": _PATH.sub("_", path), "status": "DONE",
                           "number": {"value": value}}



def write(results: Sequence[Result], options: Options) -> str:
    """The document."""
    report: dict[str, Any] = {"version": {"major": 5, "minor": 3}, "checkouts": [], "builds": [],
                              "tests": []}
    for result in results:
        identity, checkout = result["identity"], f"{ORIGIN}:{result['id']}"
        build = f"{checkout}.build"
        report["checkouts"].append({"id": checkout, "origin": ORIGIN, "valid": True,
                                    "git_commit_name": text.clean(identity["release"], 200)})
        made = {"id": build, "origin": ORIGIN, "checkout_id": checkout, "status": "PASS",
                "architecture": _PATH.sub("_", identity["arch"])[:100],
                "comment": title(result)}
        facts = {key: text.clean(str(identity[key]), 300)
                 for key in ("version", "build_id", "config_sha256") if key in identity}
        report["builds"].append(made | ({"misc": facts} if facts else {}))
        report["tests"] += [_test(cell, build) for cell in cells([result], options.persona)]
        report["tests"] += _measured(result, build)
    return text.dump_json({key: value for key, value in report.items() if value})
