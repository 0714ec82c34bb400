# SPDX-License-Identifier: MIT
"""Results that cannot be: each rule names one way in which a result contradicts itself.

A rule speaks only where no machine could give such a result. What is merely surprising, such as a
backport, is kept. Rules see the result, and what each of its records says under the declarations of its
points; that is found out once a record, because results share most of theirs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import chain
from typing import Any

from reports import expect, wordlist
from reports.catalogue import Catalogue
from reports.database import pack
from reports.declaration import Item, Probe

Result = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """What the catalogue says of a point."""
    probe: Probe
    item: Item
    needs: tuple[str, ...]
    since: str

    @property
    def release(self) -> expect.Release | None:
        return expect.release_of(self.since)


NEWER_ASKED = 20    # points newer than the kernel; fewer could all be backports
CLOCK_SKEW = timedelta(days=2)
KEPT = 20_000       # records of which it is known what they say
NO_PMU = "no hardware PMU of the CPU"
# What a point says where the whole machine lacks what it needs.
LACKS = {"breakpoint": "no breakpoint PMU", "kprobe": "no kprobe PMU", "uprobe": "no uprobe PMU",
         "aux": "no PMU with AUX data"}
NO_PERF = "this kernel has no perf_event_open"
_X86 = re.compile(r"x86_64|i[3-6]86|um")
_FAMILIES = {"x86": _X86, "arm64": re.compile("aarch64"), "arm": re.compile("arm.*"),
             "powerpc": re.compile("ppc.*"), "s390x": re.compile("s390x"),
             "riscv64": re.compile("riscv64")}


@dataclass(frozen=True, eq=False, slots=True)
class Told:
    """What a record says, as the rules ask it."""
    probe: str
    status: str
    counts: tuple[tuple[str, int], ...]     # its verdicts, and how many points have each
    keys: dict[str, list[str]]      # conclusive verdict -> points
    needing: list[str]              # points that work, and need what not every machine has
    counting: str                   # a point that counts with the PMU of a CPU
    no_pmu: bool                    # the CPU has none
    no_perf: int                    # points that find no perf_event_open
    working: dict[str, str]         # need of LACKS -> a point that works
    lacking: dict[str, str]         # need of LACKS -> a point that finds that the machine lacks it
    special: bool                   # whether one of these is there, or the program did not run: few records are


def _is_particular(need: str) -> bool:
    return need == "cpu2" or need.startswith("arch:")


class Declared:
    """The declarations of points, and what records say under them."""

    def __init__(self, found: Catalogue) -> None:
        self.asked = {f"{probe.id}.{item.name}": Asked(probe, item, tuple(probe.needs_of(item)), probe.since_of(item))
                      for probe in found.probes.values() for item in probe.points()}
        self._since = [(key, asked.release) for key, asked in self.asked.items()]
        self._told: dict[str, Told] = {}
        self._newer: dict[expect.Release, set[str]] = {}

    def told(self, digests: list[str], records: Iterable[pack.Record]) -> list[Told]:
        """What each record says."""
        known = self._told
        if len(known) >= KEPT:
            known.clear()
        found = [*map(known.get, digests)]
        if None in found:
            for digest, record in zip(digests, records):
                if digest not in known:
                    known[digest] = self._tell(record)
        return [*map(known.__getitem__, digests)] if None in found else found   # type: ignore[return-value]

    def _tell(self, record: pack.Record) -> Told:
        probe, status = record.probe, record.content["status"]
        keys: dict[str, list[str]] = {}
        absent: dict[str, str] = {}
        counts: dict[str, int] = {}
        for name, point in record.content["points"].items():
            word = point["verdict"]
            counts[word] = counts.get(word, 0) + 1
            if word in wordlist.CONCLUSIVE:
                keys.setdefault(word, []).append(f"{probe}.{name}")
            elif word == "absent":
                absent[f"{probe}.{name}"] = point["reason"]
        needs = {key: self.asked[key].needs for key in chain(keys.get("yes", ()), absent) if key in self.asked}
        works = {key: needs[key] for key in keys.get("yes", ()) if needs.get(key)}
        hardware = probe.startswith("hw.")
        found = ([key for key, each in works.items() if any(map(_is_particular, each))],
                 next((key for key, each in works.items() if hardware and "pmu" in each), ""),
                 hardware and any(NO_PMU in reason for reason in absent.values()),
                 sum(NO_PERF in reason for reason in absent.values()),
                 {need: key for key, each in works.items() for need in each if need in LACKS},
                 {need: key for key, reason in absent.items() for need in needs.get(key, ())
                  if need in LACKS and LACKS[need] in reason})
        return Told(probe, status, (*counts.items(),), keys, *found, any(found) or status == "not_run")

    def newer(self, release: expect.Release) -> set[str]:
        """The points that are newer than a release."""
        if release not in self._newer:
            self._newer[release] = {key for key, since in self._since if since is not None and since > release}
        return self._newer[release]


@dataclass
class Case:
    """A result, and what its records say."""
    taken: pack.Taken
    declared: Declared

    @property
    def result(self) -> Result:
        return self.taken.value

    @cached_property
    def told(self) -> dict[str, list[Told]]:
        """persona -> what the records of its probes say."""
        return {persona: self.declared.told(self.taken.digests[persona], (part.record for part, _loose in parts))
                for persona, parts in self.taken.parts.items()}

    @cached_property
    def special(self) -> dict[str, list[Told]]:
        """The same of the few records that most rules are about."""
        return {persona: [told for told in rows if told.special] for persona, rows in self.told.items()}


Rule = Callable[[Case], str]


def altered(case: Case) -> str:
    """The id is a hash of the content."""
    return "" if case.taken.content_id == case.result["id"] else \
        "its id is not the hash of its content: it was changed after it was made"


def miscounted(case: Case) -> str:
    """The summary counts the points."""
    for persona, rows in case.told.items():
        counts: dict[str, int] = {}
        for alike, times in Counter([told.counts for told in rows]).items():
            for word, count in alike:
                counts[word] = counts.get(word, 0) + count * times
        if {word: count for word, count in case.result["summary"].get(persona, {}).items() if count} != counts:
            return f"the summary of {persona} does not count its points"
    return ""


def empty(case: Case) -> str:
    """A run asks something."""
    asked = any(told.counts for rows in case.told.values() for told in rows)
    return "" if asked else "it answers no point"


def _started(case: Case) -> datetime | None:
    return datetime.strptime(case.result["started"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC) \
        if "started" in case.result else None


def on_no_day(case: Case) -> str:
    """A run starts on a day that there is."""
    try:
        _started(case)
    except ValueError:
        return f"it started on a day or at a time that there is not: {case.result['started']}"
    return ""


def from_the_future(case: Case) -> str:
    """A run starts before it is stored."""
    started = None if on_no_day(case) else _started(case)
    late = started is not None and started > datetime.now(UTC) + CLOCK_SKEW
    return f"it started in the future: {case.result['started']}" if late else ""


def never_ran(case: Case) -> str:
    """A program that did not run observed nothing."""
    for persona, rows in case.special.items():
        for told in rows:
            if told.status == "not_run" and told.keys:
                return f"{persona} {told.probe} did not run, and yet it answers"
    return ""


def _unmet(asked: Asked, result: Result) -> str:
    """The need of a point that this machine cannot meet, or ''. What a probe needs may be needed by
    some of its points only; and what needs root may be had by a capability: that is not judged."""
    for need in asked.needs:
        family = _FAMILIES.get(need.removeprefix("arch:")) if need.startswith("arch:") else None
        if family and not family.fullmatch(result["identity"]["arch"]):
            return f"{need}, and this is {result['identity']['arch']}"
        if need == "cpu2" and need in asked.item.needs and result["environment"].get("cpus_possible") == "1":
            return "a second CPU, and there is one"
    return ""


def without_its_need(case: Case) -> str:
    """A point that is yes has what it needs."""
    for persona, rows in case.special.items():
        for told in rows:
            for key in told.needing:
                unmet = _unmet(case.declared.asked[key], case.result)
                if unmet:
                    return f"{persona} {key} is yes, but it needs {unmet}"
    return ""


def counts_without_events(case: Case) -> str:
    """Where the CPU has no PMU, no point that needs one counts."""
    for persona, rows in case.special.items():
        counting = next((told.counting for told in rows if told.counting), "")
        if counting and any(told.no_pmu for told in rows):
            return f"{persona} {counting} counts, but the CPU has no PMU"
    return ""


def lacks_and_has(case: Case) -> str:
    """Where one point finds that the machine lacks what it needs, no other that needs it works."""
    for persona, rows in case.special.items():
        lacking: dict[str, str] = {}
        working: dict[str, str] = {}
        for told in rows:
            lacking |= told.lacking
            working |= told.working
        for need in sorted(lacking.keys() & working.keys()):
            return f"{persona} {working[need]} is yes, but {lacking[need]} finds {LACKS[need]}"
    return ""


def without_perf(case: Case) -> str:
    """A kernel that has no perf_event_open for root gives no working PMU event."""
    for persona, rows in case.special.items():
        lacking = sum(told.no_perf for told in rows)
        opened = sum(len(told.keys.get("yes", ())) for told in case.told[persona]) if lacking else 0
        if opened > lacking:
            return f"{persona} has no perf_event_open at {lacking} points and {opened} that work"
    return ""


def refused_to_the_mighty(case: Case) -> str:
    """`no` is the kernel's answer whoever asks: what root is refused, nobody less can do."""
    refusing = [told for told in case.told.get("root", ()) if "no" in told.keys]
    refused = {key for told in refusing for key in told.keys["no"]}
    probes = {told.probe for told in refusing}
    for persona, rows in case.told.items() if refused else ():
        for key in chain.from_iterable(told.keys.get("yes", ()) for told in rows if told.probe in probes):
            if key in refused and persona != "root":
                return f"{key} is no for root and yes for {persona}"
    return ""


def newer_than_its_kernel(case: Case) -> str:
    """A kernel older than a feature may have it as a backport, but not every feature there is."""
    release = expect.release_of(case.result["identity"]["release"])
    newer = case.declared.newer(release) if release else set()
    works = 0
    for told in chain.from_iterable(case.told.values()) if newer else ():
        for word, keys in told.keys.items():
            if not newer.isdisjoint(keys):
                if word != "yes":
                    return ""
                works += len(newer.intersection(keys))
    return f"all {works} points that are newer than {case.result['identity']['release']} work there" \
        if works >= NEWER_ASKED else ""


RULES: tuple[Rule, ...] = (altered, empty, miscounted, on_no_day, from_the_future, never_ran,
                           without_its_need, counts_without_events, lacks_and_has, without_perf, refused_to_the_mighty,
                           newer_than_its_kernel)


def problem(taken: pack.Taken, declared: Declared) -> str:
    """Why no machine can have given this result, with the rule's name; '' when it is plausible."""
    case = Case(taken, declared)
    for rule in RULES:
        why = rule(case)
        if why:
            return f"{rule.__name__}: {why}"
    return ""
