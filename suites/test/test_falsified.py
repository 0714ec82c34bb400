# SPDX-License-Identifier: MIT
"""The list of how each point was seen to fail: complete, true of a sample, and able to be wrong itself."""

from __future__ import annotations

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


Entry = tuple[str, falsify.Seen]


def sample() -> dict[str, list[Entry]]:
    """Of each fault the first points in the list that it convicts as a persona there is here."""
    allowed = ("root", "user") if os.geteuid() == 0 else ("user",)
    first: dict[str, list[Entry]] = {}
    for point, how in sorted(falsify.read_list().items()):
        if how.weight == 3 and how.kernel == falsify.KERNEL and how.fault != falsify.NATURE and how.persona in allowed:
            first.setdefault(how.fault, []).append((point, how))
    return {fault: entries[:4] for fault, entries in first.items()}


@pytest.mark.parametrize("fault, entries", sample().items(), ids=str)
def test_the_list_is_true(fault: str, entries: list[Entry], probes: dict[str, falsify.catalogue.Probe],
                          tmp_path: Path) -> None:
    """Shown with the first that says yes as things are: a container may hide what another needs."""
    for point, how in entries:
        probe = probes[next(id for id in probes if point.startswith(f"{id}."))]
        if falsify.run(probe, how.persona, falsify.NATURE, tmp_path).get(point) == "yes":
            assert falsify.run(probe, how.persona, fault, tmp_path)[point] == how.verdict
            return
    pytest.skip(f"says yes nowhere here: {[point for point, _ in entries]}")
