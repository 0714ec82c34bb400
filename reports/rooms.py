# SPDX-License-Identifier: MIT
"""The verbs of the rooms below reports/, which load what they need only when they are called."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from reports import COMMAND, caller, plain
from reports.text import Unusable

DATABASE = caller.database(os.environ.get("PERFMODES_DATABASE", ""), "") or "results/results.db"
# What only these verbs need: the module, and the package that has it.
PACKAGES = {"sqlalchemy": "python3-sqlalchemy", "psycopg2": "python3-psycopg2"}

PLACES = "row that ships, system (debian-12, android-13:arm64, wsl2...), kernel (6.8.0-45-generic), result, or profile"

Work = Callable[[argparse.Namespace], int]


def _lazy(work: Work) -> Work:
    """The work, with a missing package told as a sentence."""
    def call(args: argparse.Namespace) -> int:
        try:
            return work(args)
        except ModuleNotFoundError as error:
            package = PACKAGES.get((error.name or "").partition(".")[0])
            if package is None:
                raise
            raise Unusable(f"this verb needs the Python module '{error.name}'; install the package "
                           f"{package}, or run .ci/install database") from error
    return call


def _db(args: argparse.Namespace) -> int:
    from reports.database import command
    return command.work(args)


def _export(args: argparse.Namespace) -> int:
    from reports.export import command
    return command.export(args)


def _merge(args: argparse.Namespace) -> int:
    from reports.export import command
    return command.merge_profiles(args)


def _check(args: argparse.Namespace) -> int:
    from reports.export import command
    return command.check(args)


def _history(args: argparse.Namespace) -> int:
    from reports.export import command
    return command.history(args)


def _wishes(args: argparse.Namespace) -> int:
    from reports.export import command
    return command.wishes(args)


def _features(args: argparse.Namespace) -> int:
    from reports.export import command
    return command.features_differ(args)


def _uapi(args: argparse.Namespace) -> int:
    from reports.export import command
    return command.uapi_differs(args)


def _programs(args: argparse.Namespace) -> int:
    from reports.export import command
    return command.real_programs(args)


def _site(args: argparse.Namespace) -> int:
    from reports.site import command
    return command.work(args)


WORKS: dict[str, Work] = {"db": _lazy(_db), "site": _lazy(_site), "export": _export, "merge": _merge,
                          "check": _check, "doctor": _wishes, "features": _features, "history": _history, "programs": _programs,
                          "uapi": _uapi}
FORMATS = ("junit", "ktap", "kcidb", "squad", "csv", "json", "markdown", "header", "badge", "features")


def add_database(made: argparse.ArgumentParser, default: str = DATABASE) -> None:
    """The option that names the database."""
    made.add_argument("--db", default=default, type=partial(caller.database, usual=DATABASE), metavar="FILE",
                      help=f"file of SQLite, or postgresql://... (default: {DATABASE})")


def add_filters(made: argparse.ArgumentParser) -> None:
    """The options that say which results are meant."""
    made.add_argument("--kernel", default="", metavar="GLOB", help="only where the release fits, or the row of the matrix")
    for name in ("arch", "device", "persona"):
        made.add_argument(f"--{name}", default="", metavar="GLOB", help=f"only where the {name} fits")
    made.add_argument("--kind", default="", metavar="GLOB",
                      help="only hardware, virtual, emulated or synthetic machines")
    made.add_argument("--after", default="", metavar="DATE", help="only results from this day on")
    made.add_argument("--every", action="store_true",
                      help="every result, not only the newest of a kernel on a device")


def add_usage(made: argparse.ArgumentParser) -> None:
    """The option that says what is in use."""
    made.add_argument("--usage", type=caller.given, metavar="FILE",
                      help="TOML, how much each device is used; reports/database/usage.py has an example")


def arguments(verb: Any) -> None:
    """The command lines."""
    made = verb("export", "results in a format that other tools read")
    made.add_argument("format", choices=FORMATS)
    made.add_argument("result", type=caller.given, nargs="+", help="result directory or result.json")
    made.add_argument("-o", "--output", type=caller.written, help="write it there")
    made.add_argument("--persona", default="", help="only this persona")
    made.add_argument("--prefix", default="PM_", help="of the macros of a header (default: PM_)")
    made = verb("merge", "the profile of several devices: what holds on each of them")
    made.add_argument("profile", type=caller.given, nargs="+", help="profile, result or result directory")
    made.add_argument("--union", action="store_true", help="what is known of any of them")
    made.add_argument("-o", "--output", type=caller.written, help="write it there")
    made.add_argument("--update", type=caller.written, metavar="FILE",
                      help="the next version of that profile, with what changed; written there without -o")
    made = verb("history", "the versions of a merged profile, and what changed in each")
    made.add_argument("profile", type=caller.given, help="profile that `merge --update` made")
    _check_arguments(verb)
    _doctor_arguments(verb)
    made = verb("programs", "which recorded programs work on which kernels, as Markdown")
    made.add_argument("where", type=caller.given, nargs="*", metavar="WHERE", help="as for `profile check` (default: each row that ships)")
    made.add_argument("--persona", default="user", help="as whom, several with commas (default: user)")
    made.add_argument("--level", default="", metavar="N",
                      help="perf_event_paranoid, several as in --level=-1,0,1; else 2 where that was asked")
    made = verb("features", "hold the kernel's Documentation/features against results; exit 1 where they differ")
    made.add_argument("folder", type=caller.given, metavar="TREE", help="kernel tree, or its Documentation/features")
    made.add_argument("result", type=caller.given, nargs="+", help="result directory or result.json")
    made = verb("uapi", "hold the numbers of the library's ABI against the kernel's; exit 1 where one differs")
    made.add_argument("abi", type=caller.given, metavar="ABI", help="the library's header, or as HEADER")
    made.add_argument("header", type=caller.given, metavar="HEADER",
                      help="perf_event.h, a kernel tree, or a folder of headers such as /usr/include")
    made = verb("site", "the compatibility site: static pages of a database, or of the answers that ship")
    made.add_argument("folder", type=caller.written, metavar="OUT", help="folder that is made, or replaced")
    made.add_argument("--shipped", action="store_true",
                      help="of the answers that ship; so where there is no database, too")
    made.add_argument("--issues", default="", metavar="ADDRESS",
                      help="where errors are reported: https://.../issues; each answer then links to a form that is filled in")
    made.set_defaults(usual_db=DATABASE)
    add_usage(made)
    add_database(made)
    add_filters(made)
    _database(verb)


def _check_arguments(verb: Any) -> None:
    made = verb("check", f"hold what a program needs against kernels; answers: {', '.join(plain.WORDS)}")
    made.epilog = ("Exit, by what is required and not optional: 0 all of it is yes; 4 all of it is yes or not known; "
                   "1 some is neither; 2 a point, persona or level that nobody knows; "
                   "3 a row or file that is not there or cannot be used. Of several kernels, 1 goes before 4.")
    made.add_argument("requirements", type=caller.given, nargs="?", metavar="NEEDS",
                      help="TOML, reports/requirements.py has an example; or recordings of explain --record, several "
                      "before WHERE; not with --for")
    made.add_argument("profile", type=caller.given, nargs="*", metavar="WHERE", help=PLACES)
    made.add_argument("--as", dest="places", type=_place, action="append", default=[], metavar="WHERE",
                      help="the same, as an option")
    _whom_and_where(made, "2 where that was asked")


def _place(value: str) -> Path:
    if not value:       # which would be this folder
        raise argparse.ArgumentTypeError("which machine? An empty name is none")
    return caller.given(value)


def _whom_and_where(made: argparse.ArgumentParser, level: str) -> None:
    made.add_argument("--for", dest="program", default="", type=caller.program, metavar="PROGRAM",
                      help="what a program needs: perf-record, rr, bpftrace... (reports/data/programs), or a file's path")
    made.add_argument("--persona", default="", help="as whom; else as the requirements say, or as user")
    made.add_argument("--level", default="", metavar="N", help=f"perf_event_paranoid, -1 to 4; else {level}")
    made.add_argument("--json", action="store_true", help="for machines")


def _doctor_arguments(verb: Any) -> None:
    """Of `./run.sh doctor --as WHERE`, whose verb this is."""
    made = verb("doctor", "what the doctor would say on another machine, by its answers")
    made.prog = COMMAND if COMMAND.endswith(" doctor") else made.prog
    made.epilog = ("Exit: 0 that was told; with --check 0 all works as asked, 1 some in another way only, 4 some not at all, "
                   "5 some that nobody asked there; with --for as `report check`. 2 a wish, persona or level that nobody "
                   "knows; 3 a row or file that is not there or cannot be used.")
    made.add_argument("wish", nargs="*", metavar="WISH", help="else all of them: ./run.sh doctor --list")
    made.add_argument("--as", dest="places", type=_place, action="append", required=True, metavar="WHERE", help=PLACES)
    made.add_argument("--list", action="store_true", help="the wishes there are, and nothing else")
    made.add_argument("--check", action="store_true", help="exit by the answer")
    _whom_and_where(made, "what the system starts with, or 2")


def _database(verb: Any) -> None:
    made = verb("db", "a database of results: add some, and ask it")
    add_database(made)  # before its query or behind it
    queries = made.add_subparsers(dest="query", metavar="QUERY", required=True)
    each = queries.add_parser("add", help="add results: directories, archives, files")
    add_database(each, argparse.SUPPRESS)
    each.add_argument("result", type=caller.given, nargs="+")
    each = _query(queries, "coverage", "each point over devices, real ones apart")
    add_usage(each)
    for name, about in (
            ("list", "the results"),
            ("backports", "points that work on kernels older than they are upstream"),
            ("classes", "devices that lack the same")):
        _query(queries, name, about)
    for name, about in (("point", "each cell of a point, with the line that it comes from"),
                        ("history", "a point over kernels: since when, and until when"),
                        ("lacking", "where a point does not work, and what these places share")):
        _query(queries, name, about).add_argument("key", help="such as ring.write_backward.newest_first")
    each = _query(queries, "changes", "what changed between two kernels; exit 1 on regressions")
    each.add_argument("old", help="release, row of the matrix, or id of a result")
    each.add_argument("new")
    _query(queries, "export", "a result as it was added").add_argument("key", metavar="ID")


def _query(queries: Any, name: str, about: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = queries.add_parser(name, help=about, description=about)
    add_database(made, argparse.SUPPRESS)
    add_filters(made)
    made.add_argument("--json", action="store_true", help="for machines")
    return made
