# SPDX-License-Identifier: MIT
"""The bundle for a machine, built when it is asked for."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kernels import ROOT
from kernels.errors import Missing, RowError
from kernels.place.scratch import temporary

QUIET = 2.0  # seconds of a build of which nothing is told


@contextmanager
def _alone() -> Iterator[None]:
    """make is run once at a time in this tree, by whichever process. Where nothing can be written make says so."""
    file = None
    with suppress(OSError):
        (ROOT / "build").mkdir(exist_ok=True)
        file = os.open(ROOT / "build/.making", os.O_RDONLY | os.O_CREAT, 0o644)
        fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if file is not None:
            os.close(file)


@contextmanager
def _told(machine: str) -> Iterator[None]:
    """Tell of a build that takes a while."""
    said = f"perfmodes: building for {machine} (minutes the first time)\n"
    timer = threading.Timer(QUIET, sys.stderr.write, [said])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _telling(text: str) -> str:
    """The most telling line among the messages of a build."""
    lines = text.strip().splitlines() or ["no message"]
    return next((line for line in lines if re.search(r"rror|kernels( \w+)?: no ", line)), lines[-1])[:200]


def find_bundle(machine: str, build: bool, install: bool) -> Path:
    """build/MACHINE/bundle. make sets up the tool chain if that is another machine."""
    bundle = ROOT / "build" / machine / "bundle"
    if build:
        words = ["-s", f"-j{os.cpu_count() or 1}", f"ARCH={machine}", "bundle"]
        words += [] if install else ["NO_INSTALL=1"]
        with _told(machine), _alone():
            result = subprocess.run(
                ["make", "-C", str(ROOT), "--no-print-directory", *words],
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
        if result.returncode:
            raise Missing(f"make ARCH={machine} bundle failed: {_telling(result.stderr)}")
    if not (bundle / "run.sh").exists():
        raise Missing(f"no bundle for {machine}: make ARCH={machine} bundle")
    return bundle


def bundles(machines: Iterable[str], build: bool, install: bool) -> dict[str, Path | str]:
    """The bundle for each machine, or why there is none."""
    found: dict[str, Path | str] = {}
    for machine in dict.fromkeys(machines):
        try:
            found[machine] = find_bundle(machine, build, install)
        except RowError as error:
            found[machine] = str(error)
    return found


@contextmanager
def with_suite(
    found: dict[str, Path | str], suite: Path, recording: Path | None = None
) -> Iterator[dict[str, Path | str]]:
    """The bundles with a suite in them. A suite from elsewhere, and a recording that is to be asked
    again, are added to temporary copies."""
    ours = suite.resolve().parent == (ROOT / "suites").resolve()
    made: dict[str, Path | str] = {}
    with temporary("bundle") as folder:
        for machine, bundle in found.items():
            made[machine] = bundle
            if isinstance(bundle, str):
                continue
            if recording or not ours:
                made[machine] = copy = folder / machine
                shutil.copytree(bundle, copy, symlinks=True)
                shutil.copyfile(suite, copy / "suites" / suite.name)
                if recording:
                    shutil.copyfile(recording, copy / "suites" / "replay.json")
            elif not (bundle / "suites" / suite.name).exists():
                why = f"the bundle for {machine} has no suite {suite.stem}: build it again"
                made[machine] = why
        yield made
