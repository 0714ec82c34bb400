# SPDX-License-Identifier: MIT
"""Files that a person names and that are none: a sentence each, no waiting, and nothing of Python."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import TREE, MakeRun

from reports import verbs

# @ is the odd file, + a good result.
READERS = [line.split() for line in """\
result @|show @|table @|table + @|profile @|catalogue @|catalogue --count @|coverage @|coverage --data @|validate @
lint --tree @|lint --result @|diff + @|timing @|export csv @|export junit + @|merge @|merge + --update @|history @
check @ +|check {wishes} @|features @ +|uapi @ {abi}|uapi {abi} @|db add --db new.db @|db list --db @
db coverage --db {db} --usage @|site out --db {db} --usage @|result --quiet --expect @ +""".replace("\n", "|").split("|")]
KINDS: dict[str, Callable[[Path], object]] = {
    "fifo": os.mkfifo, "folder": os.mkdir, "loop": lambda at: at.symlink_to(at), "gone": lambda at: None,
    "socket": lambda at: socket.socket(socket.AF_UNIX).bind(str(at)), "endless": lambda at: at.symlink_to("/dev/zero"),
    "text": lambda at: at.write_bytes(b"format = 1\nname = \xe4\n"), "empty": lambda at: at.write_bytes(b"")}
# What is there is a folder, a database without results, or a profile yet to be made.
FINE = {("folder", "lint --tree @"), ("folder", "result --quiet --expect @ +"), ("empty", "db list --db @"),
        ("gone", "merge + --update @")}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Paths are short; whoever waits for a FIFO is woken."""
    def awake(*_: object) -> None:
        raise AssertionError("it waits")
    monkeypatch.chdir(tmp_path)
    before = signal.signal(signal.SIGALRM, awake)
    signal.alarm(200)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(name="command")
def _command(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> Callable[[list[str], str], int]:
    """Run a row of READERS; what was said before is read and gone."""
    good = str(make_run())
    assert verbs.main(["result", "--quiet", good]) == 0

    def call(words: list[str], odd: str) -> int:
        if "{db}" in words:
            verbs.main(["db", "add", "--db", "good.db", good])
        known = {"@": odd, "+": good, "{db}": "good.db", "{abi}": str(TREE / "lib/pm_abi.h"),
                 "{wishes}": str(TREE / "lib/doctor/wishes.toml")}
        capsys.readouterr()
        return verbs.main([known.get(word, word) for word in words])
    return call


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_what_is_no_file_is_told(words: list[str], kind: str, command: Callable[[list[str], str], int],
                                 capsys: pytest.CaptureFixture[str]) -> None:
    KINDS[kind](Path("odd"))
    try:
        status = command(words, "odd")
    except SystemExit as end:
        status = int(end.code or 0)
    told = capsys.readouterr()
    if (kind, " ".join(words)) in FINE:
        assert status == 0
        return
    said = told.err or told.out
    assert status in (1, 3) and said.startswith(("reports: ", "odd: ", "lint: ")) and len(said) < 500
    assert told.err.count("\n") <= 1 or kind in ("text", "empty")
    for word in ("Errno", "codec", "Traceback", "odd: odd: "):
        assert word not in told.err
    if kind in ("fifo", "socket", "gone") and "database" not in said:
        assert any(word in said for word in (
            f"a {kind}", "a FIFO", "o such file", "no such folder", "not a result directory", "no kernel there"))


def without_rights(*words: str) -> subprocess.CompletedProcess[str]:
    """As somebody who may read only what modes allow, as root may not everywhere either."""
    drop = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    return subprocess.run([*drop, sys.executable, "-m", "reports", *words], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(TREE)}, timeout=300,
                          check=False)


@pytest.mark.parametrize("words", [["show"], ["catalogue"], ["check", str(TREE / "lib/doctor/wishes.toml")]],
                         ids=lambda words: words[0])
def test_a_file_that_may_not_be_read_is_told(words: list[str]) -> None:
    Path("odd").touch(mode=0)
    done = without_rights(*words, "odd")
    assert (done.returncode, done.stderr) == (3, "reports: odd: Permission denied\n")


# ----------------------------------------------------------------------------------- where -o writes

OUTPUTS = [["profile", "+", "-o", "@"], ["export", "csv", "+", "-o", "@"], ["merge", "+", "-o", "@"]]


@pytest.mark.parametrize("words", OUTPUTS, ids=" ".join)
def test_a_pipe_is_written_into(words: list[str], command: Callable[[list[str], str], int]) -> None:
    """As `-o >(command)` of a shell is one; replaced by a file, nobody would read it."""
    os.mkfifo("odd")
    read: list[bytes] = []
    reader = os.open("odd", os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    thread = threading.Thread(target=lambda: read.extend(iter(lambda: os.read(reader, 1 << 16), b"")))
    keep = os.open("odd", os.O_WRONLY)
    thread.start()
    assert command(words, "odd") == 0
    os.close(keep)
    thread.join(300)
    os.close(reader)
    assert len(b"".join(read)) > 100 and Path("odd").is_fifo()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices, and could lose one")
@pytest.mark.parametrize("words", OUTPUTS, ids=" ".join)
def test_a_device_stays_one(words: list[str], command: Callable[[list[str], str], int]) -> None:
    try:
        os.mknod("odd", stat.S_IFCHR | 0o600, os.makedev(1, 3))
        os.close(os.open("odd", os.O_WRONLY))
    except OSError as error:
        pytest.skip(f"no devices here: {error.strerror}")
    assert command(words, "odd") == 0
    assert Path("odd").is_char_device()


def test_a_link_stays_and_its_file_is_written(command: Callable[[list[str], str], int]) -> None:
    Path("odd").symlink_to("file")
    assert command(OUTPUTS[0], "odd") == 0
    assert Path("odd").is_symlink() and Path("file").stat().st_size > 100
    KINDS["loop"](Path("loop"))
    assert command(OUTPUTS[0], "loop") == 3


@pytest.mark.parametrize("kind, why", [("fifo", "a FIFO that nobody reads"), ("folder", "a directory"),
                                       ("socket", "a socket")])
def test_what_takes_nothing_is_told(kind: str, why: str, command: Callable[[list[str], str], int],
                                    capsys: pytest.CaptureFixture[str]) -> None:
    KINDS[kind](Path("odd"))
    assert command(OUTPUTS[0], "odd") == 3
    said = capsys.readouterr().err
    assert said.startswith(f"reports: odd: cannot be written: {why}") and said.count("\n") == 1
