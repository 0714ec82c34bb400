# SPDX-License-Identifier: MIT
"""Shared by the tests here: the tree, its build, and ways to run programs in it."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]
BUILD = TREE / "build" / platform.machine()
# Seconds after which what is waited for will not come: more than any machine takes for it.
NEVER = 900



def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes minutes; runs only when asked for: pytest -m slow")
    config.addinivalue_line("markers", "perf: needs events, as the probe meta.pass does")
    config.addinivalue_line("markers", "peer(group): needs a large peer, `.ci/install GROUP`; make check-peers")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "slow" in (config.option.markexpr or ""):
        return
    config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("slow")])
    items[:] = [item for item in items if not item.get_closest_marker("slow")]


@functools.cache
def refusal_of_events() -> str:
    """Why the simplest probe cannot count here, or ''."""
    said = run(BUILD / "probes/meta/pass").stdout
    match = re.search(r"^ok 1 .*# SKIP (.*)$", said, re.M)
    return match[1] if match else ""


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("perf") and refusal_of_events():
        pytest.skip(f"needs events; {refusal_of_events()}")


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


# Who is not root here is root of a user namespace.
ALONE = ("unshare", "--user", "--map-root-user") if os.geteuid() else ("unshare",)


def refusal_of_mounts(start: tuple[str, ...] = ("unshare",)) -> str:
    """Why nothing can be mounted for a test alone, or ''. Some containers lack CAP_SYS_ADMIN, and in
    a plain chroot / is no mount point."""
    done = subprocess.run([*start, "--mount", "--propagation", "private", "mount", "-t", "tmpfs", "none", "/tmp"],
                          capture_output=True, text=True, check=False)
    return done.stderr.strip() or f"status {done.returncode}" if done.returncode else ""


def needs_mounts(test: Callable[..., object], start: tuple[str, ...] = ("unshare",)) -> object:
    """Skip a test, with the reason, where it cannot have mounts of its own."""
    why = refusal_of_mounts(start)
    return pytest.mark.skipif(bool(why), reason=f"no mounts of its own: {why}")(test)


@pytest.fixture(scope="session")
def build() -> Path:
    """The build directory; `make check` has built it."""
    assert (BUILD / "falsify/launch").exists(), "run `make` first"
    return BUILD


def run(*command: str | Path, timeout: float = NEVER, **options) -> subprocess.CompletedProcess[str]:
    """Run a command in the tree, captured as text, without a terminal."""
    if "input" not in options:
        options["stdin"] = subprocess.DEVNULL
    return subprocess.run([str(c) for c in command], cwd=options.pop("cwd", TREE), timeout=timeout,
                          capture_output=True, text=True, errors="backslashreplace", check=False, **options)


def run_suite(out: Path, *arguments: str, shell: str = "sh", tree: Path = TREE, timeout: float = NEVER,
              ) -> subprocess.CompletedProcess[str]:
    """./run.sh without installing or building anything."""
    return run(*shell.split(), tree / "run.sh", "--no-install", "--no-build", "--out", out, *arguments,
               timeout=timeout, cwd=tree)


def result_of(out: Path) -> dict:
    return json.loads((out / "result.json").read_text(encoding="utf-8"))


def verdicts(result: dict, persona: str) -> dict[str, str]:
    """point key -> verdict"""
    return {f"{probe}.{name}": point["verdict"]
            for probe, body in result["personas"][persona]["probes"].items()
            for name, point in body["points"].items()}


# What a test leaves behind becomes a child of this process, so that it is told from what the tests beside
# this one run.
PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def is_ours(pid: int) -> bool:
    """Whether this process is among its ancestors."""
    while pid not in (0, 1, os.getpid()):
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return pid == os.getpid()


def processes_of(place: Path) -> Iterator[int]:
    """Running processes of this test whose program is this file or is in this directory. Known by inode:
    from a mount namespace of its own, as that of a persona, the kernel may show another path."""
    files = [place] if place.is_file() else [path for path in place.rglob("*") if path.is_file()]
    programs = {(info.st_dev, info.st_ino) for info in map(os.stat, files)}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                program = os.stat(entry / "exe")
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except (OSError, IndexError):
                continue
            if (program.st_dev, program.st_ino) in programs and state != "Z" and is_ours(int(entry.name)):
                yield int(entry.name)


def heeding(ignored: Iterable[signal.Signals] = ()) -> Callable[[], None]:
    """For preexec_fn: a child for which these signals are ignored and the others are not, however these tests
    were started: with nohup, or in the background of a shell without job control."""
    def prepare() -> None:
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
    return prepare


def wait_for(true: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + NEVER
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


NO_SOURCE = (".git", "results", "__pycache__", ".pytest_cache", ".hypothesis")
# Of the build, what no probe is made of.
NO_PROBE = ("pic", "examples", "man*", "bundle", "bundle.tar", "multicall", "bindings", "cargo", "test", "fuzz", "tsan",
            "plain", "release", "deb", "ci", "site", "bench", "falsify.????????")


@pytest.fixture
def copy(tmp_path: Path, build: Path) -> Path:
    """A copy of the tree with its probes, times kept, so that only what is new is compiled."""
    top = tmp_path / "tree"

    def leave_out(folder: str, names: list[str]) -> set[str]:
        inside = Path(folder).relative_to(TREE).parts[:1] == ("build",)
        found = shutil.ignore_patterns(*NO_SOURCE, *(NO_PROBE if inside else ()))(folder, names)
        return found | ({"probes"} if inside and folder.endswith("/falsify") else set())

    shutil.copytree(TREE, top, symlinks=True, ignore=leave_out)
    return top


@pytest.fixture
def compile_c(tmp_path: Path) -> Callable[[str], Path]:
    """Compile a C text to a static program."""
    def compile_text(text: str) -> Path:
        source, program = tmp_path / "program.c", tmp_path / "program"
        source.write_text(text)
        subprocess.run(["gcc", "-static", "-o", program, source], check=True)
        return program
    return compile_text
