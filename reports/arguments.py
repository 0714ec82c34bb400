# SPDX-License-Identifier: MIT
"""The command line of `python3 -m reports`: verbs and their options."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from reports import COMMAND, caller, coverage, expect, rooms, speak

Work = Callable[[argparse.Namespace], int]


def parser(works: dict[str, Work]) -> argparse.ArgumentParser:
    """The command line; `works` says what carries out each verb."""
    top = speak.Parser(
        prog=COMMAND, description="Results, profiles and tables from what a run leaves behind.",
        epilog="Exit: 0 good, 1 bad verdicts or findings, 2 usage, 3 could not run, 4 a fault of its own; `check`, "
        "`doctor --check`: as their --help says.")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True)

    def verb(name: str, about: str) -> argparse.ArgumentParser:
        made = verbs.add_parser(name, help=about, description=about)
        made.set_defaults(work=works[name])
        return made

    _judging(verb)
    _showing(verb)
    rooms.arguments(verb)
    return top


def _number(least: int, most: int, said: str) -> Callable[[str], int]:
    """What takes a whole number out of an option, or says what it is."""
    def taken(value: str) -> int:
        if not value.isdecimal() or len(value) > 9 or not least <= int(value) <= most:
            raise argparse.ArgumentTypeError(said)
        return int(value)
    return taken


_width = _number(20, 1000, "a width is 20 to 1000 columns")
_top = _number(1, 10**9, "how many? A number from 1 on")


def _judging(verb: Any) -> None:
    """The verbs that judge."""
    made = verb("result", "make result.json and profile.json in a result directory")
    made.add_argument("directory", type=caller.given)
    made.add_argument("--quiet", action="store_true", help="print nothing")
    made.add_argument("--all", action="store_true", help="print a line a probe, not one screen")
    made.add_argument("--expect", type=caller.given, default=expect.FOLDER, help="folder of deviations")
    made.add_argument("--width", type=_width, help="columns to print")
    made = verb("validate", "check result, profile, catalogue and expectation files")
    made.add_argument("file", type=caller.given, nargs="+", help="file or result directory")
    made = verb("lint", "the house rules, over the tree or over results")
    made.add_argument("--tree", type=caller.given, help="root of the tree (default: here)")
    made.add_argument("--result", type=caller.given, action="append", default=[], metavar="RESULT",
                      help="lint this result instead (or as well, with --tree)")


def _showing(verb: Any) -> None:
    """The verbs that show."""
    made = verb("show", "the first screen of a result: what it found, in at most 40 lines")
    made.add_argument("directory", type=caller.given, metavar="RESULT",
                      help="result directory or result.json")
    made.add_argument("--all", action="store_true", help="a line a probe, not one screen")
    made.add_argument("--width", type=_width, help="columns to print")
    made = verb("table", "show one result, or several side by side")
    made.add_argument("result", type=caller.given, nargs="+", help="result directory or result.json")
    made.add_argument("--all", action="store_true", help="every point and fact")
    made.add_argument("--persona", help="only this persona; 'all' for all of several results")
    made.add_argument("--markdown", action="store_true", help="as a Markdown table")
    made.add_argument("--width", type=_width, help="columns to print")
    made = verb("profile", "derive the profile of a result")
    made.add_argument("result", type=caller.given)
    made.add_argument("-o", "--output", type=caller.written, help="write it there")
    made = verb("catalogue", "what the probes declare of themselves")
    made.add_argument("path", type=caller.given, nargs="*", help="program, folder or catalogue text")
    one = made.add_mutually_exclusive_group()
    for option, about in (("--count", "numbers only"), ("--markdown", "a page to read"),
                          ("--json", "for machines")):
        one.add_argument(option, action="store_true", help=about)
    made.add_argument("--width", type=_width, help="columns to print")
    made = verb("coverage", "which tests of other suites the probes ask as well")
    made.add_argument("path", type=caller.given, nargs="*", help="program, folder or catalogue text")
    one = made.add_mutually_exclusive_group()
    one.add_argument("--count", action="store_true", help="numbers only")
    one.add_argument("--markdown", action="store_true", help="a page to read")
    made.add_argument("--data", type=caller.given, default=coverage.DATA, help="the table to read")
    made.add_argument("--width", type=_width, help="columns to print")
    made = verb("defects", "what is wrong in kernels, each with a program of one file that shows it")
    made.add_argument("--markdown", action="store_true", help="a page to read")
    made.add_argument("--mail", metavar="NAME", help="a text about one of them, to be mailed to perf's maintainers")
    made = verb("diff", "points that differ between two results; exit 1 on regressions")
    made.add_argument("a", type=caller.given)
    made.add_argument("b", type=caller.given)
    made.add_argument("--exit-code", action="store_true", help="exit 1 when any differs")
    made.add_argument("--regressions", action="store_true", help="only what worked and does not now")
    made.add_argument("--json", action="store_true", help="for machines")
    made = verb("ship", "put the answers of each kernel of a run into the tree, and make of them what the "
                "library reads")
    made.add_argument("run", type=caller.given, nargs="*",
                      help="finished runs of the kernel matrix, of several the levels of each row are put "
                      "together; without: make profiles and table anew")
    made.add_argument("--add", action="store_true",
                      help="the levels of the run come to those that a row has, of the same kernel")
    made.add_argument("--check", action="store_true", help="write nothing; exit 1 on differences")
    made = verb("slice", "the part of the compatibility table that ships, of lib/profiles")
    made.add_argument("--write", action="store_true", help="into lib/profiles/README.md")
    made = verb("timing", "milliseconds per probe, slowest first")
    made.add_argument("result", type=caller.given)
    made.add_argument("--top", type=_top, metavar="N", help="only the slowest N")
