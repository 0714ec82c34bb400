# SPDX-License-Identifier: MIT
"""Sentences of advice, each applied as it stands, after which the wish is met; and beside it a place where the
sentence would be wrong, and is not said."""

from __future__ import annotations

import platform
import re
import resource
import shutil
import subprocess
from pathlib import Path
import pytest
from surroundings import ERRNO, KILL, PERF, TRAP, install_filter
from test_advice import (ARCH, BARE, GIVEN, HIDE, NO_NEW, STRANGER, USER, Told, _doctor, _trusted, ask, at_two, change,
                         memory, pytestmark, start)

__all__ = ["_doctor", "_trusted", "pytestmark"]     # fixtures and marks
OTHER_CALL = {"x86_64": 163, "aarch64": 89}         # acct(2), which the doctor does not call
filters = pytest.mark.skipif(platform.machine() not in PERF, reason="its number is not known here")
uprobes = pytest.mark.skipif(not Path("/sys/bus/event_source/devices/uprobe").exists(), reason="this kernel has no uprobes")
BOTH = ["setpriv", "--bounding-set=-all,+perfmon,+bpf", "--inh-caps=-all"]
LOCK = ["setpriv", "--bounding-set=-all,+ipc_lock", "--inh-caps=-all"]


def with_capabilities(doctor: Path, line: str) -> Path:
    """A copy of the program as the advised setcap leaves it."""
    found = re.search(r"setcap (\S+) PROGRAM", line)
    assert found, line
    copy = Path(shutil.copy(doctor, doctor.parent / f"as-{found[1].replace(',', '-').replace('=', '-')}"))
    done = start("setcap", found[1], copy)
    if done.returncode:
        pytest.skip(f"no file capabilities: {done.stderr.strip()}")
    return copy


# ------------------------------------------------------------------------------- one program

@at_two
@pytest.mark.parametrize("wish", ["own-time", "own-faults", "own-switches", "kernel-chains", "other-process", "system"])
def test_a_capability_for_one_program(doctor: Path, wish: str) -> None:
    said = change(ask("setpriv", *USER, doctor, "--json", wish))
    trusted = with_capabilities(doctor, said)
    assert ask("setpriv", *USER, trusted, "--json", wish)["verdict"] == "works"
    assert "setcap cap" not in change(ask("setpriv", *USER, *NO_NEW, doctor, "--json", wish))


@uprobes
@at_two
def test_uprobes_take_root(doctor: Path, trusted: Path) -> None:
    """A level of 1 or CAP_PERFMON would not do, and neither is said."""
    for program in (doctor, trusted):
        said = change(ask("setpriv", *USER, program, "--json", "uprobes"))
        assert "paranoid" not in said and "perfmon" not in said and "run the program as root" in said
    assert ask(doctor, "--json", "uprobes")["verdict"] == "works"
    assert ask("setpriv", *USER, with_capabilities(doctor, said), "--json", "uprobes")["verdict"] == "works"


@uprobes
@at_two
def test_uprobes_of_a_container(doctor: Path) -> None:
    """Its root is root already."""
    said = change(ask(*GIVEN, doctor, "--json", "uprobes", container="docker"))
    assert "docker run --cap-add SYS_ADMIN" in said and "as root" not in said and "setcap" not in said
    given = ["setpriv", "--bounding-set=-all,+sys_admin,+perfmon", "--inh-caps=-all"]
    assert ask(*given, doctor, "--json", "uprobes", container="docker")["verdict"] == "works"


@at_two
def test_bpf_takes_two_capabilities(doctor: Path, trusted: Path) -> None:
    said = change(ask("setpriv", *USER, doctor, "--json", "bpf"))
    assert "paranoid" not in said
    assert ask("setpriv", *USER, with_capabilities(doctor, said), "--json", "bpf")["verdict"] == "works"
    assert ask("setpriv", *USER, trusted, "--json", "bpf")["verdict"] != "works"


