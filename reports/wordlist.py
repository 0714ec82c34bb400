# SPDX-License-Identifier: MIT
"""The words of verdicts and what each means to a report; lib/perfmodes_verdicts.def lists them."""

from __future__ import annotations

from dataclasses import dataclass

from reports import xmacro
from reports.text import Unusable

SOURCE = "lib/perfmodes_verdicts.def"
COLUMNS = ("name", "number", "word", "ktap", "kcidb", "profile", "rank", "counted",
           "letter", "sign", "colour", "meaning")
_CLOSED = {"ktap": {"OK", "SKIP", "NOT_OK"}, "kcidb": {"PASS", "SKIP", "FAIL", "ERROR"},
           "profile": {"CONCLUSIVE", "DECLARED", "PERSONA", "NEVER"},
           "counted": {"ALWAYS", "WHEN_SEEN"}}
_UNIQUE = ("name", "number", "word", "rank", "sign")


@dataclass(frozen=True)
class Verdict:
    """One row of the list."""
    name: str
    number: int
    word: str
    ktap: str
    kcidb: str
    profile: str
    rank: int
    counted: str
    letter: str
    sign: str
    colour: str
    meaning: str


def check(rows: list[dict[str, str]]) -> tuple[Verdict, ...]:
    """The rows as verdicts; Unusable when a field is none of its column's words."""
    for column, known in _CLOSED.items():
        for row in rows:
            if row[column] not in known:
                raise Unusable(f"{SOURCE}: {row['word']}: {column} {row[column]!r}")
    for column in _UNIQUE:
        if len({row[column] for row in rows}) != len(rows):
            raise Unusable(f"{SOURCE}: two rows have the same {column}")
    letters = [row["letter"] for row in rows if row["letter"]]
    if len(set(letters)) != len(letters) or any(len(letter) != 1 for letter in letters):
        raise Unusable(f"{SOURCE}: letters are single and differ")
    try:
        return tuple(Verdict(**row | {"number": int(row["number"]), "rank": int(row["rank"])})
                     for row in rows)
    except ValueError as error:
        raise Unusable(f"{SOURCE}: {error}") from error


VERDICTS = check(xmacro.read(SOURCE, "PM_VERDICT", COLUMNS))

EVERY = tuple(one.word for one in VERDICTS)
WORST_FIRST = tuple(one.word for one in sorted(VERDICTS, key=lambda one: one.rank))
SKIPPED = tuple(one.word for one in VERDICTS if one.ktap == "SKIP")
NOT_OK = tuple(one.word for one in VERDICTS if one.ktap == "NOT_OK")
CONCLUSIVE = tuple(one.word for one in VERDICTS if one.profile == "CONCLUSIVE")
OF_KERNEL = tuple(one.word for one in VERDICTS if one.profile in ("CONCLUSIVE", "DECLARED"))
NOT_KEPT = tuple(one.word for one in VERDICTS if one.profile == "NEVER")
# Skipped for a reason that says nothing of the kernel: the machine's or its policy's.
ELSEWHERE = tuple(word for word in SKIPPED if word not in OF_KERNEL)
EXPECTED = tuple(word for word in EVERY if word not in ELSEWHERE)
COUNTED = tuple(one.word for one in VERDICTS if one.counted == "ALWAYS")
SIGNS = {one.word: one.sign for one in VERDICTS}
STYLES = {one.word: one.colour for one in VERDICTS}
LETTERS = {one.word: one.letter for one in VERDICTS if one.letter and one.word in OF_KERNEL}
LISTS = {"every": EVERY, "expected": EXPECTED, "counted": COUNTED, "not kept": NOT_KEPT}
