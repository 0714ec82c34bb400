# SPDX-License-Identifier: MIT
"""Real programs on other kernels: what explain and a replay say, held against what the programs themselves get.

A guest runs each program as three personas under strace and under explain, and asks its shipped recording again. Of
each row two things are told: whether explain saw what strace saw and blamed what the kernel's source says; and, of each
call that program and recording have in common, whether its outcome was foretold. ROWS are in EXPLAIN_ROWS, NAMES in
EXPLAIN_NAMES, PERSONAS in EXPLAIN_PERSONAS; `-s` prints the tables, and EXPLAIN_LOGS names a folder where the guests'
consoles are kept, or are from.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from guest_programs import Parts, parts, recording
from reports import answers, asked, plain, recorded, recordings, requirements
from test_slow_explain_programs import advice_helps, Call, Told, due, pair, traced

TREE = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("make"),
              pytest.mark.skipif(not shutil.which("qemu-system-x86_64"), reason="no QEMU")]
ROWS = os.environ.get("EXPLAIN_ROWS", "amd64-6.12").split()
ERRNO = re.compile(r"\((E[A-Z0-9]+)\)|\b(E[A-Z]{3,})\b")


@pytest.fixture(scope="module", name="place")
def _place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rows")


# ------------------------------------------------------------------- what explain says of what was refused

def told_of(found: Parts, name: str, persona: str) -> Told | None:
    texts = [found.get((kind, name, persona), "") for kind in ("told", "real")]
    return pair(*(json.loads(text) for text in texts)) if all(texts) else None


@pytest.mark.parametrize("row", ROWS)
def test_what_is_said_of_programs(row: str, place: Path) -> None:
    asking = place / row
    asking.mkdir(exist_ok=True)
    found = parts(row, asking)
    level = int(found["level", "-", "-"])
    core = any(name in ("cpu", "cpu_core") or name.startswith("armv8") for name in found["pmus", "-", "-"].split())
    wrong: list[tuple[str, str, Call, str, str]] = []
    asked = 0
    for _, name, persona in sorted(key for key in found if key[0] == "strace"):
        told = told_of(found, name, persona)
        if told is None:
            print(f"\n{row:14} {name:22} {persona:8} did not run", end="")
            continue
        seen = traced(found["strace", name, persona])
        dues = {key: due(persona, *key, level, core) for key in told.gates}
        otherwise = [(name, persona, *key, told.gates[key]["gate"]) for key, said in dues.items()
                     if said not in told.gates[key]["gate"]]
        print(f"\n{row:14} {name:22} {persona:8} strace {len(seen):3} explain {len(told.ends):3} the same "
              f"{len(seen & told.ends):3} refused {len([1 for _, error in told.ends if error]):3} by the source "
              f"{len([1 for said in dues.values() if said]):3} otherwise {len(otherwise)}", end="")
        for key in sorted(seen ^ told.ends, key=str):
            print(f"\n    {'strace' if key in seen else 'explain'} alone: {key}", end="")
        wrong += otherwise
        asked += len(told.ends)
        assert all(key in told.gates for key in told.ends if key[1]), (name, persona)
    for name in sorted({name for _, name, _ in found}):
        user, perfmon, root = (told_of(found, name, persona) for persona in ("user", "perfmon", "root"))
        if user and perfmon:
            advice_helps(name, user, perfmon)
        if user and root:
            chain_holds(name, user, root)
    print()
    assert asked > 50 and not wrong, wrong
    assert median(longer(found)) < 5000, "explain takes seconds to begin, or to end"


def longer(found: Parts) -> list[int]:
    """Of each run under explain, how many milliseconds more it took than the one under strace."""
    took = {key: int(said[1]) for key, text in found.items() if key[0] in ("says", "text") and (said := re.search(r" ms=([0-9]+) ", text))}
    return [took[key] - took["says", name, persona] for key in took if key[0] == "text"
            for _, name, persona in [key] if ("says", name, persona) in took]


def chain_holds(name: str, user: Told, root: Told) -> None:
    """What is told to lie behind a user's refusal is what root gets from the same call; in vain is what root does not get."""
    for (call, _), gate in user.gates.items():
        ends_ = {error for other, error in root.ends if other == call}
        behind = re.search(r": (E[A-Z]+), ", gate["behind"])
        if not ends_ or gate["name"] != "level":
            continue
        assert ("" not in ends_) == gate["in_vain"], (name, call, gate, ends_)
        assert not behind or ends_ == {behind[1]}, (name, call, gate, ends_)
        print(f"\n    {name:22} {call.type} {call.config:#x} behind the level {behind[1] if behind else 'nothing'}, root "
              f"{', '.join(sorted(ends_)) or 'opens'}", end="")


