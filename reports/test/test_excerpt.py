# SPDX-License-Identifier: MIT
"""The slice of the table that ships is made of the profiles, and lint sees when it is not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from conftest import TREE

from reports import excerpt


def test_the_slice_is_of_the_profiles() -> None:
    assert excerpt.stale(TREE) == ""


def test_a_profile_that_changed_makes_it_stale(tmp_path: Path) -> None:
    folder = tmp_path / excerpt.PROFILES
    shutil.copytree(TREE / excerpt.PROFILES, folder)
    assert excerpt.stale(tmp_path) == ""
    path = folder / "amd64-5.10.json"
    value = json.loads(path.read_text(encoding="utf-8"))
    value["kernel"]["inherit.sample_read.with_tid"] = "broken"
    path.write_text(json.dumps(value), encoding="utf-8")
    assert "stale" in excerpt.stale(tmp_path)
    (folder / "README.md").unlink()
    assert "stale" in excerpt.stale(tmp_path)