@at_two
def test_bpf_under_no_new_privs(doctor: Path) -> None:
    said = change(ask("setpriv", *USER, *NO_NEW, doctor, "--json", "bpf"))
    line = re.search(r"setpriv --reuid=USER .* PROGRAM", said)
    assert line and "setcap cap" not in said
    words = line[0].replace("USER", str(STRANGER)).replace("GROUP", str(STRANGER)).replace(
        "--init-groups", "--clear-groups").split()[:-1]
    assert ask(*words, *NO_NEW, doctor, "--json", "bpf")["verdict"] == "works"


@at_two
def test_a_capability_that_is_permitted_alone(doctor: Path, trusted: Path) -> None:
    """As a file that was given it without `e`: it has to be put into effect, and is not to be given again."""
    permitted = with_capabilities(doctor, "setcap cap_perfmon=p PROGRAM")
    said = change(ask("setpriv", *USER, permitted, "--json", "own-switches"))
    assert said.startswith("CAP_PERFMON is permitted to this process and not in effect") and "setcap cap_perfmon=ep" in said
    assert ask("setpriv", *USER, trusted, "--json", "own-switches")["verdict"] == "works"
    assert "is permitted" not in change(ask("setpriv", *USER, doctor, "--json", "own-switches"))


# ------------------------------------------------------------------------------- containers

@at_two
@pytest.mark.parametrize("names, line", [
    ({"container": "docker"}, "docker run --cap-add BPF --cap-add PERFMON"),
    ({"container": "podman"}, "podman run --cap-add BPF --cap-add PERFMON"),
    ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "securityContext: {capabilities: {add: [BPF, PERFMON]}}"),
    ({"container": "systemd-nspawn"}, "systemd-nspawn --capability=CAP_BPF,CAP_PERFMON")])
def test_bpf_in_a_container(doctor: Path, names: dict[str, str], line: str) -> None:
    said = change(ask(*GIVEN, doctor, "--json", "bpf", **names))
    assert line in said and "setcap" not in said
    assert ask(*BOTH, doctor, "--json", "bpf", **names)["verdict"] == "works"


@pytest.mark.parametrize("names, line", [
    ({"container": "docker"}, r"docker run --ulimit nofile=(\d+):\1"),
    ({"container": "podman"}, r"podman run --ulimit nofile=(\d+):\1"),
    ({"container": "oci"}, r"started with a hard limit nofile=(\d+)"), ({}, r"prlimit --pid PID --nofile=(\d+):\1")])
def test_descriptors_of_a_container(doctor: Path, names: dict[str, str], line: str) -> None:
    def at(limit: int) -> Told:     # below setpriv, which needs more
        return ask(*BARE, "sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", doctor, "--json", "rings", **names)

    found = re.search(line, change(at(3)))
    assert found and "ulimit -n" not in change(at(3))
    assert at(int(found[1]))["verdict"] == "works"


def test_descriptors_below_the_hard_limit(doctor: Path) -> None:
    limits = [(3, 64), (64, 64)]
    said = change(ask(doctor, "--json", "rings", limit=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits[0])))
    # lint: allow second-list: a test says what it expects
    assert said == "ulimit -n 64"
    assert ask(doctor, "--json", "rings", limit=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits[1]))[
        "verdict"] == "works"


@at_two
@pytest.mark.parametrize("names, limit, capability", [
    ({"container": "docker"}, r"docker run --ulimit memlock=(\d+):\1", "docker run --cap-add IPC_LOCK"),
    ({"container": "podman"}, r"podman run --ulimit memlock=(\d+):\1", "podman run --cap-add IPC_LOCK"),
    ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, r"a hard limit memlock=(\d+)", "{add: [IPC_LOCK]}")])
def test_locked_memory_of_a_container(doctor: Path, names: dict[str, str], limit: str, capability: str) -> None:
    """By the limit, or by the capability; setcap and ulimit(1) are nothing for uid 0 there."""
    asked = [*BARE, doctor, "--json", "rings"]
    said = change(ask(*asked, limit=memory(0, 0), **names))
    found = re.search(limit, said)
    assert found and capability in said and "setcap" not in said and "ulimit -l" not in said
    kb = int(found[1]) // 1024
    assert ask(*asked, limit=memory(kb, kb), **names)["verdict"] == "works"
    assert ask(*LOCK, doctor, "--json", "rings", limit=memory(0, 0), **names)["verdict"] == "works"


