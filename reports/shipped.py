# SPDX-License-Identifier: MIT
"""Profiles that come with the library: of each kernel of the matrix, what the library looks at.

A shipped profile is cut down from the whole answers of a row (answers.py). It holds only keys that the
library declares: those it decides by and those that programs look up. It holds only what is the same
whoever asks, nothing of policy, and nothing of hardware, because an emulator's PMU says nothing of the
machine it will be read on; what policy blocks there is in the answers. Out of all profiles comes the
table compiled into the library: one letter a fact, for each architecture and series.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reports import answers, catalogue, facts, schema, text, wordlist
from reports.catalogue import Catalogue
from reports.profile import derive as profile_of
from reports.sheet import Sheet
from reports.text import Unusable

FOLDER = Path("lib/profiles")
TABLE = Path("lib/policy/profile/builtin.inc")
MATRIX = Path("kernels/matrix.toml")
NEWEST = "newest"
HARDWARE = {"pmu", "aux", "breakpoint", "counter"}
POLICY = "perm."
OF_KERNEL = {"perm.level_file.file_agrees"}     # whether the file is there is no policy
SYNTHETIC = "synthetic"     # a PMU of our own: what it answers is said of nothing else
NO_PERF = "uml"             # user-mode Linux has no perf events: what it says is of nothing
IDENTITY = ("arch", "release", "version", "build_id", "config_sha256", "page_size")
UNKNOWN = "."

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_SERIES = re.compile(r"\d{1,3}\.\d{1,4}", re.ASCII)


def of_hardware(found: Catalogue) -> set[str]:
    """Keys of points and facts that need hardware of the right kind."""
    return {f"{probe.id}.{item.name}" for probe in found.probes.values() for item in probe.items
            if any(need in HARDWARE or need.startswith("arch:") for need in probe.needs_of(item))}


def cut(profile: dict[str, Any], wanted: list[str], hardware: set[str]) -> dict[str, Any]:
    """The part of a profile that ships; `evidence` still names the result it came from."""
    kept = {key: value for key, value in profile["kernel"].items()
            if key in wanted and key not in hardware
            and (key in OF_KERNEL or not key.startswith(POLICY))}
    identity = {key: profile["identity"][key] for key in IDENTITY if key in profile["identity"]}
    return profile | {"identity": identity, "kernel": kept, "personas": {}}


def _rows(run: Path) -> Iterator[tuple[str, dict[str, Any], set[str]]]:
    """name, profile and hardware keys of each kernel of a run that has answered."""
    for path in sorted(run.glob("*/profile.json")):
        name = path.parent.name
        if not _NAME.fullmatch(name):
            raise Unusable(f"{text.clean(name, 80)}: not the name of a kernel")
        profile = schema.require("profile", text.load_json(path), str(path))
        yield name, profile, of_hardware(catalogue.gather([path.parent / "catalogue"]))


def derive(run: Path, library: Path = facts.LIBRARY) -> dict[str, dict[str, Any]]:
    """What would ship of a finished run of the kernel matrix; kernels that said nothing do not."""
    wanted = facts.keys(library)
    made = {name: cut(profile, wanted, hardware) for name, profile, hardware in _rows(run)
            if profile["identity"].get("pmu") != SYNTHETIC
            and profile["identity"].get("emulator") != NO_PERF}
    made = {name: profile for name, profile in made.items() if profile["kernel"]}
    if not made:
        raise Unusable(f"{run}: no kernel there has answered what the library asks")
    return made


def from_answers(sheets: dict[str, Sheet], declared: Catalogue,
                 library: Path = facts.LIBRARY) -> dict[str, dict[str, Any]]:
    """The profiles of the answers that ship. Of the levels of a row the one that tells most is taken, the lowest
    of those that tell as much: a kernel's facts do not depend on it, but not all of them are asked at each."""
    if not sheets:
        return {}
    wanted, hardware = facts.keys(library), of_hardware(declared)
    made = {name: max((cut(profile_of(one), wanted, hardware) for one in each.levels.values()),
                      key=lambda profile: len(profile["kernel"]))
            for name, each in sheets.items()
            if not each.synthetic and each.one["identity"].get("emulator") != NO_PERF}
    return {name: profile for name, profile in made.items() if profile["kernel"]}


def load(folder: Path = FOLDER) -> dict[str, dict[str, Any]]:
    """The profiles that ship."""
    return {path.stem: schema.require("profile", text.load_json(path), str(path))
            for path in sorted(folder.glob("*.json"))}


