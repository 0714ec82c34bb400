# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernels.errors import Missing, Usage
from kernels.source import fetch, sysroot
from kernels.source.fetch import Deb


def test_links_stay_inside(tmp_path: Path) -> None:
    """A link to an absolute path is one to this machine's file until it is made relative."""
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "ld").write_text("ours", encoding="ascii")
    link, kept = tmp_path / "lib64" / "ld.so", tmp_path / "lib" / "ld.so"
    link.symlink_to("/lib/ld")
    kept.symlink_to("ld")
    sysroot.relative(tmp_path)
    assert link.read_text(encoding="ascii") == kept.read_text(encoding="ascii") == "ours"
    assert os.readlink(link) == "../lib/ld" and os.readlink(kept) == "ld"


def test_what_is_no_link_is_kept(tmp_path: Path) -> None:
    root, folder = tmp_path / "root", tmp_path / "build" / "sysroot"
    root.mkdir()
    sysroot.link(root, folder)
    sysroot.link(root, folder)
    assert folder.resolve() == root
    folder.unlink()
    folder.mkdir()
    with pytest.raises(Usage, match="is no link"):
        sysroot.link(root, folder)


class Nothing(fetch.Fetcher):
    """An archive without packages."""

    def __init__(self, cache: Path) -> None:
        self.cache = cache

    def tool(self, name: str, suites: tuple[str, ...], architecture: str) -> Deb:
        raise Missing(f"no {name} for {architecture} in {' '.join(suites)}")


def test_a_package_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="no libdw1 for arm64 in bookworm"):
        sysroot.make("arm64", ["libdw1"], "bookworm", Nothing(tmp_path))
    with pytest.raises(Usage, match="no package is named"):
        sysroot.make("arm64", [], "bookworm", Nothing(tmp_path))
