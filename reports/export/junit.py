# SPDX-License-Identifier: MIT
"""JUnit: a suite for each persona, a case for each point."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Sequence

from reports import wordlist
from reports.export.common import Cell, Options, Result, cells, title

SUFFIX = "xml"


def _case(suite: ElementTree.Element, cell: Cell) -> str:
    """Adds a case; the kind of its outcome."""
    case = ElementTree.SubElement(suite, "testcase", classname=f"{cell.persona}.{cell.probe}",
                                  name=cell.name)
    kcidb = next(row.kcidb for row in wordlist.VERDICTS if row.word == cell.verdict)
    kind = {"FAIL": "failure", "ERROR": "error", "SKIP": "skipped"}.get(kcidb, "")
    if kind:
        said = ElementTree.SubElement(case, kind, message=f"{cell.verdict}: {cell.reason}")
        if kind != "skipped":
            said.set("type", cell.verdict)
            said.text = "\n".join(cell.evidence)
    return kind


def write(results: Sequence[Result], options: Options) -> str:
    """The document."""
    top = ElementTree.Element("testsuites", name="perfmodes")
    for result in results:
        for persona, part in result["personas"].items():
            if options.persona not in ("", persona):
                continue
            suite = ElementTree.SubElement(top, "testsuite", name=f"{title(result)} {persona}")
            if "started" in result:
                suite.set("timestamp", result["started"].removesuffix("Z"))
            spent = sum(record.get("ms", 0) for record in part["probes"].values())
            suite.set("time", f"{spent / 1000:.3f}")
            kinds = Counter(_case(suite, cell) for cell in cells([result], persona))
            for name, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
                suite.set(name, str(kinds[kind]))
            suite.set("tests", str(kinds.total()))
    ElementTree.indent(top)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(top, "unicode") + "\n"
