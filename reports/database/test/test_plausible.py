# SPDX-License-Identifier: MIT
"""Each rule has a result that it alone rejects, and the same result mended, which it lets through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reports import catalogue
from reports.database import pack, plausible, valid
from reports.database.test.conftest import CATALOGUE, make, sealed

Result = dict[str, Any]
TRAPS = "\nid=trap.one\ntitle=traps\nsince=2.6.33\nneeds=breakpoint\npoint=reads it traps\npoint=writes it traps\n"
NEWER = CATALOGUE + TRAPS + "\nid=new.many\ntitle=many\nsince=6.0\n" + "".join(
    f"point=p{number} it works\n" for number in range(plausible.NEWER_ASKED))


def declared(said: str = NEWER) -> plausible.Declared:
    return plausible.Declared(catalogue.parse(said))


def taken(result: Result) -> pack.Taken:
    return valid.Checker().require(result, "a result")


def altered() -> Result:
    result = make()
    result["suite"] = "other"
    return result


def empty() -> Result:
    result = make()
    result["personas"] = {"root": {"environment": {}, "probes": {}}}
    return sealed(result)


def miscounted() -> Result:
    from reports import result as results
    result = make()
    result["summary"]["root"]["yes"] += 1
    result["id"] = results.content_id(result)
    return result


def on_no_day() -> Result:
    return make(started="2026-02-30T10:00:00Z")


def from_the_future() -> Result:
    return make(started="2999-01-01T00:00:00Z")


def never_ran() -> Result:
    result = make()
    result["personas"]["root"]["probes"]["hw.count"]["status"] = "not_run"
    return sealed(result)


def without_its_need() -> Result:
    return make(environment={"cpus_possible": "1"})


def counts_without_events() -> Result:
    return make(personas={"root": {"hw.count.instructions": "absent"}},
                reason="no hardware PMU of the CPU here")


def lacks_and_has(verdict: str = "yes") -> Result:
    result = make()
    points = {"reads": {"verdict": "absent", "reason": "no breakpoint PMU on this machine"},
              "writes": {"verdict": verdict} | ({} if verdict == "yes" else {"reason": "no breakpoint PMU"})}
    result["personas"]["root"]["probes"]["trap.one"] = {"status": "done", "facts": {}, "points": points}
    return sealed(result)


def without_perf() -> Result:
    return make(personas={"user": {"hw.count.instructions": "absent"}},
                reason="this kernel has no perf_event_open")


def refused_to_the_mighty() -> Result:
    return make(personas={"root": {"ring.write_backward.newest": "no"}, "user": {}})


def newer_than_its_kernel(works: int = plausible.NEWER_ASKED, release: str = "5.4") -> Result:
    result = make(release=release)
    points: dict[str, Any] = {f"p{number}": {"verdict": "yes"} for number in range(works)}
    for number in range(works, plausible.NEWER_ASKED):
        points[f"p{number}"] = {"verdict": "no", "reason": "EINVAL"}
    result["personas"]["root"]["probes"]["new.many"] = {"status": "done", "facts": {}, "points": points}
    return sealed(result)


BAD: dict[plausible.Rule, Callable[[], Result]] = {
    getattr(plausible, made.__name__): made for made in (
        altered, empty, miscounted, on_no_day, from_the_future, never_ran, without_its_need,
        counts_without_events, lacks_and_has, without_perf, refused_to_the_mighty, newer_than_its_kernel)}
GOOD = [make(), lacks_and_has("absent"), make(arch="aarch64"), newer_than_its_kernel(works=plausible.NEWER_ASKED - 1),
        newer_than_its_kernel(release="6.1"),
        make(personas={"root": {}, "user": {"hw.count.cycles": "blocked"}}),
        make(personas={"root": {"hw.count.cycles": "absent", "hw.count.instructions": "absent"}},
             reason="no hardware PMU of the CPU here"),
        make(personas={"root": {"task.two.moves": "absent"}}, environment={"cpus_possible": "1"})]


@pytest.mark.parametrize("rule", plausible.RULES, ids=lambda rule: rule.__name__)
def test_every_rule_rejects_its_case_and_says_why(rule: plausible.Rule) -> None:
    result = BAD[rule]()
    case = plausible.Case(taken(result), declared())
    assert [each.__name__ for each in plausible.RULES if each(case)] == [rule.__name__]
    assert plausible.problem(taken(result), declared()).startswith(f"{rule.__name__}: ")


def test_what_a_probe_needs_may_not_be_needed_by_each_point() -> None:
    """Seen on a machine with one CPU: the order of switch records needs no second one."""
    found = declared(CATALOGUE.replace("point=moves it moves\nneeds=cpu2", "needs=cpu2\npoint=moves it moves"))
    assert plausible.problem(taken(without_its_need()), found) == ""


@pytest.mark.parametrize("result", GOOD)
def test_what_can_be_is_let_through(result: Result) -> None:
    assert plausible.problem(taken(result), declared()) == ""
