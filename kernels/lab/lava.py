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
from typing import Any, TypeVar

from kernels.errors import Missing, Refused, RowError
from kernels.place.channel import printable

LIMIT = 24 * 3600.0  # for a job, the queue of its lab included
ASKED_EVERY = 5.0
PATIENCE = 900.0  # seconds in which a server may fail to answer
CANCELS = 4
NUMBER = r"\d{1,12}(\.\d{1,4})?"
T = TypeVar("T")


class Cancelled(Missing):
    """A job of ours was cancelled, and its server says so, too."""


def lavacli(identity: str, *words: str, limit: float = 300, asks: bool = True) -> str:
    """What it prints. `identity` names the server and who asks. Raises Missing."""
    if not shutil.which("lavacli"):
        raise Missing("no program lavacli; install the package lavacli")
    argv = ["lavacli", *(["-i", identity] if asks else []), *words]
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
    if not re.fullmatch(NUMBER, number):
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


def address(identity: str, number: str) -> str:
    """Where a person sees the job, as far as lavacli tells it."""
    try:
        told = lavacli(identity, "identities", "show", identity, limit=60, asks=False)
    except RowError:
        return ""
    match = re.search(r"^ *uri: *(https?://[!-~]{1,200}?)/?(?:RPC2/?)?$", told, re.MULTILINE)
    return f"{match[1]}/scheduler/job/{number}" if match else ""


def patiently(call: Callable[[], T], say: Callable[[str], None], stop: threading.Event, every: float) -> T:
    """What a call of the server returns, which may fail for a while: restarts, a 502."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return call()
        except RowError as error:
            if time.monotonic() > until:
                raise
            say(f"asking again: {error}")
        if stop.wait(every):
            raise KeyboardInterrupt


def cancelled(identity: str, number: str) -> str:
    """Cancel a job, and ask whether it is. Empty, or what is to be done by hand."""
    why = ""
    for again in range(CANCELS):
        if again:
            time.sleep(again)
        try:
            lavacli(identity, "jobs", "cancel", number, limit=30)
            state = str(shown(identity, number).get("state", ""))[:40]
            if state in ("Finished", "Canceling"):
                return ""
            why = f"its state is {state}"
        except RowError as error:
            why = str(error)
    return f"job {number} may still run ({why}): lavacli -i {identity} jobs cancel {number}"


def log_of(
    identity: str, number: str, say: Callable[[str], None], stop: threading.Event,
    every: float | None = None,
) -> str:  # fmt: skip
    """Wait for the end of a job and return its log. If `stop` is set, the job is cancelled."""
    every = ASKED_EVERY if every is None else every
    until = time.monotonic() + LIMIT
    try:
        while (state := _state(identity, number, say, stop, every)) != "Finished":
            say(f"job {number}: {state.lower()}")
            if stop.wait(every) or time.monotonic() > until:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        why = "interrupted" if stop.is_set() or time.monotonic() < until else "it took a day"
        failed = cancelled(identity, number)
        if failed:
            raise Missing(failed) from None
        raise Cancelled(f"job {number} is cancelled: {why}") from None
    say(f"job {number}: its log")
    return patiently(lambda: lavacli(identity, "jobs", "logs", "--raw", number), say, stop, every)


def _state(identity: str, number: str, say: Callable[[str], None], stop: threading.Event, every: float) -> str:
    told = patiently(lambda: shown(identity, number), say, stop, every)
    return str(told.get("state", ""))[:40]


def judged(log: str) -> str:
    """What the lab itself says about a job that failed: of its last result "job"."""
    for line in reversed(log[-(1 << 20) :].splitlines()):
        try:
            told = json.loads(line[line.find("{") :]) if '"job"' in line else None
        except (ValueError, RecursionError):
            continue
        said = told.get("msg") if isinstance(told, dict) and told.get("lvl") == "results" else None
        if isinstance(said, dict) and said.get("case") == "job" and said.get("error_msg"):
            why = " ".join(f"{said.get('error_type', 'error')}: {said['error_msg']}".split())
            return printable(why.encode("utf-8", "backslashreplace"))[:300]
    return ""
