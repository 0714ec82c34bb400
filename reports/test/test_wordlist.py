# SPDX-License-Identifier: MIT
"""The list of verdicts is read strictly, and what is written from it agrees with it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from reports import schema, wordlist, xmacro
from reports.text import Unusable

TWO = 'ROW(A, 1, "a") /* why, "B" */\nROW(B, -2,\n    "b, (c)")\n#undef ROW\n'


def parse(source: str) -> list[dict[str, str]]:
    return xmacro.parse(source, "ROW", ("name", "number", "word"), "x.def")


def test_rows_are_read_as_c_reads_them() -> None:
    assert parse(TWO) == [{"name": "A", "number": "1", "word": "a"},
                          {"name": "B", "number": "-2", "word": "b, (c)"}]


@pytest.mark.parametrize("source,said", [
    ("", "x.def: no row of ROW()"),
    ("#undef ROW\n", "x.def: no row of ROW()"),
    ('LINE(A, 1, "a")', "x.def:1: not a row of ROW()"),
    ('ROW(A, 1, "a");', "x.def:1: not a row of ROW()"),
    (TWO + "int stray;\n", "x.def:5: not a row of ROW()"),
    ('ROW(A, 1)', "x.def:1: 2 fields, not 3"),
    ('ROW(A, 1, "a", B)', "x.def:1: 4 fields, not 3"),
    ('ROW(A, 1 + 1, "a")', "x.def:1: neither a word, a number nor a plain string"),
    ('ROW(A, 1, "a\\n")', "x.def:1: neither a word, a number nor a plain string"),
    ('ROW(A, 1, "a"', "x.def:1: neither a word, a number nor a plain string"),
    ('\n\nROW(A, 1,\n)', "x.def:3: neither a word, a number nor a plain string"),
])
def test_what_is_no_list_is_refused(source: str, said: str) -> None:
    with pytest.raises(Unusable, match=re.escape(said)):
        parse(source)


def test_a_missing_list_is_one_line() -> None:
    with pytest.raises(Unusable, match="lib/nothing.def: "):
        xmacro.read("lib/nothing.def", "ROW", ("name",))


@pytest.mark.parametrize("column,value", [
    ("ktap", "TODO"), ("kcidb", "GOOD"), ("profile", "ALWAYS"), ("counted", "1"),
    ("number", "one"), ("letter", "br"), *((column, "") for column in
                                           ("name", "number", "word", "rank", "letter", "sign"))])
def test_a_field_that_fits_no_column_is_refused(column: str, value: str) -> None:
    """An empty value here: that of another row."""
    rows = xmacro.read(wordlist.SOURCE, "PM_VERDICT", wordlist.COLUMNS)
    wordlist.check(rows)
    with pytest.raises(Unusable):
        wordlist.check([row | {column: value or rows[0][column]} if row["name"] == "BROKEN" else row for row in rows])


def test_only_what_is_certain_is_kept_for_the_kernel() -> None:
    assert {"yes", "no", "broken"} <= set(wordlist.CONCLUSIVE)
    assert set(wordlist.OF_KERNEL) - set(wordlist.CONCLUSIVE) == {"hazard"}
    assert set(wordlist.OF_KERNEL).isdisjoint({"blocked", "absent", "unknown"})
    assert set(wordlist.LETTERS) == set(wordlist.OF_KERNEL)
    assert wordlist.WORST_FIRST[0] == "broken" and wordlist.WORST_FIRST[-1] == "yes"


def table(readme: str) -> list[tuple[str, str]]:
    """The rows of the first table of verdicts in a Markdown text."""
    _, _, below = readme.partition("| verdict | meaning |\n|---|---|\n")
    rows = re.match(r"(?:\|[^\n]*\|\n)*", below)
    return [(cells[0].strip(), cells[1].strip()) for cells in
            (line.strip("|").split("|", 1) for line in (rows[0] if rows else "").splitlines())]


def test_the_readme_tells_the_verdicts_as_the_list_does() -> None:
    wanted = [(one.word, one.meaning) for one in wordlist.VERDICTS]
    readme = (xmacro.TREE / "README.md").read_text(encoding="utf-8")
    assert table(readme) == wanted
    assert table(readme.replace("| broken |", "| wrong |")) != wanted
    assert table(re.sub(r"\| hazard \|.*\n", "", readme)) != wanted


def result(counts: dict[str, int], word: str = "yes") -> dict[str, Any]:
    point = {"verdict": word, "reason": "why"}
    probe = {"status": "done", "points": {"a": point}, "facts": {}}
    return {"format": 1, "kind": "result", "id": "0" * 16, "suite": "s",
            "tool": {"name": "perfmodes", "version": "1", "catalogue": "0" * 12},
            "identity": {"arch": "a", "release": "1"}, "environment": {},
            "personas": {"root": {"environment": {}, "probes": {"a.b": probe}}},
            "summary": {"root": counts}, "unexpected": []}


def test_schemas_take_the_words_of_the_list_and_no_others() -> None:
    counts = dict.fromkeys(wordlist.COUNTED, 0)
    for word in wordlist.EVERY:
        assert not schema.problems("result", result(counts, word))
    assert schema.problems("result", result(counts, "maybe"))
    assert schema.problems("result", result(counts | {"maybe": 1}))
    assert schema.problems("result", result({"yes": 1}))
