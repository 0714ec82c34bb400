# SPDX-License-Identifier: MIT
"""Names of other languages for names of C: pm_event_type -> EventType, PM_TYPE_RAW -> RAW."""

from __future__ import annotations

import os

from model import Enum

_FLAGS = ("flags", "allow", "want", "access")


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.removeprefix("pm_").split("_"))


def is_flags(enum: Enum) -> bool:
    """Whether its constants are bits, which may be put together."""
    return enum.name.endswith(_FLAGS)


def _prefix(names: list[str]) -> str:
    common = os.path.commonprefix(names)
    return common[:common.rfind("_") + 1]


def _only_counts(name: str, names: list[str]) -> bool:
    """Whether it says how many the others are, as PM_STRATEGIES of PM_STRATEGY_..."""
    stem = _prefix([other for other in names if other != name]).removesuffix("_")
    return name in (stem + "S", stem[:-1] + "IES")


def short(enum: Enum) -> dict[str, int]:
    """The constants without what the names of all have in common, and without their number."""
    names = [name for name in enum.constants if not _only_counts(name, list(enum.constants))]
    return {name.removeprefix(_prefix(names)): enum.constants[name] for name in names}
