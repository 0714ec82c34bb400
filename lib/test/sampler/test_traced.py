# SPDX-License-Identifier: MIT
"""perfmodes-sampler --traced beside a traced of ours, and beside the real one where its package is installed."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import perfetto
from service import LIMIT, PROGRAM, WORKLOAD, Workload, need_all, start
from traced import FLUSH, FORGET, SETUP_TRACING, Traced, message

pytestmark = pytest.mark.xdist_group("sampler")
COMMAND = [str(PROGRAM), "--traced"]
CPU_CLOCK, PAGE_FAULTS, CLEARED = 1, 2, 1


@pytest.fixture(name="workload")
def _workload() -> Iterator[Workload]:
    need_all()
    spinning = start("spin", "600000")
    yield spinning
    spinning.process.kill()
    spinning.process.wait()


@pytest.fixture(name="traced")
def _traced(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Traced]:
    """A producer that has offered its data source; parameters are its KiB a page and its pages."""
    need_all()
    beside = Traced(tmp_path, COMMAND, *getattr(request, "param", ()))
    beside.until(lambda: beside.commands and beside.calls["RegisterDataSource"])
    yield beside
    beside.close()


def asks(pid: int, *timebase: tuple[int, Any], also: tuple[tuple[int, Any], ...] = ()) -> bytes:
    """A PerfEventConfig: that event, with the stacks of one process."""
    return message((15, message(*timebase)), (16, message((1, message((1, pid))))), *also)


def decoded(traced: Traced, folder: Path, buffer: int = 1) -> perfetto.Decoded:
    (folder / "trace").write_bytes(traced.trace(buffer))
    return perfetto.decode(folder / "trace", perfetto.compiled(folder))


def sampled(traced: Traced) -> list[int]:
    """What each of its processes said at its end."""
    return [int(number) for number in re.findall(r"^traced: (\d+) samples;", traced.said(), re.M)]


def flush(traced: Traced, request: int, *identities: int) -> None:
    traced.command(FLUSH, *((1, each) for each in identities), (2, request))
    traced.until(lambda: request in traced.flushed)


@pytest.mark.parametrize("traced", [(4, 2), (4, 64), (64, 3)], indirect=True)
def test_each_sample_arrives_whole(tmp_path: Path, workload: Workload, traced: Traced) -> None:
    """In memory that is full at once, too: packets in fragments, and each piece waits until traced has taken another."""
    assert b"linux.perf" in traced.calls["RegisterDataSource"][0]
    traced.begin(4711, asks(workload.pid, (1, 1_000_000), (4, CPU_CLOCK)), buffer=3)
    traced.until(lambda: 4711 in traced.told("NotifyDataSourceStarted"))
    workload.burn(0.5)
    traced.end(4711)
    assert traced.finish(signal.SIGTERM) == 0
    trace = decoded(traced, tmp_path, 3)
    assert list(traced.packets) == [3] and not traced.partial and not trace.untold
    assert [len(trace.samples)] == sampled(traced) and len(trace.samples) > 100
    assert {sample.packet.perf_sample.pid for sample in trace.samples} == {workload.pid}
    assert sum(("known_outer", str(WORKLOAD)) in sample.stack for sample in trace.samples) > len(trace.samples) / 2


# Touches so many pages of its own when it is told to, and then waits.
TOUCH = ("import mmap, sys\nprint('ready', flush=True)\nsys.stdin.readline()\nwith mmap.mmap(-1, 3000 * 4096) as pages:\n"
         "    for at in range(0, 3000 * 4096, 4096): pages[at] = 1\n    print('done', flush=True)\n    sys.stdin.readline()\n")


def test_a_flush_brings_all_that_was_before_it(tmp_path: Path, traced: Traced) -> None:
    """From rings that are read once a minute."""
    process = subprocess.Popen(["/usr/bin/python3", "-c", TOUCH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin and process.stdout and process.stdout.readline() == "ready\n"
    traced.begin(1, message((15, message((1, 1), (4, PAGE_FAULTS))), (16, message((1, message((1, process.pid))), (3, 1))),
                            (8, 60000), (3, 1024)))
    traced.until(lambda: 1 in traced.told("NotifyDataSourceStarted"))
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"
    flush(traced, 7, 1)
    found = len(decoded(traced, tmp_path).samples)
    flush(traced, 8, 1)
    flush(traced, 9)        # of nobody: answered at once
    process.communicate("\n", timeout=LIMIT)
    traced.end(1)
    assert traced.finish(signal.SIGTERM) == 0 and traced.flushed == [7, 8, 9]
    assert 3000 <= found <= sampled(traced)[0]


def test_two_at_a_time_keep_their_buffers_apart(tmp_path: Path, workload: Workload, traced: Traced) -> None:
    for identity, period in ((1, 1_000_000), (2, 4_000_000)):
        traced.begin(identity, asks(workload.pid, (1, period), (4, CPU_CLOCK)), buffer=identity)
    traced.until(lambda: {1, 2} <= set(traced.told("NotifyDataSourceStarted")))
    workload.burn(0.5)
    flush(traced, 1, 1, 2)
    traced.end(1)
    traced.end(2)
    assert traced.finish(signal.SIGTERM) == 0
    counts = [len(decoded(traced, tmp_path, buffer).samples) for buffer in (1, 2)]
    assert sorted(counts) == sorted(sampled(traced)) and counts[0] > 2 * counts[1] > 0


def test_behind_a_clearing_nothing_refers_to_what_was_before(tmp_path: Path, workload: Workload, traced: Traced) -> None:
    """Who has only the end of a buffer that is a ring reads it."""
    traced.begin(1, asks(workload.pid, (1, 1_000_000), (4, CPU_CLOCK)))
    traced.until(lambda: 1 in traced.told("NotifyDataSourceStarted"))
    workload.burn(0.2)
    flush(traced, 1, 1)
    traced.command(FORGET, (1, 1))
    flush(traced, 2, 1)
    workload.burn(0.2)
    traced.end(1)
    assert traced.finish(signal.SIGTERM) == 0
    trace = perfetto.compiled(tmp_path).Trace.FromString(traced.trace())
    begins = [at for at, packet in enumerate(trace.packet) if packet.sequence_flags & CLEARED]
    assert len(begins) == 2
    del trace.packet[:begins[1]]
    (tmp_path / "end").write_bytes(trace.SerializeToString())
    rest = perfetto.decode(tmp_path / "end", perfetto.compiled(tmp_path))
    assert len(rest.samples) > 50 and not rest.untold and any(sample.stack for sample in rest.samples)


@pytest.mark.parametrize("config, said", [
    (b"", "there is no perf_event_config"),
    (message((111, message((15, message((4, 99)))))), "counter 99 is not known"),
    (message((111, message((15, message((3, message((1, "no tracepoint")))))))), "the name of a tracepoint is GROUP:NAME"),
    (message((111, message((15, message((5, message((1, 4242)))))))), "no PMU here has type 4242"),
    (message((111, message((16, message((1, message((1, 0)))))))), "process 0 cannot be"),
    (message((111, message((18, "@system")))), "target_installed_by is Android's alone"),
    (message((111, message((20, 70000)))), "CPUs can be named"),
    (message((111, message((22, "\x1b]0;")))), "cpuid of at most 35 hexadecimal digits"),
    (message((111, message((22, "fff")))), "cpuid"),
    (message((111, b"\xff")), "perf_event_config is no message")])
def test_what_cannot_be_done_is_told_and_holds_up_nobody(traced: Traced, config: bytes, said: str) -> None:
    traced.share()
    for kind in (6, 1):
        traced.command(kind, (1, 5), (2, config))
    traced.until(lambda: 5 in traced.told("NotifyDataSourceStarted"))
    flush(traced, 1, 5)
    traced.end(5)
    assert traced.finish(signal.SIGTERM) == 0 and said in traced.said()


def served(traced: Traced, workload: Workload) -> list[int]:
    """Processes that serve a session, which samples."""
    traced.begin(1, asks(workload.pid, (2, 200), (4, CPU_CLOCK)))
    traced.until(lambda: 1 in traced.told("NotifyDataSourceStarted"))
    pids = Path(f"/proc/{traced.process.pid}/task/{traced.process.pid}/children").read_text(encoding="ascii").split()
    assert pids
    return [int(pid) for pid in pids]


def runs(pid: int) -> bool:
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return False


def await_end(pids: list[int]) -> None:
    until = time.monotonic() + LIMIT
    while any(map(runs, pids)):
        assert time.monotonic() < until, "a process is left behind"
        time.sleep(0.01)


def test_without_traced_it_ends_and_leaves_nobody_behind(workload: Workload, traced: Traced) -> None:
    pids = served(traced, workload)
    traced.peer.shutdown(2)
    assert traced.finish() == 1 and "it has closed the connection" in traced.said()
    await_end(pids)


def test_killed_it_leaves_nobody_behind(workload: Workload, traced: Traced) -> None:
    pids = served(traced, workload)
    assert traced.finish(signal.SIGKILL) == -signal.SIGKILL
    await_end(pids)


@pytest.mark.parametrize("spoil, said", [
    (lambda traced: traced.peer.sendall(struct.pack("<I", 1 << 20)), "a frame of 1048576 bytes"),
    (lambda traced: traced.send(b"\x07\x07\x07"), "what it sends is no frame"),
    (lambda traced: traced.command(SETUP_TRACING, (1, 4)), "its shared memory cannot be used: Bad file descriptor"),
    (lambda traced: traced.command(SETUP_TRACING, (1, 1 << 60)), "its shared memory cannot be used"),
    (lambda traced: traced.command(SETUP_TRACING, (1, 3), descriptor=traced.log.fileno()),
     "its shared memory cannot be used: Invalid argument")])
def test_a_traced_that_makes_no_sense_is_left(traced: Traced, spoil: Any, said: str) -> None:
    spoil(traced)
    assert traced.finish() == 1 and said in traced.said()


def test_whatever_traced_sends_it_ends_in_order(traced: Traced) -> None:
    """Commands of bytes by chance, among those that are right; the same each time."""
    chance = random.Random(1)
    traced.share()
    for _ in range(400):
        kind, bits = chance.randrange(1, 9), bytes(chance.randrange(256) for _ in range(chance.randrange(40)))
        inner = chance.choice([bits, message((1, chance.randrange(3)), (2, bits)),
                               message((1, chance.randrange(3)), (2, message((111, bits))))])
        traced.send(message((2, traced.commands), (6, message((1, 1), (2, 1), (3, message((kind, inner)))))))
    flush(traced, 1 << 40)
    assert traced.finish(signal.SIGTERM) == 0


def test_where_no_traced_is_the_socket_is_named(tmp_path: Path) -> None:
    need_all()
    done = subprocess.run([*COMMAND[:1], f"--traced={tmp_path}/none"], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 1 and f"{tmp_path}/none: No such file or directory" in done.stderr


@pytest.mark.parametrize("words", [["-p", "1"], ["-F", "99"], ["--", "true"], ["config"]])
def test_consumers_tell_what_is_sampled(words: list[str]) -> None:
    need_all()
    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 2 and "no other options" in done.stderr


CONFIG = """duration_ms: 60000
flush_period_ms: 500
incremental_state_config { clear_period_ms: 1000 }
buffers { size_kb: 65536 }
data_sources { config { name: "linux.perf" perf_event_config { %s } } }
"""
needs_real = pytest.mark.skipif(not shutil.which("traced") or not shutil.which("perfetto"),
                                reason="needs the package perfetto, which Debian has from sid on")


def recorded(folder: Path, workload: Workload, asked: str) -> tuple[perfetto.Decoded, int]:
    """What the real traced has of three seconds, and how many samples the producer says it sent."""
    sockets = {f"PERFETTO_{name}_SOCK_NAME": f"@perfmodes-{name}-{os.getpid()}" for name in ("PRODUCER", "CONSUMER")}
    environment = {**os.environ, **sockets}
    (folder / "config").write_text(CONFIG % asked, encoding="ascii")
    with (folder / "log").open("w+") as log, (folder / "traced.log").open("w") as other:
        real = subprocess.Popen(["traced"], env=environment, stderr=other, stdout=other)
        while f"@perfmodes-PRODUCER-{os.getpid()}" not in Path("/proc/net/unix").read_text(encoding="ascii"):
            assert real.poll() is None
            time.sleep(0.01)
        producer = subprocess.Popen(COMMAND, env=environment, stderr=log)
        while "from here" not in (folder / "log").read_text(encoding="utf-8"):
            assert producer.poll() is None
            time.sleep(0.01)
        consumer = subprocess.Popen(["perfetto", "--txt", "-c", folder / "config", "-o", folder / "out"], env=environment,
                                    stderr=other)
        workload.burn(3)
        consumer.send_signal(signal.SIGINT)
        assert consumer.wait(LIMIT) == 0
        producer.terminate()
        assert producer.wait(LIMIT) == 0    # and then its traced goes
        real.terminate()
        assert real.wait(LIMIT) in (0, -signal.SIGTERM)
    classes = perfetto.compiled(folder)
    trace, ours = classes.Trace.FromString((folder / "out").read_bytes()), classes.Trace()
    sequences = {packet.trusted_packet_sequence_id for packet in trace.packet if packet.HasField("perf_sample")}
    assert len(sequences) == 1, (folder / "log").read_text(encoding="utf-8")
    for packet in trace.packet:
        if packet.trusted_packet_sequence_id in sequences:
            packet.DiscardUnknownFields()       # what traced adds to each
            ours.packet.add().CopyFrom(packet)
    (folder / "trace").write_bytes(ours.SerializeToString())
    said = re.search(r"^traced: (\d+) samples;", (folder / "log").read_text(encoding="utf-8"), re.M)
    assert said
    return perfetto.decode(folder / "trace", classes), int(said[1])


@pytest.mark.peer
@needs_real
@pytest.mark.parametrize("event, least", [
    ("period: 1000000 counter: SW_CPU_CLOCK timestamp_clock: PERF_CLOCK_MONOTONIC", 500),
    ("period: 1000000 raw_event { type: 1 config: 0 }", 500),       # the same, by its numbers
    ('period: 10 tracepoint { name: "raw_syscalls:sys_enter" filter: "id >= 0" }', 50)])
def test_the_real_traced_has_each_sample(tmp_path: Path, workload: Workload, event: str, least: int) -> None:
    scope = f"callstack_sampling {{ scope {{ target_pid: {workload.pid} }} }}"
    found, told = recorded(tmp_path, workload, f"timebase {{ {event} }} {scope}")
    assert len(found.samples) == told > least and found.restarts >= 2 and not found.untold
    assert {sample.packet.perf_sample.pid for sample in found.samples} == {workload.pid}
    assert sum("known_outer" in dict(sample.stack) for sample in found.samples) > 0.9 * least


@pytest.mark.peer
@needs_real
def test_the_real_traced_has_counters_that_are_polled(tmp_path: Path, workload: Workload) -> None:
    found, told = recorded(tmp_path, workload,
                           "timebase { poll_period_ms: 20 counter: SW_CPU_CLOCK } followers { counter: SW_PAGE_FAULTS }")
    assert len(found.samples) == told > 20 and not any(sample.stack for sample in found.samples)
    last: dict[int, tuple[int, int]] = {}
    for sample in (one.packet.perf_sample for one in found.samples):
        now = sample.timebase_count, sample.follower_counts[0]
        before = last.setdefault(sample.cpu, now)
        assert now[0] >= before[0] and now[1] >= before[1]
        last[sample.cpu] = now
    assert any(timebase > 100_000_000 for timebase, _ in last.values())     # ns
