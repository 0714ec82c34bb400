# SPDX-License-Identifier: MIT
"""Generated code finds the same values valid as jsonschema does."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies
from jsonschema import Draft202012Validator

from reports import schema

pytest.importorskip("fastjsonschema", reason="python3-fastjsonschema is not installed")

RESULT: dict[str, Any] = {
    "format": 1, "kind": "result", "suite": "default", "started": "2026-11-20T10:00:00Z", "unexpected": [],
    "tool": {"name": "perfmodes", "version": "0.1", "catalogue": "0" * 12}, "id": "0" * 16,
    "identity": {"arch": "x86_64", "release": "6.1", "cpu_model": ["A CPU"]}, "environment": {"lsm": ["a", "b"]},
    "personas": {"root": {"environment": {"uid": "0"}, "probes": {"ring.one": {
        "status": "done", "exit": 0, "ms": 3, "facts": {"pages": 128, "flag": True, "name": "x"},
        "points": {"works": {"verdict": "yes", "undeclared": True},
                   "lacks": {"verdict": "broken", "reason": "x", "evidence": ["seen=1"]}}}}}},
    "summary": {"root": dict.fromkeys(schema._completed({"x-required-words": "counted"})["required"], 0)}}
ODD = strategies.sampled_from([None, True, False, 0, 1, -1, 1.0, 1.5, 1 << 70, "", "yes", "no", "root", "a\nb", "x\n",
                               "w" * 17_000, [], ["a"], [""], [1], {}, {"a": 1}, {"verdict": "yes"}])


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place within a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(deep for key, each in inner for deep in places(each, (*path, key)))]


def changed(path: tuple[Any, ...], how: str, odd: Any) -> Any:
    """The result with one place replaced, removed, or with one more beside it."""
    made = copy.deepcopy(RESULT)
    if not path:
        return odd
    at: Any = made
    for step in path[:-1]:
        at = at[step]
    if how == "remove":
        del at[path[-1]]
    elif how == "add" and isinstance(at, dict):
        at[str(odd)[:300]] = at[path[-1]]
    else:
        at[path[-1]] = odd
    return made


def by_jsonschema(value: Any) -> bool:
    source = json.loads((Path(schema.__file__).parent / "result.json").read_text(encoding="utf-8"),
                        object_hook=schema._completed)
    return bool(Draft202012Validator(source).is_valid(value))


def test_the_result_of_these_tests_is_valid() -> None:
    assert schema.accepted("result", RESULT) and by_jsonschema(RESULT)


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(strategies.sampled_from(places(RESULT)), strategies.sampled_from(["replace", "remove", "add"]), ODD)
def test_both_say_the_same(path: tuple[Any, ...], how: str, odd: Any) -> None:
    value = changed(path, how, odd)
    assert schema.accepted("result", value) == by_jsonschema(value)


@pytest.mark.parametrize("path, odd", [(("format",), True), (("format",), 2), (
    ("personas", "root", "probes", "ring.one", "points", "works", "undeclared"), 1)])
def test_a_constant_has_a_type(path: tuple[Any, ...], odd: Any) -> None:
    value = changed(path, "replace", odd)
    assert not schema.accepted("result", value) and schema.problems("result", value)


def test_without_the_package_jsonschema_alone_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "_compiled", lambda _kind: None)
    assert schema.problems("result", RESULT) == []
    assert schema.problems("result", changed(("id",), "replace", "short"))
