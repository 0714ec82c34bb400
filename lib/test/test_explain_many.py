# SPDX-License-Identifier: MIT
"""Programs that open events by the thousand: what they got is known without a stop behind each call."""

from __future__ import annotations

import errno
import resource
from pathlib import Path

import pytest
from explaining import CLOCK, Explained, FAULTS, place_
from surroundings import lower

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree
place = place_
limit = lower(resource.RLIMIT_NOFILE, 3000)


def test_all_are_counted_and_looked_at(place: Path) -> None:
    """64 pages are touched while 1000 events watch, each of which is found again when it is closed."""
    run = Explained(place, "times=1000", "keep", FAULTS + ":u", "times=1", "work", limit=limit)
    assert run.errors == [0] * 1000
    assert run.one()["calls"] == run.one()["opened"] == 1000 and run.told["remarks"]["unseen"] == 0
    assert run.one()["looked"] == 1000 and run.one()["sum"] >= 64 * 1000


def test_what_is_done_with_each_belongs_to_it(place: Path) -> None:
    """A request comes right behind each open, and fails or not as the program says."""
    run = Explained(place, "times=600", "keep", FAULTS + ":u:ask", limit=limit)
    said = [run.errors[at:at + 6] for at in range(0, 3600, 6)]
    assert len(said) == 600 and run.one()["opened"] == len([1 for one in said if one[0] == 0]) == 600
    mapped = len([1 for one in said if one[5] == 0])
    assert mapped > 0 and run.one()["rings"] == mapped


def test_other_kinds_between_them(place: Path) -> None:
    run = Explained(place, "times=400", "keep", FAULTS + ":u", "times=1", "9999:1", "times=400", CLOCK + ":u", "times=2",
                    FAULTS + ":u", limit=limit)
    faults, wrong, clock = run.told["asked"]
    assert faults["opened"] == 402 and clock["opened"] == 400 and list(wrong["errors"].values()) == [1]


def test_the_first_beyond_the_limit_has_its_error(place: Path) -> None:
    run = Explained(place, "times=1000", "keep", FAULTS + ":u", limit=lower(resource.RLIMIT_NOFILE, 700))
    refused = run.errors.count(errno.EMFILE)
    assert refused > 290 and run.one()["errors"] == {"EMFILE": refused} and run.told["remarks"]["unseen"] == 0


def test_a_descriptor_that_is_not_found_is_told(place: Path) -> None:
    """Once; then each is looked at again, where it is seen."""
    run = Explained(place, "times=300", "keep", FAULTS + ":u", "times=200", FAULTS + ":u:over", limit=limit)
    assert run.errors == [0] * 500 and run.one()["calls"] == 500
    assert (run.one()["opened"], run.one()["unseen"]) == (499, 1) and "descriptor replaced at once" in run.text
    assert "another program traces" not in run.text


@pytest.mark.parametrize("threads", [2, 7])
def test_threads_that_open_beside_each_other(place: Path, threads: int) -> None:
    run = Explained(place, f"threads={threads}", "times=400", "keep", FAULTS + ":u", limit=limit)
    assert run.one()["calls"] == run.one()["opened"] == threads * 400 and run.told["remarks"]["unseen"] == 0


def test_who_is_killed_among_them(place: Path) -> None:
    run = Explained(place, "times=500", "keep", FAULTS + ":u", "die", limit=limit)
    assert run.one()["calls"] == 500 and run.one()["opened"] >= 499
