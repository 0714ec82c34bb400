# SPDX-License-Identifier: MIT
"""Guests that end in every way, played by a shell script in the place of the user-mode kernel."""

from __future__ import annotations

import json
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_place import processes

from kernels import matrix
from kernels.guest import boot as booting
from kernels.guest import cpu_time, machine, watch
from kernels.guest.boot import boot
from kernels.guest.lines import Lines
from kernels.guest.place import GuestPlace
from kernels.guest.qmp import Qmp
from kernels.guest.setup import Kernel, prepare
from kernels.guest.watch import Task
from kernels.matrix import Row
from kernels.place import judge
from kernels.place.channel import Channel, Limits, cksum
from kernels.place.engine import Engine
from kernels.place.judge import resumable
from kernels.place.outcome import Outcome
from kernels.place.report import Report, Request
from kernels.show import summary as show

# What a guest does by itself has all the time; in one that is to hang, the limit that it runs into is short.
UML = replace(matrix.load().rows["uml"], boot_timeout=300, timeout=300, stall=300)
SHORT = {"init did not speak": "boot_timeout", "no file for": "stall", "not done after": "timeout"}
KTAP = (
    b"TAP version 13\n1..0\n"
    b"#:launch: exit=0 signal=0 ms=1 timeout=0 truncated=0 leftover=0 bytes=20\n"
)
ENV = b"format=1\narch=x86_64\nrelease=6.1.0\n"
HEAD = """#!/bin/sh
for word; do
	case $word in
	con0=*) console=/dev/fd/${word##*:} ;;
	ssl0=*) results=/dev/fd/${word##*:} ;;
	initrd=*) initrd=${word#*=} ;;
	esac
done
init() { echo '@@init 6.1.0' > $results; }
ktap() { cat "$0.ktap" > $results; }
"""


def frame(name: str, data: bytes) -> bytes:
    return f"@@file {name} {len(data)} {cksum(data)}\n".encode() + data + b"\n"


def guest(folder: Path, body: str) -> Path:
    kernel = folder / "kernel"
    kernel.write_text(HEAD + body)
    kernel.chmod(0o755)
    (folder / "kernel.ktap").write_bytes(frame("env", ENV) + frame("root/a.b.ktap", KTAP))
    return kernel


def play(
    folder: Path, body: str, row: Row = UML, limits: Limits = Limits()
) -> tuple[Outcome, Channel]:
    (folder / "out").mkdir(parents=True)
    watch.GRACE = 0.5
    channel = Channel(folder / "out", limits)
    kernel, log = guest(folder, body), folder / "console.log"
    return boot(row, kernel, b"initrd", channel, log, Task(b"work")), channel


def play_late(folder: Path, body: str, limit: str, least: int) -> tuple[Outcome, Path, int]:
    """A guest that runs into that limit, its console, and the seconds: more of them where a busy machine did not let
    it send its file before."""
    for seconds in (least, 10 * least, 100 * least):
        place = folder / str(seconds)
        outcome, channel = play(place, body, replace(UML, **{limit: seconds}))
        if "ktap" not in body or channel.frames > 1:
            break
    return outcome, place / "console.log", seconds


