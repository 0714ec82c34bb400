# SPDX-License-Identifier: MIT
"""`doctor --as RESULT` says of each wish what the doctor says where that result was made: as asked, in which
other way, or what became of the wish."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from kernels import matrix
from kernels.place.bundle import find_bundle
from reports import asked, limits

pytestmark = [pytest.mark.xdist_group("make"), pytest.mark.perf]
TREE = Path(__file__).resolve().parents[2]
ARCH = os.environ.get("ARCH", platform.machine())
WISHES = TREE / "lib" / "doctor" / "wishes.toml"
PERSONAS = ("root", "perfmon", "user")
LEVELS = ("-1", "0", "1", "2", "3", "4")
ROWS = ("amd64-5.10", "amd64-6.1", "amd64-6.12", "amd64-6.12-rt", "amd64-newest", "arm64-6.12")
# In a guest: run.sh of the bundle asks the doctor first, as each persona; the console's log keeps it.
ASK_FIRST = r"""#!/bin/sh
here=$(dirname "$0")
for persona in root perfmon user; do
	"$here/bin/launch" --out /tmp/told --persona $persona --personas "$here/suites/personas.txt" -- "$here/bin/doctor" --json
	echo "@doctor $(cat /proc/sys/kernel/perf_event_paranoid) $persona"
	cat /tmp/told
	echo "@end"
done
exec "$here/run-it.sh" "$@"
"""
Told = dict[str, Any]


def probes() -> list[str]:
    """Those that the wishes are looked up in."""
    needs = tomllib.loads(WISHES.read_text(encoding="utf-8"))["need"]
    ways = [way for need in needs for part in (need, *need["instead"]) for way in part.get("any", [])]
    keys = {key.rpartition(".")[0] for way in ways for key in way if not limits.is_word(key)}
    return [word for probe in sorted(keys) for word in ("--probe", probe)]


def json_in(text: str) -> Told:
    """What the doctor said, out of what the launcher wrote around it."""
    told: Told = json.loads(text[text.index('{"format"'):text.rindex("]}") + 2])
    return told


def of_doctor(told: Told) -> dict[str, tuple[str, str, str]]:
    """wish -> its answer, what is used instead, and what became of the wish itself."""
    return {wish["title"]: (wish["answer"], wish["used"] if wish["answer"] == "instead" else "",
                            wish["refusals"][0]["answer"] if wish["refusals"] else "yes")
            for wish in told["wishes"]}


def of_result(result: Path | str, persona: str, level: str = "") -> dict[str, tuple[str, str, str]]:
    done = subprocess.run(["./run.sh", "report", "check", str(WISHES), str(result), "--persona", persona, "--json",
                           *(["--level", level] if level else [])],
                          cwd=TREE, capture_output=True, text=True, timeout=120, check=False)
    (said,) = json.loads(done.stdout)
    return {need["what"]: (need["told"], need["used"], need["answer"]) for need in said["needs"]}


def differences(here: dict[str, tuple[str, str, str]], there: dict[str, tuple[str, str, str]]) -> list[str]:
    assert list(here) == list(there)
    return [f"{wish}: doctor {here[wish]}, --as {there[wish]}" for wish in here if here[wish] != there[wish]]


def in_vain(told: dict[tuple[str, str], Told]) -> list[str]:
    """Attempts that a level still refuses although it was set as advised. From 3 the advice leads to 2, at which
    a user still needs the capability."""
    refused = {(level, persona, wish["wish"], one["attempt"]): one for (level, persona), each in told.items()
               for wish in each["wishes"] for one in wish["refusals"] if one["name"] in ("level", "vendors_level")}
    advised = {(found[1], *key[1:]) for key, one in refused.items()
               if (found := re.search(r"kernel.perf_event_paranoid=(-?\d+)", one["change"]))}
    assert {level for level, *_ in advised} >= {"-1", "0", "1", "2"}
    return [str(key) for key in advised if key in refused and key[:2] != ("2", "user")]


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes other users")
def test_here(tmp_path: Path) -> None:
    bundle = find_bundle(ARCH, build=True, install=False)
    result, tool = tmp_path / "result", [str(bundle / "bin" / "launch"), "--personas", str(bundle / "suites" / "personas.txt")]
    subprocess.run([bundle / "run.sh", *probes(), "--persona", ",".join(PERSONAS), "--quiet", "--out", result], check=True,
                   capture_output=True, timeout=300)
    found = {}
    for persona in PERSONAS:
        out = tmp_path / persona
        subprocess.run([*tool, "--out", str(out), "--persona", persona, "--", str(bundle / "bin" / "doctor"), "--json"],
                       check=True, timeout=120)
        found[persona] = differences(of_doctor(json_in(out.read_text(encoding="utf-8"))), of_result(result, persona))
    assert not any(found.values()), found


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS)
def test_in_a_guest(tmp_path: Path, row: str) -> None:
    """At each level, as each persona: of a fresh result, and of the answers of the row that ship, as far as it was asked."""
    arch = matrix.load().pick([row], [])[0].arch
    if not shutil.which(arch.qemu) or not shutil.which(f"{arch.triple}-gcc"):
        pytest.skip(f"no {arch.qemu}, or no {arch.triple}-gcc")
    asking = tmp_path / "bundle"
    shutil.copytree(find_bundle(arch.bundle, build=True, install=False), asking, symlinks=True)
    (asking / "run.sh").rename(asking / "run-it.sh")
    (asking / "run.sh").write_text(ASK_FIRST, encoding="utf-8")
    (asking / "run.sh").chmod(0o755)
    subprocess.run(["./run.sh", "kernels", row, "--bundle", asking, f"--paranoid={','.join(LEVELS)}", *probes(), "--no-disturb",
                    "--persona", ",".join(PERSONAS), "--out", tmp_path / "out"], cwd=TREE, check=True, timeout=1800)
    log = (tmp_path / "out" / row / "console.log").read_text(encoding="utf-8", errors="replace")
    parts = [part.split("@end")[0] for part in log.split("@doctor ")[1:]]
    told = {(level, persona): json_in(part) for part in parts for level, persona in [part.split(None, 2)[:2]]}
    ships, = asked.named(Path(row)).sources
    found = {(*key, kind): differences(of_doctor(each), of_result(where, key[1], key[0])) for key, each in told.items()
             for kind, where in {"fresh": tmp_path / "out" / row / f"paranoid-{key[0]}", "shipped": row}.items()
             if kind == "fresh" or not ships.why_not(key[1], key[0])}
    for kind in ("fresh", "shipped"):
        there = {key: lines for key, lines in found.items() if key[2] == kind}
        print(f"{row} {kind}: {len(there)} times {len(next(iter(told.values()))['wishes'])} wishes, "
              f"{sum(map(len, there.values()))} differences, {len({level for level, *_ in there})} levels")
    assert in_vain(told) == []
    assert len(told) == len(LEVELS) * len(PERSONAS) and not any(found.values()), found