@at_two
def test_locked_memory_for_one_program(doctor: Path) -> None:
    said = change(ask("setpriv", *USER, doctor, "--json", "rings", limit=memory(0, 0)))
    assert ask("setpriv", *USER, with_capabilities(doctor, said), "--json", "rings", limit=memory(0, 0))["verdict"] == "works"
    assert "setcap cap" not in change(ask("setpriv", *USER, *NO_NEW, doctor, "--json", "rings", limit=memory(0, 0)))


@at_two
def test_locked_memory_below_the_hard_limit(doctor: Path) -> None:
    asked = ["setpriv", *USER, doctor, "--json", "rings"]
    found = re.search(r"ulimit -l (\d+)", change(ask(*asked, limit=memory(0, 8192))))
    assert found and int(found[1]) <= 8192
    assert ask(*asked, limit=memory(int(found[1]), 8192))["verdict"] == "works"


# ------------------------------------------------------------------------------- filters

@filters
@pytest.mark.parametrize("answer, seen", [(ERRNO | 1, "EPERM"), (ERRNO | 13, "EACCES"), (ERRNO | 38, "ENOSYS"),
                                          (KILL, "SIGSYS"), (TRAP, "SIGSYS")])
@pytest.mark.parametrize("names, line", [
    ({"container": "docker"}, "docker run --security-opt seccomp=PROFILE.json"),
    ({"container": "podman"}, "podman run --security-opt seccomp=PROFILE.json"),
    ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "securityContext: {seccompProfile: {type: Localhost"),
    ({"container": "systemd-nspawn"}, "systemd-nspawn --system-call-filter=perf_event_open"),
    ({"container": "lxc"}, "take perf_event_open out of the file that lxc.seccomp.profile names"),
    ({"SNAP": "/snap/x/1", "SNAP_NAME": "my-profiler"}, "snap connect my-profiler:system-trace")])
def test_a_filter(doctor: Path, answer: int, seen: str, names: dict[str, str], line: str) -> None:
    """The same filter, with perf_event_open allowed and another call in its place, lets the wish be met."""
    asked = [*BARE, doctor, "--json", "rings"]
    told = ask(*asked, limit=lambda: install_filter(answer, PERF[ARCH]), **names)
    said = change(told)
    assert told["refusals"][0]["errno"] == seen and line in said and "perf_event_open" in said
    assert "setcap" not in said and "sysctl" not in said and ("snap" in said) == ("SNAP" in names)
    assert ("SystemCallErrorNumber=EPERM" in said) == (seen == "SIGSYS")
    assert ask(*asked, limit=lambda: install_filter(answer, OTHER_CALL[ARCH]), **names)["verdict"] == "works"


@filters
@at_two
@pytest.mark.parametrize("names, line", [
    ({"container": "docker"}, "docker run --cap-add PERFMON, for which Docker's own filter lets the call pass"),
    ({"container": "podman"}, "podman run --cap-add PERFMON --security-opt seccomp=PROFILE.json"),
    ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "securityContext: {capabilities: {add: [PERFMON]}, seccompProfile: {type: "),
    ({"container": "oci"}, "for Docker --cap-add PERFMON or --security-opt seccomp=PROFILE.json")])
