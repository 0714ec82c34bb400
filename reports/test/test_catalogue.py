# SPDX-License-Identifier: MIT
"""Declarations: from ELF sections and from text, checked."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import CATALOGUE

from reports import catalogue, declaration, page, schema
from reports.text import Unusable

MakeElf = Callable[[str, str], Path]
WHOLE = ("id=ring.a\ntitle=a title\nquestion=does it\nsince=4.7\ncommit=9ecda41acb97\n"
         "needs=pmu arch:arm64\ndisturbs=cpu hotplug\nalone=counts all\nhazard=hangs\n"
         "point=v.one first meaning\nsince=5.1\ncommit=0123456789ab\nneeds=tracefs\n"
         "fact=n int pages how many\nfact=bit.x verdict - accepted\nneeds=cpu2\n")


def test_a_whole_declaration_is_read_from_an_elf_file(make_elf: MakeElf) -> None:
    found = catalogue.gather([make_elf("whole", WHOLE)])
    assert found.problems == []
    probe = found.probes["ring.a"]
    assert (probe.title, probe.question, probe.since) == ("a title", "does it", "4.7")
    assert (probe.disturbs, probe.alone, probe.hazard) == ("cpu hotplug", "counts all", "hangs")
    assert probe.needs == ["pmu", "arch:arm64"] and probe.commits == ["9ecda41acb97"]
    one, number, bit = probe.items
    assert (one.name, one.meaning, one.since, one.commits, one.tested) == (
        "v.one", "first meaning", "5.1", ["0123456789ab"], True)
    assert (number.name, number.type, number.unit, number.meaning) == (
        "n", "int", "pages", "how many")
    assert [item.name for item in probe.points()] == ["v.one", "bit.x"]
    assert probe.since_of(one) == "5.1" and probe.since_of(bit) == "4.7"
    assert probe.needs_of(bit) == ["arch:arm64", "cpu2", "pmu"]


def test_elf_text_and_folder_give_the_same(make_elf: MakeElf, tmp_path: Path) -> None:
    program = make_elf("same", WHOLE)
    (tmp_path / "catalogue").write_text(WHOLE)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "same").write_bytes(program.read_bytes())
    (tmp_path / "bin" / "same.d").write_text("same: same.c")
    digests = {catalogue.gather([path]).digest()
               for path in (program, tmp_path / "catalogue", tmp_path, tmp_path / "bin")}
    assert len(digests) == 1


@pytest.mark.parametrize("old,new,problem", [
    ("id=ring.a", "id=Ring", "is not area.name"),
    ("title=a title\n", "", "no title"),
    ("since=4.7\n", "", "no since"),
    ("since=4.7", "since=soon", "is not a release"),
    ("since=4.7", "since=4.7\nsince=4.8", "since given twice"),
    ("commit=9ecda41acb97", "commit=9ecda41", "is not 12 hex digits"),
    ("arch:arm64", "luck", "needs 'luck' is not in the list"),
    ("point=v.one", "point=V.one", "not lower case words"),
    ("point=v.one first meaning", "point=v.one", "has no meaning"),
    ("fact=n int", "fact=v.one int", "declared twice"),
    ("fact=n int", "fact=observed int", "declared twice (or reserved)"),
    ("fact=n int", "fact=n float", "no type 'float'"),
    ("fact=n int pages how many", "fact=n int", "is not: name type unit meaning"),
    ("alone=counts all", "alone=", "alone is empty"),
    ("hazard=hangs", "colour=red", "unknown line"),
    ("hazard=hangs", "hazard", "unknown line"),
])
def test_each_mistake_in_a_declaration_is_named(old: str, new: str, problem: str) -> None:
    assert old in WHOLE
    found = catalogue.parse(WHOLE.replace(old, new, 1))
    assert any(problem in line for line in found.problems), found.problems


def test_any_number_of_empty_lines_is_between_declarations() -> None:
    other = CATALOGUE.replace("\n\n", "\n \n\n\t\n")
    assert CATALOGUE.count("\n\n") and catalogue.parse(f"\n\n{other}").probes == catalogue.parse(CATALOGUE).probes


def test_a_probe_without_points_and_one_declared_twice_are_problems() -> None:
    empty = "id=a.b\ntitle=t\nsince=4.7\n"
    assert catalogue.parse(empty).problems == ["a.b: no point and no fact"]
    assert catalogue.parse(CATALOGUE + "\n" + CATALOGUE).problems == [
        "ring.write_backward: declared twice", "sw.clock: declared twice"]


def test_damaged_and_foreign_files_are_problems_not_errors(make_elf: MakeElf,
                                                           tmp_path: Path) -> None:
    whole = make_elf("damaged", WHOLE).read_bytes()
    for size in (4, 20, 64, 200, len(whole) // 2):
        (tmp_path / "cut").write_bytes(whole[:size])
        found = catalogue.gather([tmp_path / "cut"])
        assert found.probes == {} and len(found.problems) == 1
    with pytest.raises(Unusable):
        catalogue.section(tmp_path / "cut")
    with pytest.raises(Unusable):
        catalogue.built(tmp_path)


def test_the_build_of_this_machine_comes_first(tmp_path: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine="here"))
    for age, name in enumerate(("older", "newer", "here")):
        folder = tmp_path / "build" / name / "probes"
        folder.mkdir(parents=True)
        os.utime(folder, (1000 - 100 * (name == "here") + age,) * 2)
    assert catalogue.built(tmp_path) == tmp_path / "build" / "here" / "probes"
    (tmp_path / "build" / "here" / "probes").rmdir()
    assert catalogue.built(tmp_path) == tmp_path / "build" / "newer" / "probes"


def test_counts_points_and_those_that_need_no_pmu() -> None:
    house = "\nid=meta.pass\ntitle=t\nsince=4.7\npoint=p x\n\nid=a.b\n"
    assert catalogue.counts(catalogue.parse(CATALOGUE)) == {
        "probes": 2, "points": 3, "points without a PMU": 2, "facts": 1,
        "undocumented or ill-formed": 0}
    more = catalogue.counts(catalogue.parse(CATALOGUE + house))
    assert more["points"] == 3 and more["undocumented or ill-formed"] == 3


def test_json_follows_its_schema_and_markdown_escapes() -> None:
    found = catalogue.parse(WHOLE.replace("first meaning", "a|b <script> `x` *y*"))
    assert schema.problems("catalogue", catalogue.as_json(found)) == []
    shown = page.catalogue(found)
    assert "a\\|b \\<script\\> \\`x\\` \\*y\\*" in shown
    assert "Runs alone: counts all." in shown
    assert "hazard" in shown.lower() and "v4.7" in shown


def test_mistakes_without_end_are_named_up_to_a_bound() -> None:
    found = catalogue.parse("id=a.b\n" + "x\n" * 200_000)
    assert len(found.problems) == declaration.PROBLEM_LIMIT and "unknown line 'x'" in found.problems[0]
