# SPDX-License-Identifier: MIT
"""What perfetto_test writes, read back by the published field numbers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import perfetto  # noqa: E402

WRITER = Path(__file__).resolve().parents[3] / "build" / "test" / "sampler" / "perfetto_test"
MONOTONIC, BOOTTIME = 3, 6


def trace_of(tmp_path: Path, memory: int, samples: int, *event: str) -> Path:
    if not WRITER.exists():
        pytest.skip("not built: make build/test/sampler/perfetto_test")
    path = tmp_path / "trace"
    subprocess.run([str(WRITER), str(path), str(memory), str(samples), *event], check=True, timeout=120)
    return path


def written(tmp_path: Path, memory: int, samples: int, *event: str) -> perfetto.Decoded:
    classes = perfetto.compiled(tmp_path)
    return perfetto.decode(trace_of(tmp_path, memory, samples, *event), classes)


def test_every_field_comes_back(tmp_path: Path) -> None:
    decoded = written(tmp_path, 1 << 20, 50)
    head = decoded.packets[0]
    assert head.first_packet_on_sequence and head.trusted_packet_sequence_id == 1
    assert {clock.clock_id for clock in head.clock_snapshot.clocks} >= {MONOTONIC, BOOTTIME}
    defaults = head.trace_packet_defaults
    assert defaults.timestamp_clock_id == MONOTONIC
    perf = defaults.perf_sample_defaults
    assert (perf.timebase.frequency, perf.timebase.name) == (99, "cpu-clock")
    assert (perf.process_shard_count, perf.chosen_process_shard) == (3, 1)
    assert [follower.name for follower in perf.followers] == ["page-faults", "context-switches"]
    assert list(decoded.processes[100].cmdline) == ["thing", "--with", "two", "?\xe9"]
    assert (decoded.processes[100].ppid, decoded.processes[100].uid) == (1, 1000)
    assert decoded.threads[103].name == "worker \u20ac ????" and decoded.threads[103].tgid == 100
    assert decoded.restarts == 2    # the rate changes once


def test_who_a_process_is(tmp_path: Path) -> None:
    """Each argument as it is, blanks, line ends and empty ones included."""
    processes = written(tmp_path, 1 << 20, 2).processes
    person, kernel = processes[300], processes[301]
    assert list(person.cmdline) == ["/bin/Text with blank", "two\nlines", "", "?\xe9"]
    assert not person.HasField("cmdline_is_comm") and not person.HasField("uid")
    assert (person.ppid, list(person.nspid), person.process_start_from_boot) == (7, [40, 1], 12345678901)
    assert person.HasField("is_kthread") and not person.is_kthread and kernel.is_kthread
    assert list(kernel.cmdline) == ["kworker"] and kernel.cmdline_is_comm
    assert not processes[100].HasField("is_kthread")


def test_places_and_lines_of_frames(tmp_path: Path) -> None:
    decoded = written(tmp_path, 1 << 20, 2)
    last = next(packet for packet in reversed(decoded.packets) if packet.HasField("perf_sample"))
    names = {one.iid: one.str.decode() for one in last.interned_data.mapping_paths}
    sources = {one.iid: one.str.decode() for one in last.interned_data.source_paths}
    mappings = {names[one.path_string_ids[0]]: one for one in last.interned_data.mappings}
    assert set(mappings) == {"kernel", "/usr/bin/thing"}
    thing = mappings["/usr/bin/thing"]
    assert (thing.start, thing.end, thing.exact_offset, thing.load_bias) == (0x400000, 0x500000, 0x2000, 0x1000)
    frame = next(one for one in last.interned_data.frames if one.mapping_id == thing.iid)
    assert (sources[frame.source_path_iid], frame.line_number) == ("/src/thing.c", 42)


def test_another_rate_is_told(tmp_path: Path) -> None:
    decoded = written(tmp_path, 1 << 20, 2)
    last = [packet for packet in decoded.packets if packet.HasField("trace_packet_defaults")][-1]
    assert last.trace_packet_defaults.perf_sample_defaults.timebase.frequency == 12


#: Names of perf, and what Perfetto has for them: a counter's number, a tracepoint, or the kernel's numbers.
EVENTS = {
    "cpu-clock": 1, "page-faults": 2, "task-clock": 3, "context-switches": 4, "cpu-migrations": 5, "minor-faults": 6,
    "major-faults": 7, "alignment-faults": 8, "emulation-faults": 9, "cycles": 10, "instructions": 11,
    "cache-references": 12, "cache-misses": 13, "branches": 14, "branch-misses": 15, "bus-cycles": 16,
    "stalled-cycles-frontend": 17, "stalled-cycles-backend": 18, "ref-cycles": 19, "dummy": 20,
}


@pytest.mark.parametrize("name", EVENTS)
def test_what_the_event_is(tmp_path: Path, name: str) -> None:
    perf = written(tmp_path, 1 << 20, 1, f"{name}:u", name).packets[0].trace_packet_defaults.perf_sample_defaults
    for event, modifiers in ((perf.timebase, [1]), (perf.followers[0], [])):
        assert event.WhichOneof("event") == "counter" and event.counter == EVENTS[name]
        assert list(event.modifiers) == modifiers and not event.HasField("name")
    assert (perf.timebase.period, perf.timebase.timestamp_clock) == (7, 3)


def test_an_event_without_a_number_of_perfettos(tmp_path: Path) -> None:
    perf = written(tmp_path, 1 << 20, 1, "r1a8", "cgroup-switches:k").packets[0].trace_packet_defaults
    leader, (follower,) = perf.perf_sample_defaults.timebase, perf.perf_sample_defaults.followers
    assert (leader.raw_event.type, leader.raw_event.config) == (4, 0x1a8)
    assert (follower.raw_event.type, follower.raw_event.config, list(follower.modifiers)) == (1, 11, [2])


def test_a_tracepoint_is_named(tmp_path: Path) -> None:
    folders = [Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing")]
    if not any((folder / "events/sched/sched_switch/id").exists() for folder in folders):
        pytest.skip("tracefs is not mounted, or not ours to read")
    perf = written(tmp_path, 1 << 20, 1, "sched:sched_switch:k", "cycles").packets[0].trace_packet_defaults
    point = perf.perf_sample_defaults.timebase.tracepoint
    assert (point.name, point.filter) == ("sched:sched_switch", "prev_pid > 1")


def test_samples_and_what_is_missing(tmp_path: Path) -> None:
    samples = written(tmp_path, 1 << 20, 50).samples
    assert len(samples) == 55
    for number, sample in enumerate(samples[:50]):
        body = sample.packet.perf_sample
        assert sample.packet.timestamp == 1000000 + number
        assert (body.cpu, body.pid, body.tid) == (number % 4, 100, 100 + number % 7)
        assert body.timebase_count == 10 * number + 1 and body.cpu_mode == 2
        assert list(body.follower_counts) == [number, 2 * number]
        assert body.unwind_error == (2 if number % 10 == 0 else 0)
        assert sample.stack == [(f"inner_{number:03}", "/usr/bin/thing"),
                                ("middle", "/usr/bin/thing"), ("main", "/lib/other.so"),
                                ("0xdead0000", ""), ("", "[vdso]")]
    shed, unknown, lost, guardrail = (sample.packet.perf_sample for sample in samples[50:54])
    assert shed.sample_skipped_reason == 3 and not shed.HasField("callstack_iid")
    assert unknown.HasField("unwind_error") and unknown.unwind_error == 0
    assert (lost.cpu, lost.kernel_records_lost) == (3, 42)
    assert guardrail.producer_event.source_stop_reason == 1


@pytest.mark.parametrize("memory", [1 << 14, 1 << 16, 1 << 22])
def test_memory_is_bounded_and_nothing_is_lost(tmp_path: Path, memory: int) -> None:
    """A small table begins anew many times; each stack is resolved all the same."""
    decoded = written(tmp_path, memory, 5000)
    stacks = [sample.stack for sample in decoded.samples[:5000]]
    assert all(stack[0][0] == f"inner_{number % 1000:03}" for number, stack in enumerate(stacks))
    assert decoded.restarts > 10 if memory < 1 << 16 else decoded.restarts >= 2
    assert decoded.restarts == 2 or memory < 1 << 22
    assert decoded.untold <= {(200, 201), (300, 300)}, "processes were not told again"


def test_a_wrong_number_is_noticed(tmp_path: Path) -> None:
    """The check that every number is defined can fail."""
    decoded = written(tmp_path, 1 << 20, 2)
    interned = perfetto.Interned()
    interned.take(decoded.packets[9].interned_data)
    with pytest.raises(AssertionError):
        interned.take(decoded.packets[9].interned_data)
    with pytest.raises(KeyError):
        interned.stack(99)


@pytest.mark.parametrize("edit", [
    ("optional uint64 timestamp = 8;", "optional uint64 timestamp = 9;"),
    ("optional uint64 callstack_iid = 4;", "optional string callstack_iid = 4;"),
    ("repeated Mapping mappings = 19;", ""),
    ("MEMORY_INVALID = 2;", "MEMORY_INVALID = 20;"),
    ("UNWIND_ENQUEUE = 3;", "UNWIND_ENQUEUE = 30;")])
def test_a_number_that_is_not_published_is_noticed(tmp_path: Path, edit: tuple[str, str]) -> None:
    """The description decides: where it differs from what is written, the trace is refused."""
    classes, path = perfetto.compiled(tmp_path, *edit), trace_of(tmp_path, 1 << 20, 50)
    with pytest.raises(AssertionError, match="does not know"):
        perfetto.decode(path, classes)
