# SPDX-License-Identifier: MIT
"""Which verdict is expected: by `since`, and by the deviations in suites/expect.

Nothing here changes a verdict. Versions only date the table and tell what is a surprise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

from reports import schema, text, wordlist
from reports.catalogue import Catalogue
from reports.text import Unusable

FOLDER = Path("suites/expect")
_RELEASE = re.compile(r"([0-9]{1,5})\.([0-9]{1,5})(?:\.([0-9]{1,5}))?", re.ASCII)
_BOUND = re.compile(r"(>=|<=|<|>|==)\s*([0-9.]+)")

# Where somebody wrote that it is wrong, or mended it: a thread, a commit, a bug, a review.
_REPORT = re.compile(r"https://(?:lore\.kernel\.org/\S+/\S+@\S+|lkml\.kernel\.org/r/\S+@\S+"
                     r"|\S+/commit/(?:\?id=)?[0-9a-f]{12,40}"
                     r"|\S+/(?:issues|pull|merge_requests)/[0-9]+|\S+/show_bug\.cgi\?id=[0-9]+"
                     r"|bugs\.debian\.org/[0-9]+|bugs\.launchpad\.net/\S+/\+bug/[0-9]+)"
                     r"|commit [0-9a-f]{12,40}(?: .*)?")
_KERNEL = r"[a-z0-9][\w.+-]*(?: [a-z]\w+)?"
_SEEN = re.compile(rf"seen on {_KERNEL}(?:, {_KERNEL})*, reproducer ([a-z0-9_]+\.[a-z0-9_]+)")

Release = tuple[int, int, int]
Facts = dict[str, list[str]]


@lru_cache(maxsize=4096)
def release_of(value: str) -> Release | None:
    """The numbers at the start of a release; a vendor's suffix is not compared."""
    match = _RELEASE.match(value)
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


def _in_range(value: str, bounds: str) -> bool:
    have = release_of(value)
    for bound in bounds.split(","):
        match = _BOUND.fullmatch(bound.strip())
        want = release_of(match[2]) if match else None
        if match is None or want is None or have is None:
            return False
        if not {">=": have >= want, "<=": have <= want, "<": have < want,
                ">": have > want, "==": have == want}[match[1]]:
            return False
    return True


def is_range(bounds: str) -> bool:
    """Whether this is a valid condition on a release: a glob, or a range such as >=5.10,<5.15."""
    if not re.match(r"[<>=]", bounds):
        return True
    parts = [_BOUND.fullmatch(bound.strip()) for bound in bounds.split(",")]
    return all(part and release_of(part[2]) for part in parts)


def _holds(key: str, wanted: str, values: list[str]) -> bool:
    if key == "release" and re.match(r"[<>=]", wanted):
        return any(_in_range(value, wanted) for value in values)
    if wanted.startswith("!"):
        return not any(fnmatchcase(value, wanted[1:]) for value in values)
    return any(fnmatchcase(value, wanted) for value in values)


@dataclass(frozen=True)
class Deviation:
    """One entry of suites/expect/<probe-id>.toml."""
    probe: str
    point: str
    when: tuple[tuple[str, tuple[str, ...]], ...]
    verdicts: tuple[str, ...]
    reason: str
    link: str

    @property
    def reproducer(self) -> str:
        """The probe that shows it, when it was only seen and reported nowhere."""
        match = _SEEN.fullmatch(self.link)
        return match[1] if match else ""

    def applies(self, probe: str, name: str, facts: Facts) -> bool:
        return (probe == self.probe and fnmatchcase(name, self.point)
                and all(any(_holds(key, want, facts.get(key, [])) for want in wanted)
                        for key, wanted in self.when))

    def __str__(self) -> str:
        return f"suites/expect/{self.probe}.toml: {self.point}"


@dataclass
class Expectations:
    """All deviations, and what is wrong with the files."""
    deviations: list[Deviation] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def find(self, probe: str, name: str, facts: Facts) -> Deviation | None:
        """The first entry that applies."""
        for deviation in self.deviations:
            if deviation.applies(probe, name, facts):
                return deviation
        return None


