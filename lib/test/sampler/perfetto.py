# SPDX-License-Identifier: MIT
"""Decodes a Perfetto trace with protoc and the published field numbers in trace.proto."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
CLEARED = 1


def compiled(out: Path, *edit: str) -> ModuleType:
    """The Python classes that protoc makes; skips where it or Python's protobuf is missing. `edit`: a
    line of the description, and what it is replaced by."""
    pytest.importorskip("google.protobuf", reason="needs the package python3-protobuf")
    if not shutil.which("protoc"):
        pytest.skip("needs the package protobuf-compiler")
    name = f"wrong_{zlib.crc32(edit[0].encode()):x}" if edit else "trace"
    text = (HERE / "trace.proto").read_text(encoding="utf-8")
    assert not edit or text.count(edit[0]) == 1
    if edit:  # beside the right one in one process
        text = text.replace(*edit).replace('"proto2";', f'"proto2"; package {name};')
    (out / f"{name}.proto").write_text(text, encoding="utf-8")
    subprocess.run(["protoc", f"--python_out={out}", f"--proto_path={out}", f"{name}.proto"],
                   check=True, timeout=300)
    spec = importlib.util.spec_from_file_location(f"{name}_pb2", out / f"{name}_pb2.py")
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
    #: Pid and tid of samples in front of which one of them was not told since numbers began anew.
    untold: set[tuple[int, int]] = field(default_factory=set)


class Interned:
    """The tables of a sequence since its state was cleared."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[int, Any]] = {}
        self.processes: set[int] = set()
        self.threads: dict[int, int] = {}

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


def has_unknown(trace: Any) -> bool:
    """Whether anything in it has a number, a type or an enumerated value that is not described."""
    before = trace.SerializeToString()
    trace.DiscardUnknownFields()
    return bool(trace.SerializeToString() != before)


def decode(path: Path, classes: ModuleType) -> Decoded:
    """Reads a whole trace as trace_processor would; every number must have been defined."""
    trace = classes.Trace()
    trace.ParseFromString(path.read_bytes())
    assert not has_unknown(trace), "a field or a value that the description does not know"
    decoded, interned = Decoded(list(trace.packet)), Interned()
    for packet in trace.packet:
        if packet.sequence_flags & CLEARED:
            interned = Interned()
            decoded.restarts += 1
        interned.take(packet.interned_data)
        for process in packet.process_tree.processes:
            decoded.processes[process.pid] = process
            interned.processes.add(process.pid)
        for thread in packet.process_tree.threads:
            decoded.threads[thread.tid] = thread
            interned.threads[thread.tid] = thread.tgid
        if packet.HasField("perf_sample"):
            sample = packet.perf_sample
            iid = sample.callstack_iid
            decoded.samples.append(Sample(packet, interned.stack(iid) if iid else []))
            if sample.pid and (sample.pid not in interned.processes
                               or interned.threads.get(sample.tid) != sample.pid):
                decoded.untold.add((sample.pid, sample.tid))
    return decoded
