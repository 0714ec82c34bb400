# SPDX-License-Identifier: MIT
"""What would open to a program what policy closes to it, as the same kernel answered others: somebody with
CAP_PERFMON, root, or the same persona at a lower level of perf_event_paranoid.

Nothing is read out of a reason that an answer can tell: a setting is advised where the point was seen to work
with it. A row that was asked at one level alone tells no other, and there the reason's own number is taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from reports import gates, limits, plain
from reports.asked import LEVELS, Source
from reports.plain import Said

# lint: allow second-list: the personas whose answers tell what a capability, and what root would change
USER, PERFMON, ROOT = "user", "perfmon", "root"
CAPABILITY = "for one program, as root: setcap cap_perfmon=ep PROGRAM"
AS_ROOT = "run the program as root"
SYSCTL = ("for all users of the machine, as root: sysctl -w kernel.perf_event_paranoid={level}, and the line "
          "kernel.perf_event_paranoid={level} in /etc/sysctl.d/perf.conf to keep it")
THEN = "from {level} on setcap cap_perfmon=ep PROGRAM gives one program the rest"
_NEEDED = re.compile(r"needs <= (-?\d) or ")


def _lower(level: str) -> list[str]:
    """The levels below, the nearest first."""
    return [each for each in reversed(LEVELS) if level in LEVELS and int(each) < int(level)]


def of_key(source: Source, key: str, persona: str, level: str, reason: str = "") -> str:
    """What helps a persona at a level to one point; '' where nothing of what was asked does."""
    def works(who: str, at: str) -> bool:
        return source.said(key, who, at).word == plain.YES

    if persona == ROOT:
        return ""
    below = _lower(level)
    alone = next((each for each in below if works(persona, each)), "")
    held = next((each for each in [level, *below] if persona == USER and works(PERFMON, each)), "")
    if held == level:
        needed = _NEEDED.search(reason) if len(source.levels) == 1 else None
        alone = alone or (needed[1] if needed else "")
        return "; ".join([CAPABILITY, *([SYSCTL.format(level=alone)] if alone else [])])
    if held and (not alone or int(held) > int(alone)):
        return "; ".join([SYSCTL.format(level=held), THEN.format(level=held)])
    if alone:
        return SYSCTL.format(level=alone)
    return AS_ROOT if works(ROOT, level) else ""


def of_reason(source: Source, persona: str, level: str) -> Callable[[Said, Sequence[str]], list[str]]:
    """What to change, of a reason and the points that it holds back: a line, or a line for some of the points each."""
    def change(said: Said, points: Sequence[str]) -> list[str]:
        gate = gates.of({"verdict": "absent" if said.absent else said.word, "reason": said.why}, gates.read())
        if gate is None or said.word == plain.UNKNOWN and not said.absent:
            return []
        helps = {key: of_key(source, key, persona, level, said.why) for key in points} if gate.by_answers else {}
        return _lines(helps) or [*filter(None, [gate.change(said.why)])]
    return change


def _lines(helps: dict[str, str]) -> list[str]:
    """What helps most of the points, and what the others take. What begins alike is said once."""
    said = [*filter(None, helps.values())]
    longest = {each: max((other for other in said if other == each or other.startswith(f"{each}; ")), key=len) for each in said}
    groups: dict[str, list[str]] = {}
    for key, words in helps.items():
        if words:
            groups.setdefault(longest[words], []).append(limits.split(key)[0])
    first, *others = sorted(groups.items(), key=lambda group: -len(group[1])) or [("", [])]
    return [*filter(None, [first[0]]), *(f"but {', '.join(keys)}: {words}" for words, keys in others)]
