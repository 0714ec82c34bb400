# SPDX-License-Identifier: MIT
"""Versions of a merged profile: what each was made of, and what changed since the one before.

The library reads the facts of a profile and skips its history, but refuses files over 4 MiB. The
history is therefore bounded: in versions, in changes of each, and in bytes, the oldest going first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

from reports import text
from reports.profile import Value
from reports.text import Unusable

Profile = dict[str, Any]
VERSIONS_LIMIT = 32
CHANGES_LIMIT = 500         # listed; the numbers count all of them
EVIDENCE_LIMIT = 500
VALUE_LIMIT = 100           # characters of a fact that is a text
BYTES_LIMIT = 1 << 20


def today() -> str:
    """The day in UTC; SOURCE_DATE_EPOCH sets it for builds that must be reproducible."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        now = datetime.fromtimestamp(int(epoch), timezone.utc) if epoch else datetime.now(timezone.utc)
    except (ValueError, OverflowError, OSError) as error:
        raise Unusable(f"SOURCE_DATE_EPOCH is no time: {text.clean(str(error), 100)}") from error
    return now.strftime("%Y-%m-%d")


def _said(profile: Profile) -> dict[tuple[str, str], Value]:
    """(persona, key) -> answer; the persona of what holds for all of them is empty."""
    said: dict[tuple[str, str], Value] = {("", key): value for key, value in profile["kernel"].items()}
    for persona, own in profile["personas"].items():
        said |= {(persona, key): value for key, value in own.items()}
    return said


def _value(value: Value) -> Value:
    return text.clean(value, VALUE_LIMIT) if isinstance(value, str) else value


def changes(before: Profile, after: Profile) -> Iterator[dict[str, Any]]:
    """Facts that were added, removed or changed, in the order of their keys."""
    old, new = _said(before), _said(after)
    for persona, key in sorted(old.keys() | new.keys(), key=lambda spot: (spot[1], spot[0])):
        was, now = old.get((persona, key)), new.get((persona, key))
        if type(was) is type(now) and was == now:
            continue
        made: dict[str, Any] = {"key": key}
        if persona:
            made["persona"] = persona
        if was is not None:
            made["was"] = _value(was)
        if now is not None:
            made["now"] = _value(now)
        yield made


def _entry(version: int, made: Profile, found: list[dict[str, Any]]) -> dict[str, Any]:
    added = sum("was" not in change for change in found)
    removed = sum("now" not in change for change in found)
    return {"version": version, "evidence": made["evidence"][:EVIDENCE_LIMIT], "added": added,
            "removed": removed, "changed": len(found) - added - removed,
            "changes": found[:CHANGES_LIMIT]}


def _bounded(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The newest versions that fit; the newest of all always stays."""
    kept = history[-VERSIONS_LIMIT:]
    while len(kept) > 1 and len(text.dump_json(kept).encode()) > BYTES_LIMIT:
        kept = kept[1:]
    return kept


def update(old: Profile | None, made: Profile) -> Profile:
    """The profile as the version that follows the old one. A profile that never had a version
    counts as the first. Where neither facts nor evidence changed, the version stays."""
    if old is None:
        return made | {"version": 1, "history": [_entry(1, made, []) | {"date": today()}]}
    version = old.get("version", 1)
    history = old.get("history") or [_entry(version, old, [])]
    found = list(changes(old, made))
    if found or old["evidence"] != made["evidence"]:
        version += 1
        history = [*history, _entry(version, made, found) | {"date": today()}]
    return made | {"version": version, "history": _bounded(history)}


def _line(change: dict[str, Any]) -> str:
    sign = "+" if "was" not in change else "-" if "now" not in change else " "
    said = " -> ".join(str(change[name]) for name in ("was", "now") if name in change)
    whose = f" (as {change['persona']})" if "persona" in change else ""
    return f"  {sign} {change['key']}{whose}: {said}"


def lines(profile: Profile) -> Iterator[str]:
    """The history to read, the newest version first."""
    for entry in reversed(profile.get("history", [])):
        yield (f"version {entry['version']}, {entry.get('date', 'date unknown')}: {entry['added']} added, "
               f"{entry['removed']} removed, {entry['changed']} changed; "
               f"of {text.count(len(entry['evidence']), 'result')}")
        yield from map(_line, entry["changes"])
        hidden = entry["added"] + entry["removed"] + entry["changed"] - len(entry["changes"])
        if hidden > 0:
            yield f"    and {hidden} more"
