# SPDX-License-Identifier: MIT
"""A real coordinator and exporter: a place by ssh and one by the console of a guest."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from test_slow_lava import verdicts

from kernels import ROOT, cli

TRY = ROOT / "kernels" / "lab" / "try-labgrid"
LABGRID = os.environ.get("PERFMODES_LABGRID", "")
SUITE = "quick"
ROW = "amd64-5.10"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not LABGRID, reason="PERFMODES_LABGRID names no folder of `try-labgrid make`"),
]


def asking(work: Path, out: str, target: str, *more: str) -> str:
    config = f"--ssh-config {work}/ssh_config --out {work}/{out}"
    return f"{ROOT}/run.sh device {target} --no-install {config} --suite {SUITE} {' '.join(more)}"


def served(work: Path, script: str) -> subprocess.CompletedProcess[str]:
    words = [str(TRY), "serve", LABGRID, str(work), "sh", "-c", script]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=3600)


def test_by_ssh_released_and_reserved_again(tmp_path: Path) -> None:
    """The same answers as by ssh alone; nothing is held at the end, also after a failure."""
    few = ("--probe", "attr.*")
    script = f"""{asking(tmp_path, 'ssh', 'ssh:root@127.0.0.1:2222', *few)}; one=$?
        {asking(tmp_path, 'lab', 'labgrid:kind=board', *few)}; two=$?
        {asking(tmp_path, 'bad', 'labgrid:board-1', '--hazards')}; [ $? = 3 ] || exit 9
        labgrid-client -v places | grep -E 'acquired: [^N]' && exit 8
        [ -z "$(labgrid-client reservations)" ] || exit 7
        [ $one = $two ]"""
    done = served(tmp_path, script)
    assert done.returncode == 0, done.stdout + done.stderr
    (alone,), (shelf,) = (tmp_path / "ssh").glob("ssh-*/"), (tmp_path / "lab").glob("labgrid-*/")
    assert len(verdicts(shelf)) > 50 and verdicts(shelf) == verdicts(alone)


def test_a_place_of_somebody_else_is_waited_for_and_an_interrupt_releases(tmp_path: Path) -> None:
    wait = asking(tmp_path, "waits", "labgrid:board-1", "--probe", "attr.size")
    script = f"""env LG_USERNAME=jane labgrid-client -p board-1 acquire
        {wait} & labgrid-client reservations
        until grep -q 'in use by somebody' {tmp_path}/waits/logs/*.log; do sleep 1; done
        env LG_USERNAME=jane labgrid-client -p board-1 release
        wait $! || exit 9
        touch {tmp_path}/next"""
    done = served(tmp_path, script)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list((tmp_path / "waits").glob("labgrid-*/result.json"))
    script = f"""python3 -c 'import signal, os, sys
signal.signal(signal.SIGINT, signal.default_int_handler); os.execvp("sh", ["sh", "-c", sys.argv[1]])' \
        'exec {asking(tmp_path, "ends", "labgrid:board-1")}' & echo $! >{tmp_path}/pid
        until grep -q 'acquired board-1' {tmp_path}/ends/logs/*.log; do sleep 1; done
        kill -INT $(cat {tmp_path}/pid); wait $!; [ $? = 130 ] || exit 9
        labgrid-client -v places | grep -E 'acquired: [^N]' && exit 8
        [ -z "$(labgrid-client reservations)" ]"""
    done = served(tmp_path, script)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_guest_by_its_console(tmp_path: Path) -> None:
    """Every verdict and reason is that of a direct run of the same kernel."""
    work = tmp_path / "work"
    assert cli.main(["lab", "guest", ROW, "--suite", SUITE, "--out", str(work)]) == 0
    direct = ["--suite", SUITE, "--paranoid", "kernel", "--no-disturb", "--out", str(tmp_path / "direct"), ROW]
    assert cli.main(["run", *direct]) == 0
    done = served(work, asking(work, "guest", "labgrid:kind=guest"))
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = (work / "guest").glob("labgrid-*/")
    assert len(verdicts(folder)) > 1000 and verdicts(folder) == verdicts(tmp_path / "direct" / ROW)
