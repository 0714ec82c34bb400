# SPDX-License-Identifier: MIT
"""A log for each device of a run: what it was doing, and when."""

from __future__ import annotations

import time
from pathlib import Path

from reports import text

LINES = 20_000


class Logs:
    """Lines go to NAME.log in a folder. A log that cannot be written never ends a run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lines: dict[str, int] = {}
        self._last: dict[str, str] = {}

    def say(self, name: str, state: str) -> None:
        count = self._lines[name] = self._lines.get(name, 0) + 1
        if count > LINES or self._last.get(name) == state:
            return
        self._last[name] = state
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with open(self.folder / f"{name}.log", "a", encoding="utf-8") as file:
                file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {text.clean(state, 500)}\n")
        except OSError:
            self._lines[name] = LINES
