# SPDX-License-Identifier: MIT
"""Names of other languages for names of C: pm_event_type -> EventType, PM_TYPE_RAW -> RAW."""

from __future__ import annotations

import os

from model import Enum

_FLAGS = ("flags", "allow", "want", "access", "bits", "side_kind")


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.removeprefix("pm_").split("_"))


def is_flags(enum: Enum) -> bool:
    """Whether its constants are bits, which may be put together."""
    return enum.name.endswith(_FLAGS)


def _prefix(names: list[str]) -> str:
    common = os.path.commonprefix(names)
    return common[:common.rfind("_") + 1]


def short(enum: Enum) -> dict[str, int]:
    """The constants without what the names of all have in common, and without their number."""
    names = list(enum.constants)
    return {name.removeprefix(_prefix(names)): enum.constants[name] for name in names}
