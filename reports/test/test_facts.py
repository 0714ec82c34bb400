# SPDX-License-Identifier: MIT
"""The facts the library decides by: read from the library, and declared nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from reports import facts, text
from reports.test.conftest import TREE, make_library

_KEY = re.compile(r'"([a-z](?:[a-z0-9_]+\.){2,}[a-z0-9_]+)"')


def undeclared(sources: Path, declared: set[str]) -> Iterator[str]:
    """Texts in the policy floor with the shape of a key that no table has declared."""
    for path in sorted(sources.rglob("*.c")):
        for key in sorted(set(_KEY.findall(path.read_text(encoding="utf-8"))) - declared):
            yield f"{path.name}: {key}"


def test_keys_come_with_the_tables_that_decide(tmp_path: Path) -> None:
    library = make_library(tmp_path / "library", "ring.b.c", "ring.a.c",
                           more='PM_FACT(other, "ring.a.c");')
    assert facts.deciding(library) == {"ring.a.c": ["other", "test"], "ring.b.c": ["test"]}
    assert facts.keys(library) == ["ring.a.c", "ring.b.c"]


@pytest.mark.parametrize("key", ["Ring", "ring a", "ring..a"])
def test_what_is_no_key_is_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(text.Unusable):
        facts.keys(make_library(tmp_path / "library", key))


def test_a_library_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(text.Unusable, match="make library"):
        facts.keys(tmp_path / "library")
    (tmp_path / "other").write_text("no library")
    with pytest.raises(text.Unusable, match="not an ELF file"):
        facts.keys(tmp_path / "other")


def test_every_key_in_the_policy_floor_is_declared() -> None:
    declared = facts.keys(TREE / facts.LIBRARY)
    assert len(declared) > 40
    assert not list(undeclared(TREE / "lib" / "policy", set(declared)))


def test_a_key_beside_the_tables_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text('lookup("ring.write_backward.newest"); "a.b"; "/a.b.c"; "ab.cd.e f"')
    assert list(undeclared(tmp_path, set())) == ["a.c: ring.write_backward.newest"]
