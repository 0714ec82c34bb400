# SPDX-License-Identifier: MIT
"""Tests that sample a real program for seconds are slow: they run when asked for, pytest -m slow."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes a while; runs only when asked for: pytest -m slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "slow" in (config.option.markexpr or ""):
        return
    left = [item for item in items
            if item.get_closest_marker("slow") and "lib/test/stacks" in str(item.path)]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]
