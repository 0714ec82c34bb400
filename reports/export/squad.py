# SPDX-License-Identifier: MIT
"""SQUAD: the three files that `POST /api/submit/GROUP/PROJECT/BUILD/ENVIRONMENT` takes, as one JSON
object whose members are the texts of tests.json, metrics.json and metadata.json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reports import text, wordlist
from reports.export.common import Options, Result, cells, title
from reports.text import Unusable

SUFFIX = "json"
_SAID = {"PASS": "pass", "FAIL": "fail"}


def parts(result: Result, persona: str = "") -> dict[str, Any]:
    """tests, metrics and metadata of one result."""
    kcidb = {row.word: row.kcidb for row in wordlist.VERDICTS}
    tests: dict[str, Any] = {}
    for cell in cells([result], persona):
        said = _SAID.get(kcidb[cell.verdict], "skip")
        log = f"{cell.verdict}: {cell.reason}"
        tests[f"{cell.persona}/{cell.probe}/{cell.name}"] = (
            said if said == "pass" else {"result": said, "log": "\n".join([log, *cell.evidence])})
    metrics = {f"{name}/{probe}/{fact}": value for name, part in result["personas"].items()
               if persona in ("", name) for probe, record in part["probes"].items()
               for fact, value in record["facts"].items()
               if isinstance(value, int) and not isinstance(value, bool)}
    metadata = {"job_id": result["id"], "suite": result["suite"], "kernel": title(result)}
    if "started" in result:
        metadata["datetime"] = result["started"].replace("Z", "+00:00")
    return {"tests": tests, "metrics": metrics, "metadata": metadata}


def write(results: Sequence[Result], options: Options) -> str:
    """The object. SQUAD takes one build at a time."""
    if len(results) != 1:
        raise Unusable("squad takes one result at a time: its files are of one build")
    return text.dump_json(parts(results[0], options.persona))
