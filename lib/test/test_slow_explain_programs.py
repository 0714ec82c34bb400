# SPDX-License-Identifier: MIT
"""Real programs, each as four personas: what explain says of a call is what strace saw and what the kernel's source says.

The programs are those of reports/data/recordings/record that are installed. A call is known by its type, config,
exclude_kernel, precise_ip and whether it watches a CPU. As kernel/events/core.c has it, without CAP_PERFMON a call that
watches a CPU needs perf_event_paranoid 0 or less (EACCES), one that watches the kernel 1 or less, as branches of more than
user mode do and on some kernels call chains with the kernel's part; a hardware event without a PMU is ENOENT, branches of a
software event EOPNOTSUPP. `pytest -m slow -s` prints the table.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Iterator, NamedTuple

import pytest
from surroundings import ERRNO, install_filter, refuse_perf
from test_advice_applied import OTHER_CALL

TREE = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("make"),
              pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("strace"), reason="needs root and strace")]
IDS = ["setpriv", "--reuid=64321", "--regid=64321", "--clear-groups"]
# What a filter refuses once its advice was followed: another call in the place of perf_event_open.
FREED = "freed"
PERSONAS = {"root": [], "perfmon": [*IDS, "--inh-caps=+perfmon", "--ambient-caps=+perfmon"], "user": IDS, "filter": []}
TYPES = ["hardware", "software", "tracepoint", "cache", "raw", "breakpoint"]
CALLCHAIN, BRANCH_STACK, BRANCH_USER, BRANCH_BEYOND = 0x20, 0x800, 1, 6       # of perf_event.h; beyond: kernel, hypervisor
# What coz profiles: it reads lines of DWARF 4 alone.
APP = "int main(void)\n{\n\tvolatile unsigned long number = 0;\n\n\twhile (number < 20000000)\n\t\tnumber++;\n\treturn 0;\n}\n"
OTHER_TRACERS = {"rr": "traces by itself, which strace ends"}


def programs() -> dict[str, list[str]]:
    """NAME: the words of its command, where a backslash keeps a blank."""
    text = (TREE / "reports/data/recordings/record").read_text(encoding="utf-8")
    rows = re.findall(r"^\t(\S+) \S+ (.*)$", text[:text.index("\tEOF")], re.M)
    return {name: [word.replace("\a", " ") for word in words.replace("\\ ", "\a").split()] for name, words in rows}


class Call(NamedTuple):
    type: str
    config: int         # 0 where it is a number of this machine
    kernel: bool        # watched
    precise: int
    cpu: bool           # watched, whatever runs on it
    chains: bool        # with the kernel's part
    branches: str       # "user" mode alone, or "more"


@pytest.fixture(scope="module", name="place")
def _place() -> Iterator[Path]:
    subprocess.run(["make", "-s", "--no-print-directory", "explain"], cwd=TREE, check=True, capture_output=True, timeout=300)
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        shutil.copy(TREE / "build" / platform.machine() / "explain", Path(name, "explain"))
        Path(name, "app.c").write_text(APP, encoding="utf-8")
        subprocess.run(["gcc", "-g", "-gdwarf-4", "-o", Path(name, "app"), Path(name, "app.c")], check=True, timeout=120)
        yield Path(name)


def run(place: Path, persona: str, before: list[str], words: list[str]) -> None:
    """Bounded; programs that trace system calls are told to by `before`."""
    scratch = Path(tempfile.mkdtemp(dir=place))
    scratch.chmod(0o777)
    shutil.copy(place / "app", scratch)
    limits = {"filter": lambda: refuse_perf(errno.EPERM),
              FREED: lambda: install_filter(ERRNO | errno.EPERM, OTHER_CALL[platform.machine()])}
    limit = limits.get(persona)
    subprocess.run(["timeout", "-k", "5", "100", *PERSONAS.get(persona, []), *before, *words], cwd=scratch, timeout=120, check=False,
                   stdin=subprocess.DEVNULL, capture_output=True, env={**os.environ, "HOME": str(scratch)}, preexec_fn=limit)


def number(text: str) -> int:
    """Of a cache event strace writes three, as in 0x1<<16|0<<8|0x3."""
    parts = [part.partition("<<") for part in text.split("|")]
    return sum(int(value, 0) << int(shift or "0") for value, _, shift in parts)


def sampled(sample_type: int, filters: int, excluded: set[str]) -> tuple[bool, str]:
    """Chains and branches. A filter of branches that names no mode has those of its event (perf_copy_attr)."""
    chains = bool(sample_type & CALLCHAIN) and "exclude_callchain_kernel" not in excluded
    beyond = filters & BRANCH_BEYOND or not (filters & (BRANCH_BEYOND | BRANCH_USER) or {"exclude_kernel", "exclude_hv"} <= excluded)
    return chains, ("more" if beyond else "user") if sample_type & BRANCH_STACK else ""


def traced(log: str) -> set[tuple[Call, str]]:
    """What strace saw; the call of a thread may be in two lines."""
    begun: dict[str, str] = {}
    seen = set()
    for line in log.splitlines():
        thread, _, rest = line.partition(" ")
        rest = rest.strip()
        if rest.endswith("<unfinished ...>"):
            begun[thread] = rest[:-len("<unfinished ...>")].rstrip()
            continue
        rest = re.sub(r"^<\.\.\. perf_event_open resumed>", lambda _: begun.pop(thread, ""), rest)
        found = re.match(r"perf_event_open\(\{(.*)\}, (\S+), \S+, \S+, \S+\)\s+= (\S+)(?: (E\w+))?", rest)
        if not found:
            continue
        attr = dict(re.findall(r"(\w+)=(-?[\w<|]+)", found[1]))
        kind = number(attr["type"])
        name = TYPES[kind] if kind < len(TYPES) else "pmu"
        config = 0 if name in ("tracepoint", "pmu", "raw") else number(attr.get("config", "0"))
        excluded = {key for key, value in attr.items() if key.startswith("exclude_") and value == "1"}
        more = sampled(number(attr.get("sample_type", "0")), number(attr.get("branch_sample_type", "0")), excluded)
        seen.add((Call(name, config, "exclude_kernel" not in excluded, number(attr.get("precise_ip", "0")),
                       number(found[2]) in (-1, 0xffffffff), *more), found[4] or ""))
    return seen


class Told(NamedTuple):
    ends: set[tuple[Call, str]]
    gates: dict[tuple[Call, str], dict[str, Any]]


def explained(place: Path, persona: str, words: list[str]) -> Told:
    told, made = place / "told", place / "made"
    for path in told, made:
        path.write_text("", encoding="utf-8")
        path.chmod(0o666)
    run(place, persona, [str(place / "explain"), "--quiet", "--json", str(told), "--record", str(made), "--"], words)
    return pair(*(json.loads(path.read_text(encoding="utf-8")) for path in (told, made)))


def pair(value: dict[str, Any], recording: dict[str, Any]) -> Told:
    """What was told of each call, and the call as it was recorded."""
    ends, gates = set(), {}
    for shape, call in zip(value["asked"], recording["calls"], strict=True):
        attr = call["attr"]
        name = attr["type"] if attr["type"] in TYPES else "pmu"
        config = 0 if name in ("tracepoint", "pmu", "raw") else int(attr["config"], 16)
        more = sampled(*(int(str(attr["fields"].get(field, "0")), 16) for field in ("sample_type", "branch_sample_type")), {*attr["flags"]})
        key = Call(name, config, "exclude_kernel" not in attr["flags"], attr["flags"].get("precise_ip", 0),
                   call["target"] == "cpu", *more)
        for error in [*call["errors"], *([""] if call["opened"] else [])]:
            ends.add((key, error))
            if error and shape["gate"]:
                gates[key, error] = value["gates"][shape["gate"] - 1]
    return Told(ends, gates)


def level() -> int:
    return int(Path("/proc/sys/kernel/perf_event_paranoid").read_text(encoding="utf-8"))


def has_core_pmu() -> bool:
    folder = Path("/sys/bus/event_source/devices")
    return any((folder / name).exists() for name in ("cpu", "cpu_core")) or any(folder.glob("armv8*"))


CGROUP_SWITCHES = 11  # of software events


def due(persona: str, call: Call, error: str, paranoid: int, core: bool) -> str:
    """A part of the gate's words, by the source of the kernel; empty where that has several reasons."""
    if persona == "filter" and error == "EPERM":
        return "filter"
    if persona == "user" and error == "EACCES" and (call.cpu and paranoid > 0 or call.kernel and paranoid > 1):
        return f"kernel.perf_event_paranoid={paranoid}, {0 if call.cpu else 1} or less is needed"
    if persona == "user" and error == "EACCES" and paranoid > 1 and call.branches == "more":
        return f"kernel.perf_event_paranoid={paranoid}, 1 or less is needed"
    if persona == "user" and error == "EACCES" and paranoid > 1 and call.chains:
        return "call chains have the kernel's part"
    if error == "EOPNOTSUPP" and call.type == "software" and call.branches:
        return "PERF_SAMPLE_BRANCH_STACK"
    if error == "ENOENT" and call.type in ("hardware", "cache", "raw") and not core:
        return "no CPU PMU"
    if error == "ENOENT" and call.type == "software" and call.config == CGROUP_SWITCHES:  # since v5.13
        return "no such event on this machine"
    return ""


