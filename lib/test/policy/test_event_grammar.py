# SPDX-License-Identifier: MIT
"""pm_event_list() takes what perf(1) takes, and makes of it the attr that perf opens.

perf tells with -vv what it asks the kernel for, whether or not the kernel has such an event.
"""

from __future__ import annotations

import concurrent.futures
import functools
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[3]
NAMES = Path(__file__).with_name("data") / "event_grammar.txt"
PROGRAM = TREE / "build/test/policy/event_attrs"

#: Where both differ, and why.
DIFFERENCES = {
    "tool": "perf measures it itself: the kernel has no such event",
    "bpf": "counts by a program of BPF that perf brings along",
    "unsupported": "a term that says how perf itself works, or that a spec cannot say: -ENOTSUP",
    "stricter": "refused here: empty modifiers, rates of 0 or without a number, two of a kind, names of groups",
    "wider": "perf does not offer what the kernel has: stores of some caches, rates and names of tracepoints, "
             "systems of tracepoints by a pattern where not each has the event",
}
# Besides, of all: guests count unless H or G is there, where perf decides by itself; a rate that is not told is the
# caller's; and P is as precise as the CPU has it, which perf finds out before it opens anything.
SAME = ("type", "config", "config1", "config2", "bp_type", "exclude_user", "exclude_kernel", "exclude_hv", "exclude_idle",
        "exclude_host", "precise_ip", "pinned", "exclusive")
PERFS = {"{ bp_addr, config1 }": "config1", "{ bp_len, config2 }": "config2", "{ sample_period, sample_freq }": "rate"}
FRAMES, DWARF = 2, 3        # enum pm_listed_stacks

Fields = dict[str, int]


def names() -> list[tuple[str, str]]:
    rows = [re.fullmatch(r'"(.*)"(?: (\w+))?', line) for line in NAMES.read_text(encoding="utf-8").splitlines()
            if not line.startswith("#")]
    return [(row[1], row[2] or "") for row in rows if row]


def _number(text: str) -> int:
    return int(text, 16) if text.startswith("0x") else int(text) if text.isdigit() else 0


def _block(lines: list[str]) -> Fields:
    """The fields of one attr; of texts, whether READ, CALLCHAIN and STACK_USER are among them."""
    fields: Fields = {"type": 0}
    for line in lines:
        row = re.fullmatch(r"  (\{.*?\}|\w+) +(\S+).*", line)
        if row and row[1] == "sample_type":
            fields |= {word: 1 for word in row[2].split("|")}
        elif row:
            fields[PERFS.get(row[1], row[1])] = _number(row[2])
    return fields


def attrs(said: str) -> list[Fields]:
    """Of each event the attr of the first try, with 1 + the index of its leader."""
    found: list[Fields] = []
    opened: dict[str, int] = {}
    again = False
    for chunk in said.split("perf_event_attr:\n")[1:]:
        block, _, behind = chunk.partition("-----")
        calls = re.findall(r"sys_perf_event_open: pid (\S+) +cpu \S+ +group_fd (\S+) +flags \S+(?: = (\d+))?", behind)
        if not calls or calls[0][0] == "-1":        # side-band of the machine
            continue
        if not again:
            found.append(_block(block.splitlines()))
            found[-1]["leader"] = opened.get(calls[0][1], -1) + 1
        opened |= {fd: len(found) - 1 for _, _, fd in calls if fd}
        again = re.search("switching off|fall(ing)? back|decreasing precise_ip", behind) is not None
    return found


def needs_record(name: str) -> bool:
    """What perf stat does not have: rates, stacks, and terms of either."""
    return re.search(r"period=|freq=|call-graph|stack-size|:\w*S|/(max-stack|no-inherit|inherit|nr|time|overwrite|branch_type|aux)",
                     name) is not None


def perf(name: str) -> list[Fields] | None:
    """What perf asks the kernel for; None: it refuses the text."""
    record = needs_record(name)
    command = ["perf", "record", "-vv", "-o", "/dev/null"] if record else ["perf", "stat", "-vv"]
    done = subprocess.run([*command, "-e", name, "--", "true"], capture_output=True, text=True, timeout=240, check=False)
    return attrs(done.stderr) if done.returncode != 129 else None


@functools.cache
def ours() -> dict[str, list[Fields] | int]:
    listed = [name for name, _ in names()]
    done = subprocess.run([str(PROGRAM), *listed], capture_output=True, text=True, timeout=240, check=True)
    return dict(zip(listed, map(json.loads, done.stdout.splitlines()), strict=True))


def _rate(here: Fields, there: Fields) -> list[str]:
    told = here.get("period", 0) or here.get("freq", 0)
    if not told or (told == there.get("rate") and bool(here.get("freq")) == bool(there.get("freq"))):
        return []
    return [f"rate {told}, perf {there.get('rate')}"]


