# SPDX-License-Identifier: MIT
"""The facts the library decides by, as the library itself declares them in its section .pm_facts.

Each table of the library that decides by facts lays their keys there (facts.h there), and so does
the list of those that programs look up.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

from reports import catalogue, declaration, text
from reports.text import Unusable

SECTION = ".pm_facts"
LIBRARY = Path("build") / os.environ.get("ARCH", platform.machine()) / "libperfmodes.so.0"


def deciding(library: Path = LIBRARY) -> dict[str, list[str]]:
    """Each key, and the tables that decide by it: "own_rings", "clocks"..."""
    if not library.exists():
        raise Unusable(f"{library} declares the facts and is not built: make library")
    found: dict[str, list[str]] = {}
    who = ""
    for line in catalogue.section(library, SECTION).decode("ascii", "replace").split("\0"):
        key, _, value = line.partition("=")
        if key == "by":
            who = value
        elif key == "fact" and declaration.NAME.fullmatch(value):
            found.setdefault(value, []).append(who)
        elif line:
            raise Unusable(text.clean(f"{library}: {SECTION} holds '{line}'", 200))
    return {key: sorted(found[key]) for key in sorted(found)}


def keys(library: Path = LIBRARY) -> list[str]:
    """All keys, in order."""
    return list(deciding(library))
