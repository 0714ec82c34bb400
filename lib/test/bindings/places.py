# SPDX-License-Identifier: MIT
"""Where the tests of the bindings find what is built, and how they run it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[3]
ARCH = os.environ.get("ARCH", platform.machine())
BUILD = TREE / "build" / ARCH
ROOM = TREE / "lib" / "bindings"
PYTHON = BUILD / "bindings" / "python"
RUST = BUILD / "bindings" / "rust"
#: The optional libraries
PARTS = ("sampler", "stacks", "topology", "pfm")
INTERPRETER = "/usr/bin/python3"
TOUCH = """
import mmap, os, threading
import perfmodes
from perfmodes import Counters, Error, Event, Plan, Profile, Session, Strategy, Want
PAGE = mmap.PAGESIZE
def touch(pages):
    area = mmap.mmap(-1, pages * PAGE)
    if hasattr(area, "madvise"):
        area.madvise(15)    # MADV_NOHUGEPAGE
    for page in range(pages):
        area[page * PAGE] = 1
    return area
def descriptors():
    return len(os.listdir("/proc/self/fd"))
"""


def run(*command: str | Path, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          timeout=300, check=False, **more)  # type: ignore[call-overload]


def make(*targets: str) -> None:
    done = run("make", "-s", "--no-print-directory", f"ARCH={ARCH}", *targets, cwd=TREE)
    assert done.returncode == 0, done.stdout + done.stderr


def environment() -> dict[str, str]:
    """In which a program finds the library and the Python package that were just built."""
    return {**os.environ, "LD_LIBRARY_PATH": str(BUILD), "PYTHONPATH": str(PYTHON),
            "PERFMODES_LIBRARY": str(BUILD / "libperfmodes.so.0"), "PERFMODES_LIB": str(BUILD)}


def rust_environment() -> dict[str, str]:
    """The same, with the compiler of the system, for which a warning is an error."""
    return {**environment(), "CARGO_TARGET_DIR": str(BUILD / "cargo"), "RUSTFLAGS": "-Dwarnings",
            "PATH": f"/usr/bin:/bin:{os.environ['PATH']}"}


def need(program: str, package: str) -> str:
    """The path of the program; of the system's, for others may come with crates of their own."""
    found = shutil.which(program, path="/usr/bin:/bin")
    if found is None:
        pytest.skip(f"no {program} (Debian: {package})")
    return found


def python(text: str, **more: str) -> subprocess.CompletedProcess[str]:
    return run(INTERPRETER, "-W", "error", "-c", TOUCH + text,
                      env={**environment(), **more})


def passes(text: str, **more: str) -> str:
    done = python(text, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
