# SPDX-License-Identifier: MIT
"""Small results written by hand, as dictionaries."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from reports import text, wordlist

# persona -> probe id -> point -> "verdict" or "verdict: reason"
Said = dict[str, dict[str, dict[str, str]]]


def _point(said: str) -> dict[str, Any]:
    word, _, reason = said.partition(": ")
    return {"verdict": word} | ({} if word == "yes" else {"reason": reason or "why"})


def result(said: Said, **more: Any) -> dict[str, Any]:
    """A result that says this; `more` replaces whole keys, and release, paranoid and so on."""
    identity = {"arch": "x86_64", "release": more.pop("release", "6.1.0-18-amd64"),
                "cpu_model": ["A CPU"]}
    personas = {persona: {"environment": {}, "probes": {
        probe_id: {"status": "done", "facts": {}, "points": {
            name: _point(each) for name, each in points.items()}}
        for probe_id, points in probes.items()}} for persona, probes in said.items()}
    made = {"format": 1, "kind": "result", "suite": "default", "id": "0" * 16,
            "tool": {"name": "perfmodes", "version": "1", "catalogue": "0" * 12},
            "started": more.pop("started", "2026-11-21T11:35:00Z"), "identity": identity,
            "environment": {"paranoid": "2", "cpus_online": "4"}, "personas": personas,
            "summary": {}, "unexpected": []}
    for persona, part in personas.items():
        counts = Counter(point["verdict"] for record in part["probes"].values()
                         for point in record["points"].values())
        made["summary"][persona] = {word: counts[word] for word in wordlist.COUNTED}
    return made | more


def put(folder: Path, made: dict[str, Any]) -> Path:
    """The result in a directory of its own, with the env file a run leaves."""
    folder.mkdir(parents=True)
    identity = [f"{key}={value}" for key, values in made["identity"].items()
                for value in ([values] if isinstance(values, str) else values)]
    settings = [f"{key}={value}" for key, value in made["environment"].items()]
    lines = ["format=1", f"suite={made['suite']}", f"started={made['started']}", *identity, *settings]
    (folder / "env").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "result.json").write_text(text.dump_json(made), encoding="utf-8")
    return folder
