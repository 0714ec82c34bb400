# SPDX-License-Identifier: MIT
"""Golden pairs: cases/<case>/in.ktap must come out as cases/<case>/out.json, written by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reports import catalogue, ktap, verdict

CASES = sorted((Path(__file__).parent / "cases").iterdir())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Path) -> None:
    declared = None
    if (case / "catalogue").exists():
        found = catalogue.read_text(case / "catalogue")
        assert found.problems == []
        declared = found.probes["area.case"]
    record = verdict.judge(ktap.read(case / "in.ktap"), declared).as_json()
    wanted = json.loads((case / "out.json").read_text(encoding="utf-8"))
    # Which warning comes first is nobody's business.
    assert sorted(record.pop("warnings", [])) == sorted(wanted.pop("warnings", []))
    assert record == wanted


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_says_what_it_guards(case: Path) -> None:
    assert len((case / "README").read_text(encoding="utf-8")) > 15
