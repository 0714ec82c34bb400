# SPDX-License-Identifier: MIT
"""Tests that boot a real kernel are marked slow and run only when asked for: pytest -m slow."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_bundle import tiny_bundle


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: boots a real kernel, fetched through apt")
    config.addinivalue_line("markers", "server: talks to an ssh server; make quick leaves it out")
    config.addinivalue_line("markers", "peer(group): needs a large peer, `.ci/install GROUP`; make check-peers")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "slow" in (config.option.markexpr or ""):
        return
    config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("slow")])
    items[:] = [item for item in items if not item.get_closest_marker("slow")]


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks and histories of devices are those of the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A bundle that takes no time, at the root of the test's folder."""
    return tiny_bundle(tmp_path / "bundle")