def ends_of(value: dict[str, Any]) -> set[tuple[str, str, bool, str]]:
    """Of what was asked, what opened, and which errno the rest got."""
    return {(shape["event"], shape["target"], shape["opened"] > 0, " ".join(shape["errors"])) for shape in value["asked"]}


@pytest.mark.parametrize("row", ROWS)
def test_files_that_are_opened_as_advised(row: str, place: Path) -> None:
    """Who reads tracefs then meets the level, as was told; with CAP_PERFMON all opens, and with CAP_BPF programs of BPF load."""
    asking = place / row
    asking.mkdir(exist_ok=True)
    found = parts(row, asking)
    told = {(name, persona): json.loads(text) for (kind, name, persona), text in found.items() if kind == "advised" and text}
    if not told:
        pytest.skip("none of the programs is installed")
    for (name, persona), value in sorted(told.items()):
        opened = sum(shape["opened"] for shape in value["asked"])
        names = {gate["name"] for gate in value["gates"]}
        before = found.get(("text", name, persona), "")
        print(f"\n{row:14} {name:22} {persona:8} opened {opened:3} of {sum(shape['calls'] for shape in value['asked']):3} gates {names}", end="")
        if persona == "user" and value["asked"] and before:
            assert "tracefs is mounted, but its files are not readable" in before, before
            assert "when they are readable, kernel.perf_event_paranoid" in before, before
            assert "level" in names and not any(shape["opened"] for shape in value["asked"] if "raw data" in shape["mode"]), value
        if persona == "bpfmon" or (persona == "perfmon" and name.startswith("perf-")):
            # opensnoop looks for one of its tracepoints in debugfs, which stays closed, and leaves it out
            assert "level" not in names and ends_of(value) <= ends_of(json.loads(found.get(("told", name, "root"), json.dumps(value))))
            # before v5.11 maps of BPF are locked memory, which libbpf may not raise without CAP_SYS_RESOURCE
            assert value["asked"] or "bump RLIMIT_MEMLOCK" in found["advised-text", name, persona], found["advised-text", name, persona]
    print()


# --------------------------------------------------------------------------------------- what was foretold

def key(call: dict[str, Any]) -> str:
    attr = {name: value for name, value in call["attr"].items() if name != "size"}
    return json.dumps([attr, call["target"], call["on_cpu"], call["open_flags"]], sort_keys=True)


def ends(call: dict[str, Any]) -> set[str]:
    return {*call["errors"], *([""] if call["opened"] else [])}


# What explain blames, and the words of a replay for it.
BLAMED = {"hardware_missing": "absent: no such event here", "level": "blocked: EACCES: perf_event_paranoid=",
          "chain": "refuses call chains with the kernel's part",
          "missing": "absent: no PMU here offers branch stacks|no: ENOENT with the software event"}


def gates_of(found: Parts, name: str, persona: str) -> dict[str, str]:
    """Of each call that was refused, what explain blamed."""
    told, real = (json.loads(found[kind, name, persona]) for kind in ("told", "real"))
    return {key(call): told["gates"][shape["gate"] - 1]["name"]
            for shape, call in zip(told["asked"], real["calls"], strict=True) if shape["gate"]}


