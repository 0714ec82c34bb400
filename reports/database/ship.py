# SPDX-License-Identifier: MIT
"""A database of the answers that ship, for who has none of results."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy.engine import Engine

from reports import answers, expect, speak, text
from reports.database import connect, source, store
from reports.text import Unusable


def _results(name: str, expected: expect.Expectations) -> Iterator[dict[str, Any]]:
    """The results of a row, held against what is expected."""
    declared = answers.questions()
    for result in answers.load(name).levels.values():
        yield answers.judged(result, declared, expected)


def _row(name: str, folder: Path, expected: expect.Expectations) -> Iterator[source.Found]:
    """The results of a row as folders that can be added."""
    for number, result in enumerate(_results(name, expected)):
        at = folder / f"{name}.{number}"
        at.mkdir()
        (at / "result.json").write_text(text.pack_json(result), encoding="utf-8")
        (at / "catalogue").write_text(answers.questions().text, encoding="utf-8")
        yield source.Found(at, name)


@contextmanager
def engine() -> Iterator[Engine]:
    """All that ships, in a file that is removed afterwards. Raises Unusable."""
    names, expected = answers.names(), expect.read(expect.FOLDER)
    if not names:
        raise Unusable("no answers ship in this tree, and there is no database of results")
    with tempfile.TemporaryDirectory(prefix="perfmodes-") as made:
        folder = Path(made)
        found = connect.open_engine(str(folder / "answers.db"), create=True)
        adder = store.Store(found, expected)
        for name in names:
            for each in _row(name, folder, expected):
                outcome = adder.add_one(each)
                if outcome.what == store.REJECTED:
                    speak.error(f"left out: {outcome.name}: {outcome.why}")
        try:
            yield found
        finally:
            found.dispose()
