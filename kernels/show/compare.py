# SPDX-License-Identifier: MIT
"""Compares the results of a run, through `reports`, which knows what a verdict means."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from kernels import ROOT
from kernels.errors import Usage
from reports import personas

RUNS = ROOT / "results" / "kernels"


def find_run(name: str, runs: Path = RUNS) -> Path:
    """The folder of a run, by its path, or by its name below `runs` or results/kernels."""
    for folder in (Path(name), runs / name, RUNS / name):
        if folder.is_dir() and finished(folder):
            return folder.resolve()
    raise Usage(f"no results of {runs.name} in {name!r}; runs are in results/{runs.name}")


def finished(folder: Path) -> dict[str, Path]:
    """The rows of a run that have a result; `row/paranoid-2` for a row with several levels."""
    found = [*folder.glob("*/result.json"), *folder.glob("*/paranoid-*/result.json")]
    return {str(path.parent.relative_to(folder)): path.parent for path in sorted(found)}


def _reports(verb: str, *words: Path | str) -> int:
    argv = [sys.executable, "-m", "reports", verb, *map(str, words)]
    return subprocess.run(argv, cwd=ROOT, check=False).returncode


def _personas(folders: Iterable[Path]) -> list[str]:
    """Whoever was asked as there, also personas that the table no longer has."""
    known = personas.names()
    return personas.in_order({
        path.name
        for folder in folders
        for path in folder.iterdir()
        if path.is_dir() and (path.name in known or (path / "env").is_file())
    })


def table(asked: list[str], every: bool = False, runs: Path = RUNS) -> int:
    """--matrix: the points in which the kernels or devices of runs differ; with `every`, all points.

    Where several levels of perf_event_paranoid were asked, each persona has a table of its own.
    """
    folders = [find_run(name, runs) for name in asked]
    found = {f"{folder}/{name}": path for folder in folders for name, path in finished(folder).items()}
    more = ["--all"] if every else []
    if not any(path.name.startswith("paranoid-") for path in found.values()):
        return _reports("table", *more, *found.values())
    status = 0
    for persona in _personas(found.values()):
        whose = [path for path in found.values() if (path / persona).is_dir()]
        if whose:
            print(f"\n{persona}: {len(whose)} results, from left to right", flush=True)
            status = max(status, _reports("table", *more, "--persona", persona, *whose))
    return status


def diff(names: list[str], runs: Path = RUNS) -> int:
    """--diff NAME NAME [RUN]: what changed from one kernel or device to the other."""
    if len(names) not in (2, 3):
        raise Usage(f"--diff takes two {runs.name}, and the run they are in if it is not the latest")
    folder = find_run(names[2] if len(names) == 3 else "latest", runs)
    found = finished(folder)
    for name in names[:2]:
        if name not in found:
            raise Usage(f"no result of {name!r} in {folder.name}; there are: {' '.join(found)}")
    return _reports("diff", found[names[0]], found[names[1]])
