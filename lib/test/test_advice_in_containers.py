# SPDX-License-Identifier: MIT
"""Advice in containers that a real runtime starts (crun), behind the filter that podman ships, filled as podman does
for the capabilities of a container. What is said is applied to the next container."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from surroundings import PERF
from test_advice import ARCH, Told, _doctor, at_two, pytestmark

__all__ = ["_doctor", "pytestmark"]     # fixtures and marks
PROFILE = Path(os.environ.get("PODMAN_SECCOMP", "/usr/share/containers/seccomp.json"))
GOARCH = {"x86_64": "amd64", "aarch64": "arm64"}
USUAL = "CHOWN DAC_OVERRIDE FOWNER FSETID KILL NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT".split()
CALL = "perf_event_open"
runtime = pytest.mark.skipif(not shutil.which("crun") or not PROFILE.exists() or ARCH not in PERF,
                             reason="no crun, or no filter of podman")


def rules(capabilities: list[str], allowed: bool) -> list[dict[str, Any]]:
    """Podman's rules for a container with these capabilities; `allowed`: a profile that lets the call pass."""
    made = []
    for rule in json.loads(PROFILE.read_text(encoding="utf-8"))["syscalls"]:
        having, lacking = rule.get("includes") or {}, rule.get("excludes") or {}
        if (GOARCH[ARCH] not in having.get("arches", [GOARCH[ARCH]]) or GOARCH[ARCH] in lacking.get("arches", []) or
                not set(having.get("caps", [])) <= set(capabilities) or set(lacking.get("caps", [])) & set(capabilities)):
            continue
        made.append({"names": [name for name in rule["names"] if not allowed or name != CALL], "action": rule["action"]} |
                    ({"args": rule["args"]} if rule.get("args") else {}) |
                    ({"errnoRet": rule["errnoRet"]} if "errnoRet" in rule else {}))
    made = [rule for rule in made if rule["names"]]
    return made + ([{"names": [CALL], "action": "SCMP_ACT_ALLOW"}] if allowed else [])


def bundle(place: Path, doctor: Path, wish: str, add: list[str], allowed: bool, uid: int, rootless: bool) -> None:
    for folder in ("bin", "dev", "proc", "sys"):
        (place / "rootfs" / folder).mkdir(parents=True)
    subprocess.run(["cp", "--preserve=xattr", doctor, place / "rootfs" / "bin" / "doctor"], check=True)
    held = [f"CAP_{name}" for name in (*USUAL, *add)]
    profile = json.loads(PROFILE.read_text(encoding="utf-8"))
    spaces = ["pid", "mount", "ipc", "uts", "network", *(["user"] if rootless else [])]
    mine = [{"containerID": 0, "hostID": 0, "size": 65536}]     # a namespace of its own, with the same ids
    (place / "config.json").write_text(json.dumps({
        "ociVersion": "1.0.2", "root": {"path": "rootfs", "readonly": True},
        "process": {"user": {"uid": uid, "gid": 0}, "args": ["/bin/doctor", "--json", wish], "cwd": "/",
                    "env": ["PATH=/bin", "container=podman"], "noNewPrivileges": False, "capabilities":
                    {kind: held for kind in ("bounding", *(("effective", "permitted") if uid == 0 else ()))}},
        "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                   {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["ro"]}],
        "linux": {"namespaces": [{"type": kind} for kind in spaces],
                  **({"uidMappings": mine, "gidMappings": mine} if rootless else {}),
                  "seccomp": {"defaultAction": profile["defaultAction"], "defaultErrnoRet": profile.get("defaultErrnoRet", 38),
                              "syscalls": rules(held, allowed)}}}), encoding="utf-8")


def contained(place: Path, doctor: Path, wish: str, *, add: str = "", allowed: bool = False, uid: int = 0,
              rootless: bool = False) -> Told:
    """The doctor, as `podman run --cap-add ADD` starts it."""
    shutil.rmtree(place, ignore_errors=True)
    bundle(place, doctor, wish, add.split(), allowed, uid, rootless)
    # crun takes machines with version 2 of cgroups alone; this one's may be mixed
    run = f"mount -t cgroup2 none /sys/fs/cgroup; exec crun --cgroup-manager=disabled --root {place}/state run -b {place} doctor-{os.getpid()}"
    done = subprocess.run(["unshare", "-m", "sh", "-c", run], capture_output=True, text=True, timeout=300, check=False)
    if not done.stdout.startswith("{"):
        pytest.skip(f"crun starts nothing here: {done.stderr.strip()[:200]}")
    told: Told = json.loads(done.stdout)["wishes"][0]
    return told


def gates(told: Told) -> list[str]:
    return [one["name"] for one in told["refusals"] if one["attempt"] == told["refusals"][0]["attempt"]]


@runtime
@at_two
@pytest.mark.parametrize("wish", ["system", "own-faults", "kernel-chains"])
def test_what_takes_the_capability(doctor: Path, tmp_path: Path, wish: str) -> None:
    """Either half alone is not enough, as podman's filter was before 2025-11."""
    told = contained(tmp_path / "c", doctor, wish)
    said = told["refusals"][0]["change"]
    assert gates(told) == ["filtered", "level"]
    assert said.startswith("podman run --cap-add PERFMON --security-opt seccomp=PROFILE.json") and "setcap" not in said
    assert contained(tmp_path / "c", doctor, wish, add="PERFMON", allowed=True)["verdict"] == "works"
    assert contained(tmp_path / "c", doctor, wish, allowed=True)["verdict"] != "works"
    half = contained(tmp_path / "c", doctor, wish, add="PERFMON")
    if half["verdict"] != "works":
        assert gates(half) == ["filtered"] and half["refusals"][0]["change"].startswith("podman run --security-opt seccomp=")


@runtime
@at_two
def test_what_takes_no_capability(doctor: Path, tmp_path: Path) -> None:
    told = contained(tmp_path / "c", doctor, "rings")
    assert gates(told) == ["filtered"] and told["refusals"][0]["change"].startswith("podman run --security-opt seccomp=")
    assert "--cap-add" not in told["refusals"][0]["change"]
    assert contained(tmp_path / "c", doctor, "rings", allowed=True)["verdict"] == "works"


@runtime
@at_two
def test_another_user_inside(doctor: Path, tmp_path: Path) -> None:
    """The image's program has the file capability that is advised; without the container's it cannot even start."""
    told = contained(tmp_path / "c", doctor, "system", add="PERFMON", allowed=True, uid=1000)
    said = re.search(r"in its image setcap (\S+) PROGRAM", told["refusals"][0]["change"])
    assert gates(told) == ["level"] and said and "--cap-add" not in told["refusals"][0]["change"]
    given = Path(shutil.copy(doctor, doctor.parent / "of-image"))
    if subprocess.run(["setcap", said[1], given], capture_output=True, check=False).returncode:
        pytest.skip("no file capabilities")
    assert contained(tmp_path / "c", given, "system", add="PERFMON", allowed=True, uid=1000)["verdict"] == "works"


@runtime
@at_two
def test_a_rootless_container(doctor: Path, tmp_path: Path) -> None:
    """No capability of its own counts, so none is advised."""
    told = contained(tmp_path / "c", doctor, "system", add="PERFMON", allowed=True, rootless=True)
    said = " ".join(one["change"] for one in told["refusals"])
    assert "a container of root's, not a rootless one" in said and "--cap-add" not in said and "setcap" not in said
    assert contained(tmp_path / "c", doctor, "system", add="PERFMON", allowed=True)["verdict"] == "works"
