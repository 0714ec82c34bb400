# SPDX-License-Identifier: MIT
"""manifest.json of a run: every file with its hash, what was collected and what was withheld."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from kernels.place.judge import RECORD, runs_of
from reports import environment
from reports.text import Unusable, load_json, write_whole

NAME = "manifest.json"


def describe(folder: Path) -> dict[str, Any]:
    """What is in the results of one device."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    keys: set[str] = set()
    for run in runs_of(folder).values():
        for path in [run / "env", *run.glob("*/env")]:
            if path.is_file():
                keys |= environment.read(path, path.name).values.keys()
    record = folder / RECORD
    told = load_json(record) if record.is_file() else {}
    return {
        "env": sorted(keys),
        "boot": sorted(told),
        "withheld": told.get("withheld", {}),
        "names_kept": bool(told.get("names_kept")),
        "files": {str(path.relative_to(folder)): _hash(path) for path in files},
    }


def _hash(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write(folder: Path, names: list[str]) -> None:
    """Write it for the devices of these names that have results."""
    made: dict[str, Any] = {}
    for name in names:
        if (folder / name).is_dir():
            try:
                made[name] = describe(folder / name)
            except (Unusable, AttributeError) as error:
                made[name] = {"error": str(error)}
    about = "what was collected of each device: keys of env, keys of boot.json, every file with its sha256"
    told = {"format": 1, "about": about, "devices": made}
    write_whole(folder / NAME, json.dumps(told, indent=1) + "\n")