@pytest.mark.parametrize(
    ("body", "ended", "stage", "said"),
    [
        (
            "init; ktap; echo '@@end 2' > $results; echo '@@exit 0' > $results; sleep 60",
            "done",
            "probes",
            "",
        ),
        ("init; ktap; echo '@@end 2' > $results", "done", "probes", ""),
        (
            "init; ktap; echo '@@end 3' > $results; echo '@@exit 0' > $results; sleep 60",
            "incomplete",
            "probes",
            "2 of 3 files",
        ),
        (
            "init; echo '@@exit 2' > $results; sleep 60",
            "incomplete",
            "init",
            "status 2 and no end marker",
        ),
        ("init; ktap", "shutdown", "probes", "powered off before its end marker"),
        (
            "init; ktap; echo 'Kernel panic - not syncing: oh dear' > $console",
            "panic",
            "probes",
            "oh dear",
        ),
        ("init; ktap; exec sleep 600", "hang", "probes", "no file for {} s, last one: root/a.b.ktap"),
        ("exec sleep 600", "hang", "boot", "init did not speak within {} s"),
        ("echo cannot start: $0 > $console; exit 1", "died", "boot", "cannot start"),
        (
            "{ echo 'qemu: fatal: Invalid exception -1. Aborting'; echo 'GPR00 0'; } "
            "> $console; exit 1",
            "died",
            "boot",
            "by itself: Invalid exception -1. Aborting",
        ),
        ("init; ktap; yes 0123456789abcdef > $results", "flood", "probes", "bytes of noise"),
        ("init; ktap; yes 0123456789abcdef > $console", "flood", "probes", "bytes on the console"),
        ("init; while :; do ktap; sleep 0.1; done", "hang", "probes", "not done after {} s"),
    ],
)
def test_how_a_guest_ends(tmp_path: Path, body: str, ended: str, stage: str, said: str) -> None:
    limit, log = next((limit for why, limit in SHORT.items() if said.startswith(why)), ""), tmp_path / "console.log"
    if limit:
        outcome, log, seconds = play_late(tmp_path, body, limit, 2)
        said = said.format(seconds)
    else:
        outcome, _ = play(tmp_path, body)
    assert (outcome.ended, outcome.stage) == (ended, stage) and said in outcome.reason
    assert outcome.infra == (ended not in ("done", "flood") and stage != "probes")
    assert (
        str(tmp_path) not in outcome.reason
        and str(tmp_path).encode() not in log.read_bytes()
    )


@pytest.mark.parametrize(("share", "least"), [(0.5, 2), (1.0, 4)])
def test_what_a_guest_waits_for_a_processor_is_no_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float,
                                                       least: int) -> None:
    """Its limits are of time of its own; of time that it had none of, a quarter."""
    began = time.monotonic()
    monkeypatch.setattr(cpu_time, "waited", lambda pid: share * (time.monotonic() - began))
    outcome, _, seconds = play_late(tmp_path, "init; ktap; exec sleep 600", "stall", 1)
    assert outcome.ended == "hang" and outcome.reason == f"no file for {seconds} s, last one: root/a.b.ktap"
    assert outcome.wall > least * seconds


def test_each_file_gives_a_guest_time_for_the_next(tmp_path: Path) -> None:
    body = "init; for i in 1 2 3 4; do sleep 1.5; ktap; done; echo '@@end 8' > $results"
    outcome, _ = play(tmp_path, body, replace(UML, stall=5))
    assert outcome.ended == "done", outcome.reason


@pytest.mark.parametrize(
    "body",
    [
        "init; ktap; printf 'Kernel panic - not syncing: a\\033]0;b\\007c\\n' > $console",
        "printf 'BIOS \\033[2J says\\r\\n' > $console; exit 1",
        "init; printf '@@file x\\033[2J 9999999 1\\n@@end 1\\n@@exit 0\\n' > $results; sleep 60",
    ],
)
def test_no_words_of_a_guest_steer_a_terminal(tmp_path: Path, body: str) -> None:
    """Reasons are printed, and are attributes of a JUnit file, where XML knows no such characters."""
    outcome, channel = play(tmp_path, body)
    assert "?" in outcome.reason and outcome.reason.isprintable(), outcome.reason
    assert all(line.isprintable() for line in channel.refused)


CLOCK = """
out=${0%/*}/out
once() { said=$(results=/dev/stdout; eval "$1"; echo .); printf '%s' "${said%.}" > $results; }  # heard at one time
clock() { echo "@@clock $1" > $results; }
end() { printf '@@end 2\\n@@exit 0\\n' > $results; }
"""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("init; once 'clock 5.00; ktap; clock 6.00'; end", ""),
        ("init; clock 5.00; ktap; end", ""),
        ("init; clock 5.00; ktap; sleep 1.5; clock 905.00; end", r"went 900\.0 s while \d+\.\d s passed"),
        ("init; clock 5.00; ktap; until [ -e $out/root/a.b.ktap ]; do sleep 0.05; done; sleep 3; clock 5.10; end",
         r"went 0\.1 s while \d+\.\d s"),
        ("init; clock 5.00; ktap; clock 99999999.00; end", r"while \d+\.\d s passed"),
        ("init; clock 5.00; ktap; clock 1.00; end", r"went -4\.0 s"),
        ("init; clock 5.00; ktap; clock 905.00; echo '@@end 2' > $results", r"went 900\.0 s"),
    ],
)
def test_a_guest_in_a_time_of_its_own_says_nothing(tmp_path: Path, body: str, said: str) -> None:
    outcome, _ = play(tmp_path, CLOCK + body)
    assert (outcome.ended, outcome.infra) == (("clock", True) if said else ("done", False))
    assert re.search(said, outcome.reason)


