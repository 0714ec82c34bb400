# SPDX-License-Identifier: MIT
"""Verdicts, from what a probe said, how it ended and what it declares.

A doubt makes a verdict unknown. A probe that contradicts itself is not believed at all; one that was
stopped is believed as far as it got.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from reports import answer, ktap, text, wordlist
from reports.declaration import Item, Probe

UNDECLARED_LIMIT = 200      # keeps a flood of names out of results
WARNING_LIMIT = 50


@dataclass
class Record:
    """The answers of one probe to one persona, as result.json holds them."""
    status: str = "done"
    exit: int | None = None
    signal: int | None = None
    ms: int | None = None
    leftover: int | None = None
    points: dict[str, dict[str, Any]] = field(default_factory=dict)
    facts: dict[str, bool | int | str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    kernel: list[tuple[int, str]] = field(default_factory=list)     # see complaints.py

    def as_json(self) -> dict[str, Any]:
        warnings = list(dict.fromkeys(self.warnings))
        if len(warnings) > WARNING_LIMIT:
            warnings[WARNING_LIMIT:] = [f"{len(warnings) - WARNING_LIMIT} more warnings"]
        every = {"status": self.status, "exit": self.exit, "signal": self.signal, "ms": self.ms,
                 "leftover": self.leftover, "points": self.points, "facts": self.facts,
                 "warnings": warnings or None}
        return {key: value for key, value in every.items() if value is not None}


class _Judge:
    def __init__(self, said: ktap.Transcript, declared: Probe | None) -> None:
        self.said = said
        self.declared = declared
        self.record = Record(warnings=list(said.warnings), kernel=said.kernel)
        self.footer = said.footer or {}
        self.flat: list[tuple[str, ktap.Result]] = []
        self.repeated: set[str] = set()

    def judge(self) -> Record:
        self._ending()
        doubt = self._doubt()
        if doubt and self.record.status == "done":
            self.record.status = "garbled"
        self._flatten(self.said.top.results, "")
        self._points()
        self._facts()
        if doubt:
            self._distrust(doubt)
        self._missing(doubt)
        return self.record

    def _ending(self) -> None:
        record, footer = self.record, self.footer
        if footer:
            record.exit, record.signal = footer["exit"], footer["signal"]
            record.ms, record.leftover = max(footer["ms"], 0), max(footer["leftover"], 0)
            if record.leftover:
                record.warnings.append(f"{record.leftover} processes had to be killed after it")
        lost = footer.get("bytes", 0) > self.said.size and not self.said.oversize
        if not footer or self.said.oversize or self.said.flooded or footer["truncated"] or lost:
            record.status = "truncated"
        elif footer["timeout"]:
            record.status = "timeout"
        elif footer["signal"]:
            record.status = "crashed"

    def _stopped(self) -> bool:
        """Whether the probe was stopped or bailed out, so that results may be missing."""
        return self.record.status in ("timeout", "crashed") or self.said.bail_out is not None

    def _doubt(self) -> str:
        """Why nothing that this probe said is believed, or ''."""
        if self.said.oversize:
            return f"output larger than {ktap.FILE_LIMIT >> 20} MiB"
        if not self.footer:
            return "no launch footer: the file is truncated"
        if self.footer["truncated"] or self.said.flooded:
            return "flood: the output was cut at its limit"
        lost = self.footer.get("bytes", 0) - self.said.size
        if lost > 0:
            return f"{lost} bytes of the output were lost on the way"
        return self._lying_plan() or self._lying_exit()

    def _lying_plan(self) -> str:
        top = self.said.top
        results = len(top.results)
        if len(top.plans) > 1:
            return "lying plan: two plans"
        if not top.plans:
            if self._stopped() and not results:
                return ""
            return f"no plan (exit={self.footer['exit']})"
        if results > top.plans[0] or (results < top.plans[0] and not self._stopped()):
            return f"lying plan: {top.plans[0]} planned, {results} reported"
        return self._lying_numbers(top.results)

    def _lying_numbers(self, results: list[ktap.Result]) -> str:
        if [result.number for result in results] != list(range(1, len(results) + 1)):
            return "lying plan: result numbers out of order"
        name, times = (Counter(r.name for r in results).most_common(1) or [("", 0)])[0]
        return f"lying plan: '{text.clean(name, 80)}' reported twice" if times > 1 else ""

    def _lying_exit(self) -> str:
        if self._stopped():
            return ""
        results, code = self.said.top.results, self.footer["exit"]
        failed = [r for r in results if not r.ok and r.directive not in ("SKIP", "TODO", "XFAIL")]
        skipped = all(result.directive == "SKIP" for result in results)
        if failed and code == 0:
            return "exit status 0 contradicts 'not ok'"
        soft = any(result.directive in ("TODO", "XFAIL") for result in results)
        if not failed and code and not (code == 4 and skipped) and not soft:
            return f"exit status {code} contradicts 'ok'"
        return ""

    def _flatten(self, results: list[ktap.Result], prefix: str) -> None:
        """Collect the leaves of nested results; a parent only repeats what its children say."""
        for result in results:
            name = f"{prefix}.{result.name}" if prefix else result.name
            if result.children:
                self._flatten(result.children, name)
            else:
                self.flat.append((name, result))

    def _points(self) -> None:
        for name, result in self.flat:
            if not ktap.NAME.fullmatch(name) or len(name) > 200:
                self.record.warnings.append(f"not a point's name: '{text.clean(name, 80)}'")
                continue
            evidence = self.said.evidence.get(name, [])
            self._put(name.partition(".")[2] or name, answer.of_result(result, evidence))

    def _put(self, name: str, made: dict[str, Any]) -> None:
        if name in self.record.points or name in self.repeated:
            self.repeated.add(name)
            made = answer.point("unknown", "reported twice")
        self.record.points[name] = made

    def _facts(self) -> None:
        declared = self.declared.facts() if self.declared else {}
        values: dict[str, str] = {}
        for name, value in self.said.facts:
            if values.setdefault(name, value) != value:
                self.repeated.add(name)
        for name, value in values.items():
            if name not in declared:
                if not self.declared:
                    continue
                shown = text.clean(f"{name}={value}", 120)
                self.record.warnings.append(f"undeclared fact {shown}")
            elif declared[name].type == "verdict":
                self._put(name, answer.of_fact(value))
            else:
                self._fact(declared[name], value)

    def _fact(self, item: Item, value: str) -> None:
        made = answer.typed(item, value)
        if item.name in self.repeated:
            self.record.warnings.append(f"fact {item.name} given twice with different values")
        elif made is None:
            shown = text.clean(value, 120)
            self.record.warnings.append(f"fact {item.name} is no {item.type}: '{shown}'")
        else:
            self.record.facts[item.name] = made

    def _distrust(self, doubt: str) -> None:
        for name in self.record.points:
            self.record.points[name] = answer.point("unknown", doubt)
        if self.record.facts:
            self.record.warnings.append(f"{len(self.record.facts)} facts not believed: {doubt}")
            self.record.facts = {}

    def _why_missing(self, doubt: str) -> str:
        if doubt:
            return doubt
        if self.record.status == "timeout":
            return "not reported: the probe ran into its time-out"
        if self.record.status == "crashed":
            return f"not reported: killed by signal {self.footer['signal']}"
        if self.said.bail_out is not None:
            return f"not reported: bailed out: {self.said.bail_out}"
        return "not reported"

    def _missing(self, doubt: str) -> None:
        declared = {item.name for item in self.declared.points()} if self.declared else set()
        if not self.declared:
            self.record.warnings.append("the catalogue does not know this probe")
        extra = sorted(self.record.points.keys() - declared)
        for name in extra[UNDECLARED_LIMIT:]:
            del self.record.points[name]
        for name in extra[:UNDECLARED_LIMIT]:
            self.record.points[name]["undeclared"] = True
            if self.declared:
                self.record.warnings.append(f"undeclared point {name}")
        shared = None if doubt or self._stopped() else self._shared_skip()
        for name in sorted(declared - self.record.points.keys()):
            self.record.points[name] = (
                dict(shared) if shared else answer.point("unknown", self._why_missing(doubt)))

    def _shared_skip(self) -> dict[str, Any] | None:
        """The verdict of the missing facts: whatever kept every test from running kept them too."""
        if self.said.top.skip is not None and not self.flat:
            return answer.skip(self.said.top.skip)
        said = [answer.of_result(result, []) for _, result in self.flat]
        same = {made["verdict"] for made in said}
        mild = set(wordlist.SKIPPED) - set(wordlist.CONCLUSIVE)
        return said[0] if len(same) == 1 and same <= mild else None


def _guest_down(said: ktap.Fallen, declared: Probe | None) -> Record:
    """A guest that goes down each time a probe runs alone in it is evidence against its kernel. One
    that goes down now and then may be a fault of the emulator, and an emulator that dies is one."""
    what = {"panic": "panicked", "hang": "hung", "shutdown": "powered off",
            "died": "died with their emulator"}[said.ended]
    always = said.times == said.of and said.of > 1 and said.ended != "died"
    reason = f"{said.times} of {said.of} guests {what} while this ran"
    last = next((line for line in said.console if "panic" in line or said.ended == "died"), "")
    made = answer.point("broken" if always else "unknown", f"{reason}: {last}" if last else reason,
                 [reason, *said.console])
    items = declared.points() if declared else []
    return Record("guest_down", points={item.name: dict(made) for item in items})


def judge(said: ktap.Transcript, declared: Probe | None) -> Record:
    """The record of one probe, from its transcript and its declaration (None: it has none)."""
    if said.fallen:
        return _guest_down(said.fallen, declared)
    return _Judge(said, declared).judge()


def not_run(declared: Probe | None, why: str) -> Record:
    """The record of a probe that was planned and has no file."""
    items = declared.points() if declared else []
    return Record("not_run", points={item.name: answer.point("unknown", why) for item in items})
