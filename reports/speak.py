# SPDX-License-Identifier: MIT
"""How the command line speaks to a person: under the name that was typed, and with what was probably meant."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

from reports import NAME, text
from reports.text import Unusable

LIMIT = 3000    # of a line


class Misused(Unusable):
    """Raised for a word that nobody knows; the message names what was probably meant."""


def error(line: str) -> None:
    """A line on standard error."""
    print(text.clean(f"{NAME}: {line}", LIMIT), file=sys.stderr)


def near(word: str, known: Iterable[str]) -> str:
    """'; did you mean ...?' where one of the known words is close, or nothing."""
    close = difflib.get_close_matches(word[:100], list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""


def among(what: str, word: str, known: Iterable[str]) -> str:
    """That there is no such thing, what was probably meant, and all there are."""
    listed = list(known)
    return f"no {what} '{word[:100]}'; there are: {' '.join(listed)}{near(word, listed)}"


class Parser(argparse.ArgumentParser):
    """One that names what was meant by a misspelt choice."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            what = str(action.metavar or action.dest).lower()
            raise argparse.ArgumentError(None, among(what, str(value), map(str, action.choices)))

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(2, text.clean(f"{self.prog.removeprefix('./')}: {message}", LIMIT) + "\n")
