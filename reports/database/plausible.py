# SPDX-License-Identifier: MIT
"""Results that cannot be: each rule names one way in which a result contradicts itself.

A rule speaks only where no machine could give such a result. What is merely surprising, such as a
backport, is kept. Rules see the result and the declarations of its points.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from reports import expect, result as results, wordlist
from reports.catalogue import Catalogue
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


Declared = dict[str, Asked]

NEWER_ASKED = 20    # points newer than the kernel; fewer could all be backports
CLOCK_SKEW = timedelta(days=2)
NO_PMU = "no hardware PMU of the CPU"
# What a point says where the whole machine lacks what it needs.
LACKS = {"breakpoint": "no breakpoint PMU", "kprobe": "no kprobe PMU", "uprobe": "no uprobe PMU",
         "aux": "no PMU with AUX data"}
NO_PERF = "this kernel has no perf_event_open"
_X86 = re.compile(r"x86_64|i[3-6]86|um")
_FAMILIES = {"x86": _X86, "arm64": re.compile("aarch64"), "arm": re.compile("arm.*"),
             "powerpc": re.compile("ppc.*"), "s390x": re.compile("s390x"),
             "riscv64": re.compile("riscv64")}


def declared_by(found: Catalogue) -> Declared:
    """key -> what declares it."""
    return {f"{probe.id}.{item.name}": Asked(probe, item, tuple(probe.needs_of(item)),
                                             probe.since_of(item))
            for probe in found.probes.values() for item in probe.points()}


@dataclass
class Case:
    """A result, and what is declared of its points."""
    result: Result
    declared: Declared

    @cached_property
    def answers(self) -> dict[str, list[tuple[str, str]]]:
        """verdict -> (persona, key) of the points that have it."""
        found: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for persona, part in self.result["personas"].items():
            for probe, record in part["probes"].items():
                for name, point in record["points"].items():
                    found[point["verdict"]].append((persona, f"{probe}.{name}"))
        return found


Rule = Callable[[Case], str]


def altered(case: Case) -> str:
    """The id is a hash of the content."""
    return "" if results.content_id(case.result) == case.result["id"] else \
        "its id is not the hash of its content: it was changed after it was made"


def miscounted(case: Case) -> str:
    """The summary counts the points."""
    for persona, part in case.result["personas"].items():
        counts = Counter(point["verdict"] for record in part["probes"].values()
                         for point in record["points"].values())
        said = {word: count for word, count in case.result["summary"].get(persona, {}).items() if count}
        if said != dict(counts):
            return f"the summary of {persona} does not count its points"
    return ""


def empty(case: Case) -> str:
    """A run asks something."""
    asked = any(record["points"] for part in case.result["personas"].values()
                for record in part["probes"].values())
    return "" if asked else "it answers no point"


def from_the_future(case: Case) -> str:
    """A run starts before it is stored."""
    said = case.result.get("started")
    if said is None:
        return ""
    started = datetime.strptime(said, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    late = started > datetime.now(UTC) + CLOCK_SKEW
    return f"it started in the future: {said}" if late else ""


def never_ran(case: Case) -> str:
    """A program that did not run observed nothing."""
    for persona, part in case.result["personas"].items():
        for probe, record in part["probes"].items():
            if record["status"] == "not_run" and any(
                    point["verdict"] in wordlist.CONCLUSIVE for point in record["points"].values()):
                return f"{persona} {probe} did not run, and yet it answers"
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
    for persona, key in case.answers["yes"]:
        found = case.declared.get(key)
        if found and found.needs:
            unmet = _unmet(found, case.result)
            if unmet:
                return f"{persona} {key} is yes, but it needs {unmet}"
    return ""


def counts_without_events(case: Case) -> str:
    """Where the CPU has no PMU, no point that needs one counts."""
    for persona, part in case.result["personas"].items():
        lacking = any(NO_PMU in point.get("reason", "") and point["verdict"] == "absent"
                      for probe, record in part["probes"].items() if probe.startswith("hw.")
                      for point in record["points"].values())
        if not lacking:
            continue
        for probe, record in part["probes"].items():
            for name, point in record["points"].items():
                found = case.declared.get(f"{probe}.{name}")
                if found and point["verdict"] == "yes" and probe.startswith("hw.") \
                        and "pmu" in found.needs:
                    return f"{persona} {probe}.{name} counts, but the CPU has no PMU"
    return ""


def lacks_and_has(case: Case) -> str:
    """Where one point finds that the machine lacks what it needs, no other that needs it works."""
    for persona, part in case.result["personas"].items():
        lacking: dict[str, str] = {}
        working: dict[str, str] = {}
        for probe, record in part["probes"].items():
            for name, point in record["points"].items():
                found = case.declared.get(f"{probe}.{name}")
                for need in LACKS.keys() & set(found.needs if found else ()):
                    if point["verdict"] == "yes":
                        working[need] = f"{probe}.{name}"
                    elif point["verdict"] == "absent" and LACKS[need] in point["reason"]:
                        lacking[need] = f"{probe}.{name}"
        for need in sorted(lacking.keys() & working.keys()):
            return f"{persona} {working[need]} is yes, but {lacking[need]} finds {LACKS[need]}"
    return ""


def without_perf(case: Case) -> str:
    """A kernel that has no perf_event_open for root gives no working PMU event."""
    for persona, part in case.result["personas"].items():
        said = [point for record in part["probes"].values() for point in record["points"].values()]
        lacking = sum(point["verdict"] == "absent" and NO_PERF in point.get("reason", "")
                      for point in said)
        opened = sum(point["verdict"] == "yes" for point in said)
        if lacking and opened > lacking:
            return f"{persona} has no perf_event_open at {lacking} points and {opened} that work"
    return ""


def refused_to_the_mighty(case: Case) -> str:
    """`no` is the kernel's answer whoever asks: what root is refused, nobody less can do."""
    refused = {key for persona, key in case.answers["no"] if persona == "root"}
    for persona, key in case.answers["yes"]:
        if key in refused and persona != "root":
            return f"{key} is no for root and yes for {persona}"
    return ""


def newer_than_its_kernel(case: Case) -> str:
    """A kernel older than a feature may have it as a backport, but not every feature there is."""
    release = expect.release_of(case.result["identity"]["release"])
    if release is None:
        return ""
    newer = {key for key, asked in case.declared.items() if (asked.release or release) > release}
    have = {word: sum(key in newer for _persona, key in case.answers[word])
            for word in wordlist.CONCLUSIVE}
    asked = sum(have.values())
    if asked >= NEWER_ASKED and have["yes"] == asked:
        return f"all {asked} points that are newer than {case.result['identity']['release']} work there"
    return ""


RULES: tuple[Rule, ...] = (altered, empty, miscounted, from_the_future, never_ran, without_its_need,
                           counts_without_events, lacks_and_has, without_perf, refused_to_the_mighty,
                           newer_than_its_kernel)


def problem(result: Result, declared: Declared) -> str:
    """Why no machine can have given this result, with the rule's name; '' when it is plausible."""
    case = Case(result, declared)
    for rule in RULES:
        why = rule(case)
        if why:
            return f"{rule.__name__}: {why}"
    return ""
