# SPDX-License-Identifier: MIT
"""A run that is interrupted more than once, and one whose processes are all killed at a stroke."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import termios
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from conftest import BUILD, NEVER, TREE, heeding, processes_of, result_of, wait_for

WAITS = "timeout 1000\nmeta.stubborn\nmeta.pass\n"
HANGS = "meta.hang\nmeta.pass\n"


def begin(out: Path, *command: str | Path, suite: str = WAITS,
          ignored: Iterable[signal.Signals] = ()) -> subprocess.Popen[str]:
    """A run of a probe that ends when it is killed, or that hangs for a second; in a session of its own."""
    (out.parent / "suite.txt").write_text(suite)
    return subprocess.Popen(
        [*command, TREE / "run.sh", "--no-install", "--no-build", "--out", out, "--suite", out.parent / "suite.txt",
         "--persona", "user", "--jobs", "1"],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        start_new_session=True, preexec_fn=heeding(ignored))


def left() -> list[int]:
    return [*processes_of(BUILD / "launch"), *processes_of(BUILD / "probes/meta")]


@pytest.mark.parametrize("numbers", [(signal.SIGINT,) * 5, (signal.SIGTERM,) * 5,
                                     (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)])
def test_several_signals_are_as_one(numbers: tuple[signal.Signals, ...], build: Path, tmp_path: Path) -> None:
    """What is finished becomes a result all the same, nothing says more than a sentence."""
    out = tmp_path / "run"
    process = begin(out)
    wait_for((out / "user/meta.stubborn.ktap.part").exists)
    for number in numbers:
        if process.poll() is None:
            os.killpg(process.pid, number)
    said = "".join(process.communicate(timeout=NEVER))
    assert process.returncode in {128 + number for number in numbers}, said
    assert "Traceback" not in said and "interrupted;" in said
    assert result_of(out)["personas"]["user"]["probes"]["meta.stubborn"]["status"] == "not_run"
    assert not left() and not list(out.rglob("*.part"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_that_do_not_stop_lose_nothing(number: signal.Signals, build: Path, tmp_path: Path) -> None:
    """They come while the result is made, too."""
    out = tmp_path / "run"
    process = begin(out)
    wait_for((out / "user/meta.stubborn.ktap.part").exists)
    while process.poll() is None:
        os.killpg(process.pid, number)
        time.sleep(0.002)
    said = "".join(process.communicate(timeout=NEVER))
    assert process.returncode in (130, 143), said
    assert "Traceback" not in said and "interrupted;" in said
    assert result_of(out)["personas"]["user"]["probes"]["meta.stubborn"]["status"] == "not_run"
    assert not left() and not list(out.rglob("*.part"))


@pytest.mark.parametrize("number, shell", [
    (signal.SIGHUP, "dash"), (signal.SIGHUP, "busybox sh"), (signal.SIGHUP, "mksh"), (signal.SIGHUP, "bash --posix"),
    (signal.SIGINT, "sh"), (signal.SIGTERM, "sh"), (signal.SIGQUIT, "sh")])
def test_signals_ignored_from_the_start_end_nothing(number: signal.Signals, shell: str, build: Path,
                                                    tmp_path: Path) -> None:
    """As SIGHUP is by nohup, SIGINT and SIGQUIT in the background of a shell. They come all the time."""
    if not shutil.which(shell.split()[0]):
        pytest.skip(f"no {shell} here")
    out = tmp_path / "run"
    process = begin(out, *shell.split(), suite=HANGS, ignored=[number])
    wait_for(lambda: any(out.glob("user/meta.hang.ktap*")))
    while process.poll() is None:
        os.killpg(process.pid, number)
        time.sleep(0.002)
    said = "".join(process.communicate(timeout=NEVER))
    assert process.returncode in (0, 1), said
    probes = result_of(out)["personas"]["user"]["probes"]
    assert probes["meta.hang"]["status"] != "not_run" != probes["meta.pass"]["status"], said


def test_a_signal_that_is_heeded_ends_a_run_that_ignores_others(build: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    process = begin(out, ignored=[signal.SIGHUP, signal.SIGTERM])
    wait_for((out / "user/meta.stubborn.ktap.part").exists)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        os.killpg(process.pid, number)
    said = "".join(process.communicate(timeout=NEVER))
    assert process.returncode == 130 and "interrupted;" in said, said
    assert result_of(out)["personas"]["user"]["probes"]["meta.stubborn"]["status"] == "not_run"
    assert not left() and not list(out.rglob("*.part"))


def test_a_killed_group_leaves_no_process(build: Path, tmp_path: Path) -> None:
    """SIGKILL at once for run.sh, the launcher and its workers; the probe, which is in a session of
    its own, and the process of its test end with them."""
    for again in range(100):    # both live for a second, which a busy machine may let go by
        process = begin(tmp_path / f"run-{again}", suite=HANGS)
        wait_for(lambda: len(list(processes_of(BUILD / "probes/meta"))) == 2 or process.poll() is not None)
        os.killpg(process.pid, signal.SIGKILL)
        if process.wait(NEVER) < 0:
            break
    else:
        raise AssertionError("it was never seen")
    process.communicate(timeout=NEVER)
    wait_for(lambda: not left())


def test_a_file_system_without_locks_is_told(build: Path, tmp_path: Path) -> None:
    """As NFS is for folders. A descriptor that cannot be locked stands in; run.sh hears of it."""
    plain = os.open(tmp_path, os.O_PATH)
    assert subprocess.run([build / "launch", "--lock", "0"], stdin=plain, check=False).returncode == 3
    os.close(plain)
    tree = tmp_path / "bundle"
    (tree / "bin").mkdir(parents=True)
    for name in ("identify", "probes", "declared"):
        (tree / "bin" / name).symlink_to(build / name)
    (tree / "bin" / "launch").write_text(
        f'#!/bin/sh\n[ "$1" != --lock ] || exit 3\nexec "{build}/launch" "$@"\n')
    (tree / "bin" / "launch").chmod(0o755)
    for name in ("suites", "run.sh"):
        (tree / name).symlink_to(TREE / name)
    done = subprocess.run(["sh", str(tree / "run.sh"), "--suite", "meta", "--probe", "meta.pass",
                           "--persona", "user", "--out", str(tmp_path / "run")],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=NEVER, check=False)
    assert done.returncode == 0, done.stderr
    assert "this file system has no locks" in done.stderr


def session_of(leader: int) -> list[str]:
    """What lives in the session that this process began."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            found.append(stat.parent.name)
    return found


@pytest.mark.parametrize("command", [("kernels", "--list"), ("report", "catalogue")])
def test_a_signal_to_run_sh_is_its_pythons(command: tuple[str, ...], build: Path) -> None:
    """It waits for somebody to read on, and leaves nobody behind when it is told to end."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    process = subprocess.Popen([TREE / "run.sh", *command, "--no-install"], stdout=writer,
                               stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True, preexec_fn=heeding())
    os.close(writer)
    try:
        unread = bytearray(4)
        wait_for(lambda: fcntl.ioctl(reader, termios.FIONREAD, unread) == 0
                 and int.from_bytes(unread, "little") > 2048)
        process.terminate()
        process.wait(NEVER)
        assert not session_of(process.pid)
    finally:
        os.close(reader)
