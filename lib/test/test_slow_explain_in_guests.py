# SPDX-License-Identifier: MIT
"""Recordings made elsewhere, held against what the programs themselves get from other kernels.

A guest runs each program under explain and asks its shipped recording again. Of each call that both made: was it
refused, and with which errno? ROWS are in EXPLAIN_ROWS; `-s` prints how many were right.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_gates_in_guests import bundle
from test_slow_explain_programs import programs

TREE = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("make"),
              pytest.mark.skipif(not shutil.which("qemu-system-x86_64"), reason="no QEMU")]
ROWS = os.environ.get("EXPLAIN_ROWS", "amd64-6.12").split()
NAMES = ("perf-stat", "perf-stat-system", "perf-record", "perf-record-dwarf", "perf-record-system", "perf-record-branches",
         "perf-top", "stress-ng", "papi-avail", "node-exporter")
RUN = r"""#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
from=$(pwd)
mkdir -p /lib && ln -s "$here/root/lib64" /lib64 && ln -s "$here/root/lib" /lib/x86_64-linux-gnu
mkdir -p /tmp/made && chmod 1777 /tmp/made /tmp
cd /tmp/made && ip link set lo up 2>/dev/null
PATH=$here/root/bin:$PATH HOME=/tmp/made
export PATH HOME
as() {	# PERSONA WORDS...
	persona=$1
	shift
	"$here/bin/launch" --out /tmp/told --persona "$persona" --personas "$here/suites/personas.txt" --timeout 100 -- "$@"
}
both() {	# NAME PERSONA WORDS...
	name=$1 persona=$2
	shift 2
	rm -f /tmp/made/*
	as "$persona" "$here/bin/explain" --quiet --record /tmp/made/made -- "$@"
	echo "@part real $name $persona"; cat /tmp/made/made; echo "@end"
	tail -n 5 /tmp/told
	as "$persona" "$here/bin/replay" "$here/recordings/$name.$persona.json"
	echo "@part replay $name $persona"; cat /tmp/told; echo "@end"
}
%s
cd "$from" && exec "$here/run-it.sh" "$@"
"""
ERRNO = re.compile(r"\((E[A-Z0-9]+)\)|\b(E[A-Z]{3,})\b")


def program_of(words: list[str]) -> str:
    return shutil.which(next(word for word in words if word not in ("timeout", "3", "4"))) or ""


def fill(place: Path, names: list[str]) -> None:
    """The programs, and what they are linked with."""
    for folder in ("root/bin", "root/lib", "root/lib64", "recordings"):
        (place / folder).mkdir(parents=True)
    for name in names:
        program = program_of(programs()[name])
        shutil.copy(os.path.realpath(program), place / "root/bin" / Path(program).name)
        listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
        for path in re.findall(r"(/\S+) \(0x", listed):
            shutil.copy(os.path.realpath(path), place / ("root/lib64" if "ld-linux" in path else "root/lib") / Path(path).name)
    for path in (TREE / "reports/data/recordings").glob("*.json"):
        shutil.copy(path, place / "recordings")


def parts(row: str, place: Path) -> dict[tuple[str, str, str], str]:
    names = [name for name in NAMES if program_of(programs()[name])]
    if len(names) < 2:
        pytest.skip("two of the programs are not installed")
    asking = place / "bundle"
    shutil.copytree(bundle(), asking, symlinks=True)
    fill(asking, names)
    (asking / "run.sh").rename(asking / "run-it.sh")
    lines = [f"both {name} {persona} {' '.join(programs()[name])}" for name in names for persona in ("root", "user")
             if (asking / "recordings" / f"{name}.{persona}.json").exists()]
    (asking / "run.sh").write_text(RUN % "\n".join(lines), encoding="utf-8")
    (asking / "run.sh").chmod(0o755)
    subprocess.run(["./run.sh", "kernels", row, "--bundle", asking, "--probe", "perm.available", "--persona", "root",
                    "--no-disturb", "--out", place / "out"], cwd=TREE, stdin=subprocess.DEVNULL, timeout=1500, check=False)
    log = (place / "out" / row / "console.log").read_text(encoding="utf-8", errors="replace").replace("\r", "")
    return {(kind, name, persona): text for kind, name, persona, text in
            re.findall(r"^@part (\w+) (\S+) (\w+)\n(.*?)^@end", log, re.M | re.S)}


def key(call: dict[str, Any]) -> str:
    attr = {name: value for name, value in call["attr"].items() if name != "size"}
    return json.dumps([attr, call["target"], call["on_cpu"], call["open_flags"]], sort_keys=True)


def ends(call: dict[str, Any]) -> set[str]:
    return {*call["errors"], *([""] if call["opened"] else [])}


@pytest.mark.parametrize("row", ROWS)
def test_what_a_replay_says_is_what_programs_get(row: str, tmp_path: Path) -> None:
    found = parts(row, tmp_path)
    right = wrong = refused = elsewhere = 0
    misses = []
    for (kind, name, persona), text in found.items():
        if kind != "real" or "{" not in text:
            continue
        real = {key(call): call for call in json.loads(text[text.index("{"):text.rindex("}") + 1])["calls"]}
        asked = json.loads((TREE / "reports/data/recordings" / f"{name}.{persona}.json").read_text(encoding="utf-8"))["calls"]
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
