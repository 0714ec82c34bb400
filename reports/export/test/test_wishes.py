# SPDX-License-Identifier: MIT
"""The doctor's wishes as requirements: the same ones, of points that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reports import catalogue, requirements, verbs
from reports.test.conftest import TREE
from reports.text import Unusable

WISHES = TREE / "lib/doctor/wishes.toml"


def test_they_are_the_doctors() -> None:
    """Names, titles, and what is used instead, in the same order."""
    source = (TREE / "lib/doctor/wishes.c").read_text(encoding="utf-8")
    table = re.split(r'\{ ("[a-z-]+", "[^"]+"), \{', source[source.index("doctor_wishes[]"):])[1:]
    theirs = [(*re.findall(r'"([^"]+)"', names), *re.findall(r'\.what = "([^"]+)"', attempts)[1:])
              for names, attempts in zip(table[::2], table[1::2])]
    assert theirs == [(need.name, need.what, *(each.what for each in need.instead))
                      for need in requirements.read(WISHES).needs]


def test_each_key_is_a_point() -> None:
    try:
        found = catalogue.gather([catalogue.built(TREE)])
    except Unusable:
        pytest.skip("no probe is built")
    known = {f"{probe.id}.{item.name}" for probe in found.probes.values() for item in probe.points()}
    keys = {*requirements.keys(requirements.read(WISHES))}
    assert keys <= known


def test_without_the_persona_a_wish_is_never_yes(capsys: pytest.CaptureFixture[str]) -> None:
    """A profile cut down for the library says nothing of what a user may."""
    assert verbs.main(["check", str(WISHES), str(TREE / "lib/profiles/amd64-5.10.json")]) == 0
    said = capsys.readouterr().out
    assert "\nnot known " in said and "\nyes  " not in said and "\nno  " not in said
    assert verbs.main(["check", str(WISHES), str(Path("no/such"))]) == 3
