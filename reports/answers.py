# SPDX-License-Identifier: MIT
"""The answers that come with the tree: a sheet for each row of the kernel matrix, of one run of all rows,
and the catalogue of what that run asked.

From them come the library's profiles and compiled table, the slice that README links, `doctor --as`,
`profile check` by the name of a row, and the site of a fresh clone.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from reports import catalogue, expect, personas, result, sheet, sheet_read, speak, text, wordlist
from reports.catalogue import Catalogue
from reports.sheet import Sheet
from reports.text import Unusable

FOLDER = Path("reports/data/answers")
UNANSWERED = Path("reports/data/unanswered.toml")
QUESTIONS = "catalogue"     # beside the sheets: the text of the catalogue
SUFFIX = ".txt"
SUITE = Path(__file__).resolve().parent.parent / "suites" / "default.txt"   # says as whom each row is asked
HEAD = 100                  # lines of a sheet, among them what it is of
LISTED = 5                  # keys of a finding

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def names(folder: Path = FOLDER) -> list[str]:
    """The rows that ship."""
    return sorted(path.stem if path.suffix == SUFFIX else path.name
                  for path in folder.glob(f"*{SUFFIX}"))


def load(name: str, folder: Path = FOLDER, whole: bool = True) -> Sheet:
    """The sheet of a row, whole or to look points up. Raises Unusable."""
    if name not in names(folder):
        raise Unusable(f"no answers of {text.clean(name, 80)} ship{speak.near(name, names(folder))}")
    return sheet_read.read(folder / f"{name}{SUFFIX}", whole)


def release(name: str, folder: Path = FOLDER) -> str:
    """The release of a row's kernel, or '' where the row does not ship."""
    try:
        with open(folder / f"{name}{SUFFIX}", encoding="utf-8") as sheet_:
            found = (line for line in islice(sheet_, HEAD) if line.startswith("identity release="))
            return next(found, "").partition("=")[2].strip()
    except OSError:
        return ""


def load_all(folder: Path = FOLDER) -> dict[str, Sheet]:
    return {name: load(name, folder) for name in names(folder)}


def questions(folder: Path = FOLDER) -> Catalogue:
    """What the rows were asked. Empty where nothing ships."""
    try:
        return catalogue.read_text(folder / QUESTIONS)
    except OSError:
        return Catalogue()


def wanted() -> list[str]:
    """The personas that a row is asked as."""
    for line in text.load_text(SUITE).splitlines():
        if line.startswith("personas "):
            return personas.in_order(line.split()[1:])
    raise Unusable(f"{SUITE.name}: names no personas")


def keys(declared: Catalogue) -> set[str]:
    """The keys of all points and facts."""
    return {f"{probe.id}.{item.name}" for probe in declared.probes.values() for item in probe.items}


def judged(made: dict[str, Any], declared: Catalogue, expected: expect.Expectations) -> dict[str, Any]:
    """A result of a sheet with what is unexpected in it and what is news: expectations are no part of it."""
    found = expect.compare(made, declared, expected)
    whole = made | {"unexpected": found.unexpected} | ({"news": found.news} if found.news else {})
    return whole | {"id": result.content_id(whole)}


# ------------------------------------------------------------------------- a run becomes answers

def _results(row: Path) -> Iterator[dict[str, Any]]:
    """The results of a row: one, or one for each level."""
    for path in sorted([*row.glob("result.json"), *row.glob("paranoid-*/result.json")]):
        yield result.load(path, expect.read(expect.FOLDER))


def _rows(run: Path) -> list[Path]:
    """The folders of the rows of a run."""
    return sorted(path for path in run.iterdir() if path.is_dir()) if run.is_dir() else []


def _in_order(level: str) -> int:
    return int(level) if level != sheet.ONE else 0


def of_runs(runs: Sequence[Path]) -> dict[str, Sheet]:
    """The sheets of finished runs of kernels; a kernel that said nothing has none. The levels of a row may be
    of several runs; where two have the same level, the first one counts. Raises Unusable."""
    made: dict[str, dict[str, dict[str, Any]]] = {}
    for row in (row for run in runs for row in _rows(run)):
        for found in _results(row):
            if not _NAME.fullmatch(row.name):
                raise Unusable(f"{text.clean(row.name, 80)}: not the name of a kernel")
            made.setdefault(row.name, {}).setdefault(sheet.level_of(found), found)
    if not made:
        raise Unusable(f"{' '.join(map(str, runs))}: no kernel there has a result")
    return {name: sheet.of_results(name, [levels[level] for level in sorted(levels, key=_in_order)])
            for name, levels in made.items()}


def asked(runs: Sequence[Path], sheets: Iterable[Sheet]) -> str:
    """The text of the catalogue that all rows of the runs were asked by. Raises Unusable."""
    digests: dict[str, list[str]] = {}
    for each in sheets:
        digests.setdefault(each.catalogue, []).append(each.row)
    if len(digests) != 1:
        told = "; ".join(f"{digest}: {_some(rows)}" for digest, rows in sorted(digests.items()))
        raise Unusable(f"the rows come from different catalogues: {told}")
    (digest, rows), = digests.items()
    for path in (path for run in runs for path in sorted((run / rows[0]).glob("**/catalogue"))):
        found = catalogue.read_text(path)
        if found.digest() == digest:
            return found.text
    raise Unusable(f"{rows[0]}: no catalogue {digest} lies beside its result")


