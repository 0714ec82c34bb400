# SPDX-License-Identifier: MIT
"""Runs the unit tests and fuzz targets of the policy floor from build/test/policy."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
BUILT = TREE / "build" / "test" / "policy"
KEY = re.compile(r'"((?:[a-z0-9_]+\.){2,}[a-z0-9_]+)"')
FUZZ_SECONDS = int(os.environ.get("FUZZ_SECONDS", "3"))


def names(pattern: str) -> list[str]:
    return sorted(path.stem for path in HERE.glob(pattern))


def run(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    program = BUILT / name
    if not program.exists():
        pytest.skip(f"not built: make {program.relative_to(TREE)}")
    return subprocess.run([str(program), *map(str, arguments)], cwd=BUILT, capture_output=True,
                          text=True, errors="backslashreplace", timeout=120, check=False)


@pytest.mark.parametrize("name", names("*_test.c"))
def test_unit(name: str) -> None:
    """Under ASan and UBSan; cmocka counts its failures in the exit status."""
    done = run(name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[  PASSED  ]" in done.stderr + done.stdout


@pytest.mark.parametrize("name", names("*_fuzz.c"))
def test_fuzz(name: str, tmp_path: Path) -> None:
    """The committed corpus, then a few seconds beyond it."""
    corpus = HERE / "data" / name
    assert list(corpus.iterdir()), "no corpus"
    done = run(name, f"-max_total_time={FUZZ_SECONDS}", f"-artifact_prefix={tmp_path}/",
               tmp_path, corpus)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "DONE" in done.stderr


def keys_used() -> set[str]:
    """Every text in the policy floor that has the shape of a fact's key."""
    found: set[str] = set()
    for source in (TREE / "lib" / "policy").glob("*.c"):
        found |= set(KEY.findall(source.read_text(encoding="utf-8")))
    return found


def test_keys_are_of_the_catalogue() -> None:
    """A need whose key nobody answers would never hold, or always."""
    done = subprocess.run(["/usr/bin/python3", "-m", "reports", "catalogue", "--json"], cwd=TREE,
                          capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        pytest.skip("no probes are built")
    known = {f"{probe}.{item['name']}"
             for probe, record in json.loads(done.stdout)["probes"].items()
             for item in record["items"]}
    assert len(keys_used()) > 15
    assert not keys_used() - known
    assert "strategy.per_core.every_samples_once" not in known
