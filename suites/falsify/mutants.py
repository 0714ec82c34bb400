# SPDX-License-Identifier: MIT
"""The mutants: which there are, which concern a probe, and what a probe says on one.

Some are played by a system call filter of `launch --fault`; the others, whose names have a dot, by what is
linked into the programs of build/ARCH/falsify/probes. On the kernel as it is these programs also write down
which lies they could be told, so that the others are not tried.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NoReturn

TREE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE))

from reports import catalogue, ktap, verdict  # noqa: E402
from reports.mutation import NATURE, Blanket  # noqa: E402

BUILD = TREE / "build" / os.environ.get("ARCH", platform.machine())
HOST = TREE / "build" / platform.machine()	# whose launcher runs here; the names of lies are the same
# Each contradicts many points in its own way.
STRONG = ["open-accepts", "open-entrusts", "mmap-accepts", "ioctl-accepts", "read-more", "attr-read_format",
          "disable-nothing", "open-size", "open-pointer", "open-old"]


def stop(text: str) -> NoReturn:
    """End with status 3: 1 means that a point cannot fail."""
    print(f"falsify: {text}", file=sys.stderr)
    sys.exit(3)


@cache
def faults() -> tuple[str, ...]:
    """The names of all mutants: filters, and lies that are linked in."""
    done = subprocess.run([HOST / "falsify/launch", "--fault", "list"], capture_output=True, text=True, check=True)
    return tuple(done.stdout.split())


def pmu_lies() -> list[str]:
    """What the synthetic PMU can lie about, from its module."""
    text = (TREE / "kernels/pmu/module/parameters.c").read_text(encoding="utf-8")
    return [f"pmu-{name}" for name in re.findall(r'\[LIE_\w+\] = "(\w+)"', text)]


def declared() -> catalogue.Catalogue:
    texts = sorted((BUILD / "declared").glob("*/*.txt"))
    if not texts:
        stop("nothing is built; run make first")
    return catalogue.gather(texts)


def order(asked: set[str]) -> list[str]:
    """The mutants that can concern a probe: the narrowest first, those that break everything last."""
    blanket = Blanket(TREE).subjects

    def width(name: str) -> int:
        if name in blanket:
            return 9
        if name.startswith(("set-", "refuse-")):
            return 6 if name.startswith("refuse-") else 7
        narrow = name.partition(".")[0]
        if narrow != name:
            return {"none": 2, "twice": 2, "ring": 3, "read": 3, "open": 2, "ioctl": 2}.get(narrow, 1)
        return 4 if name in STRONG else 5 if name in asked else 8

    told = [name for name in faults() if "." not in name or name in asked]
    unused = {f"{way}-{name}" for way in ("attr", "refuse") for name in _fields()} - asked
    return sorted((name for name in told if name not in unused), key=width)


@cache
def _fields() -> tuple[str, ...]:
    return tuple(name.removeprefix("attr-") for name in faults() if name.startswith("attr-"))


def run(probe: catalogue.Probe, persona: str, fault: str, scratch: Path, asked: Path | None = None) -> dict[str, str]:
    """point -> verdict of one probe on one mutant, or on the kernel as it is.

    A program with lies in it has page faults of its own: it is taken where one is told, or noted, alone.
    """
    programs = BUILD / ("falsify/probes" if asked or "." in fault else "probes")
    out = scratch / f"{probe.id}.{persona}.{fault}"
    command = [BUILD / "falsify/launch", "--persona", persona, "--timeout", "12", "--out", out,
               *(["--fault", fault] if fault != NATURE else []),
               "--", programs / probe.id.replace(".", "/", 1)]
    extra = {"PERFMODES_LIES_ASKED": str(asked)} if asked else {}
    subprocess.run(command, check=False, stderr=subprocess.DEVNULL, env={**os.environ, **extra})
    try:
        record = verdict.judge(ktap.read(out), probe)
        out.unlink()
    except OSError as error:
        stop(f"{probe.id} under '{fault}': {error}")
    return {f"{probe.id}.{name}": point["verdict"] for name, point in record.points.items()}


def ask(probe: catalogue.Probe, persona: str, scratch: Path) -> tuple[dict[str, str], set[str]]:
    """What a probe says on the kernel as it is, and the mutants that it could be told."""
    noted = scratch / f"{probe.id}.{persona}.asked"
    scratch.chmod(0o711)	# a probe that gives up its privileges notes there, too
    noted.touch()
    noted.chmod(0o666)
    said = run(probe, persona, NATURE, scratch, noted)
    return said, set(noted.read_text(encoding="utf-8").split())