def test_a_filter_and_the_level_behind_it(doctor: Path, names: dict[str, str], line: str) -> None:
    """Both at once: to open the filter alone would not do, which is tried."""
    asked = [doctor, "--json", "system"]
    told = ask(*BARE, *asked, limit=lambda: install_filter(ERRNO | 1, PERF[ARCH]), **names)["refusals"]
    filtered, level = [one for one in told if one["attempt"] == told[0]["attempt"]]
    assert (filtered["name"], level["name"]) == ("filtered", "level") and line in filtered["change"]
    assert level["call"].startswith("not tried yet: ") and "0 or less is needed" in level["gate"]
    assert ask(*BARE, *asked, **names)["verdict"] != "works"
    assert ask(*GIVEN, *asked, **names)["verdict"] == "works"
    held = ask(*GIVEN, *asked, limit=lambda: install_filter(ERRNO | 1, PERF[ARCH]), **names)["refusals"]
    assert [one["name"] for one in held if one["attempt"] == held[0]["attempt"]] == ["filtered"]


@filters
def test_an_errno_in_place_of_a_signal(doctor: Path) -> None:
    """What a program can do without, it does: it is sampled by timers."""
    killed = ask(doctor, "--json", "own-time", limit=lambda: install_filter(KILL, PERF[ARCH]))
    assert killed["used"].startswith("getrusage") and "answer an errno" in change(killed)
    assert ask(doctor, "--json", "own-time", limit=lambda: install_filter(ERRNO | 1, PERF[ARCH]))["how"].startswith("timers")


@filters
@at_two
def test_what_bpf_takes_behind_a_filter(doctor: Path) -> None:
    """Both gates at once for a user; the filter alone for root."""
    def names(*who: str) -> list[str]:
        told = ask(*who, doctor, "--json", "bpf", limit=lambda: install_filter(ERRNO | 1, PERF[ARCH]))["refusals"]
        return [one["name"] for one in told if one["attempt"] == told[0]["attempt"]]

    assert (names("setpriv", *USER), names()) == (["filtered", "bpf"], ["filtered"])


BPF = {"x86_64": 321, "aarch64": 280}


@filters
@pytest.mark.parametrize("answer", [ERRNO | 1, ERRNO | 38, KILL, TRAP])
def test_a_filter_of_bpf(doctor: Path, answer: int) -> None:
    said = change(ask(doctor, "--json", "bpf", limit=lambda: install_filter(answer, BPF[ARCH])))
    assert said.startswith("allow bpf in the filter") and "setcap" not in said
    assert ask(doctor, "--json", "bpf", limit=lambda: install_filter(answer, OTHER_CALL[ARCH]))["verdict"] == "works"


# ------------------------------------------------------------------------------- tracefs

def in_mounts(before: str, *command: str | Path) -> list[str | Path]:
    return ["unshare", "-m", "sh", "-ec", before + '\nexec "$@"', "sh", *command]


def require_mounts() -> None:
    done = start(*in_mounts(HIDE, "true"))
    if done.returncode or not Path("/sys/kernel/tracing").is_dir():
        pytest.skip(f"no mounts of its own, or no tracefs: {done.stderr.strip()}")


def test_tracefs_is_mounted(doctor: Path) -> None:
    require_mounts()
    said = change(ask(*in_mounts(HIDE, doctor, "--json", "tracepoints")))
    found = re.fullmatch(r"as root: (mount -t tracefs tracefs /sys/kernel/tracing)", said)
    assert found
    assert ask(*in_mounts(HIDE + found[1], doctor, "--json", "tracepoints"))["verdict"] == "works"


@at_two
@pytest.mark.parametrize("names, line", [
    ({"container": "docker"}, "docker run -v /sys/kernel/tracing:/sys/kernel/tracing:ro"),
    ({"container": "podman"}, "podman run -v /sys/kernel/tracing:/sys/kernel/tracing:ro"),
    ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "hostPath: {path: /sys/kernel/tracing}"),
    ({"container": "systemd-nspawn"}, "systemd-nspawn --bind-ro=/sys/kernel/tracing"),
    ({"container": "lxc"}, "lxc.mount.entry = /sys/kernel/tracing sys/kernel/tracing none bind,ro 0 0"),
    ({"container": "oci"}, "of the host in it")])
