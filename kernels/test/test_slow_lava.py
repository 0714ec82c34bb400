# SPDX-License-Identifier: MIT
"""LAVA itself runs a job, alone and as a server; what comes out is what a direct run answers. Jobs that fail
in boot or do not end, a server that restarts, a command that is killed: each with the real server."""

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


def directly(out: Path, *more: str) -> dict[tuple[str, str, str], Any]:
    words = ["--suite", SUITE, "--paranoid", "kernel", "--no-disturb", "--out", str(out), *more, ROW]
    assert cli.main(["run", *words]) == 0
    return verdicts(out / ROW)


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, str], Any]:
    return directly(tmp_path_factory.mktemp("direct"))


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, str], Any]:
    return directly(tmp_path_factory.mktemp("few"), "--probe", "attr.*", "--persona", "user")


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


# Sourced with job, out, root, try_lava and perfmodes set. Each device command has a name: NAME.log, NAME.exit, NAME/.
FAULTS = r"""
device() {
	name=$1 base=$2
	shift 2
	"$perfmodes" device lava:try/qemu --base "$base" --bundle /perfmodes --out "$out/$name" "$@" >"$out/$name.log" 2>&1
	echo $? >"$out/$name.exit"
}
few() { device "$@" --suite quick --probe 'attr.*' --persona user; }
until_said() { until grep -q "$2" "$out/$1"/logs/* 2>/dev/null; do sleep 0.5; done; }

few boot "$job/boot.yaml"
device hang "$job/job.yaml" --suite default --timeout 60

few restart "$job/job.yaml" &
until_said restart ': running'
"$try_lava" stop "$root"
until_said restart 'asking again'
"$try_lava" start "$root"
wait $!

(exec "$perfmodes" device lava:try/qemu --base "$job/job.yaml" --bundle /perfmodes --out "$out/killed" \
	--suite quick --probe 'attr.*' --persona user) >"$out/first.log" 2>&1 &
until_said killed ': running'
kill -9 $!	# run.sh has become the program itself
wait $!
cp "$out"/killed/*.job "$out/killed.number"
rm -r "$out/killed/logs"
few killed "$job/job.yaml" --resume
"""


@pytest.fixture(scope="module")
def faults(job: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("faults")
    text = (job / "job.yaml").read_text()
    assert text.count("console=ttyS0") == 1
    text = text.replace("console=ttyS0", "console=ttyS0 rdinit=/nothing")
    (job / "boot.yaml").write_text(text.replace(f"file://{job}/", "file:///job/"))
    named = {"job": job, "out": out, "root": LAVA, "try_lava": TRY, "perfmodes": ROOT / "run.sh"}
    script = "".join(f"{name}='{value}'\n" for name, value in named.items()) + FAULTS
    subprocess.run([str(TRY), "serve", LAVA, str(job), "sh", "-c", script], check=True, timeout=3600)
    return out


def told(out: Path, name: str) -> tuple[int, str]:
    return int((out / f"{name}.exit").read_text()), (out / f"{name}.log").read_text()


def logged(out: Path, name: str) -> str:
    """What was told of the job while it ran."""
    (log,) = (out / name / "logs").iterdir()
    return log.read_text()


def answers(out: Path, name: str) -> dict[tuple[str, str, str], Any]:
    (made,) = (out / name).glob("lava-*/result.json")
    return verdicts(made.parent)


@pytest.mark.parametrize(("name", "why"), [("boot", "Connection closed"), ("hang", "timed out")])
def test_a_job_that_fails_is_told_with_its_log(faults: Path, name: str, why: str) -> None:
    status, said = told(faults, name)
    assert status == 3
    assert "ended incomplete" in said and why in said, said
    assert "http://127.0.0.1:8000/scheduler/job/" in logged(faults, name)
    (log,) = (faults / name).glob("lava-*.logs.yaml")
    assert str(log) in said and log.stat().st_size > 1000
    assert not list((faults / name).glob("lava-*/result.json"))


def test_a_server_that_restarts_loses_no_job(faults: Path, few: dict[tuple[str, str, str], Any]) -> None:
    status, said = told(faults, "restart")
    assert status == 0, said
    assert "asking again" in logged(faults, "restart")
    assert len(few) > 100 and answers(faults, "restart") == few


def test_a_command_that_was_killed_finds_its_job(faults: Path, few: dict[tuple[str, str, str], Any]) -> None:
    status, said = told(faults, "killed")
    assert status == 0, said
    number = (faults / "killed.number").read_text().strip()
    assert f"job {number} " in logged(faults, "killed"), "the same job"
    assert answers(faults, "killed") == few
