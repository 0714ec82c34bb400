# SPDX-License-Identifier: MIT
"""The verbs `export`, `features`, `uapi` and those of profiles: merge, history and check."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reports import (advice, answers, asked, catalogue, expect, merge, personas, plain, recordings, requirements, result, schema,
                     speak, systems, terminal, text)
from reports.asked import Source
from reports.catalogue import Catalogue
from reports.export import (badge, features, header, junit, kcidb, ktap, needs, programs, squad, support, tabular, uapi,
                            versions)
from reports.export.common import Options, Result
from reports.requirements import Finding, Requirements
from reports.text import Unusable

OK, BAD, NOT_KNOWN = 0, 1, 4
STATUS = dict.fromkeys(plain.WORDS, BAD) | {plain.YES: OK, plain.UNKNOWN: NOT_KNOWN}
# Of `doctor --check`, here as there: in another way, not at all; and what nobody asked on another machine.
WISHES = Path("lib/doctor/wishes.toml")
WISH_STATUS, NOBODY_ASKED = dict.fromkeys(plain.WORDS, 4) | {plain.YES: OK, plain.INSTEAD: 1}, 5
Write = Callable[[Sequence[Result], Options], str]

FORMATS: dict[str, Write] = {
    "junit": junit.write, "ktap": ktap.write, "kcidb": kcidb.write, "squad": squad.write,
    "csv": tabular.csv, "json": tabular.json, "markdown": tabular.markdown, "header": header.write,
    "badge": badge.write, "features": features.write}


def _catalogue(paths: Sequence[Path]) -> Catalogue:
    own = [path / "catalogue" for path in paths if (path / "catalogue").is_file()]
    try:
        return catalogue.gather(own[:1] or [catalogue.built(Path("."))])
    except Unusable:
        return Catalogue()


def _out(written: str, output: Path | None) -> None:
    if output is None:
        sys.stdout.write(written)
    else:
        text.write_named(output, written)


def export(args: argparse.Namespace) -> int:
    """Write results in a format."""
    results = [result.load(path, expect.read(expect.FOLDER)) for path in args.result]
    options = Options(_catalogue(args.result), args.persona, args.prefix)
    if args.persona and args.persona not in personas.of_results(results):
        raise personas.missing(args.persona, results)
    _out(FORMATS[args.format](results, options), args.output)
    return OK


def features_differ(args: argparse.Namespace) -> int:
    """Hold the kernel's own table of features against results; 1 where they differ."""
    results = [result.load(path, expect.read(expect.FOLDER)) for path in args.result]
    compared, different = support.differences(results, args.folder)
    for each in different:
        print(text.clean(str(each)))
    print(f"{compared} cells compared, {len(different)} differ")
    return BAD if different else OK


def uapi_differs(args: argparse.Namespace) -> int:
    """Hold the numbers of the library's ABI against kernel headers; 1 where one differs."""
    ours, theirs = (uapi.constants(uapi.headers_of(path)) for path in (args.abi, args.header))
    found = uapi.compare(ours, theirs)
    for each in found.differ:
        print(text.clean(f"differs: {each}"))
    for title, names in (("the list ends elsewhere", found.ends), ("only there", found.theirs_alone),
                         ("only here", found.ours_alone)):
        for name in names:
            print(text.clean(f"{title}: {name}"))
    print(f"{found.compared} constants compared, {len(found.differ)} differ, "
          f"{len(found.theirs_alone)} only there, {len(found.ours_alone)} only here")
    return BAD if found.differ else OK


def merge_profiles(args: argparse.Namespace) -> int:
    """Write what the profiles have in common, or what is known of any of them."""
    named = [(str(path), asked.loaded(path)[0]) for path in args.profile]
    made, conflicts = merge.merge(named, args.union)
    for conflict in conflicts:
        speak.error(f"left out: {conflict}")
    output = args.output or args.update
    if args.update:
        old = schema.require("profile", text.load_json(args.update), str(args.update)) \
            if args.update.exists() else None
        made = versions.update(old, made)
    _out(text.dump_json(schema.require("profile", made, "the merged profile")), output)
    if args.update:
        speak.error(f"version {made['version']}")
    return OK


def history(args: argparse.Namespace) -> int:
    """Print the versions of a merged profile."""
    made, _whole = asked.loaded(args.profile)
    if "history" not in made:
        raise Unusable(text.clean(f"{args.profile}: has no history; `./run.sh report merge --update` keeps one", 300))
    for line in versions.lines(made):
        print(text.clean(line))
    return OK


def _level(asked_for: str, usual: str, source: Source, persona: str) -> tuple[str, str]:
    """The level to answer at, and what is to be said of it."""
    level, own = source.level(asked_for or usual), source.level(persona=persona)
    if not asked_for and persona in source.personas and not source.tells(persona, level):
        return own, f"{source.why_not(persona, level)}; what follows holds at {own}"
    there = source.at_once(persona, level)
    if there and persona in source.personas:
        there += f"; --level {own} tells what holds at that"
    return level, there or source.alike(level)


def _as_json(found: Sequence[Finding]) -> list[dict[str, Any]]:
    return [{"what": each.need.what, "answer": each.answer.word, "met": each.met, "optional": each.need.optional,
             "missing": list(each.missing), "instead": "" if each.met else each.instead, "told": each.word,
             "used": each.used, "known": plain.is_told(each.answer) or each.word == plain.INSTEAD} for each in found]


