# SPDX-License-Identifier: MIT
"""Records with one false field: the point that asks about the field has to notice.

A probe is linked with falsify/contents/lie.c between its ring and its decoder. Each lie is about one field;
without a lie the same point says yes, or the case is skipped: this machine cannot ask the question.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]

LIES = [
    ("sample.frames", "sample/callchain", "depth"),
    ("sample.one_frame", "sample/callchain", "depth"),
    ("sample.one_frame", "sample/callchain", "other_task"),
    ("sample.frames", "sample/callchain_cut", "max_stack"),
    ("sample.half_chain", "sample/callchain_cut", "max_stack"),
    ("sample.one_frame", "sample/order", "everything"),
    ("sample.one_frame", "strategy/callchain", "callchain"),
    ("sample.phys_addr", "sample/page", "phys_addr"),
    ("sample.data_page_size", "sample/page", "data_page_size"),
    ("sample.code_page_size", "sample/page", "code_page_size"),
    ("sample.data_page_of_code", "sample/page", "huge_data_page"),
    ("sample.registers", "sample/registers", "user"),
    ("sample.read_value", "sample/read", "value"),
    ("sample.read_times", "sample/read", "times"),
    ("sample.sibling", "sample/read", "group"),
    ("mmap.data_mark", "record/mmap_data", "data_marked"),
    ("mmap.all_data", "record/mmap_data", "data_marked"),
    ("mmap.device", "record/mmap2", "file"),
    ("mmap.name", "record/mmap2", "file"),
    ("bpf.id", "record/bpf", "load"),
    ("ksymbol.addr", "record/bpf", "ksymbol"),
    ("ksymbol.len", "record/bpf", "ksymbol"),
    ("ksymbol.name", "record/bpf", "ksymbol"),
    ("namespaces.dev", "record/namespaces", "inodes"),
    ("switch.pid", "record/switch_cpu_wide", "cpu_wide"),
    ("switch.all_preempted", "record/preemption", "preempt"),
    ("switch.none_preempted", "record/preemption", "preempt"),
    ("read.value", "record/inherit_stat", "exact"),
    ("exit.ppid", "record/exit", "exit_watched"),
]


@pytest.fixture(scope="module")
def programs() -> Path:
    """The probes of the table, built with the lies in them."""
    probes = sorted({probe for _, probe, _ in LIES})
    subprocess.run(["make", "-s", *(f"build/{os.uname().machine}/falsify/contents/{probe}" for probe in probes)],
                   cwd=TREE, check=True)
    return TREE / "build" / os.uname().machine / "falsify/contents"


def result(program: Path, point: str, lie: str) -> str:
    """The result line of a point."""
    done = subprocess.run([program], env={**os.environ, "PERFMODES_LIE": lie}, capture_output=True, text=True,
                          timeout=60, check=False)
    return next(line for line in done.stdout.splitlines()
                if line.startswith(("ok ", "not ok ")) and f".{point}" in line)


@pytest.mark.parametrize(("lie", "probe", "point"), LIES)
def test_a_false_field_is_noticed(programs: Path, lie: str, probe: str, point: str) -> None:
    true = result(programs / probe, point, "")
    if not true.startswith("ok ") or "SKIP" in true:
        pytest.skip(f"cannot be asked here: {true}")
    false = result(programs / probe, point, lie)
    assert false.startswith("not ok ") or "# SKIP no:" in false