def _list(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _file(path: Path) -> Iterator[Deviation]:
    loaded = schema.require("expectation", text.load_toml(path), path.name)
    for entry in loaded["deviation"]:
        when = tuple((key, _list(value)) for key, value in sorted(entry["when"].items()))
        for bounds in dict(when).get("release", ()):
            if not is_range(bounds):
                raise Unusable(f"{path.name}: release '{bounds}' is not like >=5.10,<5.15")
        if not _REPORT.fullmatch(entry["link"]) and not _SEEN.fullmatch(entry["link"]):
            raise Unusable(f"{path.name}: link '{entry['link']}' is no thread, commit or bug; where nobody has "
                           "reported it, write: seen on KERNEL, reproducer PROBE")
        yield Deviation(path.name.removesuffix(".toml"), entry["point"], when,
                        _list(entry["verdict"]), entry["reason"], entry["link"])


def read(folder: Path) -> Expectations:
    """Read all files of a folder; a bad file is reported as a problem and left out."""
    found = Expectations()
    for path in sorted(folder.glob("*.toml")):
        problems = check(path)
        found.problems += problems
        if not problems:
            found.deviations.extend(_file(path))
    return found


def facts_of(result: dict[str, Any], persona: str) -> Facts:
    """What a condition can refer to: identity, environment, the persona with its settings, and what
    is broken there. What could not be told for this persona is broken where it is for another one."""
    told = [(each, f"{probe}.{name}", point["verdict"]) for each, probe, name, point in points(result)]
    untold = {key for each, key, verdict in told if each == persona and verdict == "unknown"}
    facts: Facts = {"persona": [persona], "suite": [result["suite"]], "broken": sorted(
        {key for each, key, verdict in told if verdict == "broken" and (each == persona or key in untold)})}
    own = result["personas"][persona]["environment"]
    for values in (result["identity"], result["environment"], own):
        facts |= {key: list(_list(value)) for key, value in values.items()}
    return facts


@dataclass
class Judgement:
    """The verdicts that are worse than expected (unexpected) and better (news)."""
    unexpected: list[dict[str, Any]] = field(default_factory=list)
    news: list[dict[str, Any]] = field(default_factory=list)


def _derived(since: str, verdict: str,
             release: Release | None) -> tuple[str, list[str], str]:
    """('unexpected' | 'news' | '', expected verdicts, why), by `since` alone."""
    known = release_of(since)
    if verdict == "broken":
        return "unexpected", ["yes"], f"works since {since}" if since else "nothing is to be broken"
    if known is None or release is None:
        return "", [], ""
    if verdict == "no" and known <= release:
        return "unexpected", ["yes"], f"there since {since}"
    if verdict == "yes" and known > release:
        return "news", ["no"], f"backport: upstream has it since {since}"
    return "", [], ""


def _deviating(deviation: Deviation, verdict: str) -> tuple[str, list[str], str]:
    expected = list(deviation.verdicts)
    if verdict in expected or verdict not in wordlist.CONCLUSIVE:
        return "", expected, ""
    where = "news" if verdict == "yes" else "unexpected"
    return where, expected, f"{deviation} says otherwise: {deviation.reason}"


def compare(result: dict[str, Any], declared: Catalogue, expected: Expectations) -> Judgement:
    """Compare every verdict of a result with the expected one."""
    out = Judgement()
    release = release_of(result["identity"]["release"])
    since = {f"{probe.id}.{item.name}": probe.since_of(item)
             for probe in declared.probes.values() for item in probe.points()}
    facts = {persona: facts_of(result, persona) for persona in result["personas"]}
    for persona, probe_id, name, point in points(result):
        deviation = expected.find(probe_id, name, facts[persona])
        where, verdicts, why = (
            _deviating(deviation, point["verdict"]) if deviation
            else _derived(since.get(f"{probe_id}.{name}", ""), point["verdict"], release))
        if where:
            entry = {"persona": persona, "key": f"{probe_id}.{name}", "verdict": point["verdict"],
                     "expected": verdicts, "why": text.clean(why, 1000)}
            if "reason" in point:
                entry["reason"] = point["reason"]
            getattr(out, where).append(entry)
    return out


def points(result: dict[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """(persona, probe id, point name, point) for every point of a result, in stable order."""
    for persona, part in sorted(result["personas"].items()):
        for probe_id, record in sorted(part["probes"].items()):
            for name, point in sorted(record["points"].items()):
                yield persona, probe_id, name, point


def stale(result: dict[str, Any], expected: Expectations) -> list[str]:
    """Deviations that apply to points of this result and no longer hold for any of them."""
    seen: dict[Deviation, bool] = {}
    facts = {persona: facts_of(result, persona) for persona in result["personas"]}
    for persona, probe_id, name, point in points(result):
        deviation = expected.find(probe_id, name, facts[persona])
        if deviation and point["verdict"] in wordlist.CONCLUSIVE:
            holds = point["verdict"] in deviation.verdicts
            seen[deviation] = seen.get(deviation, False) or holds
    return [f"{deviation}: stale, nothing here is {' or '.join(deviation.verdicts)} any more"
            for deviation, holds in seen.items() if not holds]


def check(path: Path) -> list[str]:
    """What is wrong with one file of deviations."""
    try:
        list(_file(path))
    except Unusable as error:
        return [str(error).removeprefix(f"{path.parent}/")]
    except (OSError, ValueError, RecursionError) as error:
        return [text.clean(f"{path.name}: {error}", 300)]
    return []
