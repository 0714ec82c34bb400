# SPDX-License-Identifier: MIT
"""perfmodes-sampler, killed at twenty moments that are drawn at random: each file has what there was at the
last time that outputs were made whole, and can be read."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import perfetto  # noqa: E402
from service import LIMIT, PROGRAM, need_all, start  # noqa: E402
from test_command_line import folded, frames, readable, sampler  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.perf, pytest.mark.xdist_group("sampler")]
KEEP = 300  # ms
NAMES = ("a.folded", "a.svg", "a.pb.gz", "a.txt", "a.pftrace")


def raw(path: Path) -> bytes:
    return readable(path).encode() if path.suffix == ".gz" else path.read_bytes()


@pytest.mark.skipif(not shutil.which("protoc"), reason="no protoc: package protobuf-compiler")
@pytest.mark.parametrize("seed", range(20))
def test_killed_at_any_moment(seed: int, tmp_path: Path) -> None:
    need_all()
    (tmp_path / "classes").mkdir()
    classes = perfetto.compiled(tmp_path / "classes")
    paths = {name: tmp_path / name for name in NAMES}
    spinning = start("spin", "600000")
    made = sampler("--print", "-p", spinning.pid, "-F", 499, *(word for path in paths.values() for word in ("-o", path)))
    (tmp_path / "config.json").write_text(json.dumps(json.loads(made.stdout) | {"keep_ms": KEEP}), encoding="utf-8")
    with subprocess.Popen([PROGRAM, tmp_path / "config.json"], stdout=subprocess.DEVNULL) as watching:
        try:
            deadline = time.monotonic() + LIMIT
            while not all(path.exists() and b"known_inner" in raw(path) for path in paths.values()):
                assert watching.poll() is None and time.monotonic() < deadline
                time.sleep(0.02)
            spinning.burn(random.Random(seed).uniform(0, 2))
        finally:
            watching.kill()
            spinning.process.kill()
    used = spinning.cpu_ns()
    trace = perfetto.decode(paths["a.pftrace"], classes)
    assert any(name == "known_inner" for sample in trace.samples for name, _ in sample.stack)
    assert all("known_inner" in readable(paths[name]) for name in ("a.folded", "a.pb.gz", "a.txt"))
    assert any(name == "known_inner" for name, *_ in frames(paths["a.svg"]))
    print(f"{sum(folded(paths['a.folded']).values()) / used:.2f} of its time is there, {len(trace.samples)} samples in the trace")
