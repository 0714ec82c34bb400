# SPDX-License-Identifier: MIT
"""The personas of suites/personas.txt, where their columns are explained, and their order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from reports import speak, text
from reports.text import Unusable

SOURCE = "suites/personas.txt"
TABLE = Path(__file__).resolve().parent.parent / SOURCE
LIMIT = 1 << 16
SAME = "same"


@dataclass(frozen=True)
class Persona:
    """One row of the table."""
    name: str
    uid: str
    capabilities: str
    filter: str
    meaning: str


def parse(source: str) -> tuple[Persona, ...]:
    """The rows of a table. Whether each can be assumed is for the launcher to say."""
    rows = [line.split(None, 4) for line in source.splitlines()]
    found = [row for row in rows if row and not row[0].startswith("#")]
    for row in found:
        if len(row) < 5:
            raise Unusable(text.clean(f"{TABLE.name}: {' '.join(row)}: too few columns", 300))
    return tuple(Persona(*row) for row in found)


@cache
def read(table: Path = TABLE) -> tuple[Persona, ...]:
    """The table, read once; none where there is none, as beside results that came without."""
    try:
        return parse(text.read_bounded(table, LIMIT)[0].decode("utf-8"))
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise Unusable(text.clean(f"{table}: {error}", 300)) from error


def names() -> list[str]:
    """All of them, from the most to the least privileged."""
    return [persona.name for persona in read()]


def defined() -> list[str]:
    """Those that are the same whoever starts a run."""
    return [persona.name for persona in read() if persona.uid != SAME]


def in_order(found: Iterable[str]) -> list[str]:
    """From the most to the least privileged; those that the table does not know come last."""
    place = {name: number for number, name in enumerate(names())}
    return sorted(found, key=lambda name: (place.get(name, len(place)), name))


def unknown(asked: str) -> str:
    """Why a list of names, with commas, cannot be asked as; "" when it can."""
    known = names()
    strange = [name for name in asked.split(",") if name not in known]
    return speak.among("persona called", strange[0], known) if strange else ""


def of_results(results: Iterable[dict[str, Any]]) -> list[str]:
    """Those that were asked as in any of them."""
    return in_order({name for each in results for name in each["personas"]})


def missing(asked: str, results: Iterable[dict[str, Any]]) -> Unusable:
    """What is to be raised for one that no result has; a name that no table has either is misuse."""
    kind = Unusable if asked in names() else speak.Misused
    return kind(speak.among("persona", asked, of_results(results)))
