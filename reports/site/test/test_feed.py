# SPDX-License-Identifier: MIT
"""The feed tells what changed from one build to the next, and keeps what was told before."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("sqlalchemy", reason="python3-sqlalchemy is not installed")

from reports.site import feed
from reports.site.test.conftest import HOSTILE, build_into, make

pytestmark = pytest.mark.xdist_group("site")


def entries(site: Path) -> dict[str, str]:
    """title -> content"""
    tree = ElementTree.fromstring((site / feed.FILE).read_text(encoding="utf-8"))
    space = f"{{{feed.SPACE}}}"
    ids = [entry.findtext(f"{space}id") for entry in tree.iter(f"{space}entry")]
    assert len(ids) == len(set(ids)) and tree.findtext(f"{space}updated")
    return {entry.findtext(f"{space}title") or "": entry.findtext(f"{space}content") or "" for entry in tree.iter(f"{space}entry")}


def test_a_build_tells_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, other = make(0), make(1)
    site = build_into(tmp_path, [first, other], monkeypatch)
    assert entries(site) == {}
    (tmp_path / "site.db").unlink()
    changed = make(0)
    point = changed["personas"]["user"]["probes"]["alpha.probe1"]["points"]
    point["point0"] = {"verdict": "blocked", "reason": "EACCES"}
    from reports.database.test.conftest import sealed
    again = build_into(tmp_path, [sealed(changed), make(2, HOSTILE[0])], monkeypatch)
    told = entries(again)
    assert told["x86_64 6.0.0: 1 answer changed"] == "user alpha.probe1.point0: yes -> blocked"
    assert told["aarch64 6.1.0: gone"] and told["x86_64 6.2.0: new"].endswith(" answers")
    assert len(told) == 3
    (tmp_path / "site.db").unlink()
    assert entries(build_into(tmp_path, [sealed(changed), make(2, HOSTILE[0])], monkeypatch)) == told


def test_an_older_site_without_the_table_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / feed.TABLE).write_bytes(b"not packed")
    (tmp_path / feed.FILE).write_text("<feed", encoding="utf-8")
    assert feed._table(tmp_path) is None and feed._kept(tmp_path) == []
