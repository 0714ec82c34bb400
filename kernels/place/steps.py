# SPDX-License-Identifier: MIT
"""A step is one probe asked as one persona; a plan is the list of them."""

from __future__ import annotations

from kernels.place.channel import safe_path

Step = tuple[str, str]
PLAN_LINES = 50_000


def answer(step: Step) -> str:
    """Where in a result the answer to a step is."""
    return f"{step[0]}/{step[1]}.ktap"


def named(steps: tuple[Step, ...]) -> str:
    """The first few steps by name, for a message."""
    shown = ", ".join(" ".join(step) for step in steps[:3])
    return shown + (f" and {len(steps) - 3} more" if len(steps) > 3 else "")


def read_plan(text: str) -> list[Step]:
    """The plan run.sh sent from a place: two words a line that together name a path among the
    results. A step counts once; lines beyond PLAN_LINES are ignored."""
    lines = (line.split() for line in text.splitlines()[:PLAN_LINES] if "/" not in line)
    steps = ((words[0], words[1]) for words in lines if len(words) == 2)
    return list(dict.fromkeys(step for step in steps if safe_path(answer(step))))


def declared(catalogue: str, key: str) -> set[str]:
    """The probes of a catalogue whose declaration has a line KEY=..."""
    found, probe = set(), ""
    for line in catalogue.splitlines():
        name, _, value = line.partition("=")
        if name == "id":
            probe = value
        elif name == key:
            found.add(probe)
    return found
