# SPDX-License-Identifier: MIT
"""Runs the unit tests of the policy floor from build/test/policy."""

from __future__ import annotations

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
                          text=True, errors="backslashreplace", timeout=900, check=False)


@pytest.mark.parametrize("name", names("*_test.c"))
def test_unit(name: str) -> None:
    """Under ASan and UBSan; cmocka counts its failures in the exit status."""
    done = run(name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[  PASSED  ]" in done.stderr + done.stdout


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
