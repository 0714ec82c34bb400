# SPDX-License-Identifier: MIT
"""A server of PostgreSQL for a test: on a socket in a folder of its own, gone when the test is."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534      # initdb and postgres refuse to run as root
PATIENCE = 120


def programs() -> Path | None:
    """The folder of initdb and postgres: Debian keeps them out of PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    there = shutil.which("initdb")
    return found[-1].parent if found else Path(there).resolve().parent if there else None


def _run(*command: str | Path) -> None:
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    subprocess.run(command, check=True, timeout=PATIENCE, stdin=subprocess.DEVNULL, cwd="/",
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **user)     # type: ignore[arg-type]


@contextmanager
def running(where: Path) -> Iterator[str]:
    """The URL of an empty database; `where` has the programs. Nothing listens on a network."""
    folder = Path(tempfile.mkdtemp(prefix="perfmodes-pg-"))
    try:
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        data = folder / "data"
        _run(where / "initdb", "-D", data, "-U", "perfmodes", "-A", "trust", "-E", "UTF8", "--no-locale",
             "--no-sync")
        _run(where / "pg_ctl", "-D", data, "-w", "-t", str(PATIENCE), "-l", folder / "log", "-o",
             f"-k {folder} -c listen_addresses= -c fsync=off", "start")
        try:
            yield f"postgresql://perfmodes@/postgres?host={folder}"
        finally:
            _run(where / "pg_ctl", "-D", data, "-w", "-t", str(PATIENCE), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
