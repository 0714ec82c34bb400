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


def trace_of(tmp_path: Path, memory: int, samples: int) -> Path:
    if not WRITER.exists():
        pytest.skip("not built: make build/test/sampler/perfetto_test")
    path = tmp_path / "trace"
    subprocess.run([str(WRITER), str(path), str(memory), str(samples)], check=True, timeout=120)
    return path


def written(tmp_path: Path, memory: int, samples: int) -> perfetto.Decoded:
    classes = perfetto.compiled(tmp_path)
    return perfetto.decode(trace_of(tmp_path, memory, samples), classes)


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
    assert decoded.restarts == 1


def test_samples_and_what_is_missing(tmp_path: Path) -> None:
    samples = written(tmp_path, 1 << 20, 50).samples
    assert len(samples) == 54
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
    shed, unknown, lost, guardrail = (sample.packet.perf_sample for sample in samples[50:])
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
    assert decoded.restarts > 10 if memory < 1 << 16 else decoded.restarts >= 1
    assert decoded.restarts == 1 or memory < 1 << 22


def test_a_wrong_number_is_noticed(tmp_path: Path) -> None:
    """The check that every number is defined can fail."""
    decoded = written(tmp_path, 1 << 20, 2)
    interned = perfetto.Interned()
    interned.take(decoded.packets[3].interned_data)
    with pytest.raises(AssertionError):
        interned.take(decoded.packets[3].interned_data)
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
