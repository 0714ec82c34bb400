# SPDX-License-Identifier: MIT
"""The env files: which kernel and machine it is (identity) and how it is set up (environment)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from reports import text

FILE_LIMIT = 1 << 20
LINE_LIMIT = 2000
VALUE_LIMIT = 4096
REPEAT_LIMIT = 1024

# What tells one kernel and machine from another. Lists: a machine may have several of them.
IDENTITY = ("arch", "release", "version", "build_id", "config_sha256", "board", "fingerprint",
            "hypervisor", "emulator", "pmu", "lsm", "page_size")
IDENTITY_LISTS = ("cpu_model", "cpu_midr")
RUN = ("format", "tool_version", "suite", "started", "seconds")

_LINE = re.compile(r"([a-z0-9_.]{1,100})=(.*)")

Values = dict[str, "str | list[str]"]


@dataclass
class Environment:
    """The key=value lines of one env file, repeated keys as lists, in order of appearance."""
    values: dict[str, list[str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def first(self, key: str) -> str:
        return self.values.get(key, [""])[0]

    def identity(self) -> Values:
        """The identity keys. A key that should occur once and is repeated keeps its first value."""
        found: Values = {key: self.first(key) for key in IDENTITY if self.first(key)}
        for key in IDENTITY_LISTS:
            if key in self.values:
                found[key] = list(dict.fromkeys(self.values[key]))
        return found

    def rest(self) -> Values:
        """The keys that are neither identity nor about the run itself."""
        known = {*IDENTITY, *IDENTITY_LISTS, *RUN}
        return {key: value[0] if len(value) == 1 else value
                for key, value in self.values.items() if key not in known}


def parse(data: bytes, name: str) -> Environment:
    """Parse key=value lines from any bytes; a line that does not fit becomes a warning."""
    source, valid = text.decode(data)
    result = Environment()
    lines = [line for line in source.split("\n") if line.strip() and line[0] != "#"]
    wrong = max(len(lines) - LINE_LIMIT, 0)
    for line in lines[:LINE_LIMIT]:
        match = _LINE.fullmatch(line.rstrip("\r"))
        values = result.values.setdefault(match[1], []) if match else None
        if match is None or values is None or len(values) >= REPEAT_LIMIT:
            wrong += 1
        elif match[2].strip():
            values.append(text.clean(match[2].strip(), VALUE_LIMIT))
    result.values = {key: values for key, values in result.values.items() if values}
    if wrong:
        result.warnings.append(f"{name}: {wrong} lines are not key=value; ignored")
    if not valid:
        result.warnings.append(f"{name}: not valid UTF-8")
    return result


def read(path: Path, name: str) -> Environment:
    """Read an env file. Raises OSError."""
    data, more = text.read_bounded(path, FILE_LIMIT)
    result = parse(data, name)
    if more:
        result.warnings.append(f"{name}: larger than {FILE_LIMIT >> 20} MiB; cut")
    return result
