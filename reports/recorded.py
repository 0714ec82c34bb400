# SPDX-License-Identifier: MIT
"""A call of a recording: the parts of its attr by name, with the numbers of linux/perf_event.h; and in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from reports import answers

Call = dict[str, Any]

# The numbers of linux/perf_event.h, in order.
SOFTWARE = ("cpu_clock", "task_clock", "page_faults", "context_switches", "cpu_migrations", "page_faults_min",
            "page_faults_maj", "alignment_faults", "emulation_faults", "dummy", "bpf_output", "cgroup_switches")
HARDWARE = ("cycles", "instructions", "cache_references", "cache_misses", "branches", "branch_misses", "bus_cycles",
            "stalled_frontend", "stalled_backend", "ref_cycles")
CACHES = ("l1d", "l1i", "ll", "dtlb", "itlb", "bpu", "node")
OPERATIONS, RESULTS = ("read", "write", "prefetch"), ("access", "miss")
FORMATS = ("enabled", "running", "id", "group", "lost")
GROUP_FORMAT = 1 << 3
OPEN_FLAGS = ("fd_no_group", "fd_output", "pid_cgroup", "fd_cloexec")
CLOCKS = {0: "realtime", 1: "monotonic", 4: "monotonic_raw", 7: "boottime", 11: "tai"}
ACCESS = {1: "r", 2: "w", 3: "rw", 4: "x"}
MAX_STACK = 127         # the usual kernel.perf_event_max_stack
OF_WHOM = {"self": "of its own thread", "thread": "of its threads", "child": "of a child", "other":
           "of another process", "cpu": "of all that runs", "cgroup": "of a cgroup"}


# ------------------------------------------------------------------- numbers that the catalogue tells

@lru_cache(maxsize=None)
def bits(probe: str) -> dict[int, str]:
    """bit -> point, of a probe whose points say "(bit N)"."""
    found = answers.questions(_folder()).probes[probe]
    told = ((item.name, re.search(r"\bbit ([0-9]+)\b.* is known", item.meaning)) for item in found.items)
    return {int(match[1]): name for name, match in told if match}


@lru_cache(maxsize=None)
def versions() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Versions of the attr, the last first, and the fields that each brought."""
    found = answers.questions(_folder()).probes["attr.size_versions"]
    told = ((item.name, re.fullmatch(r"knows [0-9]+ bytes: (.+)", item.meaning)) for item in found.items)
    return tuple((name, tuple(match[1].split(", "))) for name, match in told if match)[::-1]


def _folder() -> Path:
    return Path(__file__).resolve().parent.parent / answers.FOLDER


def set_bits(value: int) -> Iterator[int]:
    return (bit for bit in range(value.bit_length()) if value >> bit & 1)


def field(call: Call, name: str) -> int:
    value = call["attr"]["fields"].get(name, "0x0")
    return int(value, 16) if value.startswith("0x") else 1


def flag(call: Call, name: str) -> int:
    return int(call["attr"]["flags"].get(name, 0))


def config(call: Call) -> int:
    return int(call["attr"].get("config", "0x0"), 16)


def samples(call: Call) -> list[str]:
    """The fields of samples, those that some release has."""
    names = bits("attr.sample_type_bits")
    return [names[bit] for bit in set_bits(field(call, "sample_type")) if bit in names]


# --------------------------------------------------------------------------------- a call, in words

def event_name(call: Call) -> str:
    attr, number = call["attr"], config(call)
    lists = {"software": SOFTWARE, "hardware": HARDWARE}
    if attr["type"] in lists and number < len(lists[attr["type"]]):
        name = lists[attr["type"]][number].replace("_", "-")
    elif attr["type"] == "tracepoint":
        name = str(attr.get("tracepoint", "unknown"))
    elif attr["type"] == "breakpoint":
        name = f"breakpoint:{ACCESS.get(field(call, 'bp_type'), '')}"
    else:
        name = f"{attr['type']}/{attr.get('config', '0x0')}/"
    levels = [letter for letter, name in (("u", "exclude_kernel"), ("k", "exclude_user")) if flag(call, name)]
    mode = (levels[0] if len(levels) == 1 else "") + "p" * flag(call, "precise_ip")
    return f"{name}:{mode}" if mode else name


def _how(call: Call) -> str:
    period, fields = field(call, "sample_period"), samples(call)
    if not period:
        return "records of tasks," if any(flag(call, name) for name in ("mmap", "comm", "task")) else "count"
    rate = f"sample, {period} a second" if flag(call, "freq") else "sample each" if period == 1 else \
        f"sample, period {period}"
    named = {"callchain": "chains", "branch_stack": "branches", "stack_user": "stacks", "raw": "raw data",
             "addr": "addresses", "regs_intr": "registers"}
    with_ = [words for name, words in named.items() if name in fields]
    return rate + (f", with {', '.join(with_)}" if with_ else "") + ("" if period == 1 else ",")


def what(call: Call) -> str:
    """The call in words."""
    more = "".join((", inherited" if flag(call, "inherit") else "", ", in a group" if call["group"] else ""))
    return f"{_how(call)} {event_name(call)} {OF_WHOM[call['target']]}{' on a CPU' if call['on_cpu'] else ''}{more}"


def less(first: Call, then: Call) -> str:
    """What the second of two calls leaves out."""
    if event_name(first).partition(":")[0] != event_name(then).partition(":")[0] and \
            first["attr"]["type"] != "tracepoint":
        return f"{event_name(then)} in its place"
    before, after = first["attr"]["flags"], then["attr"]["flags"]
    said = ["user mode alone"] if after.get("exclude_kernel", 0) > before.get("exclude_kernel", 0) else []
    if after.get("precise_ip", 0) < before.get("precise_ip", 0):
        said.append(f"precise_ip {after.get('precise_ip', 0)}")
    lacking = [name for name in (*before, *samples(first)) if name not in {"precise_ip", *after, *samples(then)}]
    return ", ".join(said + ([f"without {', '.join(lacking)}"] if lacking else [])) or "with another attr"


def beside(first: Call, then: Call) -> str:
    """What sets a call apart from one of the same words."""
    one, other = ({**call["attr"]["flags"], **call["attr"]["fields"], **dict.fromkeys(samples(call))}
                  for call in (first, then))
    more = [name for name in other if name not in one and name != "sample_type"]
    less = [name for name in one if name not in other and name != "sample_type"]
    changed = [name for name in other if name in one and one[name] != other[name] and name != "sample_type"]
    parts = (("with", more), ("without", less), ("another", changed))
    said = "; ".join(f"{word} {', '.join(names[:4])}" for word, names in parts if names)
    return f" ({said or 'made otherwise'})"