@pytest.mark.parametrize("row", ROWS)
def test_what_a_replay_says_is_what_programs_get(row: str, place: Path) -> None:
    asking = place / row
    asking.mkdir(exist_ok=True)
    found = parts(row, asking)
    right = wrong = refused = elsewhere = alike = 0
    misses = []
    for (kind, name, persona), text in found.items():
        if kind != "real" or not text or ("replay", name, persona) not in found:
            continue
        real = {key(call): call for call in json.loads(text)["calls"]}
        asked = json.loads(recording(name, persona).read_text(encoding="utf-8"))["calls"]
        gates = gates_of(found, name, persona)
        said = {int(number): (word, reason) for word, number, reason in
                re.findall(r"^(ok|not ok) (\d+) replay\.\S+(.*)$", found["replay", name, persona], re.M)}
        for number, call in enumerate(asked, 1):
            if key(call) not in real or number not in said:
                elsewhere += 1
                continue
            reason = said[number][1]
            error = ERRNO.search(reason)
            predicted = next(filter(None, error.groups()), "") if error and "opened" not in reason else ""
            outcome = ends(real[key(call)])
            if predicted in outcome:
                right += 1
                refused += predicted != ""
                same = predicted != "" and any(word in reason for word in BLAMED.get(gates[key(call)], "none").split("|"))
                alike += same
                if predicted and not same:
                    misses.append((name, persona, number, gates[key(call)], reason))
            else:
                wrong += 1
                misses.append((name, persona, number, predicted, outcome, reason))
    print(f"\n{row}: of calls that program and recording have in common {right} right ({refused} refusals, {alike} "
          f"by the same gate), {wrong} wrong; {elsewhere} of the recording were not made there", *misses, sep="\n")
    assert right > 50 and right >= 0.98 * (right + wrong) and alike >= 0.98 * refused, misses


def said_of(row: str, call: dict[str, Any], asked: dict[str, Any], persona: str) -> str:
    """Of one call of a recording, by what ships of the row: "opens", "refused", or "" where it is not known."""
    source = asked_of(row)
    needs = recordings.wanted({**asked, "calls": [call]}, "one").needs
    wanted = requirements.Requirements("one", persona, tuple(need for need in needs if need.name == recordings.EVENT), recorded=True)
    ask_point = recordings.asker(lambda point: source.said(point, persona, source.level()), source.arch)
    found = requirements.check(wanted, ask_point, source.arch)[0]
    if found.answer.word == plain.YES:
        return "opens"
    absent = any(said.absent for way in found.ways for said, _ in way.lacking)
    return "refused" if absent or found.answer.word != plain.UNKNOWN else ""


@lru_cache(maxsize=None)
def asked_of(row: str) -> Any:
    return asked.of_sheet(row, answers.load(row, TREE / answers.FOLDER))


@pytest.mark.parametrize("row", ROWS)
def test_what_check_says_is_what_programs_get(row: str, place: Path) -> None:
    asking = place / row
    asking.mkdir(exist_ok=True)
    count = {"right": 0, "not known": 0, "wrong": 0}
    misses = []
    for (kind, name, persona), text in parts(row, asking).items():
        if kind != "real" or not text or not recording(name, persona).exists():
            continue
        real = {key(call): call for call in json.loads(text)["calls"]}
        whole = json.loads(recording(name, persona).read_text(encoding="utf-8"))
        for call in whole["calls"]:
            if key(call) not in real:
                continue
            said, opened = said_of(row, call, whole, persona), "" in ends(real[key(call)])
            word = "not known" if not said else "right" if (said == "opens") == opened else "wrong"
            count[word] += 1
            if word != "right":
                misses.append((word, name, persona, recorded.what({**call, "arch": "x86_64"}), sorted(ends(real[key(call)]))))
    print(f"\n{row}: of calls that program and recording have in common, by what ships of that kernel: {count}", *misses, sep="\n")
    assert count["right"] > 50 and count["right"] >= 0.98 * (count["right"] + count["wrong"]), misses