def test_virtual_time_is_not_held_against_ours(tmp_path: Path) -> None:
    row = replace(UML, qemu_args=("-icount", "shift=2,sleep=off"))
    outcome, _ = play(tmp_path, CLOCK + "init; clock 5.00; ktap; clock 500.00; end", row)
    assert (outcome.ended, outcome.infra) == ("done", False)


def alive(group: int) -> list[str]:
    """Processes of a group that still run; dead ones may wait for a slow process 1."""
    stats = [stat.decode("utf-8", "replace").rpartition(")")[2].split() for stat in processes("stat")]
    return [fields[0] for fields in stats if int(fields[2]) == group and fields[0] not in "ZX"]


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """Neither what a guest started and left when it ended by itself."""
    play(tmp_path, f"init; (trap '' TERM; exec sleep 600) & echo $$ > {tmp_path}/pid; echo '@@exit 2' > $results")
    group = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 300
    while alive(group) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(group)


def test_a_console_without_a_second_line_carries_frames(tmp_path: Path) -> None:
    row = replace(UML, results_tty="")
    outcome, channel = play(
        tmp_path,
        "results=$console; echo 'Linux version' > $console; init; ktap; "
        "echo 'audit: noise' > $console; echo '@@end 2' > $results; echo '@@exit 0' > $results",
        row,
    )
    assert outcome.ended == "done" and len(channel.files) == 2
    assert machine.channel_name(row) == "tty0"


@pytest.mark.parametrize(
    ("lines", "ended"),
    [
        ([{"event": "SHUTDOWN", "data": {"guest": True, "reason": "guest-shutdown"}}], "shutdown"),
        ([{"event": "SHUTDOWN", "data": {"guest": True, "reason": "guest-reset"}}], "reset"),
        (
            [{"event": "GUEST_PANICKED"}, {"event": "SHUTDOWN", "data": {"reason": "guest-panic"}}],
            "panic",
        ),
        ([{"event": "RESUME"}, [], "x"], ""),
    ],
)
def test_the_monitors_word(lines: list[object], ended: str) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        qmp = Qmp(ours)
        stream = b'{"QMP": {}}\nnonsense\n' + b"".join(
            json.dumps(line).encode() + b"\n" for line in lines
        )
        for at in range(0, len(stream), 5):
            qmp.feed(stream[at : at + 5])
        assert qmp.ended == ended and b"qmp_capabilities" in theirs.recv(100)


