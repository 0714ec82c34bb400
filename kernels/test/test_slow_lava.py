# SPDX-License-Identifier: MIT
"""LAVA itself runs a job, alone and as a server; what comes out is what a direct run answers."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kernels import ROOT, cli

TRY = ROOT / "kernels" / "lab" / "try-lava"
LAVA = os.environ.get("PERFMODES_LAVA", "")
ROW, SUITE = "amd64-6.1", "quick"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not LAVA, reason="PERFMODES_LAVA names no folder of `try-lava make`"),
]


def verdicts(folder: Path) -> dict[tuple[str, str, str], Any]:
    personas = json.loads((folder / "result.json").read_text())["personas"]
    return {
        (who, probe, point): (told["verdict"], told.get("reason"))
        for who, one in personas.items()
        for probe, body in one["probes"].items()
        for point, told in body["points"].items()
    }


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("job")
    assert cli.main(["lab", "guest", ROW, "--suite", SUITE, "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, str], Any]:
    out = tmp_path_factory.mktemp("direct")
    words = ["--suite", SUITE, "--paranoid", "kernel", "--no-disturb", "--out", str(out), ROW]
    assert cli.main(["run", *words]) == 0
    return verdicts(out / ROW)


def test_lava_run(job: Path, direct: dict[tuple[str, str, str], Any], tmp_path: Path) -> None:
    subprocess.run([str(TRY), "run", LAVA, str(job)], check=True, timeout=1800)
    out = tmp_path / "in"
    assert cli.main(["lab", "ingest", str(job / "out" / "logs.yaml"), "--out", str(out)]) == 0
    assert len(direct) > 1000 and verdicts(out) == direct


def test_a_server(job: Path, direct: dict[tuple[str, str, str], Any], tmp_path: Path) -> None:
    """Two jobs, one after the other on its only device."""
    ask = f"{ROOT}/run.sh device lava:try/qemu --base {job}/job.yaml --bundle /perfmodes --suite {SUITE} --out {tmp_path}"
    both = f"{ask}/1 & {ask}/2; status=$?; wait $! && exit $status"
    subprocess.run([str(TRY), "serve", LAVA, str(job), "sh", "-c", both], check=True, timeout=3600)
    for number in "12":
        (made,) = (tmp_path / number).glob("lava-*/result.json")
        assert verdicts(made.parent) == direct
