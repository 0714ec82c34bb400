# SPDX-License-Identifier: MIT
"""Recordings of real programs, held against kernels, as a table in Markdown: a line for each program.

Of a program that was recorded as the persona that is asked about, and got on, that recording counts, since it has
what the program tries after a refusal; else the one of root, who is refused least and so asks most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reports import plain, recordings, requirements, text
from reports.asked import Source
from reports.requirements import Finding, Requirements

FOLDER = Path(__file__).resolve().parent.parent / "data" / "recordings"
AS_ROOT = "root"
UNTOLD, ABSENT, UNKNOWN, EVENTS_ALONE = "?", "rest not there", "rest not known", "events alone"
REFUSED, NOT_THERE = "refused", "not there"
OF_ALL = {recordings.REFUSED: REFUSED, recordings.NOT_THERE: NOT_THERE, recordings.UNTOLD: UNTOLD}


def names(folder: Path = FOLDER) -> list[str]:
    """The programs that were recorded."""
    return sorted({path.name.split(".")[0] for path in folder.glob("*.json")})


def of(name: str, persona: str, folder: Path = FOLDER) -> Requirements | None:
    """What a program asks as a persona. None: it was not recorded so. Raises Unusable."""
    own, of_root = (folder / f"{name}.{who}.json" for who in (persona, AS_ROOT))
    if own.is_file() and (recordings.got_on(own) or not of_root.is_file()):
        return recordings.read(own)
    return recordings.read(of_root) if of_root.is_file() else None


def _is_untold(found: Finding) -> bool:
    """Whether nobody can tell, of something that is there."""
    return found.word == plain.UNKNOWN and recordings.is_there(found)


def word(found: Sequence[Finding]) -> str:
    """A cell: works, instead, how many kinds of its calls do, refused, not there, or ?"""
    said, asked_for = recordings.works(found), recordings.required(found)
    lacking = [each for each in asked_for if each.word not in (plain.YES, plain.INSTEAD)]
    if said in OF_ALL:
        return OF_ALL[said]
    if said == recordings.PARTLY and not lacking:
        return plain.INSTEAD if any(each.word == plain.INSTEAD for each in asked_for) else EVENTS_ALONE
    there = any(map(recordings.is_there, lacking))
    rest = ABSENT if not there else UNKNOWN if all(_is_untold(each) for each in lacking) else ""
    return said if said == recordings.WORKS else \
        f"{len(asked_for) - len(lacking)} of {len(asked_for)}{', ' * bool(rest)}{rest}"


def _cell(wanted: Requirements, source: Source, persona: str, level: str) -> str:
    ask = recordings.asker(lambda key: source.said(key, persona, level), source.arch)
    return word(requirements.check(wanted, ask, source.arch))


@dataclass(frozen=True)
class Column:
    """Whom to ask, as whom, at which level."""
    source: Source
    persona: str
    level: str

    def title(self, several: bool) -> str:
        return f"{self.source.name}, " * several + f"{self.persona}, level {self.level}"


def _answers(column: Column, folder: Path) -> tuple[str, ...]:
    """The cells of a column, from the first program to the last."""
    found = (of(name, column.persona, folder) for name in names(folder))
    return tuple(_cell(wanted, column.source, column.persona, column.level) if wanted else "" for wanted in found)


def _together(columns: Sequence[Column], folder: Path) -> dict[tuple[str, str, tuple[str, ...]], list[Column]]:
    """The columns by whom, level and answers: kernels that answer alike stand in one."""
    found: dict[tuple[str, str, tuple[str, ...]], list[Column]] = {}
    for column in columns:
        found.setdefault((column.persona, column.level, _answers(column, folder)), []).append(column)
    return found


def lines(columns: Sequence[Column], folder: Path = FOLDER) -> Iterator[str]:
    """The table, and what its words mean."""
    several = len({column.source.name for column in columns}) > 1
    if not several:
        yield from (f"On {columns[0].source.name} ({columns[0].source.about}).", "")
    groups = _together(columns, folder)
    titles = [alike[0].title(several) + f", and {len(alike) - 1} more" * (len(alike) > 1) for alike in groups.values()]
    yield "| program | " + " | ".join(map(text.markdown, titles)) + " |"
    yield "|---" * (len(titles) + 1) + "|"
    for number, name in enumerate(names(folder)):
        yield f"| {text.markdown(name)} | {' | '.join(text.markdown(cells[number]) for _, _, cells in groups)} |"
    yield ""
    for alike in (each for each in groups.values() if len(each) > 1):
        yield "- " + text.markdown(f"As {alike[0].source.name}: {', '.join(column.source.name for column in alike[1:])}.")
    yield ""
    yield (f"`{plain.INSTEAD}`: with less, as it tries next; `4 of 8`: so many kinds of its events; `{EVENTS_ALONE}`: their "
           f"rings or requests are refused; `{ABSENT}`: the others "
           f"want hardware that this machine has not; `{UNKNOWN}`: no point tells of the others; `{UNTOLD}`: no point tells. "
           "`./run.sh report profile check reports/data/recordings/NAME.user.json --as ROW` says why.")
