# SPDX-License-Identifier: MIT
"""The verbs of `python3 -m reports`: each calls other modules and returns an exit status."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reports import (answers, arguments, catalogue, coverage, defects, difference, excerpt, expect, facts, lint, overview, page,
                     personas, profile, result, rooms, schema, screen, shipped, speak, table, terminal, text)
from reports.text import Unusable

OK, BAD, USAGE, FAILED = 0, 1, 2, 3
OF_PROFILES = ("merge", "history", "check")
WARNINGS_SHOWN, WARNINGS_BESIDE_SCREEN = 20, 2


def _say(line: str) -> None:
    print(text.clean(line, 2000))


def _write(path: Path, value: dict[str, Any]) -> None:
    try:
        text.write_whole(path, text.dump_json(value))
    except OSError as error:
        raise Unusable(f"{path}: cannot be written: {error.strerror}") from error


def _expectations(folder: Path) -> expect.Expectations:
    if folder != expect.FOLDER and not folder.is_dir():
        raise Unusable(f"{folder}: no such folder")
    found = expect.read(folder)
    for problem in found.problems:
        speak.error(f"expectation ignored: {problem}")
    return found


def _present(made: dict[str, Any], args: argparse.Namespace, above: int = 0) -> None:
    """Print the first screen or, with --all, a line for each probe with its reasons."""
    console = terminal.console(args.width)
    if args.all:
        overview.show(made, console)
    else:
        screen.show(made, args.directory, console, terminal.unicode(sys.stdout, os.environ), above)


def _show(args: argparse.Namespace) -> int:
    _present(result.load(args.directory, expect.read(expect.FOLDER)), args)
    return OK


def _result(args: argparse.Namespace) -> int:
    made = result.build(args.directory, _expectations(args.expect))
    derived = schema.require("profile", profile.derive(made), "profile")
    _write(args.directory / "result.json", made)
    _write(args.directory / "profile.json", derived)
    warnings = list(overview.endings(made))
    most = WARNINGS_SHOWN if args.quiet or args.all else WARNINGS_BESIDE_SCREEN
    for line in warnings[:most]:
        speak.error(f"warning: {line}")
    if len(warnings) > most:
        speak.error(f"warning: {len(warnings) - most} more in result.json")
    if not args.quiet:
        _present(made, args, min(len(warnings), most + 1))
    return BAD if made["unexpected"] else OK


def _table(args: argparse.Namespace) -> int:
    results = [result.load(path, expect.read(expect.FOLDER)) for path in args.result]
    console = terminal.console(args.width)
    single = len(results) == 1 and not args.all and not args.persona
    made = table.columns(results, args.persona, table.names_of(args.result))
    if not made:
        raise personas.missing(args.persona, results)
    if args.markdown:
        for line in table.as_markdown(made, args.all or len(results) == 1):
            print(line)
    elif single:
        overview.show(results[0], console)
    else:
        table.terminal(made, args.all, console)
        for each in results:
            console.print(overview.machine(each), soft_wrap=True)
            overview.summary(each, console)
    return OK


def _profile(args: argparse.Namespace) -> int:
    made = profile.derive(result.load(args.result, expect.read(expect.FOLDER)))
    schema.require("profile", made, "profile")
    if args.output:
        text.write_named(args.output, text.dump_json(made))
    else:
        sys.stdout.write(text.dump_json(made))
    return OK


def _files(path: Path) -> list[Path]:
    """The file itself, or the files of a result directory that reports reads and writes."""
    if not path.is_dir():
        return [path]
    found = [path / name for name in ("result.json", "profile.json", "catalogue")]
    return [file for file in found if file.exists()] or found[:1]


def _validate_one(path: Path) -> list[str]:
    if path.name == coverage.DATA.name:
        return coverage.check(path)
    if path.suffix == ".toml":
        return expect.check(path)
    if path.name == "catalogue" or path.suffix == ".probeinfo":
        return catalogue.gather([path]).problems
    value = text.load_json(path)
    return schema.problems(schema.kind_of(value), value)


def _validate(args: argparse.Namespace) -> int:
    """Each file, also behind one that cannot be read."""
    worst = OK
    for path in [inner for path in args.file for inner in _files(path)]:
        try:
            problems = _validate_one(path)
        except Unusable as error:
            speak.error(str(error))
            worst = FAILED
            continue
        worst = max(worst, BAD if problems else OK)
        for problem in problems or ["valid"]:
            _say(f"{path}: {problem.removeprefix(f'{path}: ')}")
    return worst


def _declared(paths: list[Path]) -> catalogue.Catalogue:
    """What is declared there, or else in what was built last. Raises Unusable where nothing is."""
    paths = paths or [catalogue.built(Path("."))]
    found = catalogue.gather(paths)
    if not found.probes:
        nothing = f"{' '.join(map(str, paths))}: no probe declares anything there"
        raise Unusable(found.problems[0] if found.problems else nothing)
    return found


def _catalogue(args: argparse.Namespace) -> int:
    found = _declared(args.path)
    if args.count:
        for name, count in catalogue.counts(found).items():
            print(f"{count:6} {name}")
    elif args.json:
        sys.stdout.write(text.dump_json(catalogue.as_json(found)))
    elif args.markdown:
        sys.stdout.write(page.catalogue(found))
    else:
        page.listing(found, terminal.console(args.width))
    for problem in found.problems:
        speak.error(problem)
    return BAD if found.problems else OK


def _coverage(args: argparse.Namespace) -> int:
    suites = coverage.read(args.data)
    found = _declared(args.path)
    points = coverage.Points(found)
    if args.count:
        for line in coverage.count_lines(suites):
            _say(line)
    elif args.markdown:
        sys.stdout.write(coverage.markdown(suites, points))
    else:
        coverage.show(suites, terminal.console(args.width))
    waiting = set() if args.path else coverage.unbuilt(Path("."), found)
    if waiting:
        speak.error(f"{len(waiting)} probes are not built: patterns of theirs are not judged")
    stale = list(coverage.stale(suites, points, waiting))
    for problem in stale:
        speak.error(problem)
    return BAD if stale else OK


def _lint(args: argparse.Namespace) -> int:
    over_tree = args.tree or not args.result
    findings = list(lint.tree(args.tree)) if over_tree else []
    for path in args.result:
        findings += lint.result(path, args.tree or Path("."))
    notes = [line for path in args.result for line in lint.result_notes(path, args.tree or Path("."))]
    for line in [*map(str, findings), *notes, *(lint.notes(args.tree) if over_tree else ())]:
        _say(line)
    if not findings:
        print("lint: nothing found")
    return BAD if findings else OK


def _put(path: Path, said: str) -> None:
    try:
        text.write_whole(path, said)
    except OSError as error:
        raise Unusable(f"{path}: cannot be written: {error.strerror}") from error


def _slice(args: argparse.Namespace) -> int:
    if args.write:
        _put(excerpt.FILE, excerpt.make(Path(".")))
        return OK
    print(excerpt.make(Path(".")), end="")
    return OK


def _ship(args: argparse.Namespace) -> int:
    if args.add and (args.check or not args.run):
        raise speak.Misused("--add takes the levels of a run, which is named, and does not go with --check")
    if args.check:
        made = {name: each for run in args.run for name, each in shipped.derive(run).items()}
        profiles = shipped.load()
        for line in shipped.moved(profiles, made).values():
            speak.error(line)
        found = list(shipped.problems(profiles, made))
        for line in found:
            _say(line)
        return BAD if found else OK
    written = answers.write(args.run, add=args.add) if args.run else []
    sheets = answers.load_all()
    made = shipped.from_answers(sheets, answers.questions())
    shipped.write(made)
    _put(excerpt.FILE, excerpt.make(Path(".")))
    for name in written:
        facts_of = f"; {len(made[name]['kernel'])} facts for the library" if name in made else ""
        _say(f"{answers.FOLDER / name}{answers.SUFFIX}: {sheets[name].told()}{facts_of}")
    for line in answers.unsettled(sheets, facts.keys() if sheets else ()):
        speak.error(line)
    return OK


def _diff(args: argparse.Namespace) -> int:
    found = difference.in_order(difference.between(result.load(args.a), result.load(args.b)))
    shown = [change for change in found if change.worse or not args.regressions]
    if args.json:
        sys.stdout.write(text.dump_json([change.as_json() for change in shown]))
    else:
        for change in shown:
            print(change)
    worse = any(change.worse for change in found)
    return BAD if worse or (found and args.exit_code) else OK


def _defects(args: argparse.Namespace) -> int:
    found = defects.read()
    if args.mail:
        if args.mail not in (each.name for each in found):
            raise speak.Misused(speak.among("defect", args.mail, [each.name for each in found]))
        sys.stdout.write(defects.as_mail(next(each for each in found if each.name == args.mail)))
        return OK
    if args.markdown:
        sys.stdout.write(defects.as_markdown(found))
        return OK
    for each in found:
        _say(f"{each.name}: {each.title} ({each.span()})")
    return OK


def _timing(args: argparse.Namespace) -> int:
    spent = table.timing(result.load(args.result))
    for ms, persona, probe_id, points in spent[:args.top]:
        _say(f"{ms:7} ms  {persona:8} {probe_id} ({points} points)")
    points = sum(row[3] for row in spent)
    total = sum(row[0] for row in spent)
    per_point = f", {total / points:.1f} ms a point" if points else ""
    print(f"{total:7} ms  in all: {len(spent)} probe runs, {points} points{per_point}")
    return OK


WORKS = {"result": _result, "validate": _validate, "lint": _lint, "table": _table,
         "profile": _profile, "catalogue": _catalogue, "coverage": _coverage, "diff": _diff,
         "defects": _defects, "ship": _ship, "slice": _slice, "show": _show, "timing": _timing} | rooms.WORKS


def _one_verb(argv: Sequence[str]) -> Sequence[str]:
    """`profile merge`, `profile history` and `profile check` are verbs of two words. Raises Misused."""
    second = argv[1] if len(argv) > 1 and argv[0] == "profile" else ""
    if second in OF_PROFILES:
        return argv[1:]
    if (near := speak.near(second, OF_PROFILES)) and not Path(second).exists():
        raise speak.Misused(f"profile: '{second}' is no result{near}")
    return argv


def _run(argv: Sequence[str]) -> int:
    try:
        args = arguments.parser(WORKS).parse_args(_one_verb(argv))
    except SystemExit:      # of --help and of bad usage
        sys.stdout.flush()
        raise
    code: int = args.work(args)
    sys.stdout.flush()
    return code


def _drop_output() -> None:
    """What is still to be written to a pipe or disk that takes no more goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def main(argv: Sequence[str]) -> int:
    try:
        return _run(argv)
    except Unusable as error:
        speak.error(str(error))
        return USAGE if isinstance(error, speak.Misused) else FAILED
    except BrokenPipeError:
        _drop_output()
        return OK
    except OSError as error:
        _drop_output()
        speak.error(f"{error.filename or 'output'}: {error.strerror or error}")
        return FAILED
    except KeyboardInterrupt:
        return 130
