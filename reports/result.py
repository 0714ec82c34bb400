# SPDX-License-Identifier: MIT
"""Makes one result.json of the directory that a run leaves behind."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reports import __version__, complaints, environment, expect, ktap, schema, text, verdict, wordlist
from reports.catalogue import Catalogue, read_text
from reports.declaration import PROBE_ID
from reports.text import Unusable

PLAN_LIMIT = 4 << 20
PLAN_LINES = 50_000
FILES_LIMIT = 20_000
POINTS_LIMIT = 50_000
NO_CONTENT = ("id", "tool")     # of a result: not in the hash that is its id

PERSONA = re.compile(r"[a-z][a-z0-9_.-]{0,31}")
_WORD = re.compile(r"[A-Za-z0-9_.+~-]{1,64}")
_STARTED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_SECONDS = re.compile(r"[0-9]{1,7}", re.ASCII)


@dataclass
class Directory:
    """The contents of a result directory, read with bounds but not judged yet."""
    path: Path
    env: environment.Environment
    catalogue: Catalogue
    planned: dict[str, list[str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    heard: list[tuple[str, complaints.Complaint]] = field(default_factory=list)


def _plan(path: Path, warnings: list[str]) -> dict[str, list[str]]:
    """persona -> probe ids, as the plan lists them."""
    data, more = text.read_bounded(path, PLAN_LIMIT)
    lines = text.decode(data)[0].split("\n")
    planned: dict[str, dict[str, None]] = {}
    wrong = len(lines[PLAN_LINES:]) + more
    for line in lines[:PLAN_LINES]:
        words = line.split()
        if len(words) == 2 and PERSONA.fullmatch(words[0]) and PROBE_ID.fullmatch(words[1]) \
                and len(words[1]) <= 100:
            planned.setdefault(words[0], {})[words[1]] = None
        elif words:
            wrong += 1
    if wrong:
        warnings.append(f"plan: {wrong} lines are not 'persona probe'; ignored")
    return {persona: list(ids) for persona, ids in planned.items()}


def _present(path: Path) -> dict[str, list[str]]:
    """persona -> probe ids, as the files that exist say."""
    found: dict[str, list[str]] = {}
    seen = 0
    for folder in sorted(path.iterdir()):
        if folder.is_symlink() or not folder.is_dir() or not PERSONA.fullmatch(folder.name):
            continue
        for file in sorted(folder.iterdir()):
            probe_id = file.name.removesuffix(".ktap")
            seen += 1
            if seen <= FILES_LIMIT and file.name.endswith(".ktap") \
                    and PROBE_ID.fullmatch(probe_id) and len(probe_id) <= 100:
                found.setdefault(folder.name, []).append(probe_id)
    return found


def _merge(planned: dict[str, list[str]], present: dict[str, list[str]],
           warnings: list[str]) -> dict[str, list[str]]:
    """The planned probes, followed by those that have a file without being planned."""
    merged = {persona: list(ids) for persona, ids in planned.items()}
    for persona, ids in present.items():
        extra = sorted(set(ids) - set(merged.get(persona, [])))
        if planned and extra:
            shown = ", ".join(extra[:5]) + (", ..." if len(extra) > 5 else "")
            warnings.append(f"{persona}: not in the plan: {shown}")
        merged.setdefault(persona, []).extend(extra)
    return merged


def open_directory(path: Path) -> Directory:
    """Read everything but the output of probes. Raises Unusable."""
    if not path.is_dir():
        raise Unusable(text.clean(f"{path}: not a result directory", 300))
    try:
        env = environment.read(path / "env", "env")
    except OSError as error:
        raise Unusable(text.clean(f"{path}: no result is there: no usable env file: {error.strerror or error}",
                                  300)) from error
    if env.first("format") not in ("", "1"):
        raise Unusable(f"{path.name}: format {env.first('format')[:20]} of a later version")
    for key in ("arch", "release"):
        if not env.first(key):
            raise Unusable(f"{path.name}: env does not say {key}=")
    return _contents(Directory(path, env, Catalogue(), warnings=list(env.warnings)))


def _contents(found: Directory) -> Directory:
    try:
        found.catalogue = read_text(found.path / "catalogue")
        found.warnings += [f"catalogue: {line}" for line in found.catalogue.problems[:20]]
    except OSError:
        found.warnings.append("no catalogue: nothing is declared, so the profile stays empty")
    planned: dict[str, list[str]] = {}
    try:
        planned = _plan(found.path / "plan", found.warnings)
    except OSError:
        found.warnings.append("no plan: what was to run and did not is not known")
    found.planned = _merge(planned, _present(found.path), found.warnings)
    if not any(found.planned.values()):
        raise Unusable(text.clean(f"{found.path.name}: no plan and no output of any probe", 300))
    counts = {probe_id: len(probe.points()) for probe_id, probe in found.catalogue.probes.items()}
    asked = sum(counts.get(probe_id, 0) for ids in found.planned.values() for probe_id in ids)
    if asked > POINTS_LIMIT:    # a short plan can multiply a long declaration
        raise Unusable(text.clean(f"{found.path.name}: {asked} points, at most {POINTS_LIMIT}", 300))
    return found


def _record(found: Directory, persona: str, probe_id: str) -> verdict.Record:
    declared = found.catalogue.probes.get(probe_id)
    folder = found.path / persona
    if folder.is_symlink():
        return verdict.not_run(declared, "not read: the persona's folder is a link")
    try:
        said = ktap.read(folder / f"{probe_id}.ktap")
    except FileNotFoundError:
        return verdict.not_run(declared, "not run")
    except OSError as error:
        return verdict.not_run(declared, f"not readable: {error.strerror or 'not a regular file'}")
    return verdict.judge(said, declared)


def _persona(found: Directory, persona: str) -> dict[str, Any]:
    own = environment.Environment()
    try:
        if not (found.path / persona).is_symlink():
            own = environment.read(found.path / persona / "env", f"{persona}/env")
    except OSError:
        pass    # a run that was interrupted early has none
    found.warnings += own.warnings
    values = {key: value[0] if len(value) == 1 else value
              for key, value in own.values.items() if key not in environment.RUN}
    records = {probe_id: _record(found, persona, probe_id) for probe_id in found.planned[persona]}
    found.heard += [(f"{persona} {probe_id}", one) for probe_id, record in records.items()
                    for one in complaints.found(record.kernel)]
    probes = {probe_id: record.as_json() for probe_id, record in records.items()}
    return {"environment": values, "probes": probes}


def _summary(part: dict[str, Any]) -> dict[str, int]:
    counts = Counter(dict.fromkeys(wordlist.COUNTED, 0))
    for record in part["probes"].values():
        for point in record["points"].values():
            counts[point["verdict"]] += 1
    return counts


def id_of(packed: str) -> str:
    """The id of a result of which that is the text, without what is no content."""
    return hashlib.sha256(packed.encode()).hexdigest()[:16]


def content_id(result: dict[str, Any]) -> str:
    """A hash of the result without its id and the tool that wrote it."""
    content = {key: value for key, value in result.items() if key not in NO_CONTENT}
    return id_of(json.dumps(content, sort_keys=True, separators=(",", ":")))


def _word(value: str, otherwise: str) -> str:
    return value if _WORD.fullmatch(value) else otherwise


def build(path: Path, expected: expect.Expectations) -> dict[str, Any]:
    """The result of a directory. Raises Unusable."""
    found = open_directory(path)
    env = found.env
    result: dict[str, Any] = {
        "format": 1, "kind": "result",
        "tool": {"name": "perfmodes", "version": _word(env.first("tool_version"), __version__),
                 "catalogue": found.catalogue.digest()},
        "suite": _word(env.first("suite"), "unnamed"),
        "identity": env.identity(), "environment": env.rest(),
        "personas": {persona: _persona(found, persona) for persona in sorted(found.planned)},
    }
    if _STARTED.fullmatch(env.first("started")):
        result["started"] = env.first("started")
    seconds = [value for value in env.values.get("seconds", []) if _SECONDS.fullmatch(value)]
    if seconds:
        result["seconds"] = sum(map(int, seconds))
    result["summary"] = {name: _summary(part) for name, part in result["personas"].items()}
    judged = expect.compare(result, found.catalogue, expected)
    result["unexpected"] = judged.unexpected
    heard = complaints.merged(found.heard, found.warnings)
    for key, value in (("complaints", heard), ("news", judged.news), ("warnings", found.warnings)):
        if value:
            result[key] = value
    result["id"] = content_id(result)
    return schema.require("result", result, path.name)


def load(path: Path, expected: expect.Expectations | None = None) -> dict[str, Any]:
    """Load a result.json, or the one of a directory, or build it from a directory without one.
    Raises Unusable."""
    if path.is_dir():
        if not (path / "result.json").exists():
            return build(path, expected or expect.Expectations())
        path = path / "result.json"
    return schema.require("result", text.load_json(path), path.name)


def name_of(path: Path) -> str:
    """The name of the directory that the path resolves to, for messages."""
    return text.clean(os.path.basename(os.path.realpath(path)), 80)
