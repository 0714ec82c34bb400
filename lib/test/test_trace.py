# SPDX-License-Identifier: MIT
"""The reader of tracepoints at work, on a tracefs of its own: the mounts here stay as they are."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree

TREE = Path(__file__).resolve().parents[2]
READER = TREE / "build" / os.environ.get("ARCH", platform.machine()) / "examples" / "trace_reader"
MOUNT = "{ test -d /sys/kernel/tracing/events || mount -t tracefs none /sys/kernel/tracing; }"


def in_namespace(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["unshare", "-m", "sh", "-c", f"{MOUNT} && {command}"], timeout=120,
                          capture_output=True, text=True, check=False)


@pytest.fixture(scope="module", autouse=True)
def _possible() -> None:
    if shutil.which("unshare") is None:
        pytest.skip("no unshare (Debian: util-linux)")
    subprocess.run(["make", "-s", "--no-print-directory", f"ARCH={READER.parts[-3]}",
                    str(READER.relative_to(TREE))], cwd=TREE, check=True, timeout=300)
    tried = in_namespace("test -r /sys/kernel/tracing/events/sched/sched_switch/id")
    if tried.returncode != 0:
        pytest.skip(f"no tracefs may be mounted here: {tried.stderr.strip()}")


def records(text: str) -> list[tuple[float, int, dict[str, str]]]:
    """Time, CPU and fields of each line."""
    found = []
    for line in text.splitlines():
        if line.startswith("lost "):
            continue
        head, _, fields = line.partition(":")
        words = head.split()
        found.append((float(words[0]), int(words[2]),
                      dict(word.split("=", 1) for word in fields.split() if "=" in word)))
    return found


def test_all_cpus_in_the_order_of_time() -> None:
    done = in_namespace(f"'{READER}' sched:sched_switch 1")
    if done.returncode == 2:
        pytest.skip(done.stderr.strip())
    told = dict(zip(("order", "late", "lost"), (int(word) for word in done.stderr.split()
                                                if word.isdigit())))
    assert done.returncode == (1 if told["lost"] else 0)
    seen = records(done.stdout)
    assert len(seen) == told["order"] + told["late"] > 20
    times = [time for time, _, _ in seen]
    assert told["late"] > 0 or times == sorted(times)
    assert told["late"] * 100 <= len(seen)
    assert all({"prev_pid", "next_pid", "prev_state"} <= set(fields) for _, _, fields in seen)


PAIR = """
import os, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
there, back = os.pipe(), os.pipe()
child = os.fork()
mine, other = (there[0], back[1]) if child == 0 else (back[0], there[1])
for end in there + back:
    end in (mine, other) or os.close(end)
os.write(1, b"%d\\n" % os.getpid())
child and os.write(other, b"x")
end = time.monotonic() + 120
while time.monotonic() < end and os.read(mine, 1):
    os.write(other, b"x")
"""


def test_each_switch_follows_the_one_before() -> None:
    """Without a loss, what a CPU gave way to is what gives way there next.

    Of two processes that wake each other: on a guest some threads of its supervisor are never seen
    to leave, by perf(1) either.
    """
    pair = subprocess.Popen([sys.executable, "-c", PAIR], stdout=subprocess.PIPE, text=True,
                            stderr=subprocess.DEVNULL)
    assert pair.stdout
    mine = {pair.stdout.readline().strip(), pair.stdout.readline().strip()}
    done = in_namespace(f"'{READER}' sched:sched_switch 1")
    pair.terminate()  # the other reads the end of its pipe
    pair.communicate(timeout=300)
    if done.returncode != 0:
        pytest.skip(done.stderr.strip())
    running: dict[int, str] = {}
    followed = breaks = 0
    for _, cpu, fields in records(done.stdout):
        if running.get(cpu) in mine:
            followed += running[cpu] == fields["prev_pid"]
            breaks += running[cpu] != fields["prev_pid"]
        running[cpu] = fields["next_pid"]
    assert breaks == 0 and followed > 100


@pytest.mark.perf
def test_another_tracepoint_and_none() -> None:
    done = in_namespace(f"'{READER}' raw_syscalls:sys_enter 0")
    assert done.returncode in (0, 1) and " id=" in done.stdout, done.stderr
    done = in_namespace(f"'{READER}' sched:no_such_tracepoint 0")
    assert done.returncode == 2 and "no_such_tracepoint" in done.stderr
