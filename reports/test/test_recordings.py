# SPDX-License-Identifier: MIT
"""Recordings of explain as requirements: each call as points, tries of one wish together, and never a yes
for what no point covers. Numbers are those of linux/perf_event.h."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reports import answers, asked, plain, recordings, requirements, schema, text, verbs
from reports.export import programs
from reports.plain import Said
from reports.requirements import Finding
from reports.test import small

TREE = Path(requirements.__file__).resolve().parent.parent
KNOWN = answers.keys(answers.questions(TREE / answers.FOLDER))
USER_MODE = {"exclude_kernel": 1, "exclude_hv": 1}


def call(type_: str = "software", config: int = 2, flags: dict[str, int] | None = None, fields: dict[str, Any] | None = None,
         attr: dict[str, Any] | None = None, opened: bool = True, **more: Any) -> dict[str, Any]:
    """A page fault counter of its own thread, or something else."""
    numbers = {name: value if isinstance(value, str) else hex(value) for name, value in (fields or {}).items()}
    event = {"tracepoint": more.pop("tracepoint")} if "tracepoint" in more else {"config": hex(config)}
    return {"attr": {"type": type_, **event, "fields": numbers, "flags": flags or {}, "size": 128, **(attr or {})},
            "target": "self", "cpus": 0, "on_cpu": False, "group": False, "open_flags": 0, "narrow": False, "calls": 1,
            "opened": int(opened), "unseen": 0, "errors": {} if opened else {"EACCES": 1}, "rings": 0, "pages": 0,
            "requests": {}, **more}


def recording(*calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    made = {"format": 1, "kind": "recording", "machine": {"arch": "x86_64", "cpus_online": 2, "page_size": 4096},
            "caller": {"root": False, "perfmon": False, "admin": False, "no_new_privs": False, "filter": False,
                       "memlock_kb": 8192, "nofile": 1024}, "beyond": 0, "calls": [*calls], **more}
    return schema.require("recording", made, "the test's own")


def wanted(*calls: dict[str, Any]) -> requirements.Requirements:
    return recordings.wanted(recording(*calls), "x")


def check(said: dict[str, Said], *calls: dict[str, Any], arch: str = "x86_64") -> list[Finding]:
    """Held against a kernel where all is yes that is not said to be something else."""
    ask = recordings.asker(lambda key: said.get(key, Said(plain.YES)), arch)
    return requirements.check(wanted(*calls), ask, arch)


def keys(one: dict[str, Any]) -> set[str]:
    return {*requirements.keys(wanted(one))}


def test_a_recording_that_may_be_short_says_so() -> None:
    """Not where the program went on with pretended events."""
    assert "some calls were refused" in wanted(call(opened=False)).beware
    assert not wanted(call(opened=False, pretended=1)).beware
    assert wanted().beware.startswith("it asked nothing where it was recorded: ")


EVENTS = {"software": 12, "hardware": 10}


@pytest.mark.parametrize(("type_", "config"), [
    *((type_, config) for type_, count in EVENTS.items() for config in range(count + 1)),
    *(("cache", cache | op << 8 | result << 16) for cache in range(7) for op in range(3) for result in range(2)),
    ("cache", 7), ("raw", 0x1a8), ("msr", 0), ("msr", 1), ("uprobe", 0), ("kprobe", 1), ("cpu", 5), ("power", 2),
    ("intel_pt", 0), ("another", 0), ("unknown", 0)])
def test_each_event_is_asked_of_points_that_there_are(type_: str, config: int) -> None:
    assert keys(call(type_, config)) <= KNOWN


def test_each_bit_is_asked_of_points_that_there_are() -> None:
    for name in (point.removeprefix("attr.flag_bits.") for point in KNOWN if point.startswith("attr.flag_bits.")):
        assert keys(call(flags={name: 1})) <= KNOWN
    for bit in range(64):
        for type_ in ("software", "hardware", "breakpoint", "cpu"):
            assert keys(call(type_, fields={"sample_type": 1 << bit, "sample_period": 1})) <= KNOWN
            assert keys(call(type_, fields={"sample_type": 1 << 11, "branch_sample_type": 1 << bit})) <= KNOWN
        assert keys(call(fields={"read_format": 1 << bit})) <= KNOWN and keys(call(open_flags=1 << bit)) <= KNOWN
    for clock in range(12):
        assert keys(call(flags={"use_clockid": 1}, fields={"clockid": clock})) <= KNOWN
    for value in range(32):
        assert keys(call(fields={"read_format": value}, flags={"inherit": 1})) <= KNOWN
    for target in recordings.TARGETS:
        assert keys(call(target=target, on_cpu=True, group=True)) <= KNOWN
    assert keys(call(rings=1, pages=9, requests={name: {"calls": 1, "failed": 0} for name in recordings.REQUESTS})) <= KNOWN


def test_the_names_of_the_kernel() -> None:
    assert "sw.events.opens.context_switches" in keys(call(config=3))
    assert "hw.events.ref_cycles" in keys(call("hardware", 9)) and "hw.cache.ll.write.miss" in keys(call("cache", 0x10102))
    assert "attr.read_format_bits.enabled_running_group" in keys(call(fields={"read_format": 11}))
    assert "attr.size_versions.ver5" in keys(call(fields={"aux_watermark": 1}))
    assert "attr.branch_bits.call_stack" in keys(call(fields={"sample_type": 1 << 11, "branch_sample_type": 1 << 11}))
    assert "clock.clockid.boottime.stamps" in keys(call(flags={"use_clockid": 1}, fields={"clockid": 7}))


@pytest.mark.parametrize("filters, excluded, privileged", [
    (8, ("exclude_kernel",), True), (8, ("exclude_kernel", "exclude_hv"), False), (9, ("exclude_kernel",), False),
    (10, ("exclude_kernel", "exclude_hv"), True), (0, ("exclude_kernel",), False)])
def test_branches_of_the_kernel_take_what_counting_it_takes(filters: int, excluded: tuple[str, ...], privileged: bool) -> None:
    """As the kernel documents: without a level, branches are of each level that the event itself does not exclude."""
    made = keys(call(fields={"sample_type": 1 << 11, "branch_sample_type": filters}, flags=dict.fromkeys(excluded, 1)))
    assert ("sw.switches.own_thread" in made) == privileged


@pytest.mark.parametrize("privileged, fact, word", [
    (plain.YES, "is EACCES", plain.YES), (plain.BLOCKED, "is EACCES", plain.BLOCKED), (plain.BLOCKED, "", plain.YES)])
def test_chains_of_the_kernel_are_for_anybody_or_take_a_privilege(privileged: str, fact: str, word: str) -> None:
    """Some kernels refuse them to who may not watch the kernel, although the event excludes it."""
    need = wanted(call(flags=USER_MODE, fields={"sample_type": 1 << 5, "sample_period": 1})).needs[0]
    alone = {"sw.switches.own_thread": Said(privileged), "perm.privileged_fields.unprivileged_callchain=opens":
             Said(plain.NO, fact) if fact else Said(plain.YES)}
    said = recordings.asker(lambda key: alone.get(key, Said(plain.YES)), "x86_64")
    assert plain.worst([said(key) for key in need.ways[0]]).word == word
    user = wanted(call(flags={**USER_MODE, "exclude_callchain_kernel": 1}, fields={"sample_type": 1 << 5})).needs[0]
    assert not any("|" in key for key in user.ways[0])


def test_who_watches_the_kernel_or_a_cpu_needs_to_be_let() -> None:
    assert "sw.switches.own_thread" in keys(call()) and "sw.switches.own_thread" not in keys(call(flags=USER_MODE))
    assert "attach.cpu_wide.sees_other_tasks" in keys(call(target="cpu", on_cpu=True))
    raw = {"sample_type": 1 << 10, "sample_period": 1}
    of_sched, of_calls = (call("tracepoint", tracepoint=name, fields=raw) for name in ("sched:sched_switch", "syscalls:x"))
    assert "sample.raw.tracepoint" in keys(of_sched) and "sample.raw.tracepoint" not in keys(of_calls)
    assert "sample.raw.tracepoint" in keys({**of_calls, "target": "cpu"})


@pytest.mark.parametrize(("one", "why"), [
    (call("raw", 0x1a8), "up to the CPU"), (call("another"), "no point tells of the PMU another"),
    (call("cpu", 5), "up to the hardware"), (call("tracepoint", tracepoint="net:net_dev_xmit"), "whether a kernel has net:"),
    (call("tracepoint", tracepoint="planted"), "has planted"), (call(narrow=True), "32-bit"),
    (call(flags={"new_flag": 1}), "no point tells of the flag new_flag"),
    (call("breakpoint", fields={"bp_type": 2, "config1": "unaligned", "config2": 8}), "unaligned"),
    (call(fields={"sample_max_stack": 500}), "perf_event_max_stack"), (call(target="other"), "whose process"),
    (call(fields={"aux_sample_size": 1}), "depends on the PMU"),
    (call(flags={"use_clockid": 1}, fields={"clockid": 9}), "of that clock")])
def test_what_no_point_covers_is_never_a_yes(one: dict[str, Any], why: str) -> None:
    found, = check({}, one)
    assert found.word == plain.UNKNOWN and why in found.answer.why and recordings.works([found]) == recordings.UNTOLD


@pytest.mark.parametrize("one", [
    call("software", 99), call("hardware", 99), call("cache", 0x30000), call(attr={"size": 32}), call(attr={"beyond": 150}),
    call(attr={"reserved_flags": "0x1"}), call(fields={"sample_type": 1 << 60}), call(open_flags=1 << 40),
    call(fields={"read_format": 1 << 9}), call(flags={"remove_on_exec": 1, "enable_on_exec": 1}),
    call("breakpoint", fields={"bp_type": 7}), call("uprobe"), call(fields={"sample_type": 1 << 14 | 1 << 24})])
def test_what_a_kernel_is_known_to_refuse(one: dict[str, Any]) -> None:
    found, = check({}, one)
    assert found.word == plain.NO and "the kernel refuses it" in found.answer.why


def test_registers_are_those_of_an_architecture() -> None:
    one = call(flags=USER_MODE, fields={"sample_type": 1 << 12, "sample_period": 1, "sample_regs_user": 1})
    assert [found.word for found in (*check({}, one), *check({}, one, arch="aarch64"))] == [plain.YES, plain.UNKNOWN]


BLOCKED, ABSENT = Said(plain.BLOCKED, "level"), Said(plain.UNKNOWN, "was not there", absent=True)
KERNEL, CYCLES = {"sw.switches.own_thread": BLOCKED}, {"hw.events.cycles": ABSENT}


def test_tries_of_one_wish_are_one_need() -> None:
    found, = check(KERNEL, call(opened=False), call(flags=USER_MODE))
    assert (found.word, found.used) == (plain.INSTEAD, "user mode alone") and recordings.works([found]) == recordings.PARTLY
    assert len(check({}, call(), call(flags=USER_MODE))) == 2       # the first was not refused
    assert len(check({}, call(opened=False), call(flags=USER_MODE, target="child"))) == 2
    sampled = {"sample_period": 4000}
    found, = check(CYCLES, call("hardware", 0, {"freq": 1, "precise_ip": 2}, sampled, opened=False),
                   call("hardware", 0, {"freq": 1, "precise_ip": 1}, sampled, opened=False),
                   call("software", 0, {"freq": 1}, sampled))
    assert found.used == "cpu-clock in its place"
    assert recordings.works(check({}, call())) == recordings.WORKS
    assert recordings.works(check(KERNEL, call())) == recordings.REFUSED
    assert recordings.works(check(CYCLES, call("hardware", 0))) == recordings.NOT_THERE
    assert recordings.works(check(KERNEL | CYCLES, call("hardware", 0), call())) == recordings.REFUSED


def test_rings_are_held_against_what_may_be_locked() -> None:
    words = {key for one in (call(rings=2, pages=129, cpus=2, on_cpu=True), call(rings=3, pages=9))
             for need in wanted(one).needs for way in need.ways for key in way if key.startswith("ring=")}
    assert words == {"ring=512KiB", "ring=32KiB*3"}


def put(path: Path, value: Any) -> str:
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return str(path)


@pytest.fixture(name="result")
def _result(tmp_path: Path) -> str:
    yes = {probe: {name: "yes" for name in names} for probe, names in (
        ("sw.events", ["opens.page_faults"]), ("attach.self", ["any_cpu"]), ("attr.flag_bits", [*USER_MODE]))}
    no = {"sw.switches": {"own_thread": "blocked: EACCES: level"}, "hw.events": {"cycles": "absent: no PMU"}}
    return str(small.put(tmp_path / "result", small.result({"user": {**yes, **no}})))


def test_recordings_go_through_the_door_of_requirements(result: str, tmp_path: Path,
                                                        capsys: pytest.CaptureFixture[str]) -> None:
    fine = put(tmp_path / "fine.json", recording(call(flags=USER_MODE)))
    less = put(tmp_path / "less.json", recording(call(opened=False), call(flags=USER_MODE)))
    untold = put(tmp_path / "untold.json", recording(call("another", flags=USER_MODE)))
    assert verbs.main(["profile", "check", fine, "--as", result]) == verbs.main(["check", fine, result]) == 0
    assert verbs.main(["check", untold, "--as", result]) == 4
    assert verbs.main(["check", fine, less, f"{result}/result.json"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "fine works, as user at perf_event_paranoid=2" in said and "less works partly, as user" in said
    assert "instead count page-faults of its own thread, because of [1] user mode alone" in said
    gone = put(tmp_path / "gone.json", recording(call("hardware", 0, flags=USER_MODE)))
    assert verbs.main(["check", gone, "--as", result]) == 4
    assert "gone wants what is not there, as user" in capsys.readouterr().out
    assert "untold is not known to work" in said and "points sw.switches.own_thread" in said
    assert verbs.main(["check", fine, less, "--json", "--as", result]) == 1
    assert [each["works"] for each in json.loads(capsys.readouterr().out)] == [recordings.WORKS, recordings.PARTLY]


@pytest.mark.parametrize("value", ["{", "{}", '{"kind": "recording"}', "[" * 9000, {**recording(), "calls": [1]},
                                   {**recording(), "format": 2}, {**recording(), "calls": [call()] * 1025},
                                   '{"kind": "recording", "calls": ' + "9" * 5000 + "}"])
def test_what_is_no_recording_is_one_sentence(value: Any, result: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert verbs.main(["check", put(tmp_path / "x.json", value), "--as", result]) == 3
    told = capfd.readouterr()
    assert told.out == "" and told.err and len(told.err) < 1000


# ------------------------------------------------------------------------------ programs of the world

def test_rings_and_requests_are_no_events() -> None:
    ring = call(flags=USER_MODE, rings=1, pages=9, requests={"ENABLE": {"calls": 1, "failed": 0}})
    assert recordings.works(check({"sw.events.opens.page_faults": ABSENT}, ring)) == recordings.NOT_THERE
    assert recordings.works(check({"ring=32KiB*1": BLOCKED}, ring)) == recordings.PARTLY


def test_a_counter_beside_samples_is_a_probe() -> None:
    sample, probe = call("hardware", 1, fields={"sample_period": 9}), call(flags=USER_MODE)
    found = check({"hw.events.instructions": ABSENT}, sample, probe)
    assert [each.need.optional for each in found] == [False, True] and recordings.works(found) == recordings.NOT_THERE
    assert not any(each.need.optional for each in check({}, probe, call("hardware", 1)))
    used = {**probe, "requests": {"ENABLE": {"calls": 1, "failed": 0}}}
    assert not check({}, sample, used)[1].need.optional


@pytest.mark.parametrize(("said", "word"), [
    ({}, "works"), (KERNEL, "1 of 2"),
    ({"sw.events.opens.page_faults": Said(plain.UNKNOWN, "nobody asked")}, "1 of 2, rest not known"),
    ({"sw.events.opens.page_faults": ABSENT}, "1 of 2, rest not there"),
    ({"attach.self.any_cpu": ABSENT}, "not there"), ({"attach.self.any_cpu": BLOCKED}, "refused"),
    ({"attach.self.any_cpu": Said(plain.UNKNOWN, "nobody asked")}, "?"), ({"ring=32KiB*1": BLOCKED}, "events alone")])
def test_a_cell_of_the_table(said: dict[str, Said], word: str) -> None:
    assert programs.word(check(said, call(), call("software", 0, USER_MODE, rings=1, pages=9))) == word


def test_the_recording_of_who_got_on_counts(tmp_path: Path) -> None:
    root, user = (tmp_path / f"x.{who}.json" for who in ("root", "user"))
    put(root, recording(call(), call(config=3)))
    put(user, recording(call(opened=False)))
    assert programs.names(tmp_path) == ["x"] and len(programs.of("x", "user", tmp_path).needs) == 2
    put(user, recording(call(opened=False), call(flags=USER_MODE)))
    assert len(programs.of("x", "user", tmp_path).needs) == 1 and programs.of("y", "user", tmp_path) is None


@pytest.mark.parametrize("path", sorted(programs.FOLDER.glob("*.json")), ids=lambda path: path.name)
def test_a_recording_that_ships_is_whole_and_holds_nothing_private(path: Path) -> None:
    value = schema.require("recording", text.load_json(path), path.name)
    assert {*requirements.keys(recordings.read(path))} <= KNOWN and value["calls"] and value["beyond"] == 0
    assert value["caller"]["root"] == (path.name.split(".")[1] == "root")
    assert "/" not in json.dumps(value) and platform.node() not in json.dumps(value["calls"])
    assert f"\t{path.name.split('.')[0]} " in (programs.FOLDER / "record").read_text(encoding="utf-8")


def test_the_slice_of_the_readme_is_what_the_command_says(capsys: pytest.CaptureFixture[str],
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TREE)
    readme = (programs.FOLDER / "README.md").read_text(encoding="utf-8")
    shown = readme.partition("`./run.sh report programs ")[2]
    words, rows = shown.partition("`")[0], [line for line in shown.splitlines() if line.startswith("| `")][:20]
    assert verbs.main(["programs", *words.split()]) == 0
    said = [line.replace("\\", "") for line in capsys.readouterr().out.splitlines()]
    assert 4 <= len(rows) <= 10 and {row.replace("`", "") for row in rows} <= {*said}


def test_kernels_that_answer_alike_stand_in_one_column() -> None:
    source = asked.named(Path("amd64-6.1")).sources[0]
    columns = [programs.Column(source, who, "2") for who in ("user", "root", "user")]
    title = next(line for line in programs.lines(columns) if line.startswith("| program"))
    assert title == "| program | user, level 2, and 1 more | root, level 2 |"


NUMBERS = st.one_of(st.integers(0, 70), st.integers(0, (1 << 64) - 1), st.sampled_from([1 << bit for bit in range(64)]))
WORDS = st.text("abcdefghijklmnopqrstuvwxyz_0123456789", min_size=1, max_size=30)
FIELDS = ("sample_period", "sample_type", "read_format", "bp_type", "config1", "config2", "branch_sample_type", "clockid",
          "sample_max_stack", "aux_action", "config4")
TYPES = ("software", "hardware", "cache", "raw", "breakpoint", "tracepoint", "msr", "cpu", "uprobe", "intel_pt")


@st.composite
def calls(draw: st.DrawFn) -> dict[str, Any]:
    line = st.text(max_size=40).filter(lambda said: not any(ord(char) < 32 or ord(char) == 127 for char in said))
    fields = draw(st.dictionaries(st.one_of(st.sampled_from(FIELDS), WORDS), NUMBERS, max_size=9))
    attr = draw(st.fixed_dictionaries({}, optional={"tracepoint": line, "reserved_flags": NUMBERS.map(hex), "beyond": NUMBERS}))
    return call(draw(st.one_of(st.sampled_from(TYPES), line)), draw(NUMBERS), draw(st.dictionaries(
        st.one_of(st.sampled_from(["precise_ip", "inherit", "freq", "use_clockid", "aux_output"]), WORDS),
        st.integers(1, 3), max_size=9)), fields, {**attr, "size": draw(NUMBERS)}, draw(st.booleans()),
        target=draw(st.sampled_from([*recordings.TARGETS])), group=draw(st.booleans()), open_flags=draw(NUMBERS),
        rings=draw(NUMBERS), pages=draw(NUMBERS), narrow=draw(st.booleans()),
        requests=draw(st.dictionaries(st.text("ABCZ_", min_size=1, max_size=20), st.just({"calls": 1, "failed": 0}), max_size=3)))


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[*HealthCheck])
@given(st.lists(calls(), max_size=5))
def test_whatever_is_recorded_asks_for_points_that_there_are(made: list[dict[str, Any]]) -> None:
    value = recording(*made)
    needs = recordings.wanted(value, "x")
    assert {*requirements.keys(needs)} <= KNOWN
    found = requirements.check(needs, recordings.asker(lambda key: Said(plain.YES), "x86_64"), "x86_64")
    assert len(found) <= 2 * len(made) + sum(len(each["requests"]) for each in made)
    text.dump_json([str(each.answer) for each in found])
