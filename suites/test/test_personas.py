# SPDX-License-Identifier: MIT
"""The table of personas: what the launcher makes of a row, and which rows it refuses."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import pytest
from conftest import TREE, needs_root, run


def check(build: Path, table: Path, name: str):
    return run(build / "launch", "--check", name, "--personas", table)


@pytest.mark.parametrize("row,said", [
    ("king 0 kept", "2: too few columns"),
    ("king 0 kept none", "2: no meaning"),
    ("King 0 kept none x", "2: not a name"),
    ("k" * 16 + " 0 kept none x", "2: not a name"),
    ("../up 0 kept none x", "2: not a name"),
    ("root 0 kept none x", "2: a second persona of this name"),
    ("king -1 none none x", "2: not a uid"),
    ("king 4294967295 none none x", "2: not a uid"),
    ("king 99999999999999999999 none none x", "2: not a uid"),
    ("king 0x0 kept none x", "2: not a uid"),
    ("king 0 none none x", "2: capabilities are kept with uid 0 and same"),
    ("king same perfmon none x", "2: capabilities are kept with uid 0 and same"),
    ("king 65534 kept none x", "2: capabilities are kept with uid 0 and same"),
    ("king 65534 perfmon,crown none x", "2: no such capability"),
    ("king 65534 perfmon, none x", "2: no such capability"),
    ("king 65534 , none x", "2: no such capability"),
    ("king 65534 none open x", "2: no such filter"),
    ("king 65534 none none " + "x" * 256, "2: too long a line"),
    ("\n".join(f"p{number} same kept none x" for number in range(32)), "33: too many personas"),
])
def test_a_row_that_does_not_fit_is_refused(build: Path, tmp_path: Path, row: str, said: str) -> None:
    table = tmp_path / "personas.txt"
    table.write_text(f"root 0 kept none x\n{row}\n")
    done = check(build, table, "root")
    assert done.returncode == 3 and f"launch: {table}:{said}" in done.stderr, done.stderr


def test_what_is_no_table_is_refused(build: Path, tmp_path: Path) -> None:
    empty, fifo = tmp_path / "empty", tmp_path / "fifo"
    empty.write_text("# nothing\n\n")
    os.mkfifo(fifo)
    for path in (empty, fifo, tmp_path / "missing", tmp_path):
        done = check(build, path, "root")
        assert done.returncode == 3 and done.stderr.startswith(f"launch: {path}:"), done.stderr


def test_a_program_that_is_run_as_we_are_needs_no_table(build: Path, tmp_path: Path) -> None:
    moved = tmp_path / "launch"
    moved.write_bytes((build / "launch").read_bytes())
    moved.chmod(0o755)
    assert run(moved, "--out", tmp_path / "x", "--", build / "probes/meta/pass").returncode == 0
    done = run(moved, "--persona", "user", "--out", tmp_path / "x", "--", build / "probes/meta/pass")
    assert done.returncode == 3 and "no suites/personas.txt above" in done.stderr


def test_unknown_names_are_answered_with_those_that_there_are(build: Path, tmp_path: Path) -> None:
    table = tmp_path / "personas.txt"
    table.write_text("one same kept none x\ntwo same kept none x")
    done = check(build, table, "three")
    assert (done.returncode, done.stderr) == (
        2, "launch: no persona called 'three'; there are: one two\n")
    assert check(build, table, "two").returncode == 0


@needs_root
def test_any_combination_is_a_row(build: Path, tmp_path: Path) -> None:
    table, out = tmp_path / "personas.txt", tmp_path / "out"
    table.write_text("bpfmon 1234 perfmon,bpf perf_event_open x\n")
    assert run(build / "launch", "--personas", table, "--persona", "bpfmon", "--out", out, "--",
               build / "identify", "--persona").returncode == 0
    said = dict(line.split("=", 1) for line in out.read_text().splitlines() if "=" in line)
    assert (said["uid"], int(said["caps"], 16)) == ("1234", 1 << 38 | 1 << 39)
    assert (said["seccomp"], said["gate"]) == ("2", "filtered")


@needs_root
@pytest.mark.parametrize(("starter", "row", "said"), [
    ([], "0 kept", "NoNewPrivs:\t0\n"),
    (["setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=+perfmon", "--ambient-caps=+perfmon"], "65534 none",
     f"CapEff:\t{0:016x}\nNoNewPrivs:\t1\n")], ids=["root", "user"])
def test_root_filters_without_no_new_privs(build: Path, starter: list[str], row: str, said: str) -> None:
    """Which a probe of what exec(2) gives would see; others may not filter without. Then capabilities go."""
    with tempfile.TemporaryDirectory() as folder:
        table, out = Path(folder, "personas.txt"), Path(folder, "out")
        os.chmod(folder, 0o777)
        table.write_text(f"one {row} perf_event_open x\n")
        done = run(*starter, build / "launch", "--personas", table, "--persona", "one", "--out", out, "--",
                   "/bin/grep", "-E", "NoNewPrivs|CapEff", "/proc/self/status")
        assert done.returncode == 0, done.stderr
        assert said in out.read_text()


@needs_root
def test_capabilities_have_their_numbers(build: Path, tmp_path: Path) -> None:
    header = Path("/usr/include/linux/capability.h").read_text()
    numbers = re.findall(r"^#define CAP_([A-Z_]+)\s+(\d+)$", header, re.M)
    assert len(numbers) >= 38
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    held = int(re.search(r"^CapPrm:\s*(\w+)", Path("/proc/self/status").read_text(), re.M)[1], 16)
    table, out = tmp_path / "personas.txt", tmp_path / "out"
    for name, number in numbers:
        if int(number) > min(last, 40) or not held >> int(number) & 1:
            continue
        table.write_text(f"one 65534 {name.lower()} none x\n")
        assert run(build / "launch", "--personas", table, "--persona", "one", "--out", out, "--",
                   build / "identify", "--persona").returncode == 0, name
        assert f"caps={1 << int(number):016x}" in out.read_text(), name


def test_every_suite_asks_as_personas_of_the_table(build: Path) -> None:
    for suite in sorted((TREE / "suites").glob("*.txt")):
        for line in suite.read_text().splitlines():
            if line.startswith("personas "):
                for name in line.split()[1:]:
                    assert run(build / "launch", "--check", name).returncode != 2, f"{suite.name}: {name}"
    assert "\npersonas " in (TREE / "suites/default.txt").read_text()


def test_the_table_is_no_suite() -> None:
    done = run(TREE / "run.sh", "--no-install", "--no-build", "--suite", "personas")
    assert done.returncode == 2 and "no suite 'personas'; there are:" in done.stderr
    assert "personas" not in done.stderr.split("there are:")[1]