def row_series(matrix: Path = MATRIX, every: bool = False) -> dict[str, str]:
    """The rows of the matrix a profile ships of, and their series. User-mode Linux has no perf
    events of its own, a synthetic PMU is nobody's, and what cannot be run has no profile."""
    try:
        listed = tomllib.loads(matrix.read_text(encoding="utf-8"))
        runners = {name: arch["runner"] for name, arch in listed["arch"].items()}
        return {row["name"]: row.get("series", NEWEST) for row in listed["row"]
                if every or runners[row["arch"]] != "uml" and not {"unavailable", "pmu"} & row.keys()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Unusable(text.clean(f"{matrix}: no list of kernels: {error}", 300)) from error


def misplaced(shipped: dict[str, dict[str, Any]], wanted: dict[str, str]) -> Iterator[str]:
    """Rows without a profile, profiles without a row, and those of another series than their row
    stands for. Rows that stand for the newest kernel move on."""
    for name in sorted(wanted.keys() | shipped.keys()):
        series = _series_of(shipped[name]) if name in shipped else ""
        if not series:
            yield f"{name}: no profile of this row; run it, then the verb ship"
        elif name not in wanted:
            yield f"{name}: a profile of no row of {MATRIX}"
        elif wanted[name] not in (NEWEST, series):
            yield f"{name}: ships as {series}, the row is {wanted[name]}"


def moved(shipped: dict[str, dict[str, Any]], derived: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Rows of a run that are of another series than what ships, and so not to be compared."""
    both = sorted(shipped.keys() & derived.keys())
    series = {name: (_series_of(shipped[name]), _series_of(derived[name])) for name in both}
    return {name: f"{name}: ships as {old}, is {new} now: not compared; the verb ship takes it in"
            for name, (old, new) in series.items() if old != new}


def differences(shipped: dict[str, dict[str, Any]],
                derived: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Facts that a run answers otherwise than what ships. What a run did not ask is no difference,
    and neither is a kernel that does not ship; but something must have been compared."""
    same = (shipped.keys() & derived.keys()) - moved(shipped, derived).keys()
    if not same:
        yield "nothing to compare: the run has no kernel of a series that ships"
    for name in sorted(same):
        said, now = ({"arch": profile[name]["identity"]["arch"], **profile[name]["kernel"]}
                     for profile in (shipped, derived))
        for key in sorted(now):
            if now[key] != said.get(key):
                yield f"{name}: {key}: ships as {said.get(key, 'unknown')}, now {now[key]}"


def of_answers(shipped: dict[str, dict[str, Any]], sheets: dict[str, Sheet],
               declared: Catalogue) -> Iterator[str]:
    """What is wrong with the answers, and where the profiles are not what they say."""
    yield from answers.problems(sheets, declared, row_series(), row_series(every=True),
                                answers.unanswered())
    for name, profile in from_answers(sheets, declared).items():
        if shipped.get(name) != profile:
            yield f"{FOLDER / name}.json: not what {answers.FOLDER} says; run the verb ship"


def problems(shipped: dict[str, dict[str, Any]], run: dict[str, dict[str, Any]]) -> Iterator[str]:
    """What is wrong with answers, profiles and their table, by themselves and beside a run, if any."""
    yield from misplaced(shipped, row_series())
    yield from of_answers(shipped, answers.load_all(), answers.questions())
    if run:
        yield from differences(shipped, run)
    if table(shipped) != TABLE.read_text(encoding="utf-8"):
        yield f"{TABLE}: not what {FOLDER} says; run the verb ship"


# ------------------------------------------------------------------------- the compiled-in table

def _series_of(profile: dict[str, Any]) -> str:
    release = profile["identity"]["release"]
    match = _SERIES.match(release)
    if match is None:
        raise Unusable(f"{text.clean(release, 80)}: no release of a kernel")
    return match[0]


def _merge(answers: list[str]) -> str:
    """One letter for several kernels of a series: hazard sticks, disagreement is unknown."""
    said = {answer for answer in answers if answer != UNKNOWN}
    if wordlist.LETTERS["hazard"] in said:
        return wordlist.LETTERS["hazard"]
    return said.pop() if len(said) == 1 else UNKNOWN


def _lines(profiles: dict[str, dict[str, Any]], wanted: list[str]) -> Iterator[tuple[str, ...]]:
    """architecture, series and letters."""
    kernels: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for profile in profiles.values():
        series = tuple(int(part) for part in _series_of(profile).split("."))
        place = profile["identity"]["arch"], series
        kernels.setdefault(place, []).append("".join(
            wordlist.LETTERS.get(str(profile["kernel"].get(key)), UNKNOWN) for key in wanted))
    for (arch, series), said in sorted(kernels.items()):
        letters = "".join(_merge(list(column)) for column in zip(*said, strict=True))
        yield arch, ".".join(str(part) for part in series), letters


def table(profiles: dict[str, dict[str, Any]]) -> str:
    """The C text of the table: keys that anything is known of, and a line a kernel."""
    wanted = sorted({key for profile in profiles.values()
                     for key, value in profile["kernel"].items() if str(value) in wordlist.LETTERS})
    lines = ["/* SPDX-License-Identifier: MIT */",
             "/* Made from lib/profiles by `python3 -m reports ship`; do not edit. */",
             "static const char *const builtin_keys[] = {"]
    lines += [f'\t"{key}",' for key in wanted]
    lines += ["};", "", "static const struct builtin builtin_kernels[] = {"]
    for arch, series, letters in _lines(profiles, wanted):
        if not _NAME.fullmatch(arch):
            raise Unusable(f"{text.clean(arch, 80)}: not the name of an architecture")
        lines.append(f'\t{{ "{arch}", "{series}", "{letters}" }},')
    return "\n".join([*lines, "};", ""])


def write(derived: dict[str, dict[str, Any]], folder: Path = FOLDER, inc: Path = TABLE) -> None:
    """Puts the profiles beside those of other kernels, and makes the table anew."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, profile in derived.items():
        text.write_whole(folder / f"{name}.json", text.dump_json(profile))
    text.write_whole(inc, table(load(folder)))
