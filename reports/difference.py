# SPDX-License-Identifier: MIT
"""What changed between two results, and which of it is a regression."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from reports import expect, text, wordlist

LACKING = tuple(word for word in wordlist.OF_KERNEL if word != "yes")
GONE = "(not there)"


@dataclass(frozen=True)
class Change:
    """A point that two sides answer differently."""
    persona: str
    key: str
    before: str
    after: str
    reason: str = ""

    @property
    def worse(self) -> bool:
        """Whether it is a regression: it worked, and now the kernel refuses, fails or cannot tell.
        What policy or missing hardware hides is none, nor is a point that was not asked."""
        return self.before == "yes" and self.after in (*LACKING, "unknown")

    def __str__(self) -> str:
        said = f"{self.persona} {self.key}: {self.before} -> {self.after}"
        mark = "REGRESSION " if self.worse else ""
        return text.clean(mark + said + (f": {self.reason}" if self.reason else ""), 1200)

    def as_json(self) -> dict[str, Any]:
        made = {"persona": self.persona, "key": self.key, "before": self.before, "after": self.after,
                "regression": self.worse}
        return made | ({"reason": self.reason} if self.reason else {})


def _unit(result: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(persona, f"{probe_id}.{name}"): point
            for persona, probe_id, name, point in expect.points(result)}


def in_order(changes: Iterable[Change]) -> list[Change]:
    """Regressions first."""
    return sorted(changes, key=lambda each: (not each.worse, each.persona, each.key))


def between(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Change]:
    """Each point that two results answer differently, or that only one of them has."""
    old, new = _unit(before), _unit(after)
    for persona, key in sorted({*old, *new}):
        was, now = old.get((persona, key)), new.get((persona, key))
        words = [point["verdict"] if point else GONE for point in (was, now)]
        if words[0] != words[1]:
            yield Change(persona, key, words[0], words[1], (now or {}).get("reason", ""))
