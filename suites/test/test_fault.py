# SPDX-License-Identifier: MIT
"""Kernels that lie: each fault has its effect, and a probe that believes it would be noticed."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import TREE, result_of, run, run_suite, verdicts


def judged(out: Path, probe: str, fault: str) -> dict[str, str]:
    run_suite(out, "--suite", "meta" if probe.startswith("meta.") else "default", "--probe", probe,
              "--persona", "user", "--fault", fault)
    assert f"launch_flags=--fault {fault}\n" in (out / "env").read_text(), "a lie is marked as one"
    return verdicts(result_of(out), "user")


@pytest.mark.perf
@pytest.mark.parametrize("fault, verdict", [
    ("open-einval", "blocked"),		# perf would have said EFAULT to the gate's second question
    ("enable-nothing", "broken"),	# accepted, and not one page fault is counted
    ("ioctl-einval", "unknown"),	# a failed set-up is nobody's fault
    ("disable-nothing", "yes"),		# a lie that this probe never hears
])
def test_lies_of_calls(fault: str, verdict: str, build: Path, tmp_path: Path) -> None:
    assert judged(tmp_path / "run", "meta.pass", fault) == {"meta.pass.counts": verdict}


@pytest.mark.perf
def test_lies_of_the_attr(build: Path, tmp_path: Path) -> None:
    """inherit is accepted and ignored: the points that need a child's counts notice."""
    found = judged(tmp_path / "run", "inherit.follow", "attr-inherit")
    assert "broken" in found.values() and "no" not in found.values()


@pytest.mark.perf
def test_lies_of_a_flag_that_is_always_on(build: Path, tmp_path: Path) -> None:
    """Every event has enable_on_exec: only the point about events without it notices."""
    found = judged(tmp_path / "run", "exec.enable_on_exec", "set-enable_on_exec")
    assert {point for point, said in found.items() if said != "yes"} == {"exec.enable_on_exec.not_without"}
    assert found["exec.enable_on_exec.not_without"] == "broken"


def test_unknown_faults_are_refused(build: Path, tmp_path: Path) -> None:
    done = run(build / "falsify/launch", "--fault", "nonsense", "--out", tmp_path / "x", "--", "true")
    assert done.returncode == 2 and "--fault list" in done.stderr


@pytest.mark.parametrize("lie", [["--fault", "open-einval"], ["--old-kernel"]])
def test_a_bundle_has_no_fake_kernels_and_says_so(lie: list[str], tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_bytes((TREE / "run.sh").read_bytes())
    done = run("sh", tmp_path / "run.sh", *lie)
    assert done.returncode == 2 and "for the tests of a source tree" in done.stderr


def test_what_ships_cannot_lie(build: Path, tmp_path: Path) -> None:
    done = run(build / "launch", "--fault", "open-einval", "--out", tmp_path / "x", "--", "true")
    assert done.returncode == 2 and "fault" not in done.stdout
    for program in (build / "launch", build / "identify"):
        assert b"open-einval" not in program.read_bytes()
    assert b"open-einval" in (build / "falsify/launch").read_bytes()
