#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Show that a probe says the same as a program of its own and out of a bundle.

In a bundle all probes are one program, called by links: larger, its code elsewhere in the file, its data
shared. A probe whose answer rests on that is wrong in one of the two. The suite is asked in both forms here
and on rows of kernels/matrix.toml. What differs is asked again in both, since a busy machine may spoil an
answer; a point that one form could not tell (unknown) is listed, and is no difference.

usage: suites/compare_forms.py [--suite NAME] [--probe GLOB]... [ROW]...       (or: make compare-forms)
Exit: 0 the same, 1 they differ, 3 could not run.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

TREE = Path(__file__).resolve().parents[1]
BUILD = TREE / "build" / platform.machine()
HERE = "this machine"
FORMS = ("single", "bundle")
AGAIN = 2       # times that a difference is asked anew

Answers = dict[tuple[str, str, str], str]       # persona, probe, point -> verdict


def stop(text: str) -> NoReturn:
    """End with status 3: 1 means that they differ."""
    print(f"compare_forms: {text}", file=sys.stderr)
    sys.exit(3)


def make_forms(top: Path) -> None:
    """Two bundles: one as it is, one with a program for each probe."""
    if not (BUILD / "bundle/bin/probe").is_file():
        stop("nothing is built; run make all bundle first")
    for form in FORMS:
        shutil.copytree(BUILD / "bundle", top / form, symlinks=True)
    for link in sorted((top / "single/bin/probes").glob("*/*")):
        if link.readlink().name == "probe":
            link.unlink()
            subprocess.run(["strip", "-o", link, BUILD / "probes" / link.parent.name / link.name], check=True)


def answers(result: Path) -> Answers:
    """What a result directory says."""
    value = json.loads((result / "result.json").read_text(encoding="utf-8"))
    return {(persona, probe, name): point["verdict"] for persona, part in value["personas"].items()
            for probe, record in part["probes"].items() for name, point in record["points"].items()}


def ask(where: str, form: Path, words: list[str]) -> Answers:
    """The answers of a form, on this machine or on a row."""
    out = Path(tempfile.mkdtemp(prefix=f"{form.name}.", dir=form.parent)) / "run"
    if where == HERE:
        command = ["sh", form / "run.sh", "--out", out, *words]
        result = out
    else:
        command = [TREE / "run.sh", "kernels", where, "--bundle", form, "--no-build", "--no-install", "--out", out, *words]
        result = out / where
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=TREE)
    judged = subprocess.run([sys.executable, "-m", "reports", "result", "--quiet", result], capture_output=True, text=True,
                            check=False, cwd=TREE)
    if not (result / "result.json").is_file():
        stop(f"{where}, {form.name}: {(done.stderr or done.stdout or judged.stderr).strip()[-300:]}")
    return answers(result)


def differing(one: Answers, other: Answers) -> set[tuple[str, str, str]]:
    """Points that both could tell, and not alike; and those that one form alone has."""
    told = {key for key in one.keys() & other.keys() if "unknown" not in (one[key], other[key])}
    return {key for key in told if one[key] != other[key]} | (one.keys() ^ other.keys())


def ask_both(where: str, top: Path, words: list[str]) -> dict[str, Answers]:
    """Two guests at a time; on this machine one run after the other, which would disturb each other."""
    with ThreadPoolExecutor(1 if where == HERE else len(FORMS)) as pool:
        return dict(zip(FORMS, pool.map(lambda form: ask(where, top / form, words), FORMS), strict=True))


def compare(where: str, top: Path, words: list[str]) -> set[tuple[str, str, str]]:
    """Ask both forms, and what differs again. Prints what one could not tell. Returns what differs each time."""
    said = ask_both(where, top, words)
    left = differing(said["single"], said["bundle"])
    for _ in range(AGAIN):
        if left:
            globs = [word for probe in sorted({probe for _, probe, _ in left}) for word in ("--probe", probe)]
            again = ask_both(where, top, words + globs)
            left &= differing(again["single"], again["bundle"])
    spoilt = sum("unknown" in (said["single"][key], said["bundle"][key]) for key in said["single"].keys() & said["bundle"].keys())
    print(f"{where}: {len(said['bundle'])} answers of a bundle, {len(said['single'])} of single programs: {len(left)} differ; "
          f"{spoilt} could not be told by one or both", flush=True)
    for persona, probe, name in sorted(left):
        both = [said[form].get((persona, probe, name), "not asked") for form in FORMS]
        print(f"  {persona} {probe}.{name}: {both[0]} of a program of its own, {both[1]} of the bundle")
    return left


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("row", nargs="*", help="of kernels/matrix.toml, after this machine")
    parser.add_argument("--suite", default="default", help="which questions (default: default)")
    parser.add_argument("--probe", action="append", default=[], help="probes whose id matches, as globs, in place of the suite's")
    parser.add_argument("--only-rows", action="store_true", help="do not ask this machine")
    options = parser.parse_args()
    words = ["--suite", options.suite, *(word for glob in options.probe for word in ("--probe", glob))]
    with tempfile.TemporaryDirectory(prefix="forms.", dir=TREE / "build") as folder:
        make_forms(Path(folder))
        places = [*([] if options.only_rows else [HERE]), *options.row]
        found = [compare(where, Path(folder), words) for where in places]
    return 1 if any(found) else 0


if __name__ == "__main__":
    sys.exit(main())
