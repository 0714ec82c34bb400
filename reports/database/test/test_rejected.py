# SPDX-License-Identifier: MIT
"""A bad result is rejected by its name, and only it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reports import __main__ as program, verbs
from reports.database import connect, matrix
from reports.database.test.conftest import Result, make, sealed

Made = bytes | Result


def _changed(act: Callable[[Result], Any]) -> Result:
    """A result that something was done to; its id and summary fit."""
    result = make()
    act(result)
    return sealed(result)


def _unsealed(**values: Any) -> Result:
    return make() | values


def _probe(result: Result) -> dict[str, Any]:
    part: dict[str, Any] = result["personas"]["root"]["probes"]["hw.count"]
    return part


def _text(result: Result) -> bytes:
    return json.dumps(result).encode()


KINDS: dict[str, Callable[[], Made]] = {
    "empty": lambda: b"",
    "blanks": lambda: b" \n\t ",
    "no-json": lambda: b"Segmentation fault\n",
    "half": lambda: _text(make())[:700],
    "twice": lambda: _text(make()) * 2,
    "binary": lambda: bytes(range(256)) * 20,
    "utf-16": lambda: _text(make()).decode().encode("utf-16"),
    "latin-1": lambda: _text(make()).replace(b"A CPU", b"A CP\xdc"),
    "list": lambda: b"[]",
    "number": lambda: b"1",
    "null": lambda: b"null",
    "nested": lambda: b"[" * 100_000,
    "nan": lambda: _text(make()).replace(b'"ms": 3', b'"ms": NaN', 1),
    "huge-number": lambda: _text(make()).replace(b'"ms": 3', b'"ms": 1' + b"0" * 5000, 1),
    "surrogate-in-reason": lambda: _changed(lambda one: _probe(one)["points"].update(
        cycles={"verdict": "blocked", "reason": "bad \udc80 byte"})),
    "surrogate-in-name": lambda: _text(make()).replace(b'"cycles"', b'"cy\\ud800les"'),
    "surrogate-in-release": lambda: _changed(lambda one: one["identity"].update(release="6.1\udfff")),
    "nul-in-release": lambda: _changed(lambda one: one["identity"].update(release="6.1\0")),
    "no-personas": lambda: _unsealed(personas=None),
    "personas-of-text": lambda: _unsealed(personas={"root": "yes"}),
    "probes-of-list": lambda: _unsealed(personas={"root": {"environment": {}, "probes": []}}),
    "points-of-null": lambda: _text(make()).replace(b'"points": {', b'"points": null, "more": {', 1),
    "no-arch": lambda: _unsealed(identity={"release": "6.1"}),
    "other-format": lambda: _unsealed(format=99),
    "other-kind": lambda: _unsealed(kind="profile"),
    "verdict-of-nobody": lambda: _text(make()).replace(b'"verdict": "yes"', b'"verdict": "perhaps"', 1),
    "wrong-id": lambda: _unsealed(id="0" * 16),
    "wrong-summary": lambda: _unsealed(summary={}),
    "no-reason": lambda: _text(make(personas={"root": {"hw.count.cycles": "no"}})).replace(b'"reason": "for a reason"', b'"more": 1', 1),
    "negative-time": lambda: _text(make()).replace(b'"ms": 3', b'"ms": -3', 1),
    "month-13": lambda: make(started="2026-13-01T10:00:00Z"),
    "february-30": lambda: make(started="2026-02-30T10:00:00Z"),
    "surrogate-in-fact": lambda: _changed(lambda one: _probe(one)["facts"].update(max_pages="\ud800")),
    "no-facts": lambda: _changed(lambda one: _probe(one).pop("facts")),
    "facts-of-list": lambda: _changed(lambda one: _probe(one).update(facts=[])),
    "half-a-millisecond": lambda: _changed(lambda one: _probe(one).update(ms=0.5)),
    "exit-of-null": lambda: _changed(lambda one: _probe(one).update(exit=None)),
    "evidence-of-text": lambda: _changed(lambda one: _probe(one)["points"]["cycles"].update(evidence="a line")),
    "nested-point": lambda: _text(make()).replace(b'"verdict": "yes"', b'"verdict": ' + b"[" * 900 + b"]" * 900, 1),
    "persona-of-two-lines": lambda: _changed(lambda one: one["personas"].update({"user\n": one["personas"]["user"]})),
}
OF_WHAT = {"surrogate-in-reason": "no character", "surrogate-in-release": "no character", "month-13": "started on a day"}


def test_a_bad_result_is_rejected_and_only_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Forty kinds of bad ones among as many good ones, which come before and after each."""
    assert len(KINDS) == 40
    folder = tmp_path / "all"
    folder.mkdir()
    for number, (kind, of) in enumerate(KINDS.items()):
        made = of()
        (folder / f"{number:02}-bad-{kind}.result.json").write_bytes(made if isinstance(made, bytes) else _text(made))
        (folder / f"{number:02}-good.result.json").write_bytes(_text(make(release=f"6.{number}.0", environment={"paranoid": "1"})))
    assert verbs.main(["db", "add", str(folder), "--db", str(tmp_path / "some.db")]) == 1
    said = capsys.readouterr()
    assert "40 added" in said.out and "40 rejected" in said.out
    rejected = [line for line in said.err.splitlines() if "rejected: " in line]
    for number, kind in enumerate(KINDS):
        (line,) = [line for line in rejected if f"{number:02}-bad-{kind}.result.json: " in line]
        why = line.partition(".result.json: ")[2]
        assert why.strip() and OF_WHAT.get(kind, "") in why and str(tmp_path) not in why, line
    assert len(rejected) == 40 and "Traceback" not in said.err
    with connect.reading(connect.open_engine(str(tmp_path / "some.db"))) as connection:
        releases = {column.result.kernel.release for column in matrix.load(connection).columns}
    assert releases == {f"6.{number}.0" for number in range(40)}


def test_a_fault_of_ours_is_no_rejection(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The workflow that publishes goes on where some are rejected (1), and stops here."""
    def fails(*_args: object) -> None:
        raise KeyError("of ours")

    monkeypatch.setattr(verbs, "main", fails)
    assert program.main() == program.FAULT == 4
    assert "KeyError: 'of ours'" in capsys.readouterr().err
    workflow = (Path(__file__).resolve().parents[3] / ".github/workflows/pages.yml").read_text(encoding="utf-8")
    assert "db add results/kernels || test $? = 1 " in workflow