def test_tracefs_of_a_container(doctor: Path, tmp_path: Path, names: dict[str, str], line: str) -> None:
    """Root of a container may mount nothing, which is tried; a tracefs, mounted outside as on the host, is brought in."""
    require_mounts()
    mount = "mount -t tracefs tracefs /sys/kernel/tracing"
    said = change(ask(*in_mounts(HIDE, *GIVEN, doctor, "--json", "tracepoints"), **names))
    assert line in said and mount not in said
    assert start(*in_mounts(HIDE, *GIVEN, "sh", "-c", mount)).returncode != 0
    brought = f"mount -t tracefs tracefs {tmp_path}\n{HIDE}mount --bind -o ro {tmp_path} /sys/kernel/tracing"
    assert ask(*in_mounts(brought, *GIVEN, doctor, "--json", "tracepoints"), **names)["verdict"] == "works"


COPY = HIDE + """mount -t tracefs tracefs /sys/kernel/tracing
id=$(cat /sys/kernel/tracing/events/sched/sched_switch/id)
mount -t tmpfs -o mode=700 none /sys/kernel/tracing
mkdir -p /sys/kernel/tracing/events/sched/sched_switch
echo $id >/sys/kernel/tracing/events/sched/sched_switch/id
"""


@at_two
def test_tracefs_for_a_group(doctor: Path, trusted: Path) -> None:
    """On a copy with these options, as tracefs itself has one mode for all mounts. Who holds the capability
    needs no more."""
    require_mounts()
    said = change(ask(*in_mounts(COPY, "setpriv", *USER, trusted, "--json", "tracepoints")))
    found = re.search(r"as root: mount -o remount,(gid=GROUP,mode=750) /sys/kernel/tracing", said)
    assert found and "mount -t" not in said
    opened = COPY.replace("mode=700", found[1].replace("GROUP", str(STRANGER)))
    assert ask(*in_mounts(opened, "setpriv", *USER, trusted, "--json", "tracepoints"))["verdict"] == "works"
    # with the level in the way it is told from the start
    both = ask(*in_mounts(COPY, "setpriv", *USER, doctor, "--json", "tracepoints"))["refusals"][:2]
    assert [one["name"] for one in both] == ["trace_unreadable", "level"]


@pytest.mark.parametrize("level, locked", [("confidentiality", True), ("integrity", False), ("none", False)])
def test_lockdown_leaves_tracefs_empty(doctor: Path, tmp_path: Path, level: str, locked: bool) -> None:
    """Of a lockdown that is only said: what is mounted already is not to be mounted."""
    require_mounts()
    words = " ".join(f"[{word}]" if word == level else word for word in ("none", "integrity", "confidentiality"))
    (tmp_path / "lockdown").write_text(words + "\n", encoding="utf-8")
    (tmp_path / "lsm").write_text("lockdown,capability\n", encoding="utf-8")
    before = HIDE + f"mount --bind {tmp_path} /sys/kernel/security"
    if start(*in_mounts(before, "true")).returncode:
        pytest.skip("no /sys/kernel/security to mount on")
    said = change(ask(*in_mounts(before, doctor, "--json", "tracepoints")))
    assert ("lockdown=confidentiality" in said, "mount -t" in said) == (locked, not locked)


# ------------------------------------------------------------------------------- the user

@at_two
def test_a_target_of_another_user(doctor: Path, trusted: Path) -> None:
    with subprocess.Popen(["setpriv", "--reuid=64323", "--regid=64323", "--clear-groups", "cat"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        process.stdin.write(b"x\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"x\n"      # it is that user's now
        asked = [doctor, "--json", "--pid", str(process.pid), "other-process"]
        said = ask("setpriv", *USER, *asked)["refusals"][-1]["change"]
        assert said.startswith("run as the target's user; ") and "setcap cap_perfmon=ep" in said
        as_they = ["setpriv", "--reuid=64323", "--regid=64323", "--clear-groups"]
        assert "user mode" in ask(*as_they, *asked)["used"]
        assert ask("setpriv", *USER, trusted, *asked[1:])["verdict"] == "works"
        assert "run as the target's user" not in ask(*as_they, *asked)["refusals"][-1]["change"]
        process.stdin.close()
