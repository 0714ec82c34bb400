# SPDX-License-Identifier: MIT
"""Where a person reads: how wide it is, whether it takes colour, and which characters it shows.

Colour follows the usual conventions: NO_COLOR and TERM=dumb turn it off, CLICOLOR_FORCE turns it on
where standard output is no terminal. Without them a terminal gets colour and a pipe does not.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping
from typing import TextIO

from rich.console import Console

DEFAULT_WIDTH, NARROWEST, WIDEST = 80, 20, 1000

Environment = Mapping[str, str]


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:      # closed
        return False


def coloured(stream: TextIO, environ: Environment) -> bool:
    """Whether escape codes may be written to this stream."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return (_is_terminal(stream) and environ.get("TERM", "dumb") not in ("", "dumb")
            and environ.get("CLICOLOR") != "0")


def width_of(stream: TextIO, environ: Environment) -> int:
    """$COLUMNS, else the width of the terminal, else 80."""
    said = environ.get("COLUMNS", "")
    columns = int(said) if said.isascii() and said.isdigit() and len(said) < 6 else 0
    if not columns and _is_terminal(stream):
        try:
            columns = os.get_terminal_size(stream.fileno()).columns
        except (OSError, ValueError):
            columns = 0
    return min(max(columns or DEFAULT_WIDTH, NARROWEST), WIDEST)


def unicode(stream: TextIO, environ: Environment) -> bool:
    """Whether characters beyond ASCII can be shown: the locale says UTF-8, and the stream can."""
    locale = next(filter(None, map(environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))), "")
    encoding = (getattr(stream, "encoding", None) or "").lower().replace("-", "")
    return "utf8" in locale.lower().replace("-", "") and encoding == "utf8"


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """A reader that left ends each command in its own way; rich 14 would leave with status 1."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def console(width: int | None = None, stderr: bool = False) -> Console:
    """A console of rich for standard output or standard error; on a terminal that is resized it
    follows, unless a width is given or set."""
    stream = sys.stderr if stderr else sys.stdout
    terminal = _is_terminal(stream) and os.environ.get("TERM", "dumb") != "dumb"
    if not width and (not terminal or os.environ.get("COLUMNS")):
        width = width_of(stream, os.environ)
    colour = coloured(stream, os.environ)
    return _Console(width=width, stderr=stderr, highlight=False, markup=False, emoji=False,
                    color_system="standard" if colour else None, force_terminal=terminal,
                    no_color=not colour)