@pytest.mark.parametrize("name", [*programs()])
def test_what_is_said_of_a_program(place: Path, name: str) -> None:
    words = programs()[name]
    if not shutil.which(next(word for word in words if word not in ("timeout", "3", "4"))):
        pytest.skip("is not installed")
    if name in OTHER_TRACERS:
        pytest.skip(OTHER_TRACERS[name])
    told = {}
    for persona in PERSONAS:
        log = place / "log"
        log.write_text("", encoding="utf-8")
        log.chmod(0o666)
        run(place, persona, ["strace", "-f", "-v", "-X", "raw", "-e", "trace=perf_event_open", "-o", str(log)], words)
        seen = traced(log.read_text(encoding="utf-8", errors="replace"))
        told[persona] = explained(place, persona, words)
        ends, gates = told[persona]
        dues = {key: due(persona, *key, level(), has_core_pmu()) for key in gates}
        wrong = {key: (words, gates[key]["gate"]) for key, words in dues.items() if words not in gates[key]["gate"]}
        print(f"\n{name:22} {persona:8} strace {len(seen):3} explain {len(ends):3} the same {len(seen & ends):3} refused "
              f"{len([1 for _, error in ends if error]):3} by the source {len([1 for word in dues.values() if word]):3} "
              f"otherwise {len(wrong)}", end="")
        assert ends == seen, f"{persona}: strace alone {seen - ends}, explain alone {ends - seen}"
        assert not wrong and all(key in gates for key in ends if key[1]), (persona, wrong)
    advice_helps(name, told["user"], told["perfmon"])
    filter_opens(name, told["filter"], told["root"], explained(place, FREED, words))