def _answered(args: argparse.Namespace, wanted: Requirements, path: Path) -> Iterator[dict[str, Any]]:
    """What each row, result or profile says that a name stands for; printed, unless as JSON."""
    there = asked.named(path)
    persona = args.persona or wanted.persona
    about = there.about
    for source in there.sources:
        asked.require_persona(persona, source)
        asked.require_keys(requirements.keys(wanted), source)
        level, note = _level(args.level, there.level, source, persona)
        ask = recordings.asker(lambda key: source.said(key, persona, level), source.arch)
        found = requirements.check(wanted, ask, source.arch)
        if wanted.needs and not found:
            elsewhere = wanted.needs[0]
            raise speak.Misused(f"no wish '{elsewhere.name}' on {source.arch}: it is of {elsewhere.arch} alone")
        if not args.json:
            verb = f" {recordings.works(found)}" if wanted.recorded else ""
            title = f"{wanted.name}{verb}, as {persona} at {asked.at(level)}, on {source.name} ({source.about})"
            print("\n".join(needs.screen(about, title, note, found, terminal.width_of(sys.stdout, os.environ),
                                         advice.of_reason(source, persona, level))))
        yield {"for": wanted.name, "profile": text.clean(str(path)), "row": source.name, "about": source.about, "persona": persona,
               "level": level, "works": recordings.works(found), "notes": [*there.about, *filter(None, [note])],
               "answer": requirements.status(found), "needs": _as_json(found)}
        about = ("",)


def _chosen(wanted: Requirements, places: list[Path]) -> tuple[Requirements, list[Path]]:
    """Of needs with names those that are named among the places; all where none is. Raises Misused."""
    names = [need.name for need in wanted.needs if need.name]
    for word in (str(path) for path in places if str(path) not in names and not path.exists()):
        if (near := speak.near(word, names)) and not _is_place(word):
            raise speak.Misused(f"no wish '{text.clean(word, 80)}'{near}")
    named = {str(path) for path in places} & {*names}
    kept = tuple(need for need in wanted.needs if need.name in named) or wanted.needs
    return replace(wanted, needs=kept), [path for path in places if str(path) not in named]


def _wanted(args: argparse.Namespace) -> tuple[list[Requirements], list[Path]]:
    """What is needed, of a program by its name, of a file or of recordings, and where it is asked for."""
    places = [*filter(None, [args.requirements]), *args.profile]
    if args.program:
        found, places = _chosen(requirements.of_program(args.program), places)
        wanted = [found]
    elif not places:
        raise speak.Misused(f"what? Name a file of needs, or one of --for {' '.join(requirements.programs())}")
    elif recordings.is_one(places[0]):
        wanted = [recordings.read(path) for path in places if recordings.is_one(path)]
        places = [path for path in places if not recordings.is_one(path)]
    else:
        if not places[0].exists() and _is_place(str(places[0])):
            raise speak.Misused(f"{places[0]} is where; what for? Name a file of needs before it, or --for "
                                f"{' '.join(requirements.programs())}")
        wanted = [requirements.read(places.pop(0))]
    places += args.places
    if not places:
        raise speak.Misused("where? Name a row that ships, a system, a result or a profile")
    return wanted, places


def _told(args: argparse.Namespace, wanted: Requirements, places: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """What every place says of one program."""
    if wanted.beware and not args.json:
        print(text.clean(f"{wanted.name}: {wanted.beware}", 2000))
    for path in places:
        yield from _answered(args, wanted, path)


def _is_place(word: str) -> bool:
    return Path(word).exists() or word in answers.names() or systems.find(word) is not None


def wishes(args: argparse.Namespace) -> int:
    """What the doctor would say on other machines, or what a program needs there."""
    named = [need for need in requirements.read(WISHES).needs if need.name]
    if args.list:
        for need in named:
            print(f"{need.name:18} {need.what}{f' ({need.arch} alone)' if need.arch else ''}")
        return OK
    args.requirements, args.profile, check_it = None, [Path(word) for word in args.wish], args.check
    if args.program:
        return check(args)
    for word in args.wish:
        if word not in [need.name for need in named] and not _is_place(word):
            program = f"; --for {word} tells what that needs" if word in requirements.programs() else ""
            raise speak.Misused(f"{speak.among('wish', word, [need.name for need in named])}{program}")
    args.program = str(WISHES)
    told: list[dict[str, Any]] = []
    check(args, told)
    worst = max((WISH_STATUS[need["told"]] if need["known"] else NOBODY_ASKED for each in told for need in each["needs"]),
                default=OK)
    return worst if check_it else OK


def check(args: argparse.Namespace, ret: list[dict[str, Any]] | None = None) -> int:
    """Hold requirements against rows that ship, systems, results or profiles; the exit status tells what became
    of all that is required."""
    wanted, places = _wanted(args)
    if args.level:
        asked.require_level(args.level)
    told = [each for one in wanted for each in _told(args, one, places)]
    if args.json:
        sys.stdout.write(text.dump_json(told))
    if ret is not None:
        ret += told
    return min((STATUS[each["answer"]] for each in told if STATUS[each["answer"]] != OK), default=OK)


def real_programs(args: argparse.Namespace) -> int:
    """Print what becomes of the programs that were recorded: on each kernel named, or on each row that ships."""
    levels, people = args.level.split(","), args.persona.split(",")
    for level in filter(None, levels):
        asked.require_level(level)
    places = args.where or [Path(name) for name in answers.names()]
    sources = [source for path in places for source in asked.named(path).sources]
    for source in sources:
        for persona in people:
            asked.require_persona(persona, source)
    for line in programs.lines([programs.Column(source, persona, source.level(level)) for source in sources
                                for persona in people for level in levels]):
        print(line)
    return OK
