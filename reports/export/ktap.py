# SPDX-License-Identifier: MIT
"""One KTAP document: results, personas, probes and points nested, as the kernel's parser reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from reports import wordlist
from reports.export.common import Cell, Options, Result, cells, personas_of, title

SUFFIX = "ktap"
STEP = "  "


def _described(said: str) -> str:
    """A text that no reader takes for a directive."""
    return said.replace("#", "\\#")


def _point(number: int, cell: Cell) -> Iterator[str]:
    ktap = next(row.ktap for row in wordlist.VERDICTS if row.word == cell.verdict)
    for line in cell.evidence:
        yield f"# {line}"
    if ktap == "NOT_OK":
        yield f"# {cell.verdict}: {cell.reason}"
        yield f"not ok {number} {cell.name}"
    elif ktap == "SKIP":
        yield f"ok {number} {cell.name} # SKIP {cell.verdict}: {_described(cell.reason)}"
    else:
        yield f"ok {number} {cell.name}"


def _block(name: str, children: Sequence[tuple[bool, list[str]]]) -> tuple[bool, list[str]]:
    """A subtest: whether all is ok, and its lines without the result line of itself."""
    lines = ["KTAP version 1", f"# Subtest: {name}", f"1..{len(children)}"]
    for _ok, inner in children:
        lines += inner
    return all(ok for ok, _inner in children), [STEP + line for line in lines]


def _ended(number: int, name: str, block: tuple[bool, list[str]]) -> tuple[bool, list[str]]:
    ok, lines = block
    return ok, [*lines, f"{'ok' if ok else 'not ok'} {number} {name}"]


def _probe(found: Sequence[Cell]) -> list[tuple[bool, list[str]]]:
    return [(next(row.ktap for row in wordlist.VERDICTS if row.word == cell.verdict) != "NOT_OK",
             list(_point(number, cell))) for number, cell in enumerate(found, 1)]


def _persona(result: Result, persona: str) -> list[tuple[bool, list[str]]]:
    probes: dict[str, list[Cell]] = {}
    for cell in cells([result], persona):
        probes.setdefault(cell.probe, []).append(cell)
    return [_ended(number, probe, _block(probe, _probe(found)))
            for number, (probe, found) in enumerate(probes.items(), 1)]


def write(results: Sequence[Result], options: Options) -> str:
    """The document. A point that is neither broken nor unknown is ok, as the probes print it."""
    top: list[Any] = []
    for number, result in enumerate(results, 1):
        name = _described(title(result)).replace(" ", "_")
        personas = [_ended(at, persona, _block(persona, _persona(result, persona)))
                    for at, persona in enumerate(personas_of(result, options.persona), 1)]
        top.append(_ended(number, name, _block(name, personas)))
    lines = ["KTAP version 1", f"1..{len(top)}"]
    for _ok, inner in top:
        lines += inner
    return "\n".join(lines) + "\n"
