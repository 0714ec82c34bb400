# SPDX-License-Identifier: MIT
"""Real programs on other kernels: what explain and a replay say, held against what the programs themselves get.

A guest runs each program as three personas under strace and under explain, and asks its shipped recording again. Of
each row two things are told: whether explain saw what strace saw and blamed what the kernel's source says; and, of each
call that program and recording have in common, whether its outcome was foretold. ROWS are in EXPLAIN_ROWS, NAMES in
EXPLAIN_NAMES, PERSONAS in EXPLAIN_PERSONAS; `-s` prints the tables, and EXPLAIN_LOGS names a folder where the guests'
consoles are kept, or are from.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from reports import answers, asked, plain, recorded, recordings, requirements
from test_gates_in_guests import bundle
from test_slow_explain_programs import advice_helps, Call, Told, due, pair, programs, traced

TREE = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("make"),
              pytest.mark.skipif(not shutil.which("qemu-system-x86_64"), reason="no QEMU")]
ROWS = os.environ.get("EXPLAIN_ROWS", "amd64-6.12").split()
NAMES = os.environ.get("EXPLAIN_NAMES", "perf-stat perf-stat-system perf-record perf-record-dwarf perf-record-system "
                       "perf-record-branches perf-top perf-trace perf-sched perf-mem stress-ng papi-avail node-exporter tiptop "
                       "powertop").split()
PERSONAS = os.environ.get("EXPLAIN_PERSONAS", "root perfmon user").split()
RUN = r"""#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
from=$(pwd)
mkdir -p /lib && ln -s "$here/root/lib64" /lib64 && ln -s "$here/root/lib" /lib/x86_64-linux-gnu
mkdir -p /usr/share && ln -s "$here/root/terminfo" /usr/share/terminfo
mkdir -p /tmp/made && chmod 1777 /tmp/made /tmp
mount -t tracefs none /sys/kernel/tracing 2>/dev/null
cd /tmp/made && ip link set lo up 2>/dev/null
PATH=$here/root/bin:$PATH HOME=/tmp/made TERM=linux
export PATH HOME TERM
as() {	# PERSONA WORDS...
	persona=$1
	shift
	"$here/bin/launch" --out /tmp/told --persona "$persona" --personas "$here/suites/personas.txt" --timeout 100 -- "$@"
}
give() {	# KIND NAME PERSONA FILE
	echo "@part $1 $2 $3"; gzip -c "$4" | base64; echo "@end"
}
table() {	# NAME PERSONA WORDS...
	name=$1 persona=$2
	shift 2
	rm -f /tmp/made/*
	as "$persona" "$here/root/bin/strace" -f -v -X raw -e trace=perf_event_open -o /tmp/made/log -- "$@"
	give strace "$name" "$persona" /tmp/made/log
	as "$persona" "$here/bin/explain" --quiet --json /tmp/made/told --record /tmp/made/real -- "$@"
	give told "$name" "$persona" /tmp/made/told
	give real "$name" "$persona" /tmp/made/real
	tail -n 3 /tmp/told
}
replay() {	# NAME PERSONA
	as "$2" "$here/bin/replay" "$here/recordings/$1.$2.json"
	give replay "$1" "$2" /tmp/told
}
ls /sys/bus/event_source/devices >/tmp/pmus
give pmus - - /tmp/pmus
cat /proc/sys/kernel/perf_event_paranoid >/tmp/level
give level - - /tmp/level
%s
give finished - - /tmp/level
cd "$from" && exec "$here/run-it.sh" "$@"
"""
# All of it is one probe to who watches the guest, and takes minutes: it is not to be taken for hung.
PATIENT = ("import pathlib, runpy, sys; from kernels import matrix; matrix.load.__defaults__ = (pathlib.Path(sys.argv.pop(1)),); "
           "runpy.run_module('kernels', run_name='__main__')")
ERRNO = re.compile(r"\((E[A-Z0-9]+)\)|\b(E[A-Z]{3,})\b")
Parts = dict[tuple[str, str, str], str]


def program_of(words: list[str]) -> str:
    return shutil.which(next(word for word in words if word not in ("timeout", "3", "4"))) or ""


def words_of(name: str) -> list[str]:
    """What ends after some seconds here may not have begun by then in a guest, or not end for a minute (perf top).

    The program is in the path there, wherever it is here.
    """
    words = [Path(word).name if word == program_of(programs()[name]) else word for word in programs()[name]]
    return ["timeout", "-k", "10", "30", *words[2:]] if words[0] == "timeout" else words


def recording(name: str, persona: str) -> Path:
    return TREE / "reports/data/recordings" / f"{name}.{persona}.json"


def fill(place: Path, wanted: list[str]) -> None:
    """The programs, and what they are linked with."""
    for folder in ("root/bin", "root/lib", "root/lib64", "root/terminfo/l", "recordings"):
        (place / folder).mkdir(parents=True)
    for program in ["/usr/bin/strace", *(program_of(programs()[name]) for name in wanted)]:
        shutil.copy(os.path.realpath(program), place / "root/bin" / Path(program).name)
        listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
        for path in re.findall(r"(/\S+) \(0x", listed):
            shutil.copy(os.path.realpath(path), place / ("root/lib64" if "ld-linux" in path else "root/lib") / Path(path).name)
    for path in (TREE / "reports/data/recordings").glob("*.json"):
        shutil.copy(path, place / "recordings")
    if Path("/lib/terminfo/l/linux").exists():
        shutil.copy("/lib/terminfo/l/linux", place / "root/terminfo/l")


def ask(row: str, place: Path, wanted: list[str]) -> str:
    """What the guest's console said."""
    asking = place / "bundle"
    shutil.copytree(bundle(), asking, symlinks=True)
    fill(asking, wanted)
    (asking / "run.sh").rename(asking / "run-it.sh")
    lines = [f"table {name} {persona} {shlex.join(words_of(name))}" for name in wanted for persona in PERSONAS]
    lines += [f"replay {name} {persona}" for name in wanted for persona in PERSONAS if recording(name, persona).exists()]
    (asking / "run.sh").write_text(RUN % "\n".join(lines), encoding="utf-8")
    (asking / "run.sh").chmod(0o755)
    rows = (TREE / "kernels/matrix.toml").read_text(encoding="utf-8")
    (place / "matrix.toml").write_text(re.sub(r"^stall = \d+", "stall = 3000", rows, flags=re.M), encoding="utf-8")
    subprocess.run([sys.executable, "-c", PATIENT, place / "matrix.toml", "run", row, "--bundle", asking, "--probe",
                    "perm.available", "--persona", "root", "--no-disturb", "--cold", "--timeout", "3000", "--out",
                    place / "out"], cwd=TREE, stdin=subprocess.DEVNULL, timeout=3600, check=False)
    return (place / "out" / row / "console.log").read_text(encoding="utf-8", errors="replace")


@lru_cache(maxsize=None)
def parts(row: str, place: Path) -> Parts:
    wanted = [name for name in NAMES if program_of(programs()[name])]
    if len(wanted) < 2 or not shutil.which("strace"):
        pytest.skip("two of the programs, or strace, are not installed")
    logs = os.environ.get("EXPLAIN_LOGS")
    kept = Path(logs, row + ".log") if logs else None
    log = kept.read_text(encoding="utf-8") if kept and kept.exists() else ask(row, place, wanted)
    if kept and "@part finished" in log:
        kept.write_text(log, encoding="utf-8")
    found = re.findall(r"^@part (\w+) (\S+) (\S+)\n([A-Za-z0-9+/=\n]*)^@end", log.replace("\r", ""), re.M)
    return {(kind, name, persona): gzip.decompress(base64.b64decode(text)).decode(errors="replace")
            for kind, name, persona, text in found}


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
    assert asked > 100 and not wrong, wrong


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


# --------------------------------------------------------------------------------------- what was foretold

def key(call: dict[str, Any]) -> str:
    attr = {name: value for name, value in call["attr"].items() if name != "size"}
    return json.dumps([attr, call["target"], call["on_cpu"], call["open_flags"]], sort_keys=True)


def ends(call: dict[str, Any]) -> set[str]:
    return {*call["errors"], *([""] if call["opened"] else [])}


@pytest.mark.parametrize("row", ROWS)
def test_what_a_replay_says_is_what_programs_get(row: str, place: Path) -> None:
    asking = place / row
    asking.mkdir(exist_ok=True)
    found = parts(row, asking)
    right = wrong = refused = elsewhere = 0
    misses = []
    for (kind, name, persona), text in found.items():
        if kind != "real" or not text or ("replay", name, persona) not in found:
            continue
        real = {key(call): call for call in json.loads(text)["calls"]}
        asked = json.loads(recording(name, persona).read_text(encoding="utf-8"))["calls"]
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
            else:
                wrong += 1
                misses.append((name, persona, number, predicted, outcome, reason))
    print(f"\n{row}: of calls that program and recording have in common {right} right ({refused} refusals), {wrong} "
          f"wrong; {elsewhere} of the recording were not made there", *misses, sep="\n")
    assert right > 50 and right >= 0.98 * (right + wrong), misses


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
