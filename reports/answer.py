# SPDX-License-Identifier: MIT
"""One result line or fact becomes one point of a result, or one typed value."""

from __future__ import annotations

import re
from typing import Any

from reports import ktap, text, wordlist
from reports.declaration import Item

REASON_LIMIT = 1000

_SPOKEN = re.compile(r"([a-z]+)(?:\s*:\s*(.*))?")
_TRUE, _FALSE = ("yes", "true", "1"), ("no", "false", "0")
_ENUM = re.compile(r"[A-Za-z0-9_.+:-]{1,80}")
_INT = re.compile(r"[+-]?(?:0x[0-9a-fA-F]{1,16}|[0-9]{1,20})", re.ASCII)


def point(verdict: str, reason: str = "", evidence: list[str] | None = None) -> dict[str, Any]:
    """One point of a result."""
    made: dict[str, Any] = {"verdict": verdict}
    if reason:
        made["reason"] = text.clean(reason, REASON_LIMIT)
    if evidence:
        made["evidence"] = [text.clean(line, REASON_LIMIT) for line in evidence]
    return made


def skip(note: str) -> dict[str, Any]:
    word, colon, reason = note.partition(":")
    reason = reason.strip()
    if word == "unknown" and reason:    # a probe that was not asked: run.sh --skip
        return point("unknown", reason)
    if word not in wordlist.SKIPPED or not colon:
        return point("unknown", f"unknown SKIP word: '{text.clean(note, 200)}'")
    return point(word, reason) if reason else point("unknown", f"SKIP {word} without a reason")


def of_result(result: ktap.Result, evidence: list[str]) -> dict[str, Any]:
    """The verdict of one result line, without regard to the rest of the output."""
    if result.directive == "SKIP":
        return skip(result.note)
    if result.directive in ("TODO", "XFAIL", "TIMEOUT", "ERROR"):
        return point("unknown", f"{result.directive} {result.note or result.blame}".strip())
    if result.ok and result.directive:
        return point("unknown", f"unknown directive: '{text.clean(result.note, 200)}'")
    if result.ok:
        return point("yes")
    if evidence:
        return point("broken", "; ".join(evidence), evidence)
    return point("unknown", result.blame or result.note or "not ok without evidence")


def of_fact(value: str) -> dict[str, Any]:
    """The verdict of a fact of type verdict."""
    match = _SPOKEN.fullmatch(value)
    word, reason = (match[1], (match[2] or "").strip()) if match else ("", "")
    if word == "unknown":
        return point("unknown", reason or "no reason given")
    if word not in wordlist.EVERY:
        return point("unknown", f"not a verdict: '{text.clean(value, 200)}'")
    if word == "yes":
        return point("yes", reason)
    evidence = [reason] if word == "broken" and reason else None
    return point(word, reason or "no reason given", evidence)


def typed(item: Item, value: str) -> bool | int | str | None:
    """The value of a fact in its declared type, or None when the text does not fit that type."""
    if item.type == "bool":
        return True if value in _TRUE else False if value in _FALSE else None
    if item.type == "int":
        if not _INT.fullmatch(value):
            return None
        number = int(value, 16 if "x" in value else 10)
        return number if -(1 << 63) <= number < 1 << 64 else None
    if item.type == "enum":
        known = item.unit.split("|") if "|" in item.unit else None
        fits = value in known if known else bool(_ENUM.fullmatch(value))
        return value if fits else None
    return text.clean(value, REASON_LIMIT) if value else None
