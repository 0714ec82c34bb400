# SPDX-License-Identifier: MIT
"""The probes that were built here, by which the command line names them."""

from __future__ import annotations

import fnmatch

from kernels import ROOT
from kernels.errors import Usage
from reports import catalogue, speak


DECLARED = "build/*/declared"


def points(probe: str) -> set[str]:
    """The points that a probe declares where it was built; none where it was not."""
    found = ROOT.glob(f"{DECLARED}/{probe.replace('.', '/', 1)}.txt")
    return {point.name for path in found for each in catalogue.gather([path]).probes.values() for point in each.points()}


def check_point(probe: str, name: str) -> None:
    """Raise Usage for a point that the probe does not have, before anything is booted."""
    known = points(probe)
    if known and name not in known:
        raise Usage(speak.among(f"point of {probe}", name, sorted(known)))


def probes() -> set[str]:
    """The ids of the probes that were built here, for whichever machine."""
    found = [*ROOT.glob(f"{DECLARED}/*/*.txt"), *ROOT.glob("build/*/bundle/bin/probes/*/*")]
    return {f"{path.parent.name}.{path.stem}" for path in found}


def check_probes(globs: list[str]) -> None:
    """Raise Usage for a glob that fits no probe, before anything is booted; where none is built yet,
    run.sh is still to say so."""
    known = probes() if globs else set()
    for glob in globs if known else []:
        if not fnmatch.filter(known, glob):
            raise Usage(f"no probe is called {glob!r} (./run.sh --list names them){speak.near(glob, known)}")
