# SPDX-License-Identifier: MIT
"""Derives a profile from a result: what is certain, and for each persona what policy blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from reports import wordlist

Value = bool | int | str

_KEY = re.compile(r"[a-z0-9_]+(?:\.[A-Za-z0-9_-]+)+")
# A declared hazard counts as certain: somebody wrote down that this kernel must not be asked.
KEPT = (*wordlist.OF_KERNEL, "blocked")


def _answers(part: dict[str, Any]) -> Iterator[tuple[str, Value]]:
    """(key, value) of what the probes of a persona found for certain, and of what was blocked."""
    for probe_id, record in part["probes"].items():
        for name, point in record["points"].items():
            key = f"{probe_id}.{name}"
            if not point.get("undeclared") and _KEY.fullmatch(key):
                if point["verdict"] in KEPT:
                    yield key, point["verdict"]
        for name, value in record["facts"].items():
            key = f"{probe_id}.{name}"
            # A text that equals a verdict would be taken for one.
            if value not in wordlist.EVERY and _KEY.fullmatch(key):
                yield key, value


def _same(values: list[Value]) -> bool:
    return all(type(value) is type(values[0]) and value == values[0] for value in values)


def settle(by_persona: dict[str, Value]) -> tuple[Value | None, dict[str, Value]]:
    """The value that all personas agree on, if any, and the values of single personas."""
    said = {persona: value for persona, value in by_persona.items() if value != "blocked"}
    own: dict[str, Value] = {persona: "blocked" for persona in by_persona if persona not in said}
    if "hazard" in said.values():
        return "hazard", own
    if said and _same(list(said.values())):
        return next(iter(said.values())), own
    return None, own | said


def derive(result: dict[str, Any]) -> dict[str, Any]:
    """The profile of one result."""
    answers: dict[str, dict[str, Value]] = {}
    for persona, part in result["personas"].items():
        for key, value in _answers(part):
            answers.setdefault(key, {})[persona] = value
    kernel: dict[str, Value] = {}
    personas: dict[str, dict[str, Value]] = {persona: {} for persona in result["personas"]}
    for key, by_persona in answers.items():
        agreed, own = settle(by_persona)
        if agreed is not None:
            kernel[key] = agreed
        for persona, value in own.items():
            personas[persona][key] = value
    tool = {"name": result["tool"]["name"], "version": result["tool"]["version"]}
    return {"format": 1, "kind": "profile", "tool": tool, "identity": result["identity"],
            "evidence": [result["id"]], "catalogue": result["tool"]["catalogue"],
            "kernel": kernel, "personas": personas}
