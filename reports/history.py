# SPDX-License-Identifier: MIT
"""What changed since the last run here: of the same machine, kernel and suite.

Earlier results are read like any stranger's: what is missing, broken, of another format or too much
is passed over, and never stops a report.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reports import environment, result, text

FOLDER = Path("results")
FOLDERS_LIMIT = 500     # the newest by name, which is a time
LOADED_LIMIT = 4        # results that are read whole before giving up

Points = dict[tuple[str, str], dict[str, Any]]


@dataclass
class Change:
    """A point that says something else than before, to these personas."""
    key: str
    was: str
    now: str
    reason: str
    personas: list[str] = field(default_factory=list)


@dataclass
class Comparison:
    """Two runs of the same kernel: the time of the earlier one, and what differs."""
    started: str
    compared: int
    changes: list[Change]
    settings: list[str]     # of the machine
    new: int                # points that were not asked then
    gone: int               # points that are not asked now


def _points(made: dict[str, Any]) -> Points:
    """What was asked and answered; a probe that was not run says nothing."""
    return {(persona, f"{probe_id}.{name}"): point
            for persona, part in made["personas"].items()
            for probe_id, record in part["probes"].items() if record["status"] != "not_run"
            for name, point in record["points"].items()}


def _alike(made: dict[str, Any], env: environment.Environment) -> bool:
    """Whether a run of these settings asked the same of the same kernel, with the same lies."""
    flags = made["environment"].get("launch_flags")
    return (env.identity() == made["identity"] and env.first("suite") == made["suite"]
            and env.rest().get("launch_flags") == flags)


def _earlier(made: dict[str, Any], folder: Path, here: Path | None) -> Iterator[Path]:
    """Runs that began before this one, the latest first."""
    found: list[tuple[str, str, Path]] = []
    own = os.path.realpath(here) if here else None
    with os.scandir(folder) as entries:
        names = sorted((entry.name for entry in entries if entry.is_dir(follow_symlinks=False)),
                       reverse=True)
    for name in names[:FOLDERS_LIMIT]:
        path = folder / name
        try:
            env = environment.read(path / "env", "env")
        except OSError:
            continue
        if os.path.realpath(path) != own and _alike(made, env) \
                and env.first("started") < made["started"]:
            found.append((env.first("started"), name, path))
    yield from (path for _, _, path in sorted(found, reverse=True))


def last(made: dict[str, Any], folder: Path = FOLDER,
         here: Path | None = None) -> tuple[Path, dict[str, Any]] | None:
    """The latest earlier result with which something can be compared, and its folder."""
    if "started" not in made:
        return None
    try:
        for path in list(_earlier(made, folder, here))[:LOADED_LIMIT]:
            try:
                before = result.load(path)
            except (text.Unusable, OSError):
                continue
            if "started" in before and _points(made).keys() & _points(before).keys():
                return path, before
    except OSError:
        pass    # no results folder, or not to be read
    return None


def _settings(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    was, now = before["environment"], after["environment"]
    return [text.clean(f"{key}: {was.get(key, '(none)')} -> {now.get(key, '(none)')}", 200)
            for key in sorted({*was, *now}) if was.get(key) != now.get(key)]


def compare(before: dict[str, Any], after: dict[str, Any]) -> Comparison:
    """What the later of two results says otherwise, of what both were asked."""
    old, new = _points(before), _points(after)
    found: dict[tuple[str, str, str], Change] = {}
    for persona, key in sorted(old.keys() & new.keys()):
        was, now = old[persona, key]["verdict"], new[persona, key]["verdict"]
        if was != now:
            reason = new[persona, key].get("reason", "")
            change = found.setdefault((key, was, now), Change(key, was, now, reason))
            change.personas.append(persona)
    common = set(before["personas"]) & set(after["personas"])
    fresh, lost = ({spot for spot in one.keys() - other.keys() if spot[0] in common}
                   for one, other in ((new, old), (old, new)))
    return Comparison(before["started"], len(old.keys() & new.keys()), list(found.values()),
                      _settings(before, after), len(fresh), len(lost))


def grouped(changes: list[Change]) -> list[tuple[Change, int]]:
    """Changes that say the same to the same personas, as the first of them and how many others."""
    found: dict[tuple[str, ...], list[Change]] = {}
    for change in changes:
        same = (change.was, change.now, change.reason, *change.personas)
        found.setdefault(same, []).append(change)
    return [(each[0], len(each) - 1) for each in found.values()]
