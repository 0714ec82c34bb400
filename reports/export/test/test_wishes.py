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
    source = (TREE / "lib/doctor/wishes.c").read_text(encoding="utf-8")
    table = source[source.index("doctor_wishes[]"):]
    assert [need.what for need in requirements.read(WISHES).needs] == re.findall(
        r'\{ "[a-z-]+", "([^"]+)", \{', table)


def test_each_key_is_a_point() -> None:
    try:
        found = catalogue.gather([catalogue.built(TREE)])
    except Unusable:
        pytest.skip("no probe is built")
    known = {f"{probe.id}.{item.name}" for probe in found.probes.values() for item in probe.points()}
    keys = {key for need in requirements.read(WISHES).needs for way in need.ways for key in way}
    assert keys - known == set()


def test_a_profile_that_ships_is_found_by_its_name(capsys: pytest.CaptureFixture[str],
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TREE)
    assert verbs.main(["check", str(WISHES), "amd64-5.10"]) == 0
    assert capsys.readouterr().out.startswith("the doctor's wishes, as user, on amd64-5.10:")
    assert verbs.main(["check", str(WISHES), str(Path("no/such"))]) == 3
