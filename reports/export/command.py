# SPDX-License-Identifier: MIT
"""The verbs `export`, `features`, `uapi` and those of profiles: merge, history and check."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from reports import catalogue, expect, merge, personas, profile, requirements, result, schema, shipped, speak, text
from reports.catalogue import Catalogue
from reports.export import badge, features, header, junit, kcidb, ktap, squad, support, tabular, uapi, versions
from reports.export.common import Options, Result
from reports.text import Unusable

OK, BAD = 0, 1
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
    asked = personas.of_results(results)
    if args.persona and args.persona not in asked:
        raise Unusable(speak.among("persona", args.persona, asked))
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


def _loaded(path: Path) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """A profile, of a file, by the name of one that ships, or derived from a result; and the result,
    where it was one."""
    if not path.exists():
        ships = {file.stem: file for file in shipped.FOLDER.glob("*.json")}
        if str(path) not in ships:
            raise Unusable(f"{path}: no such file, and no profile of that name ships{speak.near(str(path), ships)}")
        path = ships[str(path)]
    if path.is_file():
        value = text.load_json(path)
        if schema.kind_of(value) == "profile":
            return schema.require("profile", value, path.name), None
    made = result.load(path, expect.read(expect.FOLDER))
    return profile.derive(made), made


def merge_profiles(args: argparse.Namespace) -> int:
    """Write what the profiles have in common, or what is known of any of them."""
    named = [(str(path), _loaded(path)[0]) for path in args.profile]
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
    made, _whole = _loaded(args.profile)
    if "history" not in made:
        raise Unusable(text.clean(f"{args.profile}: has no history; `./run.sh report merge --update` keeps one", 300))
    for line in versions.lines(made):
        print(text.clean(line))
    return OK


def _reasons(made: dict[str, Any] | None, persona: str) -> dict[str, str]:
    probes = made["personas"].get(persona, {"probes": {}})["probes"] if made else {}
    return {f"{probe}.{name}": f"{point['verdict']}: {point['reason']}"
            for probe, record in probes.items() for name, point in record["points"].items()
            if "reason" in point}


def check(args: argparse.Namespace) -> int:
    """Hold requirements against profiles; 1 when one of them lacks something that is required."""
    wanted = requirements.read(args.requirements)
    bad, told = False, []
    for path in args.profile:
        made, whole = _loaded(path)
        persona = args.persona or wanted.persona
        found = requirements.check(wanted, merge.view(made, persona), _reasons(whole, persona))
        bad = bad or any(not each.met and not each.need.optional for each in found)
        told.append({"profile": text.clean(str(path)), "persona": persona, "needs": [
            {"what": each.need.what, "met": each.met, "optional": each.need.optional,
             "missing": list(each.missing)} for each in found]})
        if not args.json:
            print(text.clean(f"{wanted.name}, as {persona}, on {path}:"))
            for line in (line for each in found for line in each.lines()):
                print(text.clean(f"  {line}", 2000))
    if args.json:
        sys.stdout.write(text.dump_json(told))
    return BAD if bad else OK
