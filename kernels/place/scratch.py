# SPDX-License-Identifier: MIT
"""A folder of this command below $TMPDIR, for its connections and archives. It is locked for as long as
the command lives: what one that was killed has left is removed by the next."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "pm-command-"
LONGEST = 50  # characters of $TMPDIR with which the name of a socket below it fits into the 107 of one
MOST = 1000  # connections of a folder that are ended, each by a program

_open: list[Path] = []


@contextmanager
def scratch() -> Iterator[None]:
    """While this lasts, made() makes its folders in one that is removed at the end."""
    sweep()
    mine, held = _locked()
    _open.append(mine)
    try:
        yield
    finally:
        _open.remove(mine)
        shutil.rmtree(mine, ignore_errors=True)
        os.close(held)


def above() -> str:
    """Where these folders are: $TMPDIR, or what stands in for one whose name is too long for sockets."""
    found = tempfile.gettempdir()
    return found if len(found) <= LONGEST or not os.access("/tmp", os.W_OK | os.X_OK) else "/tmp"


def folder() -> Path | None:
    """That of this command, if it has one."""
    return _open[-1] if _open else None


def made(what: str) -> str:
    """A new folder, for whoever asked to remove."""
    mine = folder()
    return tempfile.mkdtemp(prefix=f"{what}-" if mine else f"pm-{what}-", dir=mine or above())


@contextmanager
def temporary(what: str) -> Iterator[Path]:
    """A new folder for as long as the body runs."""
    new = made(what)
    try:
        yield Path(new)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _locked() -> tuple[Path, int]:
    """A folder with its lock. Another command that looks for leftovers may have come in between."""
    while True:
        new = Path(tempfile.mkdtemp(prefix=PREFIX, dir=above()))
        held = _take(new)
        if held is not None:
            return new, held


def _take(one: Path) -> int | None:
    """The lock of a folder of ours that is there; None if somebody has it, or it is gone."""
    try:
        file = os.open(one, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(file).st_uid == os.geteuid() and os.path.samestat(os.fstat(file), os.lstat(one)):
            return file
    except OSError:
        pass
    os.close(file)
    return None


def sweep() -> None:
    """Remove what commands that were killed have left, and end their connections."""
    for left in Path(above()).glob(f"{PREFIX}*"):
        held = _take(left)
        if held is None:
            continue
        for control in [path for path in sorted(left.glob("ssh-*/*")) if path.is_socket()][:MOST]:
            _end(control)
        shutil.rmtree(left, ignore_errors=True)
        os.close(held)


def _end(control: Path) -> None:
    argv = ["ssh", "-F", "none", "-o", f"ControlPath={control}", "-O", "exit", "nobody"]
    try:
        subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        pass