def added(row: str, new: Sheet, folder: Path) -> Sheet:
    """The row as it ships, with the levels of a run on the same kernel that it lacks, as the personas it has.
    Raises Unusable."""
    old = load(row, folder)
    for what, have, come in (("catalogue", old.catalogue, new.catalogue),
                             ("kernel", old.one["identity"].get("build_id"), new.one["identity"].get("build_id"))):
        if have != come:
            raise Unusable(text.clean(f"{row}: ships of {what} {have}, and the run is of {come}: run all its levels", 300))
    levels = dict(old.levels)
    for level, found in new.levels.items():
        kept = {name: part for name, part in found["personas"].items() if name in old.one["personas"]}
        levels.setdefault(level, found | {"personas": kept})
    return sheet.of_results(row, [levels[level] for level in sorted(levels, key=_in_order)])


def write(runs: Sequence[Path], folder: Path = FOLDER, add: bool = False) -> list[str]:
    """Puts the rows of runs into the folder. A part of the rows may come anew as long as it was asked
    what the others were; with `add`, levels come to those that a row has. Raises Unusable."""
    made = of_runs(runs)
    if add:
        made = {name: added(name, each, folder) for name, each in made.items()}
    source = asked(runs, made.values())
    digest = next(iter(made.values())).catalogue
    others = [name for name in names(folder) if name not in made]
    other = questions(folder).digest()
    if others and other != digest:
        raise Unusable(f"the run was asked catalogue {digest}, and {text.count(len(others), 'row')} that stay "
                       f"({_some(others)}) catalogue {other}: run all rows, or remove these")
    folder.mkdir(parents=True, exist_ok=True)
    for name, each in made.items():
        text.write_whole(folder / f"{name}{SUFFIX}", sheet.write(each))
    text.write_whole(folder / QUESTIONS, source)
    return list(made)


# --------------------------------------------------------------------------- what is wrong with them

def _some(found: Iterable[str]) -> str:
    listed = sorted(found)
    more = len(listed) - LISTED
    return ", ".join(listed[:LISTED]) + (f" and {more} more" if more > 0 else "")


def _answered(result_: dict[str, Any], persona: str) -> set[str]:
    probes = result_["personas"].get(persona, {"probes": {}})["probes"]
    return {f"{probe}.{name}" for probe, record in probes.items() for name in record["points"]}


def _lacking(each: Sheet, declared: set[str]) -> Iterator[str]:
    """The personas and keys that a row lacks."""
    for level, result_ in each.levels.items():
        where = f"{each.row} at perf_event_paranoid={level}"
        without = [name for name in wanted() if name not in result_["personas"]]
        if without:
            yield f"{where}: not asked as {' '.join(without)}"
        for persona in result_["personas"]:
            missing = declared - _answered(result_, persona)
            if missing:
                yield (f"{where}, {persona}: {text.count(len(missing), 'point')} without an answer or a "
                       f"reason: {_some(missing)}")


def unanswered(path: Path = UNANSWERED) -> dict[str, str]:
    """Rows without answers, and why nobody could ask them. Their profiles, of an earlier run, stay."""
    if not path.exists():
        return {}
    try:
        listed = tomllib.loads(path.read_text(encoding="utf-8"))
        return {str(name): str(row["reason"]) for name, row in listed.items()}
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise Unusable(text.clean(f"{path}: no list of rows and reasons: {error}", 300)) from error


def problems(sheets: dict[str, Sheet], declared: Catalogue, needed: Iterable[str],
             rows: Iterable[str], excused: Iterable[str] = ()) -> Iterator[str]:
    """Rows of which answers are wanted and missing, answers of no row, of something else that was asked,
    and what they lack."""
    for name in sorted({*excused} & sheets.keys()):
        yield f"{name}: has answers; take it out of {UNANSWERED}"
    needed = {*needed} - {*excused}
    digest, known = declared.digest(), set(rows)
    points = {f"{probe.id}.{item.name}" for probe in declared.probes.values() for item in probe.points()}
    for name in sorted({*needed, *sheets}):
        if name not in sheets:
            yield f"{name}: no answers of this row; run it, then the verb ship"
        elif name not in known:
            yield f"{name}: answers of no row of the matrix"
        elif sheets[name].row != name:
            yield f"{name}: these are the answers of {sheets[name].row}"
        elif sheets[name].catalogue != digest:
            yield f"{name}: was asked catalogue {sheets[name].catalogue}, the others {digest}"
        else:
            yield from _lacking(sheets[name], points)


def unsettled(sheets: dict[str, Sheet], looked_up: Iterable[str]) -> Iterator[str]:
    """Of these keys, what a row could not tell the most privileged persona although others could: a reason
    is there, and yet somebody should look at it."""
    first = wanted()[0]
    for key in sorted(looked_up):
        said: dict[str, dict[str, Any]] = {}
        for row, each in sheets.items():
            probes = each.one["personas"].get(first, {"probes": {}})["probes"]
            probe = next((one for one in probes if key.startswith(f"{one}.")), "")
            if probe and key.removeprefix(f"{probe}.") in probes[probe]["points"]:
                said[row] = probes[probe]["points"][key.removeprefix(f"{probe}.")]
        told = sum(point["verdict"] in wordlist.OF_KERNEL for point in said.values())
        for row, point in said.items():
            if told and point["verdict"] == "unknown":
                yield f"{row}: {key} is unknown: {point['reason']}; {text.count(told, 'other row')} could tell"
