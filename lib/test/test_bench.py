# SPDX-License-Identifier: MIT
"""How the benchmarks' numbers are reported; no test depends on how long anything takes."""

from __future__ import annotations

import argparse
import importlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[1] / "bench" / "bench.py"
ROOT = BENCH.parents[2]


def run(tmp_path: Path, body: str, *options: str) -> subprocess.CompletedProcess[str]:
    """bench.py over a program of ours."""
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    program.chmod(0o755)
    return subprocess.run([sys.executable, str(BENCH), *options, str(program)], text=True,
                          capture_output=True, timeout=300, check=False)


def lines(*rounds: tuple[str, float]) -> str:
    return "\n".join(f"printf 'case\\t{subject}\\tns\\t{value}\\n'" for subject, value in rounds)


def test_ratios_are_of_rounds(tmp_path: Path) -> None:
    """The machine got ten times slower half way; each round still says one half."""
    out = tmp_path / "out"
    done = run(tmp_path, lines(("perfmodes", 10), ("other", 20), ("perfmodes", 100),
                               ("other", 200), ("perfmodes", 12), ("other", 24)),
               "--json", str(out))
    assert done.returncode == 0, done.stderr
    rows = {row["subject"]: row for row in json.loads((out / "run.json").read_text())["rows"]}
    assert rows["perfmodes"]["median"] == 12 and rows["perfmodes"]["least"] == 10
    assert rows["other"]["ratio"] == 0.5 and rows["other"]["ratio_quartiles"] == [0.5, 0.5]
    assert "ratio" not in rows["perfmodes"]
    assert rows["other"]["ratio_least"] == rows["other"]["ratio_most"] == 0.5
    assert "| case | other | 24 | 22-112 | ns | **0.5** (0.5-0.5) |" in done.stdout
    assert json.loads((out / "program.json").read_text())["rows"] == list(rows.values())


def test_the_machine_is_told(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(tmp_path, lines(("perfmodes", 1)), "--json", str(out)).returncode == 0
    result = json.loads((out / "run.json").read_text())
    assert {"kernel", "cpu", "cpus", "load", "perf_event_paranoid"} <= set(result["machine"])
    assert len(result["load"]["program"]) == 2


@pytest.mark.parametrize("body", ["exit 3", "echo oops >&2; exit 1"])
def test_a_program_that_cannot_run(tmp_path: Path, body: str) -> None:
    done = run(tmp_path, body)
    assert done.returncode == 2 and "exit" in done.stderr


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(BENCH), str(tmp_path / "nothing")], text=True,
                          capture_output=True, timeout=300, check=False)
    assert done.returncode == 2 and "nothing: " in done.stderr and not done.stdout


def test_rounds_are_handed_on(tmp_path: Path) -> None:
    done = run(tmp_path, 'printf "case\\tperfmodes\\tns\\t$1\\n"', "--rounds", "7")
    assert "| case | perfmodes | 7 |" in done.stdout


# ------------------------------------------------------------------------------- numbers in READMEs

def table(tree: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(tree / "lib/bench/table.py"), *options], text=True,
                          capture_output=True, timeout=300, check=False)


def tree_with(tmp_path: Path) -> Path:
    """What table.py reads, with a README of our own."""
    for name in ("lib/bench/table.py", "lib/bench/bench.py", "lib/bench/README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "README.md").write_text("before\n<!-- bench suite -->\n<!-- /bench -->\nafter\n",
                                        encoding="utf-8")
    return tmp_path


def a_run(tmp_path: Path, seconds: float) -> str:
    path = tmp_path / "run.json"
    rows = [{"program": "suite", "case": case, "subject": "perfmodes", "unit": "s", "rounds": 3,
             "median": value, "least": value, "most": value}
            for case, value in (("default suite, wall time", seconds),
                                ("default suite, personas", 3.0), ("doctor, wall time", 1.25))]
    path.write_text(json.dumps({"machine": {"kernel": "6.1", "cpu": "a CPU", "cpus": 2},
                                "load": {"suite": [0.1, 0.5]}, "rows": rows}), encoding="utf-8")
    return str(path)


def test_the_numbers_of_this_tree_are_of_its_run() -> None:
    done = table(ROOT)
    assert done.returncode == 0, done.stderr


