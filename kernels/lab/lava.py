# SPDX-License-Identifier: MIT
"""A job on a server of LAVA, by lavacli: submitted, watched, cancelled, its log."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernels.errors import Missing, Refused
from kernels.place.channel import printable

LIMIT = 24 * 3600.0  # for a job, the queue of its lab included
ASKED_EVERY = 5.0


def lavacli(identity: str, *words: str, limit: float = 300) -> str:
    """What it prints. `identity` names the server and who asks. Raises Missing."""
    if not shutil.which("lavacli"):
        raise Missing("no program lavacli; install the package lavacli")
    argv = ["lavacli", "-i", identity, *words]
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        raise Missing(f"lavacli {words[1]}: no answer within {limit:.0f} s") from None
    if done.returncode:
        said = printable(done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise Missing(f"lavacli {words[1]}: {said[-1][:300]}")
    return done.stdout.decode("utf-8", "backslashreplace")


def submitted(text: str, identity: str, folder: Path) -> str:
    """Submit a job; returns its number."""
    file = folder / "job.yaml"
    file.write_text(text, encoding="utf-8")
    number = lavacli(identity, "jobs", "submit", str(file)).strip()
    if not re.fullmatch(r"\d{1,12}(\.\d{1,4})?", number):
        raise Refused(f"lavacli jobs submit says {number[:100]!r}, not a job number")
    return number


def shown(identity: str, number: str) -> dict[str, Any]:
    """What the server says of a job."""
    told = lavacli(identity, "jobs", "show", "--json", number)
    try:
        job = json.loads(told)
    except (ValueError, RecursionError):
        job = None
    if not isinstance(job, dict):
        raise Refused(f"lavacli jobs show says {told[:100]!r}, not a job")
    return job


def log_of(
    identity: str, number: str, say: Callable[[str], None], stop: threading.Event,
    every: float = ASKED_EVERY,
) -> str:  # fmt: skip
    """Wait for the end of a job and return its log. If `stop` is set, the job is cancelled."""
    until = time.monotonic() + LIMIT
    while (state := str(shown(identity, number).get("state", ""))[:40]) != "Finished":
        say(f"job {number}: {state.lower()}")
        if stop.wait(every) or time.monotonic() > until:
            lavacli(identity, "jobs", "cancel", number)
            raise Missing(f"job {number} is cancelled: {'interrupted' if stop.is_set() else 'it took a day'}")
    say(f"job {number}: its log")
    return lavacli(identity, "jobs", "logs", "--raw", number)
