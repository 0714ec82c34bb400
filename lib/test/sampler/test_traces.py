# SPDX-License-Identifier: MIT
"""Perfetto traces of the service: who is told, what events are, where frames are; decoded by protoc."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import perfetto
from service import LIMIT, PROGRAM, Service, need_all, start

pytestmark = pytest.mark.xdist_group("sampler")
# Threads that name themselves and that do not, short ones without end, and children that do the same.
SOURCE = """#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned long turns;
__attribute__((noinline)) static void burn(long most) { for (long i = 0; i < most * 1000; i++) turns += i; }
static void *named(void *name) {
    pthread_setname_np(pthread_self(), name); burn(60000); return NULL; }
static void *nameless(void *none) { burn(3000); return none; }
static void run(int shorts) {
    pthread_t one, other, brief;
    pthread_create(&one, NULL, named, "first thread");
    pthread_create(&other, NULL, named, "second");
    for (int i = 0; i < shorts; i++) {
        pthread_create(&brief, NULL, nameless, NULL); pthread_join(brief, NULL); }
    pthread_join(one, NULL); pthread_join(other, NULL);
}
int main(void) {
    for (int i = 0; i < 3; i++) if (fork() == 0) { run(10); _exit(0); }
    run(30);
    while (wait(NULL) > 0) ;
    return 0;
}
"""


def make(folder: Path) -> Path:
    need_all()
    (folder / "threads.c").write_text(SOURCE, encoding="ascii")
    subprocess.run(["gcc", "-O1", "-g", "-pthread", "-o", folder / "threads", folder / "threads.c"], check=True,
                   timeout=LIMIT)
    return folder / "threads"


def traced(folder: Path, *arguments: str | Path, status: tuple[int, ...] = (0, 4)) -> perfetto.Decoded:
    done = subprocess.run([str(part) for part in (PROGRAM, "-q", "-o", folder / "out.pftrace", *arguments)],
                          capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode in status, done.stderr
    return perfetto.decode(folder / "out.pftrace", perfetto.compiled(folder))


def test_threads_are_told_before_their_samples(tmp_path: Path) -> None:
    decoded = traced(tmp_path, "-F", "999", "--", make(tmp_path))
    tids = {sample.packet.perf_sample.tid for sample in decoded.samples}
    assert len(decoded.samples) > 100 and len(tids) > 12 and not decoded.untold
    names = [thread.name for tid, thread in decoded.threads.items() if tid in tids]
    assert names.count("first thread") == names.count("second") == 4, names
    assert all(name in ("first thread", "second", "threads") for name in names)


def test_arguments_are_those_of_the_process(tmp_path: Path) -> None:
    """What the kernel has between its 0 bytes, line ends and nothing included."""
    arguments = ["Text with blank", "two\nlines", "", "\u20ac"]
    decoded = traced(tmp_path, "-F", "999", "--", "/bin/sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done",
                     *arguments)
    process = decoded.processes[decoded.samples[0].packet.perf_sample.pid]
    assert list(process.cmdline)[0] == "/bin/sh" and list(process.cmdline)[3:] == arguments
    assert process.uid == os.getuid() and process.ppid > 0 and not process.is_kthread
    since = time.clock_gettime(time.CLOCK_BOOTTIME) - process.process_start_from_boot / 1e9
    assert 0 <= since < LIMIT


def test_each_file_tells_anew_who_is_in_it(tmp_path: Path) -> None:
    """After a rotation, too, in the middle of everything."""
    workload = start("spin", "600000")
    service = Service(tmp_path, {"stacks": "dwarf"}, keep_ms=100, former=50).start()
    for _ in range(4):
        workload.burn(0.3)
        assert service.process
        service.process.send_signal(signal.SIGHUP)
    workload.burn(0.2)
    run = service.stop()
    workload.process.kill()
    workload.cpu_ns()
    assert run.status in (0, 4), run.errors
    classes = perfetto.compiled(tmp_path)
    files = [perfetto.decode(path, classes) for path in sorted(tmp_path.glob("perfetto*")) if path.is_file()]
    assert len(files) == 5 and all(not file.untold for file in files), [file.untold for file in files]
    assert sum(len(file.samples) for file in files) > 50


def test_whose_counters_are_polled_is_told(tmp_path: Path) -> None:
    workload = start("spin", "600000")
    source: dict[str, Any] = {"poll_ms": 20, "event": "task-clock", "followers": ["page-faults:u"],
                              "targets": [f"pid:{workload.pid}"]}
    service = Service(tmp_path, source)
    config = service.config.read_text(encoding="ascii")
    service.config.write_text(config.replace('"poll_ms"', f'"targets": ["pid:{workload.pid}"], "poll_ms"'),
                              encoding="ascii")
    service.start()
    workload.burn(0.2)
    run = service.stop()
    workload.process.kill()
    workload.cpu_ns()
    assert run.status == 0, run.errors
    decoded = perfetto.decode(tmp_path / "perfetto", perfetto.compiled(tmp_path))
    assert decoded.samples and not decoded.untold
    assert "workload" in decoded.processes[workload.pid].cmdline[0]
    perf = decoded.packets[0].trace_packet_defaults.perf_sample_defaults
    assert (perf.timebase.counter, perf.timebase.poll_period_ms) == (3, 20)
    assert perf.followers[0].counter == 2 and list(perf.followers[0].modifiers) == [1]


@pytest.mark.parametrize(("event", "counter", "name", "modifiers"), [
    ("cpu-clock", 1, "", []), ("task-clock:u", 3, "", [1]), ("page-faults/period=1,name=faults/", 2, "faults", [])])
def test_the_event_is_told(tmp_path: Path, event: str, counter: int, name: str, modifiers: list[int]) -> None:
    decoded = traced(tmp_path, "-e", event, "--", "/bin/ls")
    timebase = decoded.packets[0].trace_packet_defaults.perf_sample_defaults.timebase
    assert (timebase.counter, timebase.name, list(timebase.modifiers)) == (counter, name, modifiers)


def test_frames_have_their_places(tmp_path: Path) -> None:
    """Of the function by nm, in the file by its build id, on the line of the source."""
    program = make(tmp_path)
    decoded = traced(tmp_path, "-F", "999", "--", program)
    interned: dict[str, dict[int, Any]] = {}
    for packet in decoded.packets:
        for descriptor, entries in packet.interned_data.ListFields():
            interned.setdefault(descriptor.name, {}).update({entry.iid: entry for entry in entries})
    ours = {iid for iid, one in interned["mappings"].items()
            if interned["mapping_paths"][one.path_string_ids[0]].str.decode() == str(program)}
    notes = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
    symbols = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout
    address, size = next(line.split()[:2] for line in symbols.splitlines() if line.endswith(" burn"))
    burn = [frame for frame in interned["frames"].values() if frame.mapping_id in ours
            and interned["function_names"][frame.function_name_id].str == b"burn"]
    assert burn and all(0 <= frame.rel_pc - int(address, 16) < int(size, 16) for frame in burn)
    for frame in burn:
        mapping = interned["mappings"][frame.mapping_id]
        assert interned["build_ids"][mapping.build_id].str.hex() in notes
        assert mapping.start < mapping.end and mapping.exact_offset > 0
        assert interned["source_paths"][frame.source_path_iid].str.decode().endswith("threads.c")
        assert "burn(long most)" in SOURCE.splitlines()[frame.line_number - 1]


def memory_kb(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(text.partition("RssAnon:")[2].split()[0])


def test_the_file_grows_while_it_runs(tmp_path: Path) -> None:
    """Written as it comes: what has been read is no longer in memory. The queue is one of 1 MiB, and soon full once."""
    workload = start("spin", "600000")
    service = Service(tmp_path, {"period": 200_000}, keep_ms=100, queue_bytes=1 << 20).start()
    assert service.process
    trace, sizes, memory, until = tmp_path / "perfetto", [0], [], time.monotonic() + LIMIT
    for _ in range(5):
        workload.burn(0.4)
        while trace.stat().st_size <= sizes[-1] and time.monotonic() < until:
            workload.burn(0.1)      # on a busy machine the service may not have had its turn
        sizes.append(trace.stat().st_size)
        memory.append(memory_kb(service.process.pid))
    run = service.stop()
    workload.process.kill()
    workload.cpu_ns()
    assert run.status in (0, 4), run.errors
    assert all(one < other for one, other in zip(sizes, sizes[1:])), sizes
    assert memory[-1] < memory[1] + 1024, memory


@pytest.mark.parametrize(("comm", "any_sample"), [("workload", True), ("nobody", False)])
def test_a_filter_of_a_tracepoint(tmp_path: Path, comm: str, any_sample: bool) -> None:
    """Told in the trace, and kept by the kernel."""
    workload = start("spin", "600000")
    service = Service(tmp_path, {"event": "sched:sched_switch", "period": 1, "stacks": "none",
                                 "filter": f'prev_comm == "{comm}"'})
    if "tracefs" in subprocess.run([str(PROGRAM), "--duration", "1", str(service.config)], capture_output=True,
                                   text=True, timeout=LIMIT, check=False).stderr:
        workload.process.kill()
        pytest.skip("tracefs is not mounted, or not ours to read")
    service.start()
    workload.burn(0.5)
    workload.process.send_signal(signal.SIGSTOP)    # one switch at least
    while Path(f"/proc/{workload.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "T":
        time.sleep(0.01)
    run = service.stop()
    workload.process.kill()
    workload.cpu_ns()
    assert run.status in (0, 4), run.errors
    decoded = perfetto.decode(tmp_path / "perfetto", perfetto.compiled(tmp_path))
    assert bool(decoded.samples) == any_sample
    point = decoded.packets[0].trace_packet_defaults.perf_sample_defaults.timebase.tracepoint
    assert (point.name, point.filter) == ("sched:sched_switch", f'prev_comm == "{comm}"')
