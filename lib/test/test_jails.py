# SPDX-License-Identifier: MIT
"""The doctor, and with it the library, in real jails: roots without /proc, /sys or tracefs.

Each jail is a tmpfs in a mount namespace of its own. What is expected comes from what was mounted,
and advice is tried: a path that it names must exist, or be made by the command before it.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree

TREE = Path(__file__).resolve().parents[2]
ARCH = os.environ.get("ARCH", platform.machine())
JAIL = """
set -e
root=$1
mount -t tmpfs none "$root"
mkdir -p "$root/proc" "$root/sys" "$root/tmp"
cp "$2" "$root/doctor"
case $3 in *proc*) mount -t proc proc "$root/proc" ;; esac
case $3 in *sys*) mount -t sysfs sysfs "$root/sys" ;; esac
case $3 in *tracefs*) mkdir -p "$root/sys/kernel/tracing" 2>/dev/null || true
    mount -t tracefs tracefs "$root/sys/kernel/tracing" ;; esac
case $3 in *readonly*) mount -o remount,ro "$root" ;; esac
case $3 in *nobody*) exec chroot --userspec=65534:65534 "$root" /doctor --json ;; esac
exec chroot "$root" /doctor --json
"""
JAILS = ["proc sys tracefs", "sys tracefs", "proc tracefs", "proc sys", "", "readonly",
         "proc sys tracefs nobody", "nobody"]

Told = dict[str, Any]


@pytest.fixture(scope="session", name="doctor")
def _doctor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    subprocess.run(["make", "-s", "--no-print-directory", f"ARCH={ARCH}", "doctor"], cwd=TREE,
                   check=True, capture_output=True, timeout=300)
    return Path(shutil.copy(TREE / "build" / ARCH / "doctor",
                            tmp_path_factory.mktemp("jails") / "doctor"))


@lru_cache(maxsize=None)
def refusal(*flags: str) -> str:
    """Why there are no such namespaces here, or ''."""
    done = subprocess.run(["unshare", *flags, "mount", "-t", "tmpfs", "none", "/mnt"],
                          capture_output=True, text=True, timeout=300, check=False)
    return done.stderr.strip()


@lru_cache(maxsize=None)
def jailed(doctor: Path, what: str, *flags: str) -> Told:
    flags = flags or ("-m",)
    place = doctor.parent / "root"
    if refusal(*flags):
        pytest.skip(f"no mounts of our own: {refusal(*flags)}")
    place.mkdir(exist_ok=True)
    done = subprocess.run(["unshare", *flags, "--propagation", "private", "sh", "-c", JAIL, "jail",
                           str(place), str(doctor), what],
                          capture_output=True, text=True, timeout=120, check=False)
    if "mount:" in done.stderr:
        pytest.skip(f"cannot be mounted here: {done.stderr.strip()[:200]}")
    assert done.stdout.startswith("{"), done.stdout[:500] + done.stderr[:500]
    told: Told = json.loads(done.stdout)
    return told


def wishes(told: Told) -> dict[str, Told]:
    return {wish["wish"]: wish for wish in told["wishes"]}


def refusals(told: Told) -> list[Told]:
    return [refused for wish in told["wishes"] for refused in wish["refusals"]]


def open_jail(doctor: Path, user: str) -> Told:
    """What is told where nothing is hidden, as root or as uid 65534."""
    return jailed(doctor, f"proc sys tracefs {user}".strip())


@pytest.mark.perf
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts, and changes its root")
@pytest.mark.parametrize("what", JAILS)
def test_jail(doctor: Path, what: str) -> None:
    """Nothing but what the jail hides is lost, and the reason names that."""
    told = jailed(doctor, what)
    outside = wishes(open_jail(doctor, "nobody" if "nobody" in what else ""))
    for name, wish in wishes(told).items():
        if name == "tracepoints" and "tracefs" not in what:
            gates = " ".join(refused["gate"] for refused in wish["refusals"])
            assert "tracefs" in gates, gates
            continue
        if name in ("kprobes", "uprobes") and not {"proc", "sys"} <= {*what.split()} and outside[name]["verdict"] == "works":
            assert re.search(r"/(sys|proc) is hidden here", wish["refusals"][0]["gate"]), wish
            assert wish["refusals"][0]["change"].startswith("as root: mount -t "), wish
            continue
        assert wish["verdict"] == outside[name]["verdict"], (name, wish)
        assert wish["used"].split(" (")[0] == outside[name]["used"].split(" (")[0], name


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts, and changes its root")
@pytest.mark.parametrize("what", JAILS)
def test_advice(doctor: Path, what: str) -> None:
    """Nobody is blamed who is not there, and what is to be mounted can be mounted."""
    for refused in refusals(jailed(doctor, what)):
        assert "security module" not in refused["gate"], refused
        mounts = re.findall(r"mount -t (\w+) \w+ (/[\w/]+)", refused["change"])
        for kind, path in mounts:
            there = {"/sys", *([] if "proc" in what.split() else ["/proc"])} | ({"/sys/kernel/tracing", "/sys/kernel/debug"}
                                if "sys" in what.split() or mounts[0][0] == "sysfs" else set())
            assert path in there, (kind, refused)
        if "event_source" in refused["gate"]:
            hidden = "sys" not in what.split()
            assert ("hidden" in refused["gate"], "sysfs" in refused["change"]) == (hidden, hidden)


def test_user_namespace(doctor: Path) -> None:
    """Its root is no privilege: not an LSM refuses, and the doctor does not say privileged."""
    told = jailed(doctor, "", "-U", "-r", "-m")
    blamed = [refused for refused in refusals(told) if refused["errno"] in ("EACCES", "EPERM")]
    for refused in blamed:
        assert refused["cause"] != "security module" and "security module" not in refused["gate"]
    if blamed:
        assert told["caller"]["privileged"] is False


def test_advice_is_held_against_the_jail() -> None:
    """The pattern finds the mounts of an advice."""
    found = re.findall(r"mount -t (\w+) \w+ (/[\w/]+)",
                       "as root: mount -t sysfs sysfs /sys, then mount -t tracefs tracefs /no/such")
    assert found == [("sysfs", "/sys"), ("tracefs", "/no/such")]