@pytest.mark.parametrize(("name", "asks"), [("arm64-newest-icount", True), ("arm64-newest", False)])
def test_an_emulator_that_counts_instructions_is_woken(
    name: str, asks: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a question at a time, so that one that does not answer is not flooded."""
    monkeypatch.setattr(watch, "AWAKE", -1.0)
    row, ours, theirs = matrix.load().rows[name], *socket.socketpair()
    one = watch.Guest(row, Channel(tmp_path), tmp_path / "log", Task(), threading.Event())
    with ours, theirs, one.console, one.selector:
        theirs.setblocking(False)
        one.qmp = Qmp(ours)
        for _ in range(3):
            one._wake()
        asked = theirs.recv(1 << 16).splitlines() if asks else []
        assert [json.loads(line)["execute"] for line in asked] == ["query-status"] * asks
        one.qmp.feed(b'{"id": "query-status", "return": {"running": true}}\n')
        one._wake()
        if asks:
            assert theirs.recv(1 << 16).count(b"query-status") == 2 and one.qmp.running
        else:
            with pytest.raises(BlockingIOError):
                theirs.recv(1)


class Scripted(GuestPlace):
    """A place whose kernel is a script and needs no network."""

    def __init__(self, row: Row, folder: Path, body: str) -> None:
        fetcher: Any = None
        super().__init__(row, fetcher)
        self.folder, self.body = folder, body

    @contextmanager
    def put(self, bundle: Path) -> Iterator[None]:
        place = self.folder / self.row.name
        place.mkdir()
        kernel = Kernel(guest(place, self.body), {"kernel_package": "none"})
        self.setup = prepare(self.row, kernel, b"", False, False, place)
        yield


class Stub(Engine):
    """An engine whose places are scripts."""

    def __init__(
        self, folder: Path, bodies: dict[str, str], stop: threading.Event | None = None
    ) -> None:
        stop = stop or threading.Event()
        super().__init__(folder / "results", Request(), {"x86_64": folder}, stop=stop)
        self.folder, self.bodies = folder, bodies

    def boot(self, row: Row) -> Report:
        return self.run(Scripted(row, self.folder, self.bodies[row.name]))


GOOD = "init; ktap; echo '@@end 2' > $results; echo '@@exit 0' > $results; sleep 60"


def rows(*names: str) -> list[Row]:
    return [replace(UML, name=name) for name in names]


def test_a_row_ends_in_a_result_directory(tmp_path: Path) -> None:
    report = Stub(tmp_path, {"a": GOOD}).boot(rows("a")[0])
    facts = json.loads((tmp_path / "results" / "a" / "boot.json").read_text())
    assert (
        report.error == ""
        and report.status == 0
        and facts["ended"] == "done"
        and facts["attempts"] == 1
    )
    assert (tmp_path / "results" / "a" / "root" / "a.b.ktap").read_bytes() == KTAP
    assert str(tmp_path) not in json.dumps(facts)
    assert "done" in show.line(report) and "s wall" in show.line(report)
    again = resumable(tmp_path / "results", "a")
    assert again and again.resumed and again.verdicts == report.verdicts


def test_a_complaint_on_the_console_is_told_with_what_had_come(tmp_path: Path) -> None:
    """Not one from before the probes: many a board complains while it boots."""
    early = "WARNING: CPU: 0 PID: 1 at init/main.c:1 start+0x1/0x2"
    line = "BUG: kernel NULL pointer dereference, address: 0000000000000008"
    # The rest makes the log be written, which tells that the line has been read.
    says = "echo '%s' > $console; yes | head -c 20000 > $console"
    until = f"until grep -rqs '%s' {tmp_path}/results; do sleep 0.05; done"
    body = f"init; {says % early}; {until % early[:20]}; ktap; {until % 'TAP version 13'};"
    body += f"{says % f'[    7.125] {line}'}; {until % line[:20]};"
    report = Stub(tmp_path, {"a": body + GOOD.removeprefix("init; ktap;")}).boot(rows("a")[0])
    assert report.faults == [f"after root/a.b.ktap: {line}"] and report.status == 1
    facts = json.loads((tmp_path / "results" / "a" / "boot.json").read_text())
    assert facts["guests"][0]["complaints"] == report.faults


def test_known_faults_of_an_emulator_are_skipped_with_their_reason(tmp_path: Path) -> None:
    known = "ebb.branches=this emulator ends in it"
    (row,) = rows("a")
    body = f'cp "$initrd" {tmp_path}/seen; {GOOD}'
    Stub(tmp_path, {"a": body}).boot(replace(row, skip=(known,)))
    assert f"arg=--skip\narg={known}\n".encode() in (tmp_path / "seen").read_bytes()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda facts: [],
        lambda facts: {**facts, "guests": 3},
        lambda facts: {**facts, "guests": [{"of": "all"}]},
        lambda facts: {**facts, "times": [1]},
        lambda facts: {**facts, "total_wall": "long"},
        lambda facts: {**facts, "total_cpu": 10**400},
        lambda facts: {**facts, "attempts": None},
        lambda facts: {**facts, "went_down": 7},
        lambda facts: {key: value for key, value in facts.items() if key != "release"},
    ],
)
def test_a_row_whose_boot_json_is_not_one_is_run_again(tmp_path: Path, spoil: Any) -> None:
    Stub(tmp_path, {"a": GOOD}).boot(rows("a")[0])
    file = tmp_path / "results" / "a" / "boot.json"
    whole = file.read_text()
    file.write_text(json.dumps(spoil(json.loads(whole))))
    assert resumable(tmp_path / "results", "a") is None
    file.write_text(whole)
    assert resumable(tmp_path / "results", "a")
    file.unlink()
    os.mkfifo(file)
    assert resumable(tmp_path / "results", "a") is None, "and nobody waits for it"


def test_a_row_whose_env_is_lost_is_run_again(tmp_path: Path) -> None:
    """Its personas have files of that name, too, and are no levels."""
    Stub(tmp_path, {"a": GOOD}).boot(rows("a")[0])
    folder = tmp_path / "results" / "a"
    (folder / "root" / "env").write_text("uid=0\n")
    env = (folder / "env").rename(tmp_path / "env")
    assert resumable(tmp_path / "results", "a") is None
    env.rename(folder / "env")
    again = resumable(tmp_path / "results", "a")
    assert again and not again.error


def test_counts_are_of_this_report_and_no_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that ends in a traceback exits with 1, as one that found something."""
    first = Stub(tmp_path, {"a": GOOD}).boot(rows("a")[0])
    assert first.verdicts and not first.unexpected and first.status == 0
    monkeypatch.setattr(judge, "ROOT", tmp_path)  # where there is no module of that name
    again = resumable(tmp_path / "results", "a")
    assert again and again.status == 3 and "No module named reports" in again.error
    assert not again.verdicts and not again.unexpected


def test_infra_is_retried_once_and_is_no_verdict(tmp_path: Path) -> None:
    report = Stub(
        tmp_path, {"a": f"[ -e {tmp_path}/second ] || {{ : > {tmp_path}/second; exit 1; }}; {GOOD}"}
    ).boot(rows("a")[0])
    assert report.attempts == 2 and report.status == 0
    report = Stub(tmp_path, {"b": "exit 1"}).boot(rows("b")[0])
    assert (
        report.attempts == 2
        and report.status == 3
        and not report.verdicts
        and "no result: died" in show.line(report)
    )
    assert resumable(tmp_path / "results", "b") is None


def test_a_panic_among_the_probes_is_a_result_with_the_console_tail(tmp_path: Path) -> None:
    body = "init; ktap; printf 'last words\\033\\nKernel panic - not syncing: x\\n' > $console"
    report = Stub(tmp_path, {"a": body}).boot(rows("a")[0])
    facts = json.loads((tmp_path / "results" / "a" / "boot.json").read_text())
    assert (
        report.status == 1
        and report.attempts == 1
        and facts["console_tail"].startswith("last words?\nKernel panic")
    )


def test_an_interrupt_keeps_what_is_finished(tmp_path: Path) -> None:
    stop = threading.Event()
    runner = Stub(
        tmp_path, {"a": GOOD, "b": f"init; echo $$ > {tmp_path}/pid; ktap; sleep 60"}, stop
    )
    first, second = rows("a", "b")
    runner.boot(first)
    results = tmp_path / "results"

    def stop_at_the_second() -> None:
        while len(list(results.rglob("a.b.ktap"))) < 2:
            time.sleep(0.05)
        stop.set()

    threading.Thread(target=stop_at_the_second, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        runner.boot(second)
    assert sorted(p.name for p in (tmp_path / "results").iterdir()) == ["a", "b"]
    assert '"ended": "interrupted"' in (tmp_path / "results" / "b" / "boot.json").read_text()
    assert list((tmp_path / "results" / "b").glob("root/*.ktap"))
    group, deadline = int((tmp_path / "pid").read_text()), time.monotonic() + 300
    while alive(group) and time.monotonic() < deadline:
        time.sleep(0.05)  # killed, and on its way out
    assert not alive(group)


def test_a_row_without_a_bundle_states_the_reason(tmp_path: Path) -> None:
    fetcher: Any = None
    engine = Engine(tmp_path, Request(), {"aarch64": "no bundle for aarch64: make"})
    report = engine.run(GuestPlace(matrix.load().rows["arm64-6.1"], fetcher))
    assert report.status == 3 and "no bundle for aarch64" in show.line(report)


def test_this_machines_folders_are_taken_out(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"/scratch/x/initrd missing\n\xff")
    booting._anonymous(log, "/scratch/x")
    assert log.read_bytes() == b"/initrd missing\n\xff"


def test_no_burst_is_lost(tmp_path: Path) -> None:
    """Megabytes at once, and nobody reads: a virtio console drops what its line does not take."""
    lines = Lines(matrix.load().rows["s390x-newest"], tmp_path)
    try:
        assert os.write(lines.guest_results, bytes(3 << 20)) == 3 << 20
        assert len(os.read(lines.results, 4 << 20)) == 3 << 20
        assert not os.get_blocking(lines.work), "a guest that takes no work stops nobody"
    finally:
        lines.close()
