# SPDX-License-Identifier: MIT
"""Each way a probe can end, from the probe through launcher and run.sh to the verdict."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import needs_root, processes_of, refusal_of_events, result_of, run, run_suite, verdicts

# Written down from what each file in probes/meta says it does.
pytestmark = pytest.mark.xdist_group("meta")  # one run serves them all
EXPECTED = {
    "meta.pass.counts": "yes",
    "meta.no.refused": "no",
    "meta.blocked.blocked": "blocked",
    "meta.absent.absent": "absent",
    "meta.broken.evidence": "broken",
    "meta.broken.assertion": "unknown",
    "meta.crash.dies": "unknown",
    "meta.crash.survives": "yes",
    "meta.crash_all.first": "yes",
    "meta.crash_all.second": "unknown",
    "meta.hang.hangs": "unknown",
    "meta.hang.after": "yes",
    "meta.stubborn.spins": "yes",
    "meta.daemon.leaves": "yes",
    "meta.garbage.writes": "unknown",
    "meta.lie.lies": "unknown",
    "meta.two_plans.plans": "unknown",
    "meta.flood.floods": "unknown",
    "meta.exit_one.says_ok": "unknown",
    "meta.hazard.dangerous": "hazard",
    "meta.disturb.disturbs": "blocked",
    "meta.panic.panics": "hazard",
    "meta.panic.never_reached": "hazard",
    "meta.freeze.freezes": "hazard",
    "meta.stray_verdict.thread": "unknown",
    "meta.stray_verdict.child": "yes",
}


@pytest.fixture(scope="module")
def outcome(build: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, object]:
    out = tmp_path_factory.mktemp("meta") / "run"
    return out, run_suite(out, "--suite", "meta", "--persona", "user,seccomp")


def test_every_meta_probe_is_expected_here(build: Path) -> None:
    there = {f"meta.{path.name}" for path in (build / "probes/meta").iterdir()}
    assert there == {key.rpartition(".")[0] for key in EXPECTED}


def test_each_way_to_end_has_its_verdict(outcome) -> None:
    """Where there are no events, the two probes that open one are blocked."""
    found = verdicts(result_of(outcome[0]), "user")
    asked = ("meta.no.refused", "meta.pass.counts") if refusal_of_events() else ()
    assert {key: found.get(key) for key in EXPECTED} == EXPECTED | dict.fromkeys(asked, "blocked")


def test_the_run_ends_and_leaves_no_process(outcome, build: Path) -> None:
    assert not list(processes_of(build / "probes/meta"))


def test_broken_and_unexpected_verdicts_exit_1(outcome) -> None:
    assert outcome[1].returncode == 1
    assert "Traceback" not in outcome[1].stderr + outcome[1].stdout


def test_the_same_probe_is_blocked_under_a_filter(outcome) -> None:
    found = verdicts(result_of(outcome[0]), "seccomp")
    assert found["meta.pass.counts"] == found["meta.no.refused"] == "blocked"
    assert "no" not in {found["meta.pass.counts"], found["meta.no.refused"]}


@pytest.mark.perf
def test_evidence_and_reasons_reach_the_result(outcome) -> None:
    probes = result_of(outcome[0])["personas"]["user"]["probes"]
    assert probes["meta.broken"]["points"]["evidence"]["evidence"] == ["counted=3 want=9"]
    assert "perf_event_paranoid=9" in probes["meta.blocked"]["points"]["blocked"]["reason"]
    assert probes["meta.pass"]["facts"]["faults"] == 64


def test_garbage_reaches_no_terminal(outcome) -> None:
    shown = outcome[1].stdout + outcome[1].stderr
    assert "\x1b" not in shown and "\x07" not in shown
    assert (outcome[0] / "user/meta.garbage.ktap").read_bytes().count(b"\x1b") == 2


@needs_root
def test_hazards_and_disturbances_need_leave(build: Path, tmp_path: Path) -> None:
    done = run_suite(tmp_path / "run", "--suite", "meta", "--persona", "root", "--probe", "meta.[hd][ai][zs]*",
                     "--hazards", "--may-disturb")
    assert done.returncode == 0, done.stderr
    assert verdicts(result_of(tmp_path / "run"), "root") == {
        "meta.hazard.dangerous": "yes", "meta.disturb.disturbs": "yes"}


def test_what_ends_a_guest_wants_more_than_leave(build: Path, tmp_path: Path) -> None:
    """The user persona could do no harm: the reason is the one that root gets second."""
    run_suite(tmp_path / "run", "--suite", "meta", "--persona", "user", "--probe", "meta.[pf]*[ce]",
              "--hazards")
    found = verdicts(result_of(tmp_path / "run"), "user")
    assert set(found.values()) == {"blocked"} and len(found) == 3
    assert "perfmodes.guest" not in Path("/proc/cmdline").read_text(encoding="ascii")


def test_result_and_profile_are_valid(outcome) -> None:
    out = outcome[0]
    assert run("/usr/bin/python3", "-m", "reports", "validate",
               out / "result.json", out / "profile.json").returncode == 0
