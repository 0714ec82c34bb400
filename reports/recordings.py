# SPDX-License-Identifier: MIT
"""A recording of explain, as requirements: each call that a program made, as the points that tell of it.

A call needs its event, its target, and each bit that is set in its attr. Which point tells of which, and why
that one, stands in the rules below, a function for each part of a call. A key may be qualified:

    KEY?WHY     KEY is needed, and where it is yes the answer is still not known: WHY
    ?WHY        no point tells of it: not known
    !KEY        where KEY is yes, the kernel refuses the call
    @ARCH?WHY   not known on an architecture other than that
    KEY|OTHER   one of them is enough

So what no point covers is never a yes. A call that was refused and then made again with less (user mode alone,
another precise_ip, cpu-clock in place of cycles) is one need: what was asked first, and instead of it the rest.
Counters of a program that samples, with neither ring nor request, are optional: perf so asks what a kernel knows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from reports import limits, plain, recorded, schema, text
from reports.plain import Said
from reports.recorded import Call
from reports.requirements import Finding, Need, Requirements, StandIn, Way
from reports.text import Unusable

WORKS, PARTLY, REFUSED, UNTOLD = "works", "works partly", "is refused", "is not known to work"
NOT_THERE = "wants what is not there"
EVENT = "event"         # the name of needs that are calls; the others are rings and requests

# Requests of ioctl(2) and the points that show what they do.
REQUESTS = {"ENABLE": "ioctl.switch.enable", "DISABLE": "ioctl.switch.disable", "RESET": "ioctl.switch.reset",
            "REFRESH": "inherit.refresh.refresh", "PERIOD": "ioctl.period.at_once", "ID": "attr.ioctl_numbers.id",
            "SET_OUTPUT": "output.content.samples_carry_source_id", "SET_FILTER": "tracepoint.filter.equal",
            "SET_BPF": "bpf.tracepoint.runs", "PAUSE_OUTPUT": "ring.pause.pause_stops_output",
            "QUERY_BPF": "bpf.query.lists", "MODIFY_ATTRIBUTES": "breakpoint.modify.address"}
TARGETS = {"self": ("attach.self.any_cpu",), "thread": ("attach.thread.thread_id_is_that_thread",),
           "child": ("attach.other_task.child",), "cpu": ("attach.cpu_wide.sees_other_tasks",),
           "cgroup": ("attach.cgroup.counts",), "other": ("attach.other_user.same_user",)}
# Flags that a kernel may know and yet refuse beside what the call has; the others are asked one by one.
AUX = ("aux_output", "aux_watermark", "aux_sample_size", "aux_action")


# ----------------------------------------------------------------------------------- rules: the event

def _cache(config: int) -> str:
    parts = (config & 0xff, config >> 8 & 0xff, config >> 16)
    lists = (recorded.CACHES, recorded.OPERATIONS, recorded.RESULTS)
    if any(part >= len(names) for part, names in zip(parts, lists)):
        return ""
    return ".".join(names[part] for part, names in zip(parts, lists))


def _generic(call: Call, kind: str, names: tuple[str, ...], unknown: str) -> Way:
    """An event of a list; one beyond it is refused where the kernel refuses unknown ids."""
    number = recorded.config(call)
    return (f"{kind}.{names[number]}",) if number < len(names) else (f"!{unknown}",)


def _tracepoint(call: Call) -> Way:
    """Its id is read in tracefs. Of calls of the system and of the scheduler some point asks; of others none.
    The payload is refused to people without privileges, except for system calls of their own tasks."""
    name = str(call["attr"].get("tracepoint", "unknown"))
    system = name.partition(":")[0]
    own = call["target"] not in ("cpu", "cgroup")
    keys = ["tracepoint.ids.readable"]
    if system not in ("syscalls", "raw_syscalls", "sched"):
        keys.append(f"tracepoint.ids.readable?no point tells whether a kernel has {name}")
    if "raw" in recorded.samples(call) and not (own and system in ("syscalls", "raw_syscalls")):
        keys.append("sample.raw.tracepoint")
    return tuple(keys)


def _breakpoint(call: Call) -> Way:
    kind, length = recorded.ACCESS.get(recorded.field(call, "bp_type"), ""), recorded.field(call, "config2")
    if not kind:
        return ("!breakpoint.types.unknown_bit",)
    if call["attr"]["fields"].get("config1") == "unaligned":
        return ("?whether a breakpoint may be unaligned is up to the processor",)
    return (f"breakpoint.access.{kind}.counts",) + ((f"breakpoint.length.w.{length}",)
                                                    if kind == "w" and 1 <= length <= 8 else ())


def _of_pmu(call: Call, model: str) -> Way:
    """A PMU by name. Configs are numbers of its hardware: no point tells of them elsewhere."""
    name = str(call["attr"]["type"])
    told = f"what config {call['attr'].get('config')} of {name} means is up to the hardware ({model})"
    if name == "uprobe" and "config1" not in call["attr"]["fields"]:
        return ("pmu.uprobe.counts", "!pmu.uprobe_refused.no_pointer")
    if name in ("uprobe", "kprobe"):
        return (f"pmu.{name}.counts",)
    if name == "msr" and any(flag.startswith("exclude_") for flag in call["attr"]["flags"]):
        return ("pmu.msr.tsc_counts", "!pmu.msr.no_exclude")
    if name == "msr":
        return ("pmu.msr.tsc_counts",) if recorded.config(call) == 0 else (f"pmu.msr.tsc_counts?{told}",)
    if re.fullmatch(r"cpu(_core|_atom)?|armv[78]_.+|apple_.+", name):
        return (f"hw.raw.named?{told}",)
    if name == "power":
        return (f"pmu.energy.goes_on?{told}",)
    if re.fullmatch(r"intel_(pt|bts)|cs_etm|arm_spe_[0-9]+", name):
        return (f"aux.records.area_is_filled?whether the trace unit is {name}",)
    return (f"?no point tells of the PMU {name}",)


def _event(call: Call, model: str) -> Way:
    kind = str(call["attr"]["type"])
    if kind == "software":
        return _generic(call, "sw.events.opens", recorded.SOFTWARE, "sw.events.unknown_id")
    if kind == "hardware":
        return _generic(call, "hw.events", recorded.HARDWARE, "hw.unknown_ids.event")
    if kind == "cache":
        cell = _cache(recorded.config(call))
        return (f"hw.cache.{cell}",) if cell else ("!hw.unknown_ids.cache",)
    if kind == "raw":
        return (f"hw.raw.raw_type?what {call['attr'].get('config')} counts is up to the CPU ({model})",)
    if kind == "tracepoint":
        return _tracepoint(call)
    return _breakpoint(call) if kind == "breakpoint" else _of_pmu(call, model)


def _is_hardware(call: Call) -> bool:
    return call["attr"]["type"] not in ("software", "tracepoint", "breakpoint", "uprobe", "kprobe", "msr")


# -------------------------------------------------------------------- rules: whom, how, and with what

def _whom(call: Call) -> Iterator[str]:
    """A task, or a CPU. Whose task another one is, and whether it is dumpable, a recording does not tell."""
    yield from TARGETS[call["target"]]
    if call["target"] == "other":
        yield "attach.other_task.privilege_suffices?whose process it was is not recorded"
    if call["on_cpu"] and call["target"] == "self":
        yield "attach.self.one_cpu"
    if call["on_cpu"] and call["target"] == "cpu" and _is_hardware(call):
        yield "hw.each_cpu.counts"
    if not recorded.flag(call, "exclude_kernel"):
        yield "sw.switches.own_thread"      # counts the kernel, by who asks and at that level
    if call["group"]:
        yield "group.layout.order"
        if _is_hardware(call):
            yield "group.mix_hardware.hardware_leader?whether the PMU has counters for the whole group"
    if call["narrow"]:
        yield "?it is a 32-bit program, and the points were asked by programs of the kernel's own size"


def _kind(call: Call) -> str:
    """The column of sample.acceptance that is like it: of software events, clocks are a PMU of their own."""
    kind = str(call["attr"]["type"])
    if kind == "software":
        return "cpu_clock" if recorded.config(call) < 2 else "dummy"
    return kind if kind in ("tracepoint", "breakpoint") else "hardware" if _is_hardware(call) else ""


def _sampling(call: Call) -> Iterator[str]:
    names, fields = recorded.bits("attr.sample_type_bits"), recorded.samples(call)
    sampled, kind = recorded.field(call, "sample_period") > 0, _kind(call)
    if any(bit not in names for bit in recorded.set_bits(recorded.field(call, "sample_type"))):
        yield "!attr.unknown_bits.sample_type"
    for field in fields:
        # what is asked beside a count is only checked; a sample has to be filled by the event's PMU
        accepted = kind and (sampled or field == "branch_stack")
        yield f"sample.acceptance.{field}.{kind}" if accepted and field != "aux" else f"attr.sample_type_bits.{field}"
    if sampled and recorded.flag(call, "freq"):
        rate = f"rate>={recorded.field(call, 'sample_period')}"
        yield rate if limits.is_word(rate) else "?no kernel takes so many samples a second"
    if sampled and _is_hardware(call):
        yield "hw.overflow.cycles.samples"
    if "callchain" in fields and not recorded.flag(call, "exclude_callchain_kernel"):
        # the kernel's part is, since some releases, not for everybody, whether or not the event counts the kernel
        yield "sw.switches.own_thread|perm.privileged_fields.unprivileged_callchain=opens"
    if "read" in fields and recorded.flag(call, "inherit"):
        yield f"inherit.sample_read.{'with' if 'tid' in fields else 'without'}_tid"
    if {"weight", "weight_struct"} <= {*fields}:
        yield "!attr.exclusions.weight_excludes_weight_struct"
    for field, point in (("regs_user", "sample.registers.user"), ("regs_intr", "sample.registers.interrupted")):
        if field in fields:
            yield point
            yield f"@{call['arch']}?its registers are those of another architecture"
    if recorded.field(call, "sample_max_stack") > recorded.MAX_STACK:
        yield f"?chains of {recorded.field(call, 'sample_max_stack')} entries need a higher kernel.perf_event_max_stack"


def _branches(call: Call) -> Iterator[str]:
    names = recorded.bits("attr.branch_bits")
    filters = recorded.field(call, "branch_sample_type") if "branch_stack" in recorded.samples(call) else 0
    for bit in recorded.set_bits(filters):
        yield f"attr.branch_bits.{names[bit]}" if bit in names else "!attr.unknown_bits.branch_filter"
    # of which level, if none is named: of those that the event does not exclude; hv, too, is not everybody's
    levels = filters & 7 or (not recorded.flag(call, "exclude_kernel")) << 1 | (not recorded.flag(call, "exclude_hv")) << 2
    if filters and levels & 6:
        yield "sw.switches.own_thread"      # counts the kernel, as in _whom


def _format(call: Call) -> Iterator[str]:
    value = recorded.field(call, "read_format")
    if value >> len(recorded.FORMATS):
        yield "!attr.unknown_bits.read_format"
    elif value:
        every = value == (1 << len(recorded.FORMATS)) - 1
        name = "all" if every else "_".join(recorded.FORMATS[bit] for bit in recorded.set_bits(value))
        yield f"attr.read_format_bits.{name}"
    if value & recorded.GROUP_FORMAT and recorded.flag(call, "inherit"):
        yield "group.inherit_read.alive"


def _flags(call: Call) -> Iterator[str]:
    known = recorded.bits("attr.flag_bits").values()
    for name, value in call["attr"]["flags"].items():
        if name == "precise_ip":
            kind = "core" if _is_hardware(call) else "software"
            yield f"attr.precise_ip.{kind}_{value}"
        elif name not in AUX:
            yield f"attr.flag_bits.{name}" if name in known else f"?no point tells of the flag {name}"
    if recorded.flag(call, "use_clockid"):
        clock = recorded.CLOCKS.get(recorded.field(call, "clockid"))
        yield f"clock.clockid.{clock}.stamps" if clock else "?no point tells of that clock"
    if recorded.flag(call, "remove_on_exec") and recorded.flag(call, "enable_on_exec"):
        yield "!attr.exclusions.remove_excludes_enable_on_exec"
    if recorded.flag(call, "sigtrap") and not recorded.flag(call, "remove_on_exec"):
        yield "!attr.exclusions.sigtrap_demands_remove_on_exec"
    if any(name in call["attr"]["flags"] or name in call["attr"]["fields"] for name in AUX):
        yield "aux.sample.samples_hold_trace?what is asked of its AUX area depends on the PMU"
    if "reserved_flags" in call["attr"]:
        yield "!attr.reserved_flags.all"


def _size(call: Call) -> Iterator[str]:
    """The version of the attr whose fields are set: what lies behind may be as long as it is 0."""
    size = call["attr"]["size"]
    if 0 < size < 64:
        yield "!attr.size.small_is_refused"
    if "beyond" in call["attr"]:
        yield "!attr.size_beyond.set_tail_is_refused"
    for name, fields in recorded.versions():
        if {*fields} & {*call["attr"]["fields"]}:
            yield f"attr.size_versions.{name}"
            return
    if size == 0:
        yield "attr.size.zero_is_first_version"


def _open_flags(call: Call) -> Iterator[str]:
    for bit in recorded.set_bits(call["open_flags"]):
        if bit < len(recorded.OPEN_FLAGS):
            yield f"attr.open_flags.{recorded.OPEN_FLAGS[bit]}"
        else:
            yield f"!attr.unknown_bits.open_flags_{'low' if bit < 32 else 'high'}"


RULES: tuple[Callable[[Call], Iterator[str]], ...] = (_whom, _sampling, _branches, _format, _flags, _size, _open_flags)


def keys_of(call: Call, model: str) -> Way:
    """All that a call needs."""
    return tuple(dict.fromkeys([*_event(call, model), *(key for rule in RULES for key in rule(call))]))


def _same_wish(first: Call, then: Call) -> bool:
    """Whether the second call is another try of the first, which was refused."""
    if any(first[key] != then[key] for key in ("target", "on_cpu", "group")) or first["opened"] or first["unseen"]:
        return False
    one, other = first["attr"], then["attr"]
    if recorded.field(first, "sample_period") != recorded.field(then, "sample_period"):
        return False
    if all(one.get(key) == other.get(key) for key in ("type", "config", "tracepoint")):
        return True
    # cycles cannot be had: cpu-clock, as perf record does
    return (one["type"], other["type"]) == ("hardware", "software") and not recorded.config(first) | recorded.config(then)


# -------------------------------------------------------------------------------------- requirements

def _is_probe(call: Call) -> bool:
    """Whether it may be there to find out what a kernel knows: a counter beside samples, which nobody uses."""
    return not (recorded.field(call, "sample_period") or call["rings"] or call["requests"])


def _tries(calls: list[Call]) -> list[list[Call]]:
    """Calls in order; those that are tries of one wish are together."""
    found: list[list[Call]] = []
    for call in calls:
        open_ = next((tries for tries in found if _same_wish(tries[-1], call)), None)
        if open_ is None:
            found.append([call])
        else:
            open_.append(call)
    return found


def _rings(calls: list[Call], page: int) -> Iterator[Need]:
    """Rings of one size; where each CPU has one, on as many CPUs as there are."""
    sizes: dict[int, list[Call]] = {}
    for call in calls:
        if call["rings"] and call["pages"] > 1:
            sizes.setdefault(call["pages"], []).append(call)
    for pages, those in sizes.items():
        number = sum(call["rings"] for call in those)
        each = all(call["on_cpu"] and call["rings"] == call["cpus"] for call in those) and len(those) == 1
        size = max((pages - 1) * page >> 10, 1)
        word = f"ring={size}KiB" if each else f"ring={size}KiB*{number}"
        yield Need(f"{'a ring for each CPU' if each else text.count(number, 'ring')} of {size} KiB",
                   (("ring.size.powers_of_two", word if limits.is_word(word) else "?more than anybody asked"),))


def _requests(calls: list[Call]) -> Iterator[Need]:
    for name in dict.fromkeys(name for call in calls for name in call["requests"]):
        of = "bpf.overflow.runs" if name == "SET_BPF" and not any(
            call["attr"]["type"] == "tracepoint" for call in calls if name in call["requests"]) else REQUESTS.get(name)
        yield Need(f"ioctl {name}", ((of or f"?no point tells of {text.clean(name, 40)}",),))


def wanted(value: dict[str, Any], name: str) -> Requirements:
    """A recording as requirements."""
    machine = value["machine"]
    model, arch = text.clean(machine.get("cpu_model", "an unknown CPU"), 60), machine.get("arch", "x86_64")
    calls = [{**call, "arch": arch} for call in value["calls"]]
    needs: list[Need] = []
    told: dict[str, Call] = {}
    samples = any(recorded.field(call, "sample_period") for call in calls)
    for first, *more in _tries(calls):
        instead = tuple(StandIn(recorded.less(first, call), (keys_of(call, model),)) for call in more)
        like = told.setdefault(recorded.what(first), first)
        apart = "" if like is first else recorded.beside(like, first)
        needs.append(Need(recorded.what(first) + apart, (keys_of(first, model),), optional=samples and all(map(_is_probe, (first, *more))),
                          instead=instead, name=EVENT))
    needs += [*_rings(calls, machine.get("page_size", 4096)), *_requests(calls)]
    return Requirements(name, "user", tuple(needs), beware=_beware(value), recorded=True)


def _beware(value: dict[str, Any]) -> str:
    said = []
    if not value["calls"]:
        said.append("it asked nothing where it was recorded: a program that gives up before its first call does the same")
    if any(call["opened"] + call.get("pretended", 0) < call["calls"] for call in value["calls"]):
        said.append("some calls were refused where it was recorded: a program that gives up asks less than it would")
    if value["beyond"]:
        said.append(f"{value['beyond']} calls of further kinds are not in the recording")
    return "; ".join(said)


def is_one(path: Path) -> bool:
    """Whether a file is a recording, or JSON that is nothing; results and profiles are JSON, too."""
    try:
        if text.read_bounded(path, 64, follow=True)[0].lstrip()[:1] != b"{":
            return False
    except (OSError, Unusable):
        return False
    try:
        return schema.kind_of(text.load_json(path)) == "recording"
    except Unusable:
        return True


def read(path: Path) -> Requirements:
    """The requirements of a recording. Raises Unusable."""
    value = text.load_json(path)
    if schema.kind_of(value) != "recording":
        raise Unusable(f"{path.name}: no recording of ./run.sh explain --record")
    return wanted(schema.require("recording", value, path.name), path.stem)


def got_on(path: Path) -> bool:
    """Whether any event opened that it was about: else it gave up, and asked less than it would. Raises Unusable."""
    calls = schema.require("recording", text.load_json(path), path.name)["calls"]
    samples = any(recorded.field(call, "sample_period") for call in calls)
    return any(call["opened"] and not (samples and _is_probe(call)) for call in calls)


# ------------------------------------------------------------------------------------------- answers

def asker(ask: Callable[[str], Said], arch: str) -> Callable[[str], Said]:
    """Answers qualified keys by what is said of plain ones."""
    def said(key: str) -> Said:
        if "|" in key:
            return plain.best([said(each) for each in key.split("|")])
        point, mark, why = key.partition("?")
        if point.startswith("!"):
            found = ask(point[1:])
            return Said(plain.NO, f"the kernel refuses it ({point[1:]})") if found.word == plain.YES else \
                Said(plain.UNKNOWN, f"this kernel does not refuse it as others do ({point[1:]})")
        if point.startswith("@"):
            return Said(plain.YES) if point[1:] == arch else Said(plain.UNKNOWN, why)
        found = ask(point) if point else Said(plain.YES)
        return Said(plain.UNKNOWN, why) if mark and found.word == plain.YES else found
    return said


def required(found: Sequence[Finding]) -> list[Finding]:
    """What is said of the events that it is about; of all that it asked where it is about none."""
    events = [each for each in found if each.need.name == EVENT]
    return [each for each in events if not each.need.optional] or events or [*found]


def is_there(found: Finding) -> bool:
    """Whether what it tries last is refused, rather than not there."""
    return not (found.stand_ins[-1] if found.stand_ins else found.answer).absent


def works(found: Sequence[Finding]) -> str:
    """What becomes of the whole program. It works partly where some of its events do, or a later try of one."""
    words = [each.word for each in required(found)]
    if all(each.word == plain.YES for each in found if not each.need.optional):
        return WORKS
    if any(word in (plain.YES, plain.INSTEAD) for word in words):
        return PARTLY
    unknown = all(each.word == plain.UNKNOWN and not each.answer.absent for each in required(found))
    if unknown:
        return UNTOLD
    return REFUSED if any(map(is_there, required(found))) else NOT_THERE
