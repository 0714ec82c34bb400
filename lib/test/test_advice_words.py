# SPDX-License-Identifier: MIT
"""What the doctor's sentences may not say, and in which order they say the rest: to users of programs no word of C,
what takes the least privilege first, and what changes the whole machine last and named so."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from surroundings import PERF, lower, refuse_perf
from test_advice import ARCH, BARE, NO_NEW, USER, Told, _doctor, at_two, memory, pytestmark, start

__all__ = ["_doctor", "pytestmark"]     # fixtures and marks
TREE = Path(__file__).resolve().parents[2]
OF_C = re.compile(r"\bPM_[A-Z]\w+|\bpm_[a-z]\w+|\battr\.\w+|\bexclude_\w+|\bPERF_(?:SAMPLE|COUNT|TYPE|FORMAT)_\w+|\bHW_\w+"
                  r"|\bE(?:INVAL|OPNOTSUPP)\b|\bperf_event_attr\b")
SAID = re.compile(r"(?:PM_SAY\(ret->(?:gate|change),|pm_advise\(ret,)(.*?)\);", re.DOTALL)
# What changes the whole machine, each named so.
FOR_ALL = ("for all users of this machine", "only the owner of the host can change it", "for the whole machine",
           "for all programs of this device")
MACHINE_WIDE = re.compile(r"sysctl -w |lockdown=|setprop ")
CUT_OFF = ", or PM_"     # what is for users of the library, from there on (session.c)
# Behind a vendor's level, which has to go down first.
AND_THEN = re.compile(r"then CAP_PERFMON counts|at 2 CAP_PERFMON counts")


def literals(source: str) -> str:
    """The texts of C source, joined as the compiler does; not of comments or #include, and not the quote in '"'."""
    parts = re.finditer(r'/\*.*?\*/|#include[^\n]*|\'\\?[^\n]\'|"((?:[^"\\\n]|\\.)*)"', source, re.DOTALL)
    return "".join(part[1] or "" for part in parts)


def sources() -> Iterator[tuple[str, str]]:
    """Of gates what they say of who decides and what to change; of the doctor all."""
    for path in sorted((TREE / "lib").glob("gate*.c")):
        for found in SAID.finditer(path.read_text(encoding="utf-8")):
            yield path.name, literals(found[1])
    hosts = (TREE / "lib" / "gate_machine.c").read_text(encoding="utf-8")
    yield "gate_machine.c", literals(hosts[hosts.index("} hosts[] = {"):hosts.index("static bool fits")])
    for path in sorted((TREE / "lib" / "doctor").glob("*.c")):
        yield path.name, literals(path.read_text(encoding="utf-8")).replace(CUT_OFF, "")


def test_no_word_of_c() -> None:
    found = [(name, match[0], text[:80]) for name, text in sources() for match in OF_C.finditer(text)]
    assert not found
    assert len([*sources()]) > 70 and OF_C.search("or PM_ALLOW_RAISE_NOFILE") and not OF_C.search("CONFIG_PERF_EVENTS=y")


def out_of_order(change: str) -> list[str]:
    """What is machine-wide and not named so, or stands before something that takes less."""
    clauses = change.split("; ")
    wide = [bool(MACHINE_WIDE.search(clause)) for clause in clauses]
    bad = [clause for clause, is_wide in zip(clauses, wide) if is_wide and not clause.startswith(FOR_ALL)]
    if any(wide) and not any(AND_THEN.match(clause) for clause in clauses):
        bad += clauses[wide.index(True):-1]
    return bad


def test_the_order_is_looked_at() -> None:
    setting = "for all users of this machine, as root: sysctl -w x=1 until the next boot"
    assert out_of_order(f"watch less; {setting}") == [] and out_of_order(f"{setting}; then CAP_PERFMON counts") == []
    assert out_of_order(f"{setting}; setcap x PROGRAM") == [setting] and out_of_order("sysctl -w x=1") == ["sysctl -w x=1"]


@at_two
def test_the_least_privilege_comes_first(doctor: Path) -> None:
    """In many places at once: of each refusal there, of each wish."""
    filtered = (lambda: refuse_perf(1)) if ARCH in PERF else None
    places = {"user": ([*USER], None, {}), "no_new_privs": ([*USER, *NO_NEW], None, {}), "root": ([], None, {}),
              "docker": ([], None, {"container": "docker"}), "filtered": ([*USER], filtered, {}),
              "no memory": ([*USER], memory(0, 0), {}), "some memory": ([*USER], memory(0, 1024), {}),
              "few files": ([*USER], lower(resource.RLIMIT_NOFILE, 8), {})}
    seen = 0
    for name, (user, limit, names) in places.items():
        command = [*(BARE if names else ["setpriv"] if user else []), *user, doctor, "--json"]
        done = start(*command, limit=limit, **names)
        changes = [one["change"] for wish in _wishes(done) for one in wish["refusals"]]
        assert [bad for change in changes for bad in out_of_order(change)] == [], name
        assert not [match[0] for change in changes for match in OF_C.finditer(change)], name
        seen += sum(bool(MACHINE_WIDE.search(change)) for change in changes)
    assert seen > 20


def _wishes(done: subprocess.CompletedProcess[str]) -> list[Told]:
    found: list[Told] = json.loads(done.stdout)["wishes"]
    return found


ANDROID = """mount -t tmpfs none "$1"
mkdir -p "$1/proc" "$1/sys" "$1/system"
mount -t proc proc "$1/proc"
mount -t sysfs sysfs "$1/sys"
cp "$2" "$1/doctor"
[ "$3" = no ] || touch "$1/system/build.prop"
exec chroot --userspec=65534:65534 "$1" /doctor --json own-switches own-time
"""


@at_two
@pytest.mark.parametrize("android", ["yes", "no"])
def test_android(doctor: Path, android: str) -> None:
    """By its file: the property of the device, behind what takes no privilege; nobody else is told of it."""
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        done = start("unshare", "-m", "sh", "-ec", ANDROID, "sh", place, doctor, android)
    if "mount:" in done.stderr or "unshare:" in done.stderr:
        pytest.skip(f"no mounts of its own: {done.stderr.strip()}")
    time, switches = (wish["refusals"][0]["change"].split("; ") for wish in _wishes(done))
    prop = "for all programs of this device: adb shell setprop security.perf_harden 0, or as root until the next boot: sysctl "
    if android == "yes":
        assert switches == [f"{prop}-w kernel.perf_event_paranoid=1"]
        assert time == ["watch user mode only, which takes no privilege", *switches]
    else:
        assert not any("setprop" in clause for clause in (*switches, *time))
