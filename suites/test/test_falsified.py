# SPDX-License-Identifier: MIT
"""The list of how each point was seen to fail: complete, true of a sample, and able to be wrong itself."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path

import pytest
from conftest import TREE

sys.path.insert(0, str(TREE / "suites"))

import falsify  # noqa: E402


@pytest.fixture(scope="module")
def probes(build: Path) -> dict[str, falsify.catalogue.Probe]:
    return {id: probe for id, probe in falsify.declared().probes.items() if not id.startswith("meta.")}


@pytest.fixture(scope="module")
def points(probes: dict[str, falsify.catalogue.Probe]) -> list[str]:
    return [f"{id}.{item.name}" for id, probe in probes.items() for item in probe.points()]


def test_every_point_is_on_the_list_or_excused(points: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    wrong = falsify.judge(points, "*")
    assert not wrong, capsys.readouterr().out + "run make falsify and commit suites/falsified.list"


def test_a_point_that_is_missing_is_noticed(points: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert falsify.judge([*points, "ring.new_probe.new_point"], "ring.*") == 1
    assert "never  ring.new_probe.new_point" in capsys.readouterr().out


def test_every_lie_of_the_list_is_known(build: Path) -> None:
    told = {how.fault for how in falsify.read_list().values()}
    assert told <= {*falsify.faults(), falsify.NATURE, falsify.NOT_HERE}


def test_excuses_excuse_something(points: list[str]) -> None:
    seen = falsify.read_list()
    for glob, why in falsify.read_excuses().items():
        about = [point for point in points if falsify.excuse(point, {glob: why})]
        assert about and len(why) > 20, glob
        assert not [p for p in about if p in seen and seen[p].weight > 1], f"{glob}: no excuse is needed"


def sample() -> list[tuple[str, falsify.Seen]]:
    """Of each fault the first point in the list that it convicts as a persona there is here."""
    allowed = ("root", "user") if os.geteuid() == 0 else ("user",)
    first: dict[str, tuple[str, falsify.Seen]] = {}
    for point, how in sorted(falsify.read_list().items()):
        if how.weight == 3 and how.kernel == falsify.KERNEL and how.fault != falsify.NATURE and how.persona in allowed:
            first.setdefault(how.fault, (point, how))
    return list(first.values())


@pytest.mark.parametrize("point, how", sample(), ids=lambda value: value.fault if dataclasses.is_dataclass(value) else "")
def test_the_list_is_true(point: str, how: falsify.Seen, probes: dict[str, falsify.catalogue.Probe],
                          tmp_path: Path) -> None:
    probe = probes[next(id for id in probes if point.startswith(f"{id}."))]
    assert falsify.run(probe, how.persona, how.fault, tmp_path)[point] == how.verdict
