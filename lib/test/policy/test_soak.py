# SPDX-License-Identifier: MIT
"""
Sessions at length: the census (lib/test/census) under the sanitizers of memory and of threads, the
examples under the latter, and many attaches under Valgrind. Shortly as a part of `make nightly`; with
PM_SOAK set, as `make soak` does, for minutes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
BUILD = Path(__file__).resolve().parents[3] / "build"
SOAK = "PM_SOAK" in os.environ
SECONDS = "20" if SOAK else "1"  # of each of the seven crowds
ROUNDS = "1000" if SOAK else "12"


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Without randomised addresses, which older sanitizers of threads cannot live with."""
    words = ["setarch", "-R", *map(str, command)]
    return subprocess.run(words, capture_output=True, text=True, errors="backslashreplace",
                          env={**os.environ, **environment}, timeout=1800, check=False)


ALONE = ["per_thread", "own_rings", "cpu_wide", "counters", "counters_per_cpu"]
POINTS = {"session.complete", "busy.delivers", *(f"{strategy}.complete" for strategy in ALONE)}


def built(name: str) -> Path:
    program = BUILD / name
    if not program.exists():
        pytest.skip(f"not built: make library-tests (build/{name})")
    return program


def points(text: str) -> dict[str, str]:
    """The result line of each point: "ok", "not ok", "no", "blocked"."""
    found = {}
    for line in text.splitlines():
        match = re.match(r"((?:not )?ok) \d+ census\.(\S+)(?: # SKIP (\w+):)?", line)
        if match:
            found[match[2]] = match[3] or match[1]
    return found


@pytest.mark.parametrize("sanitizer", ["test", "tsan"])
def test_census(sanitizer: str) -> None:
    """Everything is told, or its loss, or who refuses. What the fixed recipe does is told beside it."""
    done = run(built(f"{sanitizer}/census"), SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    said = points(done.stdout)
    assert set(said) == POINTS
    assert all(said[name] in ("ok", "blocked", "no") for name in said)
    assert said["busy.delivers"] == "ok"
    assert "Sanitizer" not in done.stderr, done.stderr
    if said["session.complete"] == "ok":
        refused = {strategy for strategy in ALONE if said[f"{strategy}.complete"] != "ok"}
        # Whoever may watch itself may not watch a CPU.
        assert refused <= (set() if os.geteuid() == 0 else {"cpu_wide"}), done.stdout
        spins = re.search(r"^#:perfmodes: seed_spins=(\d+)$", done.stdout, re.M)
        assert spins and int(spins[1]) > 2, "polls of a dead leader come back at once"


LIMITS = {
    "descriptors": ["prlimit", "--nofile=64:64"],
    "locked memory of a user": ["setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=-all",
                                "prlimit", "--memlock=65536:65536"],
    "no /proc/sys": ["unshare", "-m", "sh", "-c",
                     'mount -t tmpfs none /proc/sys && exec "$@"', "sh"],
    "no tracefs": ["unshare", "-m", "sh", "-c",
                   'mount -t tmpfs none /sys/kernel/tracing && exec "$@"', "sh"],
    "no /sys": ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys && exec "$@"', "sh"],
}


@pytest.mark.parametrize("limit", list(LIMITS) if SOAK else list(LIMITS)[:2])
def test_census_within(limit: str) -> None:
    """What is taken away changes how it is told, not whether: all, or the loss, or the reason."""
    if os.geteuid() != 0:
        pytest.skip("only root can take away what is taken away here")
    done = run(*LIMITS[limit], built("test/census"), "1", ASAN_OPTIONS="detect_leaks=0")
    if done.returncode != 0 and "TAP" not in done.stdout:
        pytest.skip(f"cannot be taken away here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr
    said = points(done.stdout)
    assert said["busy.delivers"] == "ok" and set(said) == POINTS, done.stdout


@pytest.mark.parametrize("name", ["policy/lifecycle_test", "policy/follow_test", "policy/session_test",
                                  pytest.param("examples/census", marks=pytest.mark.perf),
                                  pytest.param("examples/count", marks=pytest.mark.perf),
                                  "examples/self_profile"])
def test_threads(name: str) -> None:
    """The sanitizer of threads ends a program with 66 for a race."""
    done = run(built(f"tsan/{name}"), PM_ROUNDS=ROUNDS, TSAN_OPTIONS="exitcode=66")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ThreadSanitizer" not in done.stderr, done.stderr


@pytest.mark.perf
def test_leaks() -> None:
    """Valgrind finds nothing lost after the last of many attaches, in whatever order they end."""
    if shutil.which("valgrind") is None:
        pytest.skip("no valgrind")
    done = run("valgrind", "-q", "--leak-check=full", "--show-leak-kinds=all",
               "--errors-for-leak-kinds=all", "--error-exitcode=9", "--child-silent-after-fork=yes",
               built("plain/lifecycle_test"), PM_ROUNDS=ROUNDS, PM_TEST="nothing_stays_behind")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[  PASSED  ] 1 test(s)" in done.stdout + done.stderr
