# SPDX-License-Identifier: MIT
"""Builds what shows the known call trees for another machine, and runs it in a guest."""

from __future__ import annotations

import gzip
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

TREE = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TREE))

from kernels import matrix  # noqa: E402
from kernels.guest.place import GuestPlace, Options  # noqa: E402
from kernels.matrix import Row  # noqa: E402
from kernels.place.channel import Channel, Limits  # noqa: E402
from kernels.place.place import Order  # noqa: E402
from kernels.source import fetch  # noqa: E402

LIMIT = 800  # seconds for all trees
SIGNING = "max,pauth-impdef=on"  # the model whose code signs addresses, by a quick algorithm


def build(machine: str) -> Path:
    """The bundle; raises with what the compiler says."""
    done = subprocess.run(["make", "-s", f"ARCH={machine}", "NO_INSTALL=1", "WERROR=1",
                           "stacks-guest"], cwd=TREE, capture_output=True, text=True,
                          timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return TREE / "build" / machine / "stacks-guest"


def plain(name: str, cpu: str) -> Row:
    """The row without a virtual clock, and with one CPU: a tree that spins takes no time from what
    watches it when it is nice. A tree may take minutes on a busy host."""
    row = matrix.load().pick([name], [])[0]
    return replace(row, qemu_args=(), cpu=cpu or row.cpu, accel=row.arch.accel, cpus=1,
                   stall=LIMIT, timeout=LIMIT, skip=())


def run(row: str, bundle: Path, target: Path, what: list[str], cpu: str = "") -> Path:
    """Boots the row with the bundle, for these trees, those of the program with signed addresses after
    "signed", or for ["chains"]. A folder for each tree comes back, its core unpacked."""
    place = GuestPlace(plain(row, cpu), fetch.fetcher(), Options(cold=True))
    target.mkdir(parents=True)
    channel = Channel(target, Limits())
    with place.put(bundle):
        outcome = place.run(Order("stacks", args=tuple(what), limit=LIMIT), channel, threading.Event())
    assert channel.complete and outcome.ended == "done", (outcome.ended, outcome.reason)
    for packed in target.rglob("core.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
    return target


def main() -> int:
    """`guests.py MACHINE ROW FOLDER TREE...`: what came back is left there."""
    machine, row, folder, *what = sys.argv[1:]
    cpu = SIGNING if what[0] == "signed" else ""
    print(run(row, build(machine), Path(folder), what, cpu))
    return 0


if __name__ == "__main__":
    sys.exit(main())
