# SPDX-License-Identifier: MIT
"""Merges profiles: what holds on every device (intersection), or what is known of any (union)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reports import text
from reports.profile import Value, settle
from reports.text import Unusable

Profile = dict[str, Any]
ANY = "any"


@dataclass(frozen=True)
class Conflict:
    """A key that two devices answer differently; the merged profile leaves it out."""
    persona: str
    key: str
    answers: tuple[tuple[str, Value], ...]      # profile -> answer

    def __str__(self) -> str:
        said = ", ".join(f"{name}: {answer}" for name, answer in self.answers)
        return text.clean(f"{self.persona} {self.key}: {said}", 600)


def view(profile: Profile, persona: str) -> dict[str, Value]:
    """What a persona finds: the kernel's answers, and what is its own."""
    found: dict[str, Value] = profile["kernel"] | profile["personas"].get(persona, {})
    return found


def _one(answers: Sequence[Value], all_there: bool, union: bool) -> tuple[Value | None, bool]:
    """The merged answer, None for none; and whether they contradict each other. A hazard stays one,
    blocked never becomes no, and what one does not know holds for all in a union alone."""
    if "hazard" in answers:
        return "hazard", False
    said = [answer for answer in answers if answer != "blocked"]
    if not all_there and not union:
        return None, False
    if not said:
        return "blocked", False
    if any(type(answer) is not type(said[0]) or answer != said[0] for answer in said):
        return None, True
    if len(said) < len(answers) and not union:
        return "blocked", False
    return said[0], False


def _identity(profiles: Sequence[Profile]) -> dict[str, Any]:
    """What all of them are; a merged profile matches no machine by itself, it is named by a path."""
    first = profiles[0]["identity"]
    common = {key: value for key, value in first.items()
              if all(each["identity"].get(key) == value for each in profiles)}
    return {"arch": ANY, "release": ANY} | common


def merge(named: Sequence[tuple[str, Profile]], union: bool = False) -> tuple[Profile, list[Conflict]]:
    """The merged profile and what it leaves out because the devices contradict each other."""
    if not named:
        raise Unusable("no profile to merge")
    profiles = [profile for _name, profile in named]
    personas = [name for name in dict.fromkeys(name for each in profiles for name in each["personas"])
                if union or all(name in each["personas"] for each in profiles)]
    conflicts: list[Conflict] = []
    answers: dict[str, dict[str, Value]] = {}
    for persona in personas or [""]:
        views = [(name, view(profile, persona)) for name, profile in named]
        for key in sorted({key for _name, one in views for key in one}):
            told = tuple((name, one[key]) for name, one in views if key in one)
            value, clash = _one([answer for _name, answer in told], len(told) == len(views), union)
            if clash:
                conflicts.append(Conflict(persona or "kernel", key, told))
            elif value is not None:
                answers.setdefault(key, {})[persona] = value
    return _folded(profiles, personas, answers), conflicts


def _folded(profiles: Sequence[Profile], personas: Sequence[str],
            answers: dict[str, dict[str, Value]]) -> Profile:
    kernel: dict[str, Value] = {}
    own: dict[str, dict[str, Value]] = {persona: {} for persona in personas}
    for key, by_persona in answers.items():
        agreed, differing = settle(by_persona)
        if agreed is not None and len(by_persona) == max(len(personas), 1):
            kernel[key] = agreed
            by_persona = differing
        for persona, value in by_persona.items():
            if persona:
                own[persona][key] = value
    newest = profiles[-1]
    evidence = sorted({digest for each in profiles for digest in each["evidence"]})
    return {"format": 1, "kind": "profile", "tool": newest["tool"], "identity": _identity(profiles),
            "evidence": evidence, "catalogue": newest["catalogue"], "kernel": kernel, "personas": own}
