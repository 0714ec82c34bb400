# SPDX-License-Identifier: MIT
"""Runs the unit tests of the policy floor from build/test/policy."""

from __future__ import annotations

import functools
import json
import re
import subprocess
from pathlib import Path

import pytest

from reports import facts

TREE = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
BUILT = TREE / "build" / "test" / "policy"


def names(pattern: str) -> list[str]:
    return sorted(path.stem for path in HERE.glob(pattern))


def run(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    program = BUILT / name
    if not program.exists():
        pytest.skip(f"not built: make {program.relative_to(TREE)}")
    return subprocess.run([str(program), *map(str, arguments)], cwd=BUILT, capture_output=True,
                          text=True, errors="backslashreplace", timeout=3600, check=False)


@functools.cache
def once(name: str) -> subprocess.CompletedProcess[str]:
    return run(name)


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in names("*_test.c")])
def test_unit(name: str) -> None:
    """Under ASan and UBSan; cmocka counts its failures in the exit status. What a test that failed said comes first."""
    done = once(name)
    said = done.stdout + done.stderr
    first = [line for line in said.splitlines() if re.search(r"^\[  (ERROR|FAILED)|: error: |runtime error:", line)]
    assert done.returncode == 0, "\n".join(first + [said])
    assert "[  PASSED  ]" in done.stderr + done.stdout


COLUMNS = ["exec", "own handler", "SIG_DFL"]


def fates() -> dict[str, dict[str, str]]:
    """The table in the header of sessions: what becomes of one, by strategy and by what happens."""
    text = (TREE / "lib/perfmodes_session.h").read_text(encoding="utf-8")
    body = text.partition("SIG_DFL\n")[2].partition(" *\n")[0]
    rows = [re.split(r"  +", line.removeprefix(" *   ")) for line in body.splitlines()]
    return {row[0]: dict(zip(COLUMNS, row[1:], strict=True)) for row in rows}


def seen(text: str) -> dict[str, dict[str, set[str]]]:
    """The same, as the programs have told that it came."""
    found: dict[str, dict[str, set[str]]] = {}
    for name, column, what in re.findall(r"^(\S+(?: ITIMER_PROF)?) +(exec|own handler|SIG_DFL): (.+)$", text, re.M):
        found.setdefault(name, {}).setdefault(column, set()).add(what)
    for name, well, tried in re.findall(r"^(\w+) +\w.* uid \d+ +(\d+) of (\d+)$", text, re.M):
        found.setdefault(name, {}).setdefault("exec", set()).add("all of it ends" if well == tried else "broken")
    return found


def test_the_table_of_fates_is_complete() -> None:
    header = (TREE / "lib/perfmodes.h").read_text(encoding="utf-8")
    wanted = {name.lower() for name in re.findall(r"^\tPM_STRATEGY_(\w+) = \d+", header, re.M)}
    assert set(fates()) == wanted | {"by ITIMER_PROF"}
    assert "ends by SIGSEGV" in (TREE / "lib/perfmodes_ebb.h").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in ("exec_test", "signals_test")])
def test_the_table_of_fates_is_true(name: str) -> None:
    """Each cell that is tried here; those of ebb are of Power (../ebb)."""
    done = once(name)
    found = seen(done.stdout + done.stderr)
    assert found or "SKIPPED" in done.stdout + done.stderr
    for strategy, columns in found.items():
        for column, what in columns.items():
            assert what == {fates()[strategy][column]}, f"{strategy}, {column}"


def test_calls_of_libc() -> None:
    """libc.def, each of which faults_test lets fail, has what the library really calls."""
    archive = TREE / "build" / "test" / "lib.a"
    if not archive.exists():
        pytest.skip("not built: make unit-tests")
    done = subprocess.run(["nm", "-u", str(archive)], capture_output=True, text=True, check=True,
                          timeout=300)
    compiler = r"(__asan|__ubsan|__popcount|_GLOBAL_|pm_|yajl_)"
    # From glibc 2.38 on, __isoc23_strtol is strtol to who asks for all of GNU.
    called = {re.sub("^__isoc23_|64$", "", name) for name in re.findall(r"^ +U (\w+)$", done.stdout, re.M)
              if not re.match(compiler, name)}
    listed = set(re.findall(r"^X\((\w+),", (HERE / "libc.def").read_text(), re.M))
    assert called == listed, f"not in libc.def: {called - listed}; only there: {listed - called}"


def catalogue() -> dict[str, set[str]]:
    """The facts and points of each probe that is built."""
    done = subprocess.run(["/usr/bin/python3", "-m", "reports", "catalogue", "--json"], cwd=TREE,
                          capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        pytest.skip("no probes are built")
    return {probe: {item["name"] for item in record["items"]}
            for probe, record in json.loads(done.stdout)["probes"].items()}


def unknown(keys: set[str], probes: dict[str, set[str]]) -> list[str]:
    """Keys of no probe in the tree, or that their probe, if it is built, does not declare."""
    missing = []
    for key in sorted(keys):
        area, name, item = key.split(".", 2)
        declared = probes.get(f"{area}.{name}")
        if not (TREE / "probes" / area / f"{name}.c").exists() or \
                declared is not None and item not in declared:
            missing.append(key)
    return missing


def test_keys_are_of_the_catalogue() -> None:
    """A need whose key nobody answers would never hold, or always."""
    keys = set(facts.keys(TREE / facts.LIBRARY))
    assert len(keys) > 15
    assert unknown(keys, catalogue()) == []


def test_keys_of_no_probe_are_found() -> None:
    assert unknown({"no.such.probe"}, {}) == ["no.such.probe"]
    assert unknown({"strategy.per_cpu.nonsense"}, {"strategy.per_cpu": {"identifiers"}})


def declared() -> set[str]:
    header = "\n".join((TREE / "lib" / name).read_text(encoding="utf-8")
                       for name in ("perfmodes.h", "perfmodes_event.h", "perfmodes_count.h",
                                    "perfmodes_trace.h", "perfmodes_stats.h",
                                    "perfmodes_sample.h", "perfmodes_session.h"))
    return set(re.findall(r"\b(pm_[a-z_]+)\(", re.sub(r"/\*.*?\*/", "", header, flags=re.S)))


def test_map_exports_what_is_declared() -> None:
    """A function missing in the map would be there in the static library only."""
    exported = re.findall(r"^\t(pm_[a-z_]+);$",
                          (TREE / "lib" / "perfmodes.map").read_text(encoding="utf-8"), re.M)
    assert set(exported) == declared() and exported == sorted(exported)
    assert len(exported) >= 30


def test_everything_declared_is_defined() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8")
                        for path in (TREE / "lib" / "policy").rglob("*.c"))
    for name in declared():
        assert re.search(rf"^(?!\t)[a-z].*\b{name}\(", sources, re.M), name