def filter_opens(name: str, refused: Told, root: Told, freed: Told) -> None:
    """A filter's advice is to let the call pass: then it all goes as without a filter, or that was said to be in vain."""
    filtered = [gate for (_, error), gate in refused.gates.items() if error == "EPERM"]
    print(f"\n{name:22} advice   filter {len(filtered):3} kinds there without it {len(root.ends):3} the same with its advice "
          f"{len(root.ends & freed.ends):3}", end="")
    assert all("perf_event_open" in gate["change"] for gate in filtered)
    assert freed.ends == root.ends
    for (call, _), gate in refused.gates.items():
        if gate["name"] == "filtered" and gate["in_vain"]:
            assert (call, "") not in freed.ends, (call, gate)


def advice_helps(name: str, user: Told, perfmon: Told) -> None:
    """setcap cap_perfmon is what a level advises: calls that both make open with it, or it was said to be in vain."""
    both = {(call, error): gate for (call, error), gate in user.gates.items()
            if (gate["name"] == "level" or "cap_perfmon" in gate["change"]) and any(call == other for other, _ in perfmon.ends)}
    opened = {key for key in both if (key[0], "") in perfmon.ends}
    print(f"\n{name:22} advice   level {len(both):3} open with it {len(opened):3} said to be in vain "
          f"{len([1 for gate in both.values() if gate['in_vain']]):3}", end="")
    for key, gate in both.items():
        assert (key in opened) != gate["in_vain"], (key, gate)