def _stacks(here: Fields, there: Fields) -> list[str]:
    way, wrong = here.get("stacks", 0), []
    if way and bool(there.get("CALLCHAIN")) != (way in (FRAMES, DWARF)):
        wrong.append("CALLCHAIN")
    if way and bool(there.get("STACK_USER")) != (way == DWARF):
        wrong.append("STACK_USER")
    if here.get("stack_bytes") and here["stack_bytes"] != there.get("sample_stack_user"):
        wrong.append("sample_stack_user")
    return wrong


def differ(name: str, here: Fields, there: Fields) -> list[str]:
    """The fields in which one event differs."""
    letters = re.search(r"[:/]([a-zA-Z]*)$", name)
    fields = [field for field in SAME if not (field == "precise_ip" and "P" in name)]
    if letters and set("GH") & set(letters[1]) and "p" not in letters[1]:
        fields.append("exclude_guest")
    wrong = [f"{field} {here.get(field, 0)}, perf {there.get(field, 0)}" for field in fields
             if here.get(field, 0) != there.get(field, 0)]
    if here.get("leader", 0) != there["leader"]:
        wrong.append("leader")
    if here.get("read") and here.get("leader") and not there.get("READ"):
        wrong.append("READ")
    return wrong + _rate(here, there) + _stacks(here, there)


def plain(row: tuple[str, str]) -> bool:
    """One event that is taken, so that perf can be asked for many at once."""
    here = ours()[row[0]]
    return not row[1] and isinstance(here, list) and len(here) == 1 and not needs_record(row[0]) \
        and row[0].strip() == row[0] and not set("*?[{") & set(row[0]) and not row[0].startswith("mem:")


def many(rows: list[tuple[str, str]]) -> list[str]:
    """What differs of each; one by one where perf does not tell as many as were asked for."""
    there = perf(",".join(name for name, _ in rows)) if len(rows) > 1 else None
    if there is None or len(there) != len(rows):
        return [compare(*row) for row in rows]
    return [compare(*row, there=[of]) for row, of in zip(rows, there, strict=True)]


def compare(name: str, why: str, there: list[Fields] | None = None) -> str:
    """'' when both agree, or differ as it says."""
    here, there = ours()[name], there or perf(name)
    refused = isinstance(here, int)
    if why in ("tool", "bpf", "unsupported", "stricter"):
        return "" if refused and there is not None else "is taken, or refused by perf, too"
    if why == "wider":
        return "" if not refused and there is None else "is refused, or taken by perf, too"
    if refused or there is None:
        return "" if refused and there is None else f"here {here}, perf {there}"
    # A leader that does not open ends perf before the others.
    if not there or len(there) > len(here):
        return f"{len(here)} events, perf {len(there)}"
    if len(there) < len(here) and "{" not in name:
        return f"{len(here)} events, perf {len(there)}"
    key = lambda one: (one["type"], one.get("config", 0))       # perf takes folders as they come
    if "*" in name or "?" in name or "[" in name:
        here, there = sorted(here, key=key), sorted(there, key=key)
        here, there = [one | {"leader": 0} for one in here], [one | {"leader": 0} for one in there]
    return "; ".join(wrong for one, other in zip(here, there, strict=False) for wrong in differ(name, one, other))


def usable() -> str:
    if not PROGRAM.exists():
        return f"not built: make {PROGRAM.relative_to(TREE)}"
    if shutil.which("perf") is None:
        return "no perf"
    if os.geteuid() == 0 and not os.path.isdir("/sys/kernel/tracing/events"):   # or it would change what both are asked of
        return "tracefs is not mounted, and perf would mount it"
    done = subprocess.run(["perf", "--version"], capture_output=True, text=True, check=False)
    return "" if done.stdout.startswith("perf version 6.1.") else f"held against perf 6.1 alone: {done.stdout.strip()}"


@pytest.mark.xdist_group("event_grammar")
def test_names_are_perfs(record_property: pytest.RecordProperty) -> None:
    if why := usable():
        pytest.skip(why)
    rows = [row for row in names() if plain(row)]
    parts = [rows[at:at + 20] for at in range(0, len(rows), 20)] + [[row] for row in names() if not plain(row)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = pool.map(many, parts)
        found = {row[0]: what for part, of in zip(parts, wrong, strict=True) for row, what in zip(part, of, strict=True) if what}
    assert not found, "\n".join(f"{name!r}: {what}" for name, what in found.items())
    same = [why for _, why in names()].count("")
    record_property("same", f"{same} of {len(names())}")
    assert same >= 300


def test_each_difference_is_explained() -> None:
    assert {why for _, why in names()} - {""} == set(DIFFERENCES)


def test_a_difference_is_seen() -> None:
    """The comparison fails for another exclusion, rate, leader or stack."""
    one, perfs = {"type": 1}, {"type": 1, "leader": 0}
    assert differ("cs", one, perfs) == []
    assert differ("cs", one | {"exclude_user": 1}, perfs) and differ("cs", one | {"period": 5}, perfs)
    assert differ("cs", one | {"leader": 1}, perfs) and differ("cs", one | {"stacks": DWARF}, perfs)
