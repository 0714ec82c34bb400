# SPDX-License-Identifier: MIT
"""What a person would not have expected of this kernel, the worst first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports import expect, overview, profile, shipped, text, wordlist
from reports.personas import in_order


@dataclass(frozen=True)
class Surprise:
    """One finding: its kind, its point, to whom, and the evidence in a line."""
    kind: str           # unexpected, broken, differs or news
    verdict: str
    key: str
    personas: tuple[str, ...]
    evidence: str


def _judged(result: dict[str, Any], kind: str) -> Iterator[Surprise]:
    """What was to be expected otherwise, each said once for all personas."""
    for entry, personas in overview.grouped(result.get(kind, [])):
        wanted = f"expected {' or '.join(entry['expected'])}: {entry['why']}"
        said = "; ".join(filter(None, (entry.get("reason", ""), wanted)))
        yield Surprise(kind, entry["verdict"], entry["key"], tuple(personas), text.clean(said, 600))


def _known_broken(result: dict[str, Any]) -> Iterator[Surprise]:
    """Broken, as suites/expect says of this kernel; the evidence of the first persona stands."""
    judged = {(entry["persona"], entry["key"]) for entry in result["unexpected"]}
    found: dict[str, tuple[list[str], str]] = {}
    for persona, probe_id, name, point in expect.points(result):
        key = f"{probe_id}.{name}"
        if point["verdict"] == "broken" and (persona, key) not in judged:
            found.setdefault(key, ([], point.get("reason", "")))[0].append(persona)
    for key, (personas, reason) in found.items():
        yield Surprise("broken", "broken", key, tuple(in_order(personas)),
                       text.clean(reason, 600))


def _answers(profiles: list[tuple[str, dict[str, Any]]]) -> dict[str, tuple[str, str]]:
    """key -> verdict and the names of those who say so, where all that say anything agree."""
    said: dict[str, dict[str, list[str]]] = {}
    for name, each in profiles:
        for key, value in each["kernel"].items():
            if isinstance(value, str) and value in wordlist.OF_KERNEL:
                said.setdefault(key, {}).setdefault(value, []).append(name)
    return {key: (value, ", ".join(names)) for key, verdicts in said.items()
            if len(verdicts) == 1 for value, names in verdicts.items()}


def of_series(result: dict[str, Any],
              folder: Path = shipped.FOLDER) -> list[tuple[str, dict[str, Any]]]:
    """The profiles that ship of this architecture and series of releases."""
    identity, release = result["identity"], expect.release_of(result["identity"]["release"])
    found = []
    try:
        profiles = shipped.load(folder)
    except (text.Unusable, OSError):
        return []       # a hint less
    for name, each in profiles.items():
        other = expect.release_of(each["identity"]["release"])
        if release and other and other[:2] == release[:2] \
                and each["identity"]["arch"] == identity["arch"]:
            found.append((name, each))
    return found


def _differing(result: dict[str, Any], answers: dict[str, tuple[str, str]]) -> Iterator[Surprise]:
    """Other than what another build of this series said: a hint, no judgement."""
    own = profile.derive(result)["kernel"]
    personas = tuple(in_order(result["personas"]))
    for key, (said, names) in sorted(answers.items()):
        mine = own.get(key)
        if isinstance(mine, str) and mine in wordlist.OF_KERNEL and mine != said:
            yield Surprise("differs", mine, key, personas,
                           text.clean(f"a hint: another build of this series ({names}) says {said}",
                                      600))


def find(result: dict[str, Any], profiles: list[tuple[str, dict[str, Any]]]) -> list[Surprise]:
    """All there is, each point once."""
    found: dict[tuple[str, str], Surprise] = {}
    for each in (*_judged(result, "unexpected"), *_differing(result, _answers(profiles)),
                 *_known_broken(result), *_judged(result, "news")):
        found.setdefault((each.key, each.verdict), each)
    return list(found.values())


def compared(result: dict[str, Any], profiles: list[tuple[str, dict[str, Any]]]) -> int:
    """How many facts could be held against the shipped profiles."""
    own = profile.derive(result)["kernel"]
    return sum(isinstance(own.get(key), str) and own[key] in wordlist.OF_KERNEL
               for key in _answers(profiles))
