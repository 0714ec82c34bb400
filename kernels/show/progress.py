# SPDX-License-Identifier: MIT
"""The progress of a run: a live line for each place on a terminal, a plain one at its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from reports import text

LIMIT = 2000


class Progress:
    """The state of each place; silent unless standard error is a terminal."""

    def __init__(self, names: list[str], out: Console) -> None:
        self.out = out
        self.began = dict.fromkeys(names, 0.0)
        self.state = dict.fromkeys(names, "waiting")

    def set(self, name: str, state: str) -> None:
        if not self.began.get(name):
            self.began[name] = time.monotonic()
        self.state[name] = state

    def ended(self, name: str, said: str) -> None:
        """Remove the live line of a place and print its last one."""
        self.state.pop(name, None)
        self._result(said)

    def note(self, said: str) -> None:
        if self.out.is_terminal:
            self.out.print(Text(text.clean(said, LIMIT), style="dim"), soft_wrap=True)

    def _result(self, said: str) -> None:
        """Print a line to standard output; above the live lines if they share the terminal."""
        if self.out.is_terminal and sys.stdout.isatty():
            self.out.print(Text(said), soft_wrap=True)
        else:
            print(said, flush=True)

    def __rich__(self) -> Table:
        live = Table.grid(padding=(0, 2))
        for name, state in list(self.state.items()):
            began = self.began[name]
            spent = f"{time.monotonic() - began:.0f} s" if began else ""
            live.add_row(
                Text(name, style="bold"),
                Text(spent),
                Text(state, no_wrap=True, overflow="ellipsis"),
            )
        return live

    @contextmanager
    def live(self) -> Iterator[None]:
        if not self.out.is_terminal:
            yield
            return
        with Live(
            self,
            console=self.out,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        ):
            yield
