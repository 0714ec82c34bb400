# SPDX-License-Identifier: MIT
"""The suite files: what they select. Nobody has to edit one to add a probe."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import TREE, run


def listed(suite: str, tmp_path: Path) -> set[str]:
    done = run(TREE / "run.sh", "--no-install", "--no-build", "--suite", suite, "--list")
    assert done.returncode == 0, done.stderr
    return {line.split()[0] for line in done.stdout.splitlines()}


def declaring(build: Path, key: str) -> set[str]:
    texts = (build / "declared").glob("*/*.txt")
    return {f"{path.parent.name}.{path.stem}" for path in texts
            if any(line.startswith(f"{key}=") for line in path.read_text().splitlines())
            and path.parent.name != "meta"}


@pytest.mark.parametrize("suite, key", [("hazard", "hazard"), ("disturbing", "disturbs")])
def test_declared_probes_select_themselves(suite: str, key: str, build: Path, tmp_path: Path) -> None:
    assert declaring(build, key), "nothing declares it: the test shows nothing"
    assert listed(suite, tmp_path) == declaring(build, key)


def test_default_takes_all_but_the_house(build: Path, tmp_path: Path) -> None:
    everything = {f"{path.parent.name}.{path.name}" for path in (build / "probes").glob("*/*")}
    assert listed("default", tmp_path) == {name for name in everything if not name.startswith(("meta.", "replay."))}


def test_every_name_in_a_suite_is_a_probe(build: Path) -> None:
    """A name that matches nothing is a probe that was renamed."""
    everything = {f"{path.parent.name}.{path.name}" for path in (build / "probes").glob("*/*")}
    for file in set((TREE / "suites").glob("*.txt")) - {TREE / "suites/personas.txt"}:
        for line in file.read_text().splitlines():
            word = line.split(" ")[0].lstrip("!")
            if "." in word and "*" not in word:
                assert word in everything, f"{file.name}: {word}"
