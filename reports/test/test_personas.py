# SPDX-License-Identifier: MIT
"""The table of personas as reports read it, and results of personas it does not know."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports import personas
from reports.text import Unusable


def test_the_table_is_in_order_of_privilege() -> None:
    assert personas.names()[0] == "root" and "same" not in personas.defined()
    assert personas.in_order(["user", "root"]) == ["root", "user"]
    assert all(persona.meaning for persona in personas.read())


def test_personas_that_the_table_does_not_know_come_last() -> None:
    assert personas.in_order({"zoe", "adam", "user"}) == ["user", "adam", "zoe"]


def test_results_are_in_order_without_a_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert personas.read(tmp_path / "missing") == ()
    monkeypatch.setattr(personas, "names", lambda: [])
    assert personas.in_order({"user", "root"}) == ["root", "user"]


@pytest.mark.parametrize("source", ["king\n", "king 0 kept none\n", "# fine\nking 0\n"])
def test_a_short_row_is_refused(source: str) -> None:
    with pytest.raises(Unusable, match="too few columns"):
        personas.parse(source)


def test_names_that_are_not_there_are_answered_with_those_that_are() -> None:
    assert personas.unknown("root,user") == ""
    assert personas.unknown("user,king").startswith("no persona called 'king'; there are: root ")
    assert personas.unknown("") != ""
