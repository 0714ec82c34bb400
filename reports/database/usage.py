# SPDX-License-Identifier: MIT
"""How much each device is used, so that coverage can be told of users and not of makes.

    format = 1
    name = "what our users run, October"

    [[share]]
    device = "*Pixel 7*"
    kernel = "5.10.*"
    weight = 12.5

`arch`, `device`, `kernel` and `kind` are globs, and all that are given must fit. A device belongs to the
first share that fits its newest result; devices of one share have equal parts of its weight. What no
share names has no weight.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from reports import text
from reports.database.matrix import Device, Result
from reports.text import Unusable

SHARES_LIMIT = 10_000
GLOBS = ("arch", "device", "kernel", "kind")


@dataclass(frozen=True)
class Share:
    """A part of what is in use."""
    globs: tuple[tuple[str, str], ...]
    weight: float

    def fits(self, result: Result) -> bool:
        said = {"arch": result.kernel.arch, "device": result.device.label, "kernel": result.kernel.release,
                "kind": result.device.kind}
        return all(fnmatchcase(said[name], glob) for name, glob in self.globs)


@dataclass(frozen=True)
class Usage:
    """All shares, the first that fits first."""
    name: str
    shares: tuple[Share, ...]

    def weights(self, newest: Mapping[Device, Result]) -> dict[int, float]:
        """Device id -> weight."""
        of = {device.id: next((number for number, share in enumerate(self.shares) if share.fits(result)), None)
              for device, result in newest.items()}
        times = Counter(of.values())
        return {number: self.shares[share].weight / times[share] for number, share in of.items()
                if share is not None}


def _share(entry: Any, name: str) -> Share:
    known = isinstance(entry, dict) and entry.keys() <= {*GLOBS, "weight"} and entry.keys() & set(GLOBS)
    weight = entry.get("weight") if known else None
    if not known or isinstance(weight, bool) or not isinstance(weight, (int, float)) \
            or not math.isfinite(weight) or weight <= 0 \
            or not all(isinstance(entry.get(glob, ""), str) for glob in GLOBS):
        raise Unusable(f"{name}: a share has a weight above 0, and globs: {', '.join(GLOBS)}")
    return Share(tuple((glob, entry[glob]) for glob in GLOBS if glob in entry), float(weight))


def read(path: Path) -> Usage:
    """The shares of a file. Raises Unusable."""
    name = text.clean(path.name, 100)
    value = text.load_toml(path)
    shares = value.get("share")
    if value.get("format") != 1 or not isinstance(shares, list) or not 0 < len(shares) <= SHARES_LIMIT:
        raise Unusable(f"{name}: no shares: format = 1 and [[share]] are missing")
    return Usage(text.clean(str(value.get("name", path.stem)), 100), tuple(_share(each, name) for each in shares))
