# SPDX-License-Identifier: MIT
"""Odd machines: btrfs, an overlay, one CPU, few descriptors, no /proc, containers, sandboxes: no answer becomes
false."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BUILD, TREE, needs_mounts, needs_root, run, run_suite

sys.path.insert(0, str(TREE / "suites"))

import odd_machines  # noqa: E402

PLAIN = {"root a.b.c": ("yes", ""), "root a.b.d": ("no", "EINVAL"), "root a.b.e": ("broken", "x")}


@pytest.mark.parametrize("said, wrong", [
    ({}, 0),
    ({"root a.b.c": ("blocked", "why")}, 0),
    ({"root a.b.c": ("unknown", "why")}, 0),
    ({"root a.b.c": ("no", "why")}, 1),
    ({"root a.b.c": ("broken", "why")}, 1),
    ({"root a.b.c": ("absent", "no PMU here")}, 0),
    ({"root a.b.c": ("absent", "this kernel has no bpf (ENOSYS)")}, 1),
    ({"root a.b.d": ("absent", "this kernel has no bpf (ENOSYS)")}, 0),
    ({"root a.b.d": ("broken", "why")}, 1),
    ({"root a.b.e": ("yes", "")}, 0),
    ({"root x.y.z": ("no", "a point that only this machine was asked")}, 1),
])
def test_what_is_false(said: odd_machines.Answers, wrong: int, capsys: pytest.CaptureFixture[str]) -> None:
    found = {"plain": PLAIN, "odd": {**PLAIN, **said}}
    assert odd_machines.report(found, {"btrfs": "no mkfs.btrfs"}) == wrong
    printed = capsys.readouterr().out
    assert ("FALSE odd" in printed) == bool(wrong) and "btrfs        left out: no mkfs.btrfs" in printed


def test_nothing_runs_without_a_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(odd_machines, "BUNDLE", tmp_path / "nothing")
    monkeypatch.setattr(sys, "argv", ["odd_machines.py"])
    with pytest.raises(SystemExit) as ended:
        odd_machines.main()
    assert ended.value.code == 3


@needs_root
@needs_mounts
@pytest.mark.slow
def test_no_answer_is_false_on_an_odd_machine(build: Path) -> None:
    """About a minute on two idle CPUs. What cannot be had here, such as btrfs, is told in the table."""
    made = subprocess.run(["make", "-s", "bundle", (BUILD / "deny_calls").relative_to(TREE)], cwd=TREE, check=False,
                          capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    done = subprocess.run([TREE / "suites/odd_machines.py"], cwd=TREE, capture_output=True, text=True, timeout=1200,
                          check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "plain " in done.stdout and "no-proc " in done.stdout


@pytest.mark.perf
def test_what_a_filter_hides_is_not_missing_in_the_kernel(build: Path, tmp_path: Path) -> None:
    """All probes with calls of their own, behind a filter that answers ENOSYS to newer ones and to bpf(2)."""
    made = run("make", "-s", (BUILD / "deny_calls").relative_to(TREE))
    assert made.returncode == 0, made.stderr
    persona = "root" if os.geteuid() == 0 else "user"
    calling = re.compile(r"\bSYS_|CLONE3|bpf\.h|tiny_elf\.h")
    every = [line.split()[0] for line in run_suite(tmp_path / "list", "--list").stdout.splitlines()]
    chosen = [word for id in every if calling.search((TREE / "probes" / f"{id.replace('.', '/', 1)}.c").read_text())
              for word in ("--probe", id)]
    found: dict[str, odd_machines.Answers] = {}
    for name, before in (("plain", []), ("sandbox", [BUILD / "deny_calls", "--enosys"])):
        done = run(*before, TREE / "run.sh", "--no-install", "--no-build", "--quiet", "--persona", persona,
                   "--out", tmp_path / name, *chosen)
        assert done.returncode in (0, 1), done.stderr
        found[name] = odd_machines.answers(tmp_path / name)
    assert not [f"{key}: {verdict}: {reason}" for key, (verdict, reason) in found["sandbox"].items()
                if verdict in (*odd_machines.FALSE, "absent") and found["plain"][key][0] == "yes"]
    taken = f"{persona} attach.descriptor_taken.counts"
    if found["plain"][taken][0] == "yes":
        assert found["sandbox"][taken][0] in ("blocked", "unknown")
        assert "pidfd_open" in found["sandbox"][taken][1]
