# SPDX-License-Identifier: MIT
"""Places of a coordinator of labgrid, by labgrid-client: reserved, waited for, acquired, released.

A reservation is by tags; `name` is one that every place has. It ends by itself a minute after it was
last asked for, but a place that is acquired stays so until somebody releases it.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kernels.errors import Missing, RowError, Usage
from kernels.place.link import Lost, Talk

LIMIT = 24 * 3600.0  # seconds to wait for a place
CALL = 60.0  # for an answer of the coordinator
SLICE = 30.0  # a reservation that nobody asks for lasts twice as long
AGAIN = 3  # times that a release is tried
UNTOLD = "of the reservation"  # while its name is not known
WHERE = re.compile(r"(?:\[[0-9A-Fa-f:]+\]|[\w][\w.-]*)(?::\d{1,5})?")
TAG = re.compile(r"[a-z][a-z0-9_]+=[\w][\w.:+-]*")
NAME = re.compile(r"[\w][\w.:+ -]*")
OURS = ("LG_ENV", "LG_PLACE", "LG_TOKEN", "LG_STATE", "LG_INITIAL_STATE", "PLACE", "STATE")
Say = Callable[[str], None]


@dataclass(frozen=True)
class Asked:
    """Which place of which coordinator: any that has all tags. '' is $LG_COORDINATOR."""

    coordinator: str
    tags: tuple[str, ...]

    @property
    def words(self) -> str:
        return " ".join(self.tags)

    @property
    def place(self) -> list[str]:
        """The names of places among the tags."""
        return [tag.removeprefix("name=") for tag in self.tags if tag.startswith("name=")]


def asked(address: str) -> Asked:
    """[COORDINATOR/]PLACE or [COORDINATOR/]TAG=VALUE[,TAG=VALUE...]. Raises Usage."""
    coordinator, slash, what = address.rpartition("/")
    tags = what.split(",") if "=" in what else [f"name={what}"]
    place = "=" in what or NAME.fullmatch(what)
    if (slash and not WHERE.fullmatch(coordinator)) or not place:
        raise Usage(f"labgrid:[HOST[:PORT]/]PLACE or TAG=VALUE[,TAG=VALUE...], not {address!r}")
    wrong = [tag for tag in tags if "=" in what and not TAG.fullmatch(tag)]
    if wrong:
        raise Usage(f"not a tag of labgrid, TAG=VALUE: {wrong[0]!r}")
    return Asked(coordinator, tuple(tags))


def client(
    of: Asked, *words: str, limit: float = CALL, stop: threading.Event | None = None
) -> str:
    """What labgrid-client prints. Raises Missing, or Lost after `limit` seconds."""
    if not shutil.which("labgrid-client"):
        raise Missing("no program labgrid-client; install the package labgrid-client")
    argv = ["labgrid-client", *(["-x", of.coordinator] if of.coordinator else []), *words]
    env = {key: value for key, value in os.environ.items() if key not in OURS}
    env |= {"LC_ALL": "C.UTF-8", "PYTHONUNBUFFERED": "1"}
    output, said, status = Talk(argv, limit, stop).run(b"", env)
    if status:
        lines = [line.strip() for line in said.splitlines() if line.strip()] or ["no message"]
        raise Missing(f"labgrid-client: {lines[-1].removeprefix('labgrid-client: ')[:300]}")
    return output.decode("utf-8", "replace")


@dataclass(frozen=True)
class Listed:
    """A place as the coordinator lists it."""

    name: str
    tags: frozenset[str]
    taken: bool


def fitting(of: Asked) -> list[Listed]:
    """The places that have the tags. Raises Missing if there is none: nobody would ever get it."""
    every: list[Listed] = []
    for block in re.split(r"^(?=Place ')", client(of, "-v", "places"), flags=re.MULTILINE):
        name = re.match(r"Place '([^'\n]{1,200})':", block)
        if name:
            told = dict(re.findall(r"^  (tags|acquired|reservation): *(.*)$", block, re.MULTILINE))
            tags = {tag.strip() for tag in told.get("tags", "").split(",")}
            held = {told.get("acquired", ""), told.get("reservation", "")} - {"", "None"}
            every.append(Listed(name[1], frozenset({f"name={name[1]}", *tags}), bool(held)))
    found = [place for place in every if place.tags.issuperset(of.tags)]
    if not found:
        names = " ".join(place.name for place in every[:20]) or "none"
        raise Missing(f"no place has {of.words}; the coordinator's places: {names}")
    return found


def reserved(of: Asked) -> str:
    """The token of a new reservation."""
    said = client(of, "reserve", *of.tags)
    match = re.search(r"^Reservation '([A-Za-z0-9]{1,40})':", said, re.MULTILINE)
    if not match:
        raise Missing(f"labgrid-client reserve says {said[:100]!r}, no reservation")
    return match[1]


def wait(of: Asked, token: str, say: Say, stop: threading.Event) -> None:
    """Wait until the coordinator has a place for a reservation."""
    began = time.monotonic()
    while True:
        try:
            state = _states(client(of, "wait", token, limit=SLICE, stop=stop))
        except Lost:
            state = "waiting"
        if state == "allocated":
            return
        if state != "waiting":
            raise Missing(f"the reservation of a place is {state}")
        if time.monotonic() - began > LIMIT:
            raise Missing(f"no place with {of.words} became free within a day")
        say(f"waiting for {_taken(of)}, {(time.monotonic() - began) / 60:.0f} min")


def _states(said: str) -> str:
    """The last state that `wait` has printed."""
    states = re.findall(r"^ *state: *([a-z]{1,20})$", said, re.MULTILINE)
    return str(states[-1]) if states else "unknown"


def _taken(of: Asked) -> str:
    """In words, which places are waited for."""
    names = [place.name for place in fitting(of) if place.taken]
    return f"{' or '.join(names[:4])}, in use by somebody" if names else f"a place with {of.words}"


def acquired(of: Asked, token: str) -> str:
    """Acquire the place of a reservation and return its name."""
    said = client(of, "-p", f"+{token}", "acquire")
    match = re.search(r"^acquired place ([^\n]{1,200})$", said, re.MULTILINE)
    if not match:
        raise Missing(f"labgrid-client acquire says {said[:100]!r}, no place")
    return match[1]


def resources(of: Asked, token: str) -> list[dict[str, Any]]:
    """What a place has, each with its class as `cls` and with `params`."""
    said = client(of, "-p", f"+{token}", "show")
    found = []
    for block in re.split(r"^Acquired resource .*:$", said, flags=re.MULTILINE)[1:]:
        try:
            told = ast.literal_eval(textwrap.dedent(block).strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            told = None
        if not isinstance(told, dict) or not isinstance(told.get("params"), dict):
            raise Missing(f"labgrid-client show: a resource that cannot be read: {block.strip()[:100]!r}")
        found.append(told)
    return found


@contextmanager
def held(address: str, say: Say, stop: threading.Event) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A place that is ours while the body runs, and what it has. It is released whatever happens. Raises
    Missing, KeyboardInterrupt when `stop` is set."""
    of = asked(address)
    free = [place for place in fitting(of) if not place.taken]
    say("reserving" if free else f"waiting for {_taken(of)}")
    token = reserved(of)
    name = ""
    try:
        wait(of, token, say, stop)
        say("acquiring")
        name = UNTOLD
        name = acquired(of, token)
        say(f"acquired {name}")
        yield name, resources(of, token)
    finally:
        _put_back(of, token, name, say)


def _put_back(of: Asked, token: str, name: str, say: Say) -> None:
    """Release the place, if one may be acquired, and end the reservation. Raises Missing with what is
    to be done by hand."""
    error: RowError | None = None
    for again in range(AGAIN):
        try:
            if name:
                client(of, "-p", name if again and name != UNTOLD else f"+{token}", "release")
            name = ""
            client(of, "cancel-reservation", token)
            say("released")
            return
        except RowError as failed:
            error = failed
            if "is not acquired" in str(failed):
                name = ""
            elif again + 1 < AGAIN:
                time.sleep(1 + again)
    if name:
        why = f"place {name} is still acquired: {error}; labgrid-client -p {name} release"
        say(why)
        raise Missing(why)
