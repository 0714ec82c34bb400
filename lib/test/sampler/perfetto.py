# SPDX-License-Identifier: MIT
"""Decodes a Perfetto trace with protoc and the published field numbers in trace.proto."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
CLEARED = 1


def compiled(out: Path) -> ModuleType:
    """The Python classes that protoc makes; skips where it or Python's protobuf is missing."""
    pytest.importorskip("google.protobuf", reason="needs the package python3-protobuf")
    if not shutil.which("protoc"):
        pytest.skip("needs the package protobuf-compiler")
    subprocess.run(["protoc", f"--python_out={out}", f"--proto_path={HERE}", "trace.proto"],
                   check=True, timeout=60)
    spec = importlib.util.spec_from_file_location("trace_pb2", out / "trace_pb2.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass
class Sample:
    """A perf_sample with its stack resolved, innermost first, as function and module."""

    packet: Any
    stack: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class Decoded:
    """What a reader of the trace knows at its end."""

    packets: list[Any] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    processes: dict[int, Any] = field(default_factory=dict)
    threads: dict[int, Any] = field(default_factory=dict)
    restarts: int = 0


class Interned:
    """The tables of a sequence since its state was cleared."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[int, Any]] = {}

    def take(self, data: Any) -> None:
        for descriptor, entries in data.ListFields():
            table = self.tables.setdefault(descriptor.name, {})
            for entry in entries:
                assert entry.iid not in table, "a number was given twice"
                table[entry.iid] = entry

    def text(self, table: str, iid: int) -> str:
        return self.tables[table][iid].str.decode() if iid else ""

    def stack(self, iid: int) -> list[tuple[str, str]]:
        frames = [self.tables["frames"][number]
                  for number in self.tables["callstacks"][iid].frame_ids]
        return [(self.text("function_names", frame.function_name_id), self.module(frame))
                for frame in reversed(frames)]

    def module(self, frame: Any) -> str:
        if not frame.mapping_id:
            return ""
        mapping = self.tables["mappings"][frame.mapping_id]
        return "/".join(self.text("mapping_paths", iid) for iid in mapping.path_string_ids)


def decode(path: Path, classes: ModuleType) -> Decoded:
    """Reads a whole trace as trace_processor would; every number must have been defined."""
    trace = classes.Trace()
    trace.ParseFromString(path.read_bytes())
    decoded, interned = Decoded(list(trace.packet)), Interned()
    for packet in trace.packet:
        if packet.sequence_flags & CLEARED:
            interned = Interned()
            decoded.restarts += 1
        interned.take(packet.interned_data)
        for process in packet.process_tree.processes:
            decoded.processes[process.pid] = process
        for thread in packet.process_tree.threads:
            decoded.threads[thread.tid] = thread
        if packet.HasField("perf_sample"):
            iid = packet.perf_sample.callstack_iid
            decoded.samples.append(Sample(packet, interned.stack(iid) if iid else []))
    return decoded
