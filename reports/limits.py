# SPDX-License-Identifier: MIT
"""What a program needs of policy and limits, in words that are no points: held against what a result tells of
the machine and of the persona that was asked.

    level<=1                    kernel.perf_event_paranoid
    kptr<=0                     kernel.kptr_restrict
    rate>=4000                  kernel.perf_event_max_sample_rate, samples a second
    descriptors>=256            RLIMIT_NOFILE, of the persona
    uid=0                       the user id, of the persona
    capability=PERFMON|SYS_ADMIN    one of these is held
    ring=512KiB                 a ring with that data area on each online CPU
    ring=8KiB*64                64 such rings in all

A ring is locked memory: that and a page a ring may be what perf_event_mlock_kb allows for all CPUs and
RLIMIT_MEMLOCK on top of it, where neither CAP_IPC_LOCK nor perf_event_paranoid=-1 lifts the limit. Memory that
other processes of the user have locked is not known to a result. A limit that is in the way is `blocked`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping

from reports import plain
from reports.plain import Said

LEVELS = {"level": ("paranoid", "perf_event_paranoid"), "kptr": ("kptr_restrict", "kptr_restrict"),
          "rate": ("max_sample_rate", "perf_event_max_sample_rate"), "descriptors": ("rlimit_nofile", "RLIMIT_NOFILE"),
          "uid": ("uid", "the user id")}
CAPABILITIES = {"IPC_LOCK": 14, "SYS_PTRACE": 19, "SYS_ADMIN": 21, "SYS_RESOURCE": 24, "SYSLOG": 34,
                "PERFMON": 38, "BPF": 39}     # linux/capability.h
COMPARE = {"=": operator.eq, "<=": operator.le, ">=": operator.ge}
AS_WORDS = {"=": "{}", "<=": "{} or less", ">=": "{} or more"}

_NAMES = "|".join(CAPABILITIES)
_WORD = re.compile(rf"(?:{'|'.join(LEVELS)})(?:=|<=|>=)-?[0-9]{{1,9}}|capability=(?:{_NAMES})(?:\|(?:{_NAMES}))*"
                   r"|ring=[0-9]{1,6}[KM]iB(?:\*[0-9]{1,6})?")
_COMPARED = re.compile(r"(.+?)(<=|>=|=)(.*)", re.DOTALL)

Limits = Mapping[str, str]      # of the environment and of the persona; page_size


def is_word(wanted: str) -> bool:
    """Whether that is one of the words above, and no key."""
    return bool(_WORD.fullmatch(wanted))


def split(wanted: str) -> tuple[str, str, str]:
    """A key, how it is compared and with what; the last two are empty where it stands alone."""
    match = _COMPARED.fullmatch(wanted)
    return (match[1], match[2], match[3]) if match else (wanted, "", "")


def _number(limits: Limits, key: str) -> int | None:
    said = limits.get(key, "")
    if said == "unlimited":
        return 1 << 62
    return int(said) if re.fullmatch(r"-?[0-9]{1,19}", said) else None


def _untold(name: str) -> Said:
    return Said(plain.UNKNOWN, f"nobody told {name}")


def _held(limits: Limits, name: str) -> bool | None:
    caps = limits.get("caps", "")
    return bool(int(caps, 16) >> CAPABILITIES[name] & 1) if re.fullmatch(r"[0-9a-f]{1,32}", caps) else None


def _capability(limits: Limits, names: list[str]) -> Said:
    held = [_held(limits, name) for name in names]
    if None in held:
        return _untold("which capabilities were held")
    lacking = " or ".join(f"CAP_{name}" for name in names)
    return Said(plain.YES) if any(held) else Said(plain.BLOCKED, f"{lacking} is not held")


def _bytes(size: str) -> int:
    return int(size[:-3]) << (10 if size.endswith("KiB") else 20)


def _ring(limits: Limits, size: str, count: str) -> Said:
    """Whether rings fit into the memory that may be locked."""
    cpus, page = _number(limits, "cpus_online"), _number(limits, "page_size")
    per_cpu, more = _number(limits, "mlock_kb"), _number(limits, "rlimit_memlock")
    number = int(count) if count else cpus
    if limits.get("paranoid") == "-1" or _held(limits, "IPC_LOCK"):
        return Said(plain.YES)
    if None in (cpus, page, per_cpu, more, number):
        return _untold("how much memory may be locked")
    assert cpus is not None and page and per_cpu is not None and more is not None and number is not None
    pages = 1
    while pages * page < _bytes(size):
        pages *= 2
    needed, allowed = number * (pages + 1) * page, per_cpu * 1024 * cpus + more
    if needed <= allowed:
        return Said(plain.YES)
    return Said(plain.BLOCKED, f"locks {needed >> 10} KiB, and {allowed >> 10} KiB may be locked "
                f"(perf_event_mlock_kb={per_cpu} for each of {cpus} CPUs, RLIMIT_MEMLOCK {more >> 10} KiB)")


def said(wanted: str, limits: Limits) -> Said:
    """What is said of a word."""
    word, how, want = split(wanted)
    if word == "capability":
        return _capability(limits, want.split("|"))
    if word == "ring":
        size, _, count = want.partition("*")
        return _ring(limits, size, count)
    key, name = LEVELS[word]
    have = _number(limits, key)
    if have is None:
        return _untold(name)
    if COMPARE[how](have, int(want)):
        return Said(plain.YES)
    return Said(plain.BLOCKED, f"{name} is {have}, {AS_WORDS[how].format(want)} is needed")
