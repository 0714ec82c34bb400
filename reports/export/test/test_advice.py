# SPDX-License-Identifier: MIT
"""What `doctor --as` says to change is what the same kernel answered others with, held against the answers that ship."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports import advice, asked, plain, requirements, verbs
from reports.test.conftest import TREE

# lint: allow second-list: a test says what it expects
SETTING = "sysctl -w kernel.perf_event_paranoid={}"
CAPABILITY = "setcap cap_perfmon=ep PROGRAM"


@pytest.fixture(autouse=True)
def _tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TREE)


def source(row: str) -> asked.Source:
    found, = asked.named(Path(row)).sources
    return found


# kernel/events/core.c: CAP_PERFMON goes before the level, but not before Debian's 3, and a uprobe takes CAP_SYS_ADMIN.
@pytest.mark.parametrize(("row", "key", "level", "said", "never"), [
    ("amd64-6.1", "sample.callchain.kernel_first", "2", [CAPABILITY, SETTING.format(1)], ["as root: run", SETTING.format(2)]),
    ("amd64-6.1", "attach.cpu_wide.sees_other_tasks", "2", [CAPABILITY, SETTING.format(0)], [SETTING.format(1)]),
    ("amd64-6.1", "attach.cpu_wide.sees_other_tasks", "1", [CAPABILITY, SETTING.format(0)], []),
    ("amd64-6.1", "sample.callchain.kernel_first", "3", [SETTING.format(2), "from 2 on setcap"], ["for one program", SETTING.format(1)]),
    ("amd64-6.1", "ring.size.powers_of_two", "3", [SETTING.format(2)], ["setcap"]),
    ("amd64-6.1", "ring.size.powers_of_two", "4", [SETTING.format(2)], ["setcap"]),
    ("amd64-6.1", "pmu.uprobe.counts", "2", ["run the program as root"], ["setcap", "sysctl"]),
    ("amd64-6.1", "pmu.uprobe.counts", "-1", ["run the program as root"], ["setcap", "sysctl"]),
    ("i386-6.1", "attach.cpu_wide.sees_other_tasks", "2", [CAPABILITY, SETTING.format(0)], []),
    ("i386-6.1", "pmu.uprobe.counts", "2", ["run the program as root"], ["setcap", "sysctl"]),
    ("amd64-6.1", "hw.values.instructions_grow", "2", [], ["setcap", "sysctl", "root"])])
def test_what_helps_a_user(row: str, key: str, level: str, said: list[str], never: list[str]) -> None:
    here = source(row)
    helps = advice.of_key(here, key, "user", level, here.said(key, "user", level).why)
    assert all(each in helps for each in said) and not any(each in helps for each in never), helps
    assert advice.of_key(here, key, "root", level) == ""


def test_a_capability_that_is_held_is_not_advised() -> None:
    """As perfmon at 3: the level comes first."""
    helps = advice.of_key(source("amd64-6.1"), "attach.cpu_wide.sees_other_tasks", "perfmon", "3")
    assert SETTING.format(2) in helps and "setcap" not in helps


def test_points_of_a_reason_that_take_something_else() -> None:
    change = advice.of_reason(source("amd64-6.1"), "user", "3")
    said = plain.Said(plain.BLOCKED, "EACCES: perf_event_paranoid=3 refuses any event of an unprivileged task; needs <= 2 or CAP_SYS_ADMIN")
    first, second = change(said, ["ring.size.powers_of_two", "sample.callchain.kernel_first", "pmu.uprobe.counts"])
    assert first.startswith("for all users") and first.endswith("gives one program the rest")
    assert second == "but pmu.uprobe.counts: run the program as root"
    assert change(plain.Said(plain.UNKNOWN, "nobody asked"), ["ring.size.powers_of_two"]) == []
    assert change(plain.Said(plain.UNKNOWN, "was not there: the user page says to use read(2)", True), ["rdpmc.value.grows"]) == []


@pytest.mark.parametrize(("reason", "said"), [
    ("BPF_MAP_CREATE: EPERM, needs CAP_BPF or CAP_SYS_ADMIN", "setcap cap_bpf,cap_perfmon=ep PROGRAM"),
    ("tracefs is mounted but not readable (root, or its gid= option)", "mount -o remount,gid=GROUP,mode=750 /sys/kernel/tracing"),
    ("locks 2056 KiB, and 1096 KiB may be locked (perf_event_mlock_kb=516 for each of 2 CPUs, RLIMIT_MEMLOCK 64 KiB)", "ulimit -l 2056,"),
    ("perf_event_max_sample_rate is 20, 1000 or more is needed", "ask for 20 samples a second, or fewer; for all users of "),
    ("perf_event_max_sample_rate is 20, 1000 or more is needed", "sysctl -w kernel.perf_event_max_sample_rate=1000, and the line "),
    ("CAP_SYSLOG is not held", "setcap cap_syslog=ep PROGRAM")])
def test_what_no_answer_tells_is_said_by_the_gate(reason: str, said: str) -> None:
    words, = advice.of_reason(source("amd64-6.1"), "user", "2")(plain.Said(plain.BLOCKED, reason), ["ring.size.powers_of_two"])
    assert said in words


@pytest.mark.parametrize(("rate", "answer", "used"), [("20", "blocked", "fewer samples a second"), ("1000", "yes", "")])
def test_a_rate_that_the_kernel_lowered(rate: str, answer: str, used: str) -> None:
    """As the doctor says where it is in force (lib/test/test_gates_in_guests.py)."""
    asked_ = source("amd64-6.1")
    view = asked_.views["root", "2"]
    view.limits = {**view.limits, "max_sample_rate": rate}
    found = requirements.check(requirements.read(TREE / "lib/doctor/wishes.toml"), lambda key: asked_.said(key, "root", "2"))
    assert (found[0].answer.word, found[0].used) == (answer, used)


def test_it_is_printed_once_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert verbs.main(["check", "--for", "lib/doctor/wishes.toml", "--as", "debian-12", "rings", "kernel-chains"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told.count("change ") == 1 and SETTING.format(2) in told and "sample my threads" not in told


def test_a_wish_that_nobody_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert verbs.main(["check", "--for", "lib/doctor/wishes.toml", "debian-12", "own-tme"]) == 2
    assert "no wish 'own-tme'; did you mean own-time?" in capsys.readouterr().err


def test_a_wish_of_another_machine_is_no_yes(capsys: pytest.CaptureFixture[str]) -> None:
    """Among all wishes it is left out; who names it is told whose it is, as the doctor does not know it there."""
    assert verbs.main(["doctor", "--as", "amd64-6.1", "--check", "own-branches"]) == 2
    assert "no wish 'own-branches' on x86_64: it is of ppc64 alone" in capsys.readouterr().err
    assert verbs.main(["doctor", "--as", "amd64-6.1"]) == 0
    assert "without the kernel" not in capsys.readouterr().out


def test_what_is_asked_for_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert verbs.main(["check", "--for", "rr", "--as", "amd64-6.1"]) in (0, 1, 4)
    assert verbs.main(["check"]) == 2 and "or one of --for async-profiler bpftrace" in capsys.readouterr().err