def test_no_measured_number_stands_by_itself() -> None:
    """Outside the generated blocks lib/bench/README.md tells how, and no number with a unit."""
    text = (ROOT / "lib/bench/README.md").read_text(encoding="utf-8")
    rest = re.sub(r"(?s)<!-- bench \w+ -->.*?<!-- /bench -->", "", text)
    assert re.findall(r"\d[\d.,]*\s*(?:ns|us|ms|s|%|times|seconds)\b", rest) == []


def test_a_readme_that_says_another_number(tmp_path: Path) -> None:
    tree = tree_with(tmp_path)
    assert table(tree).returncode == 2
    assert table(tree, "--take", a_run(tmp_path, 4.0), "--write").returncode == 0
    said = (tree / "README.md").read_text(encoding="utf-8")
    assert said.startswith("before\n") and said.endswith("after\n")
    assert "3 personas takes 4 seconds" in said and "the doctor 1.2." in said
    assert table(tree).returncode == 0
    (tree / "README.md").write_text(said.replace("4 seconds", "3 seconds"), encoding="utf-8")
    done = table(tree)
    assert done.returncode == 1 and "README.md: other numbers" in done.stderr
    assert table(tree, "--take", a_run(tmp_path, 5.0)).returncode == 1


def test_a_ratio_too_small_for_two_digits_is_not_zero(tmp_path: Path) -> None:
    tree = tree_with(tmp_path)
    path = Path(a_run(tmp_path, 4.0))
    run_of_two = json.loads(path.read_text(encoding="utf-8"))
    ours = {"program": "stop", "case": "stop, idle", "subject": "perfmodes", "unit": "us",
            "rounds": 3, "median": 50, "least": 40, "most": 60}
    run_of_two["rows"] += [ours, {**ours, "subject": "perf record, SIGINT to exit", "median": 1e6,
                                  "ratio": 5e-5, "ratio_least": 4e-5, "ratio_most": 0.5}]
    path.write_text(json.dumps(run_of_two), encoding="utf-8")
    assert table(tree, "--take", str(path), "--write").returncode == 0
    assert "**<0.01** (<0.01-0.50) |" in (tree / "lib/bench/README.md").read_text(encoding="utf-8")


# ------------------------------------------------------------------------- beside perf record -a

@pytest.fixture(name="sampler")
def bench_sampler(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCH.parent))
    return importlib.import_module("sampler")


@pytest.mark.parametrize(("rings", "events", "lost"), [
    ("", "", 0),
    ("7 PERF_RECORD_LOST lost 12\n7 PERF_RECORD_LOST lost 3", "", 15),
    ("7 PERF_RECORD_LOST lost 12", "LOST_SAMPLES events:  2  ( 0.0%)\n"
     "LOST_SAMPLES events:  14\nLOST_SAMPLES events:  6", 20),
])
def test_what_perf_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sampler: Any, rings: str,
                        events: str, lost: int) -> None:
    """Samples, and not the records that tell of them."""
    perf = tmp_path / "perf"
    perf.write_text(f"#!/bin/sh\ncase $1 in script) echo '{rings}' ;; *) echo '{events}' ;; esac\n",
                    encoding="utf-8")
    perf.chmod(0o755)
    monkeypatch.setattr(sampler, "PERF", str(perf))
    assert sampler.lost_of(tmp_path / "perf.data") == lost


def test_pairs_take_turns_and_readers_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                sampler: Any) -> None:
    turns: list[str] = []

    def program(name: str, cpu: float) -> Any:
        def run(*_: object) -> Any:
            turns.append(name)
            return sampler.Cost(cpu, 2048, 100, 100)
        return run
    monkeypatch.setattr(sampler, "service", program("service", 0.5))
    monkeypatch.setattr(sampler, "perf", program("perf", 1.0))
    monkeypatch.setattr(sampler, "READERS", {"reader": ["/bin/true"]})
    monkeypatch.setattr(sampler.tempfile, "tempdir", str(tmp_path))
    rows = sampler.measure(argparse.Namespace(rounds=2, period=1, seconds=1, no_readers=False))
    assert turns == ["service", "perf"] * 2 + ["perf", "service"] * 2
    told = {(row["case"], row["subject"]): row for row in rows}
    title = "whole system, stacks copied"
    beside = told[f"{title}, CPU time", "perf record -a"]
    assert beside["ratio"] == 0.5 and beside["median"] == 10_000
    assert told[f"{title}, CPU time", "perf record -a, reader"]["ratio"] <= 0.5
    assert told[f"{title}, samples lost", "perfmodes"]["median"] == 50
    assert told[f"{title}, peak memory", "perfmodes"]["median"] == 2
