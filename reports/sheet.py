# SPDX-License-Identifier: MIT
"""The answers of one kernel, whole, as a text that can be read and compared line by line.

A sheet has a line for each point: its key, and a letter for each persona, in the order of the line
`personas`. Behind a letter stands the number of its reason, which is written out once, in a list. The
number is the start of the SHA-256 of the reason, so it is the same in every sheet and after every run.
Where all personas say the same, it stands there once. Where several levels of perf_event_paranoid were
asked, ` | ` parts their answers, and what all levels say alike stands there once.

    ring.write_backward.newest_first y
    attach.cpu_wide.opens y y l:1c0e
    perm.gates.system_wide y y l:1c0e | y

Facts follow, their values as JSON. A sheet is written from the results of a row, one for each level,
and gives them back: whatever was derived from a result can be derived from a sheet.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from reports import personas, text, wordlist
from reports.text import Unusable

FORMAT = "1"
HEAD = "# The answers of a kernel. Written by `./run.sh report ship`, explained in reports/sheet.py."
LETTERS: dict[str, str] = {}
for _word in wordlist.EVERY:    # the first letter of the word that no other has
    LETTERS[_word] = next(letter for letter in _word if letter not in LETTERS.values())
WORDS = {letter: word for word, letter in LETTERS.items()}
SILENT = "-"        # nobody asked
BETWEEN = "|"
LEVEL = "paranoid"  # of the environment
ONE = "none"        # the level of a kernel without the file
SIZE_LIMIT = 4 << 20
LEVEL_WORD = re.compile(r"-?[0-9]{1,3}|none")
TOKEN = re.compile(r"([a-z])(?::([0-9a-f]{4,16}))?")

Result = dict[str, Any]
Values = list[Any]      # of a key: one for each persona


@dataclass
class Sheet:
    """What a sheet says: of which row, and the result at each level."""
    row: str
    levels: dict[str, Result] = field(default_factory=dict)

    @property
    def one(self) -> Result:
        """The result of the level that was asked first."""
        return next(iter(self.levels.values()))

    def told(self) -> str:
        """How much it says, in a line."""
        each = next(iter(self.one["personas"].values()))["probes"].values()
        points = sum(len(record["points"]) for record in each)
        asked = " ".join(personas.in_order({name for one in self.levels.values() for name in one["personas"]}))
        return f"{text.count(points, 'point')}, as {asked}, at perf_event_paranoid={','.join(self.levels)}"

    @property
    def catalogue(self) -> str:
        return str(self.one["tool"]["catalogue"])

    @property
    def synthetic(self) -> bool:
        """Whether the PMU there is a module of ours, which says nothing of any machine."""
        return bool(self.one["identity"].get("pmu") == "synthetic")


def level_of(result: Result) -> str:
    """The perf_event_paranoid that a result holds at."""
    said = str(result["environment"].get(LEVEL, ONE))
    return said if LEVEL_WORD.fullmatch(said) else ONE


def of_results(row: str, results: Sequence[Result]) -> Sheet:
    """The sheet of a row, of a result for each level. Raises Unusable."""
    made = Sheet(row)
    for result in results:
        level = level_of(result)
        if level in made.levels:
            raise Unusable(f"{row}: two results at perf_event_paranoid={level}")
        made.levels[level] = result
    if len({result["tool"]["catalogue"] for result in results}) != 1:
        raise Unusable(f"{row}: its levels were asked other questions than each other, or none")
    return made


# ------------------------------------------------------------------------------------- writing

def numbers(reasons: set[str]) -> dict[str, str]:
    """reason -> its number: four digits, or more where two begin alike."""
    digests = {reason: hashlib.sha256(reason.encode("utf-8", "backslashreplace")).hexdigest()
               for reason in reasons}
    for digits in (4, 8, 16):
        found = {reason: digest[:digits] for reason, digest in digests.items()}
        if len(set(found.values())) == len(found):
            break
    shared = [digest[:4] for digest in digests.values()]
    return {reason: digest[:4] if shared.count(digest[:4]) == 1 else found[reason]
            for reason, digest in digests.items()}


def _values(values: dict[str, Any]) -> Iterator[str]:
    """key=value lines; a key with several values has several lines."""
    for key in sorted(values):
        value = values[key]
        yield from (f"{key}={each}" for each in (value if isinstance(value, list) else [value]))


def _asked(result: Result) -> list[str]:
    return personas.in_order(result["personas"])


def _level(level: str, result: Result) -> Iterator[str]:
    """What is said of a level before the answers."""
    asked = _asked(result)
    yield f"[level {level}]"
    if "started" in result:
        yield f"started {result['started']}"
    yield f"personas {' '.join(asked)}"
    yield from (f"environment {line}" for line in _values(result["environment"]))
    for persona in asked:
        part = result["personas"][persona]
        yield from (f"as {persona} {line}" for line in _values(part["environment"]))
    for persona in asked:
        for probe, record in sorted(result["personas"][persona]["probes"].items()):
            if record["status"] != "done":
                yield f"ended {persona} {probe} {record['status']}"
            for name, point in sorted(record["points"].items()):
                if point.get("evidence", [point.get("reason")]) != [point.get("reason")]:
                    yield from (f"evidence {persona} {probe}.{name} {line}" for line in point["evidence"])
    yield ""


def _cells(sheet: Sheet, what: str) -> dict[str, list[Values]]:
    """key -> for each level, for each persona: the point or fact, None where it was not asked."""
    asked = [_asked(result) for result in sheet.levels.values()]
    found: dict[str, list[Values]] = defaultdict(lambda: [[None] * len(each) for each in asked])
    for at, result in enumerate(sheet.levels.values()):
        for column, persona in enumerate(asked[at]):
            for probe, record in result["personas"][persona]["probes"].items():
                for name, value in record[what].items():
                    if isinstance(value, dict) and value.get("undeclared"):
                        continue
                    found[f"{probe} {name}"][at][column] = value
    return found


def _line(cells: list[list[str]]) -> str:
    """The tokens of a key: once where they are all the same."""
    told = [tokens[0] if len(set(tokens)) == 1 else " ".join(tokens) for tokens in cells]
    alike = len(set(told)) == 1 and len({len(tokens) for tokens in cells}) == 1
    return told[0] if alike else f" {BETWEEN} ".join(told)


def _token(point: dict[str, Any] | None, known: dict[str, str]) -> str:
    if point is None:
        return SILENT
    letter = LETTERS[point["verdict"]]
    return f"{letter}:{known[point['reason']]}" if "reason" in point else letter


def _fact(value: Any) -> str:
    return SILENT if value is None else json.dumps(value)


def _keyed(cells: dict[str, list[Values]]) -> Iterator[tuple[str, list[Values]]]:
    """The name of a point may have dots: what is the probe's and what the point's is told by a blank
    where the probe's id is not the first two words."""
    for both, values in sorted(cells.items(), key=lambda item: item[0].replace(" ", ".")):
        probe, _, name = both.partition(" ")
        yield (f"{probe}.{name}" if probe.count(".") == 1 else f"{probe}:{name}"), values


def write(sheet: Sheet) -> str:
    """The text of a sheet."""
    result = sheet.one
    points = _cells(sheet, "points")
    known = numbers({point["reason"] for values in points.values() for level in values
                     for point in level if point and "reason" in point})
    lines = [HEAD, "# " + ", ".join(f"{letter} {word}" for word, letter in LETTERS.items())
             + f", {SILENT} not asked", f"format {FORMAT}", f"row {sheet.row}",
             f"tool {result['tool']['version']}", f"catalogue {result['tool']['catalogue']}",
             f"suite {result['suite']}", *(f"identity {line}" for line in _values(result["identity"])), ""]
    for level, each in sheet.levels.items():
        lines += _level(level, each)
    lines += ["[reasons]", *(f"{number} {reason}" for reason, number in
                             sorted(known.items(), key=lambda item: item[1])), "", "[points]"]
    lines += [f"{key} " + _line([[_token(point, known) for point in level] for level in values])
              for key, values in _keyed(points)]
    lines += ["", "[facts]"]
    lines += [f"{key} " + _line([[_fact(value) for value in level] for level in values])
              for key, values in _keyed(_cells(sheet, "facts"))]
    return "\n".join(lines) + "\n"
