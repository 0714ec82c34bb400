# SPDX-License-Identifier: MIT
"""How the benchmarks' numbers are reported; no test depends on how long anything takes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[1] / "bench" / "bench.py"


def run(tmp_path: Path, body: str, *options: str) -> subprocess.CompletedProcess[str]:
    """bench.py over a program of ours."""
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    program.chmod(0o755)
    return subprocess.run([sys.executable, str(BENCH), *options, str(program)], text=True,
                          capture_output=True, timeout=60, check=False)


def lines(*rounds: tuple[str, float]) -> str:
    return "\n".join(f"printf 'case\\t{subject}\\tns\\t{value}\\n'" for subject, value in rounds)


def test_ratios_are_of_rounds(tmp_path: Path) -> None:
    """The machine got ten times slower half way; each round still says one half."""
    out = tmp_path / "out.json"
    done = run(tmp_path, lines(("perfmodes", 10), ("other", 20), ("perfmodes", 100),
                               ("other", 200), ("perfmodes", 12), ("other", 24)),
               "--json", str(out))
    assert done.returncode == 0, done.stderr
    rows = {row["subject"]: row for row in json.loads(out.read_text())["rows"]}
    assert rows["perfmodes"]["median"] == 12 and rows["perfmodes"]["least"] == 10
    assert rows["other"]["ratio"] == 0.5 and rows["other"]["ratio_quartiles"] == [0.5, 0.5]
    assert "ratio" not in rows["perfmodes"]
    assert "| case | other | 24 | 22-112 | ns | **0.5** (0.5-0.5) |" in done.stdout


def test_the_machine_is_told(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    assert run(tmp_path, lines(("perfmodes", 1)), "--json", str(out)).returncode == 0
    machine = json.loads(out.read_text())["machine"]
    assert {"kernel", "cpu", "cpus", "load", "perf_event_paranoid"} <= set(machine)


@pytest.mark.parametrize("body", ["exit 3", "echo oops >&2; exit 1"])
def test_a_program_that_cannot_run(tmp_path: Path, body: str) -> None:
    done = run(tmp_path, body)
    assert done.returncode == 2 and "exit" in done.stderr


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(BENCH), str(tmp_path / "nothing")], text=True,
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 2 and "nothing: " in done.stderr and not done.stdout


def test_rounds_are_handed_on(tmp_path: Path) -> None:
    done = run(tmp_path, 'printf "case\\tperfmodes\\tns\\t$1\\n"', "--rounds", "7")
    assert "| case | perfmodes | 7 |" in done.stdout
