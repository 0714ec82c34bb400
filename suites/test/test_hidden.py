# SPDX-License-Identifier: MIT
"""What a container withholds is blocked, absent or unknown, never `no` or `broken`."""

from __future__ import annotations

import functools
import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import ALONE, NEVER, TREE, needs_mounts, needs_root, run

# Those whose answer hangs on what such places withhold: rights, files of /proc and of /sys.
PROBES = sorted(f"{path.parent.name}/{path.stem}" for area in ("perm", "proc", "pmu", "userpage")
                for path in (TREE / "probes" / area).glob("*.c")
                if "DISTURBS(" not in path.read_text()) + [
    "attach/other_task", "attach/other_user", "record/namespaces", "record/cgroup",
    "sample/cgroup_id", "tracepoint/ids"]
needs_own_mounts = functools.partial(needs_mounts, start=ALONE)
COVERED = {"/proc": "mount -t tmpfs none /proc",
           "/proc/sys and /sys": "mount -t tmpfs none /proc/sys && mount -t tmpfs none /sys"}


def hold(output: str) -> None:
    """Tests ran, none said that the kernel lacks something, and no effect was wrong."""
    assert "\n1.." in output, output
    assert not [line for line in output.splitlines()
                if "# SKIP no:" in line or line.startswith("#:perfmodes: observed=")]


@needs_own_mounts
@pytest.mark.parametrize("cover", COVERED.values(), ids=COVERED.keys())
@pytest.mark.parametrize("probe", PROBES)
def test_files_that_are_covered_are_no_answer(build: Path, probe: str, cover: str) -> None:
    hold(run(*ALONE, "--mount", "--propagation", "private", "sh", "-c",
             f"{cover} && exec '{build}/probes/{probe}'").stdout)


@pytest.mark.parametrize("probe", PROBES)
def test_rights_that_a_container_hands_out_are_no_answer(build: Path, probe: str) -> None:
    """Root of a user namespace, as in an unprivileged container: it holds all capabilities there,
    and perf accepts none of them. Root gives it many users, others have themselves to give."""
    command = ["unshare", "--user", "sh", "-c", f"read go && exec '{build}/probes/{probe}'"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as child:
        own = os.readlink("/proc/self/ns/user")
        while os.readlink(f"/proc/{child.pid}/ns/user") == own:
            if child.poll() is not None:        # in a chroot, or where they are forbidden
                pytest.skip("no user namespace is to be had here")
        users, groups = ("0 0 65536",) * 2
        if os.geteuid():
            Path(f"/proc/{child.pid}/setgroups").write_text("deny", encoding="ascii")
            users, groups = f"0 {os.geteuid()} 1", f"0 {os.getegid()} 1"
        Path(f"/proc/{child.pid}/uid_map").write_text(users, encoding="ascii")
        Path(f"/proc/{child.pid}/gid_map").write_text(groups, encoding="ascii")
        hold(child.communicate("go\n", timeout=NEVER)[0])


@needs_root
@needs_mounts
@pytest.mark.parametrize("event,point", [("sched_wakeup", "wakeup_format"), ("sched_switch", "switch_format")])
def test_a_tracepoint_without_a_format_is_absent(build: Path, event: str, point: str) -> None:
    said = run("unshare", "--mount", "--propagation", "private", "sh", "-c",
               "test -d /sys/kernel/tracing/events || mount -t tracefs none /sys/kernel/tracing; "
               f"mount -t tmpfs none /sys/kernel/tracing/events/sched/{event} && "
               f"exec '{build}/probes/tracepoint/sched_fields'").stdout
    assert re.search(rf"^ok \d+ global\.{point} # SKIP absent: .*{event}", said, re.M), said


@needs_own_mounts
@pytest.mark.parametrize("probe", ["sample/raw", "tracepoint/raw_data", "tracepoint/sched_fields",
                                   "tracepoint/samples", "record/fork", "record/namespaces"])
def test_numbers_of_another_pid_namespace_are_not_wrong(build: Path, probe: str) -> None:
    """The first one's stand in the data of tracepoints, as every container's process sees them."""
    hold(run(*ALONE, "--pid", "--fork", "--mount-proc", "--propagation", "private", "sh", "-c",
             "test -d /sys/kernel/tracing/events || mount -t tracefs none /sys/kernel/tracing; "
             f"exec '{build}/probes/{probe}'").stdout)


def test_a_no_and_a_wrong_effect_would_be_seen(build: Path) -> None:
    for probe in ("meta/broken", "meta/no"):
        told = run(build / "probes" / probe).stdout
        if "# SKIP blocked: " in told:
            pytest.skip("perf_event_open(2) is refused here, and no pair of calls proves a no")
        with pytest.raises(AssertionError):
            hold(told)


def test_who_cannot_mount_is_skipped_with_the_reason(tmp_path: Path) -> None:
    """As root without CAP_SYS_ADMIN, where unshare(2) says EPERM."""
    if os.geteuid() == 0:
        drop = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]
    else:
        drop = []
    done = run(*drop, "/usr/bin/python3", "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider",
               "suites/test/test_launch.py", "-k", "full_disk", cwd=TREE)
    assert done.returncode == 0 and "1 skipped" in done.stdout, done.stdout
    assert "no mounts of its own: unshare: unshare failed" in done.stdout or not drop


@needs_own_mounts
@pytest.mark.parametrize("probe", ["exec/sigtrap", "signal/sigtrap", "signal/sigtrap_threads"])
def test_what_crashes_a_real_time_kernel_is_asked_with_leave(build: Path, probe: str) -> None:
    """Such a kernel tells what it is in /sys/kernel/realtime. With --hazards it is asked as any other."""
    def results(prepare: str) -> list[str]:
        done = run(*ALONE, "--mount", "--propagation", "private", "sh", "-c", f"{prepare} exec '{build}/probes/{probe}'")
        return re.findall(r"^(?:not )?ok \d+ .*$", done.stdout, re.M)
    plain = results("")
    if not any("SKIP" not in line for line in plain):
        pytest.skip(f"no SIGTRAP of events here: {plain[0]}")
    realtime = "mount -t tmpfs none /sys/kernel && echo 1 >/sys/kernel/realtime &&"
    for was, now in zip(plain, results(realtime), strict=True):
        assert "SKIP" in was or "# SKIP hazard: SIGTRAP of events crashes some PREEMPT_RT kernels" in now
    assert not [line for line in results(f"{realtime} PERFMODES_HAZARDS=1") if "hazard" in line]
