# SPDX-License-Identifier: MIT
"""Paths as a person types them, who may call run.sh from another folder than the tree's root, in which the work is done."""

from __future__ import annotations

import os
from pathlib import Path

_said = os.environ.pop("PERFMODES_CALLER", "")     # of this process alone
FOLDER = "" if not _said or Path(_said).resolve() == Path.cwd() else _said


def given(typed: str) -> Path:
    """What is read: of the caller's folder, else of the tree, as `results/latest` that run.sh tells of, or a row's name."""
    path = Path(FOLDER, typed)
    return path if typed and os.path.lexists(path) else Path(typed)


def written(typed: str) -> Path:
    """What is made or replaced: in the caller's folder."""
    return Path(FOLDER, typed) if typed else Path(typed)


def database(typed: str, usual: str) -> str:
    """A database: a file of the caller's folder, but for the usual one and a server's address."""
    return typed if typed == usual or "://" in typed else str(written(typed))


def program(typed: str) -> str:
    """A program's name; with a slash a file of its needs."""
    path = os.path.join(FOLDER, typed)
    return path if "/" in typed and os.path.lexists(path) else typed
