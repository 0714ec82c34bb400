# SPDX-License-Identifier: MIT
"""How the command line speaks to a person: under the name that was typed, and with what was probably meant."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NoReturn

from reports import NAME, text
from reports.text import Unusable

LIMIT = 3000    # of a line
BEGUN, MEANT = 3, 6     # letters that may begin a word, and how many such words are named


class Misused(Unusable):
    """Raised for a word that nobody knows; the message names what was probably meant."""


@contextmanager
def _on_stderr() -> Iterator[None]:
    """What cannot be written, as on a full disk, changes no exit status: nor is it tried again at the interpreter's end."""
    try:
        yield
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def aside(line: str) -> None:
    """A line on standard error."""
    with _on_stderr():
        print(line, file=sys.stderr)


def error(line: str) -> None:
    """A line on standard error, under the name that was typed."""
    aside(text.clean(f"{NAME}: {line}", LIMIT))


def near(word: str, known: Iterable[str]) -> str:
    """'; did you mean ...?' with those of the known words that the word begins, or else the closest; or nothing."""
    listed, typed = list(dict.fromkeys(known)), word[:100].lower()
    begun = [each for each in listed if len(typed) >= BEGUN and each.lower().startswith(typed)]
    by_lower = {each.lower(): each for each in listed}
    close = begun if 0 < len(begun) <= MEANT else \
        [by_lower[each] for each in difflib.get_close_matches(typed, by_lower, 1)]
    return f"; did you mean {' or '.join(filter(None, [', '.join(close[:-1]), close[-1]]))}?" if close else ""


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

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Where options are refused, with what was probably meant: by the verb that does not have them."""
        found, strange = super().parse_known_args(args, namespace)
        if strange:
            word = strange[0].partition("=")[0]
            known = [option for action in self._actions for option in action.option_strings if option.startswith("--")]
            what = f"no option '{word}'{near(word, known)}" if word.startswith("-") else f"not expected: '{strange[0]}'"
            self.error(what)
        return found, strange

    def _print_message(self, message: str, file: Any = None) -> None:
        with _on_stderr() if file is sys.stderr else nullcontext():
            super()._print_message(message, file)

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(2, text.clean(f"{self.prog.removeprefix('./')}: {message}", LIMIT) + "\n")
