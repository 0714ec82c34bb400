# SPDX-License-Identifier: MIT
"""What a device says of itself is text in every answer: no mark that reorders, no line of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reports import verbs
from reports.database.test.conftest import Database, make

HOSTILE = ["<script>alert(1)</script>", "\u202egnp\u200bexe\u2066\u202dx\u2069\u2028next\ufeff\U000e0041",
           "=cmd|' /C calc'!A0", "'; DROP TABLE result; --%s%n{0}", "B" * 10_000, "[red]x[/red]"]
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]")
KEY = "hw.count.cycles"


@pytest.mark.parametrize("said", HOSTILE, ids=["script", "controls", "formula", "sql", "long", "markup"])
def test_every_answer_is_clean(database: Database, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = {"board": said, "cpu_model": [said, "x"], "version": said, "fingerprint": said, "hypervisor": said}
    old = make(release=said, identity=names, personas={"root": {}}, reason=said)
    new = make(release="6.1", identity=names, personas={"root": {KEY: "broken"}}, reason=said, arch=said[:90])
    files = [str(database.write(each)) for each in (old, new)]
    where = ("--db", str(database.file))
    assert verbs.main(["db", "add", *files, *where]) == 0
    for asked in (("list",), ("point", KEY), ("history", KEY), ("lacking", KEY), ("coverage",), ("classes",),
                  ("backports",), ("changes", said, "6.1"), ("export", new["id"])):
        for form in ((), ("--json",)):
            assert verbs.main(["db", *asked, *form, *where]) in (0, 1)
    for verb in (["show", files[0]], ["table", *files, "--all"], ["table", *files, "--markdown"], ["diff", *files],
                 ["diff", "--json", *files], ["profile", files[1]], ["timing", files[0]]):
        assert verbs.main(verb) in (0, 1)
    printed = capsys.readouterr()
    assert not UNSAFE.search(printed.out), UNSAFE.search(printed.out)
    assert not UNSAFE.search(printed.err)
    assert max(map(len, printed.out.split("\n"))) < 200_000


def test_a_name_of_a_file_is_told_clean(database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "\u202egnp\x1b[31m.result.json"
    path.write_text("[]", encoding="utf-8")
    assert verbs.main(["db", "add", str(path), "--db", str(database.file)]) == 1
    printed = capsys.readouterr()
    assert not UNSAFE.search(printed.out + printed.err)
