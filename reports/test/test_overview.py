# SPDX-License-Identifier: MIT
"""Reasons beside a table: each once, with the points and personas that it is of."""

from __future__ import annotations

from typing import Any

import pytest

from reports import overview

WHY = "perf_event_paranoid is 3"


def points(blocked: str, fine: str = "") -> dict[str, Any]:
    return {**{name: {"verdict": "blocked", "reason": WHY} for name in blocked}, **{name: {"verdict": "yes"} for name in fine}}


@pytest.mark.parametrize(("root", "user", "said"), [
    (points("abc"), points("abc"), [f"all points: {WHY}"]),
    (points("", "abc"), points("abc"), [f"all points (user): {WHY}"]),
    (points("", "abcd"), points("abc", "d"), [f"a, b, c (user): {WHY}"]),
    (points("ab"), points("ab"), [f"a, b: {WHY}"]),
    (points("a", "bc"), points("abc"), [f"a: {WHY}", f"b, c (user): {WHY}"]),
    (points("", "abc"), points("", "abc"), []),
])
def test_a_reason_names_its_points_and_personas(root: dict[str, Any], user: dict[str, Any], said: list[str]) -> None:
    assert [*overview.reasons({"root": root, "user": user})] == [("blocked", each) for each in said]
