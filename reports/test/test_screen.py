# SPDX-License-Identifier: MIT
"""The first screen: its text, its bounds, and that nothing is left out in silence."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from small import Said, put, result

from reports import areas, bars, gates, layout, screen, surprise, text, verbs, wordlist

ROOT = Path(__file__).resolve().parents[2]
PARANOID = "blocked: EACCES: perf_event_paranoid=2 refuses a cpu-wide event; needs <= 0"
SAID: Said = {
    "root": {"ring.order": {"first": "yes", "last": "yes", "middle": "yes", "wraps": "yes"},
             "ring.size": {"one": "broken: size=0 want=1", "two": "yes", "three": "yes",
                           "four": "yes"},
             "hw.cycles": {"counts": "absent: no hardware PMU of the CPU",
                           "samples": "absent: no hardware PMU of the CPU"},
             "sw.clock": {"counts": "yes", "samples": "yes"},
             "task.name": {"seen": "yes"}},
    "user": {"ring.order": {"first": PARANOID, "last": PARANOID, "middle": PARANOID,
                            "wraps": "unknown: time-out"},
             "ring.size": {"one": "broken: size=0 want=1", "two": "yes", "three": "yes",
                           "four": "yes"},
             "hw.cycles": {"counts": "absent: no hardware PMU of the CPU",
                           "samples": "absent: no hardware PMU of the CPU"},
             "sw.clock": {"counts": "yes", "samples": "yes"},
             "task.name": {"seen": "yes"}}}

# Bars of 27 cells. Of 8 points 7 are yes and 1 is broken: 23.6 and 3.4 cells, so 24 and 3. Of 3 yes,
# 3 blocked, 1 broken and 1 unknown: 10.1 twice and 3.4 twice, so 10, 10, 4 and 3. Of all 13: 10 yes are
# 20.8, 2 absent 4.2 and 1 broken 2.1; for the user 6 yes are 12.5, 3 blocked 6.2, 2 absent 4.2.
GOLDEN = """\
Linux 6.1.0-18-amd64 x86_64 | A CPU | 4 CPUs | paranoid 2
suite default, 5 probes, 13 points, as root and user, in 7 s

area        all  root                            user
hw            2  ...........................  0  ...........................  0
ring          8  ########################!!!  7  ##########::::::::::!!!!???  3
all yes       3  sw, task
all          13  #####################....!! 10  #############::::::....!!??  6
                 # yes  : blocked  . absent  ! broken  ? unknown

Surprising: 1 broken as known; no profile of this series ships
  broken   ring.size.one: size=0 want=1

Refused, by             root user  what would lift it
  CPU PMU missing          2    2  hardware, or -cpu host,pmu=on
  perf_event_paranoid      -    3  set it to -1, or CAP_PERFMON

Could not tell: ring.order.wraps: time-out
Since the last run: this is the first

Results in run (2026-11-21 11:35 UTC); next:
  ./run.sh report table run  each probe, and its reasons
  ./run.sh doctor            what a program can do here
  ./run.sh kernels --list    other kernels, in QEMU
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place without earlier results and shipped profiles; a pipe of 80 columns without UTF-8."""
    monkeypatch.chdir(tmp_path)
    for name in ("LANG", "LC_CTYPE", "NO_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LC_ALL", "C")


def shown(capsys, path: Path, *options: object) -> str:
    assert verbs.main(["show", *map(str, options), str(path)]) == 0
    return capsys.readouterr().out


def test_the_screen_of_a_small_result(capsys, tmp_path: Path) -> None:
    put(tmp_path / "run", result(SAID, seconds=7))
    assert shown(capsys, tmp_path / "run") == GOLDEN


def test_a_locale_of_utf_8_has_blocks(capsys, tmp_path: Path, monkeypatch) -> None:
    put(tmp_path / "run", result(SAID))
    assert shown(capsys, tmp_path / "run").isascii()
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    out = shown(capsys, tmp_path / "run")
    assert "\u2588" * 21 in out and "#" not in out


def test_what_is_not_ascii_is_spelled_out_without_utf_8(capsys, tmp_path: Path) -> None:
    put(tmp_path / "run", result({"root": {"a.b": {"c": "no: f\u00fcr"}}}) | {"identity": {
        "arch": "x86_64", "release": "6.1", "cpu_model": ["B\u00fcro" * 30]}})
    out = shown(capsys, tmp_path / "run")
    assert "B\\xfcro" in out and max(map(len, out.splitlines())) <= 80


def many(personas: int, area_count: int, reasons: int, points: int = 7) -> dict[str, Any]:
    """A result with more of everything than a screen has room for."""
    words = ("yes", "no", "blocked", "absent", "hazard", "broken", "unknown")
    said: Said = {}
    for number in range(personas):
        probes: dict[str, dict[str, str]] = {}
        for area in range(area_count):
            probes[f"area{area}.probe_of_a_rather_long_name"] = {
                f"point_{point}": f"{words[(point + area) % 7]}: reason {point % reasons} " + "x" * 99
                for point in range(points)}
        said[f"persona{number}"] = probes
    return result(said)


@pytest.mark.parametrize("width", [80, 100, 200])
@pytest.mark.parametrize("made", [result(SAID), many(1, 3, 2), many(3, 31, 9), many(4, 60, 20),
                                  many(9, 70, 2)], ids=range(5))
def test_a_screen_has_at_most_40_lines(made: dict[str, Any], width: int, capsys,
                                       tmp_path: Path) -> None:
    lines = shown(capsys, put(tmp_path / "run", made), "--width", width).splitlines()
    assert len(lines) <= 40 - 1     # one is of run.sh
    assert max(map(len, lines)) <= width
    assert lines[-1].startswith("  ./run.sh kernels") and not any(
        line != line.rstrip() for line in lines)


@pytest.mark.parametrize("width", [20, 40, 60])
def test_a_narrow_screen_is_no_wider_than_it_is(width: int, capsys, tmp_path: Path) -> None:
    for index, made in enumerate([result(SAID), many(3, 31, 9), many(4, 60, 20)]):
        lines = shown(capsys, put(tmp_path / f"run{index}", made), "--width", width).splitlines()
        assert max(map(len, lines)) <= width
        assert len(lines) <= 40 * 80 // width


def test_what_is_cut_is_counted_and_a_command_shows_it(capsys, tmp_path: Path) -> None:
    out = shown(capsys, put(tmp_path / "run", many(3, 60, 20, 20)), "--width", 100)
    lines = out.splitlines()
    table = "./run.sh report table run"
    more = [line for line in lines if " more" in line and table in line]
    assert len(more) == 2, "surprises, what could not be told"
    barred = {line.split()[0] for line in lines if line.startswith("area") and line[4].isdigit()}
    named = re.findall(r"\barea\d+\b", out.partition("Surprising")[0])
    others = sum(int(number) for number in re.findall(r" and (\d+) more$", out, re.M))
    assert len(barred) > 3 and len(named) == len(set(named)) and len(named) + others == 60
    surprises = [line for line in lines if line.startswith("  broken")]
    made = many(3, 60, 20, 20)
    assert more[0] == f"  {len(surprise.find(made, [])) - len(surprises)} more: {table}"


def test_the_other_form_has_a_line_a_probe(capsys, tmp_path: Path) -> None:
    put(tmp_path / "run", result(SAID))
    out = shown(capsys, tmp_path / "run", "--all")
    assert "  order" in out and "Surprising" not in out
    assert verbs.main(["table", str(tmp_path / "run")]) == 0
    assert capsys.readouterr().out == out


def test_every_line_is_plain_in_a_pipe_and_coloured_when_asked(capsys, tmp_path: Path,
                                                               monkeypatch) -> None:
    put(tmp_path / "run", result(SAID))
    assert "\x1b" not in shown(capsys, tmp_path / "run")
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    assert "\x1b[32m#" in shown(capsys, tmp_path / "run")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in shown(capsys, tmp_path / "run")


# -------------------------------------------------------------------------------- what it is made of

def test_a_persona_that_was_asked_less_says_of_how_many(capsys, tmp_path: Path) -> None:
    said = {"root": SAID["root"], "user": {"ring.size": SAID["user"]["ring.size"]}}
    lines = shown(capsys, put(tmp_path / "run", result(said))).splitlines()
    ring = next(line for line in lines if line.startswith("ring"))
    assert ring.split()[-1] == "3/4"
    clock = next(line for line in lines if line.startswith("hw"))
    assert clock.split()[-1] == "-"


@pytest.mark.parametrize("counts, width, wanted", [
    ({"yes": 5}, 10, {"yes": 10}),
    ({"yes": 999, "broken": 1}, 10, {"yes": 9, "broken": 1}),
    ({"yes": 999, "no": 1, "blocked": 1, "absent": 1}, 6,
     {"yes": 3, "no": 1, "blocked": 1, "absent": 1}),
    ({"yes": 9, "no": 9, "broken": 9, "unknown": 9}, 2, {"broken": 1, "unknown": 1}),
    ({"yes": 1, "no": 1}, 4, {"yes": 2, "no": 2}),
    ({}, 4, {}),
])
def test_a_bar_is_full_and_hides_no_verdict(counts: dict[str, int], width: int,
                                            wanted: dict[str, int]) -> None:
    assert bars.shares(Counter(counts), width) == wanted
    assert len(bars.bar(Counter(counts), width, False)) == width


def test_every_verdict_has_signs_of_its_own() -> None:
    assert set(bars.SIGNS) == set(wordlist.EVERY)
    for which in (0, 1):
        assert len({signs[which] for signs in bars.SIGNS.values()}) == len(bars.SIGNS)
    assert "".join(signs[1] for signs in bars.SIGNS.values()).isascii()


def test_only_areas_of_one_verdict_share_a_line() -> None:
    made = result({"root": {"a.x": {"p": "yes"}, "b.x": {"p": "yes"}, "c.x": {"p": "no"},
                            "d.x": {"p": "yes", "q": "no"}},
                   "user": {"a.x": {"p": "yes"}, "b.x": {"p": "yes"}, "c.x": {"p": "no"},
                            "d.x": {"p": "yes", "q": "no"}}})
    lines = [line.plain for line in
             areas.section(made, ["root", "user"], 80, False, "command").lines(40)]
    assert [line.split()[0] for line in lines[:2]] == ["c", "d"]
    assert lines[2].startswith("all yes") and lines[2].endswith("a, b")


@pytest.mark.parametrize("points", [3, 30, 300])
def test_a_heading_ends_where_its_numbers_end(points: int, capsys, tmp_path: Path) -> None:
    lines = shown(capsys, put(tmp_path / "run", many(1, 12, 2, points))).splitlines()
    heading, last = (next(line for line in lines if line.startswith(word)) for word in ("area ", "all  "))
    number = str(12 * points)
    assert last.split()[1] == number and heading.index(" all ") + len(" all") == last.index(number) + len(number)


def test_areas_without_room_are_named_by_how_much_says_yes() -> None:
    """Those in which the personas differ most keep their bars."""
    said = {f"a{yes}": {"x": {f"p{point}": "yes" if point < yes else "no" for point in range(10)}}
            for yes in (1, 2, 5, 7, 9)}
    root = {f"{area}.{name}": points for area, probes in said.items() for name, points in probes.items()}
    less = {**root, "a7.x": {**root["a7.x"], "p0": "blocked: x"}, "a9.x": {**root["a9.x"], "p0": "blocked: x"}}
    made = areas.section(result({"root": root, "user": less}), ["root", "user"], 80, False, "command")
    assert [line.plain.split()[0] for line in made.lines(40)] == ["a1", "a2", "a5", "a7", "a9", "all", "#"]
    told = [line.plain for line in made.lines(6)]
    assert [line.split()[0] for line in told] == ["a7", "a9", "partly", "seldom", "all", "#"]
    assert told[2].split() == ["partly", "yes", "10", "a5"] and told[3].split() == ["seldom", "yes", "20", "a1,", "a2"]
    told = [line.plain for line in made.lines(5)]
    assert [line.split()[0] for line in told] == ["mostly", "partly", "seldom", "all", "#"]
    assert told[0].split()[3:] == ["a9"] and told[1].split()[3:] == ["a5,", "a7"]


def test_the_front_page_shows_such_a_screen() -> None:
    """Its words are those of the program."""
    shown = (ROOT / "README.md").read_text(encoding="utf-8").partition("## The whole run")[2].partition("\n| ")[0]
    lines = [line.strip() for line in shown.splitlines() if line.startswith("    ")]
    known = ["Linux ", "area ", *(f"{title} " for title in areas.SHARES.values()), "Surprising: ", "broken ", "Refused, by ",
             *(gate.name for gate in gates.read()), bars.legend(["yes"], True).plain]
    rows = [line for line in lines if not line.startswith(tuple(known))]
    assert len(lines) > 12 and all(line.count("\u2588") or "," in line for line in rows), rows
    assert all(any(line.startswith(word) for line in lines) for word in known[:3])


def test_names_that_do_not_fit_are_counted() -> None:
    names = [f"name{number}" for number in range(30)]
    for most, width in ((1, 40), (2, 60), (3, 30), (1, 12)):
        lines = layout.enumerated(layout.Text("head  "), names, width, most)
        said = " ".join(line.plain.removeprefix("head").strip() for line in lines)
        counted = re.search(r" and (\d+) more$", said)
        assert len(lines) <= most and max(line.cell_len for line in lines) <= width
        assert width == 12 or counted and len(re.findall(r"name\d+", said)) + int(counted[1]) == 30
    whole, = layout.enumerated(layout.Text("head  "), names[:3], 80, 2)
    assert whole.plain == "head  name0, name1, name2"


def test_what_can_be_lifted_is_not_the_first_to_go() -> None:
    """Of gates without room, other hardware gives way before a right that somebody can give."""
    made = result({"root": {"a.b": {f"p{number}": "absent: no hardware PMU of the CPU" for number in range(2)} | {
        f"q{number}": "absent: not a 64-bit Power machine" for number in range(4)} | {
        f"r{number}": "absent: no kprobe PMU (ENOENT)" for number in range(5)} | {
        f"u{number}": "no: EINVAL, ok without" for number in range(2)} | {
        "s": "blocked: BPF_MAP_CREATE: EPERM, needs CAP_BPF or CAP_SYS_ADMIN", "t": PARANOID}}})
    part = screen._gates(screen.Page(made, "", "", 80, False))
    assert [line.plain.split("  ")[1] for line in part.lines(5)] == [
        "other PMU missing", "other architecture", "CAP_BPF missing", "perf_event_paranoid", "2 more, 4 answers: "
        "./run.sh report table"]


def section(*sizes: int, **more: Any) -> layout.Section:
    rows = [[layout.Text(f"{index}.{line}") for line in range(size)]
            for index, size in enumerate(sizes)]
    return layout.Section([], rows, lambda left: [layout.Text(f"{left}")], **more)


@pytest.mark.parametrize("made, room, wanted", [
    (section(1, 1, 1), 3, "0.0 1.0 2.0"),
    (section(1, 1, 1), 2, "0.0 [1, 2]"),
    (section(1, 2, 1), 3, "0.0 [1, 2]"),
    (section(2, 2, 1), 4, "0.0 0.1 [1, 2]"),
    (section(1, 1, 1, drop=[0, 1]), 2, "2.0 [0, 1]"),
    (section(1, 1, 1, 2, drop=[1, 0], tail=1), 4, "2.0 [0, 1] 3.0 3.1"),
])
def test_rows_that_do_not_fit_are_counted(made: layout.Section, room: int, wanted: str) -> None:
    assert " ".join(line.plain for line in made.lines(room)) == wanted


def test_room_is_shared_after_everybody_has_the_least() -> None:
    sections = [section(*[1] * 50, least=2), section(1), section(*[1] * 50, least=4)]
    assert layout.allot(sections, 7) == [2, 1, 4]
    assert layout.allot(sections, 10) == [4, 1, 5]
    assert layout.allot(sections, 999) == [50, 1, 50]


# --------------------------------------------------------------------------------------- the gates

@pytest.mark.parametrize("said, gate", [
    ("absent: no hardware PMU of the CPU", "CPU PMU missing"),
    ("absent: no such event here: type 0 config 0x1 (ENOENT)", "CPU PMU missing"),
    ("absent: no such event here: type 30 config 0x1 (ENOENT)", "otherwise absent"),
    ("absent: seccomp or container filter answers EPERM to perf_event_open; no hardware PMU of the CPU",
     "CPU PMU missing"),
    ("blocked: seccomp or container filter answers EPERM to perf_event_open", "seccomp filter"),
    ("blocked: seccomp or container filter answers ENOSYS to bpf", "seccomp filter"),
    ("blocked: EPERM to clone3: a missing capability, a security module or a system call filter", "seccomp filter"),
    ("absent: this kernel has no perf_event_open (ENOSYS)", "no perf events"),
    ("absent: this kernel has no bpf (ENOSYS)", "otherwise absent"),
    ("blocked: would disturb CPU hotplug; runs only with --may-disturb", "no --may-disturb"),
    ("blocked: would disturb perf_event_paranoid for all tasks; runs only with --may-disturb",
     "no --may-disturb"),
    (PARANOID, "perf_event_paranoid"),
    ("blocked: EACCES (perf_event_paranoid=2, no CAP_PERFMON)", "perf_event_paranoid"),
    ("blocked: EACCES (perf_event_paranoid=2, CAP_PERFMON held)", "root or capability"),
    ("blocked: EACCES (perf_event_paranoid=2, CAP_PERFMON held, lockdown)", "security module"),
    ("blocked: EACCES with CAP_SYS_PTRACE: a security module or a namespace", "security module"),
    ("blocked: needs to hold capability 38", "root or capability"),
    ("blocked: tracefs is mounted but not readable (root, or its gid= option)", "tracefs permission"),
    ("absent: tracefs is not mounted (/sys/kernel/tracing)", "tracefs not mounted"),
    ("blocked: BPF_MAP_CREATE: EPERM, needs CAP_BPF or CAP_SYS_ADMIN", "CAP_BPF missing"),
    ("blocked: mmap of 9 pages: EPERM (perf_event_mlock_kb=516)", "resource limits"),
    ("blocked: EMFILE: out of descriptors (RLIMIT_NOFILE 9)", "resource limits"),
    ("blocked: somebody else said so", "other policy"),
    ("absent: not a 64-bit Power machine", "other architecture"),
    ("absent: no kprobe PMU (ENOENT)", "other PMU missing"),
    ("hazard: kernels before 6.12.96 may crash", "known hazard"),
    ("no: EINVAL with defer_output, ok without", "kernel lacks it"),
    ("yes", None), ("broken: 1 want=2", None), ("unknown: time-out", None)])
def test_each_reason_meets_its_gate(said: str, gate: str | None) -> None:
    word, _, reason = said.partition(": ")
    found = gates.of({"verdict": word, "reason": reason}, gates.read())
    assert (found.name if found else None) == gate


def test_a_gate_has_a_line_beside_four_personas() -> None:
    assert max(len(gate.name) for gate in gates.read()) <= 19
    assert max(len(gate.lift) for gate in gates.read()) <= 29


def briefs(source: str) -> list[str]:
    """What the library's table of gates says in short, with the level and a 2 for all else."""
    said = re.findall(r'PM_SAY\(ret->brief, ((?:"[^"]*"(?: *PRI[a-z0-9]+)?\s*)+)', source)
    said = ["".join(re.findall(r'"([^"]*)"', each)) for each in said]
    level = [re.sub(r"%s( refuses|, %s)", r"perf_event_paranoid=2\1", each) for each in said]
    return [re.sub(r"%[-.#0-9a-zA-Z]*", "2", each) for each in level]


def test_the_words_of_the_librarys_gates_are_known_here() -> None:
    """Those that say what is missing on this machine only are left to the last gates."""
    found = [brief for path in sorted((ROOT / "lib").glob("gate*.c"))
             for brief in briefs(path.read_text(encoding="utf-8"))]
    assert len(found) > 8, found
    last = {gate.name for gate in gates.read() if not gate.reason.pattern}
    strange = {brief for brief in found for met in [{
        gate.name for word in ("blocked", "absent")
        for gate in [gates.of({"verdict": word, "reason": brief}, gates.read())] if gate}]
        if met <= last}
    assert strange <= {"2", "set-up refused: type 2 config 2: 2", "no such event here: type 2 config 2 (2)",
                       "no counter or breakpoint is free (2)", "this kernel has no 2 (ENOSYS)", "2: 2",
                       "breakpoints on reads or on writes alone", "no CPU 2 is online (2)",
                       "no descriptor of a cgroup (2)", "EINVAL (1 + 2 pages)"}, strange


def test_gates_take_every_refused_point_once() -> None:
    made = many(2, 9, 3)
    refused = sum(made["summary"]["persona1"].get(word, 0) for word in wordlist.SKIPPED)
    assert sum(cost.points["persona1"] for cost in gates.costs(made)) == refused


def test_a_verdict_without_a_gate_of_its_own_gets_one(tmp_path: Path) -> None:
    good = gates.DATA.read_text(encoding="utf-8")
    assert "blocked" not in {gate.name for gate in gates.read()}
    bare = tmp_path / "bare"
    bare.write_text(good.replace('name = "other policy"\nverdicts = ["blocked"]',
                                 'name = "other policy"\nverdicts = ["hazard"]'), encoding="utf-8")
    found = gates.of({"verdict": "blocked", "reason": "nobody knows"}, gates.read(bare))
    assert found and found.name == "blocked" and found.lift


def test_what_is_no_list_of_gates_is_refused(tmp_path: Path) -> None:
    good = gates.DATA.read_text(encoding="utf-8")
    for name, bad in (("b", good.replace('reason = "CAP_BPF"', 'reason = "(CAP_BPF"')),
                      ("c", good.replace('lift = "run as root"\n', "")), ("d", "")):
        assert bad != good
        (tmp_path / name).write_text(bad, encoding="utf-8")
        with pytest.raises(text.Unusable):
            gates.read(tmp_path / name)


# -------------------------------------------------------------------------------- what is surprising

def profile(release: str, arch: str = "x86_64", **kernel: str) -> dict[str, Any]:
    return {"identity": {"arch": arch, "release": release},
            "kernel": {key.replace("__", "."): value for key, value in kernel.items()}}


def test_what_ships_is_a_hint_where_all_of_the_series_agree() -> None:
    made = result(SAID)
    shipped = [("one", profile("6.1.9", ring__order__first="no", ring__order__last="no",
                               sw__clock__counts="yes", ring__size__max="7")),
               ("two", profile("6.1.1", ring__order__last="yes", not__asked__here="yes"))]
    found = [each for each in surprise.find(made, shipped) if each.kind == "differs"]
    assert [(each.key, each.verdict) for each in found] == [("ring.order.first", "yes")]
    assert "(one) says no" in found[0].evidence
    assert surprise.compared(made, shipped) == 2


def test_only_the_same_series_and_architecture_is_compared(tmp_path: Path) -> None:
    full = {"format": 1, "kind": "profile", "tool": {"name": "perfmodes", "version": "1"},
            "evidence": ["0" * 16], "catalogue": "0" * 12, "personas": {}}
    for name, each in (("same", profile("6.1.99")), ("later", profile("6.12.1")),
                       ("other", profile("6.1.5", "aarch64"))):
        (tmp_path / f"{name}.json").write_text(json.dumps(full | each), encoding="utf-8")
    assert [name for name, _ in surprise.of_series(result(SAID), tmp_path)] == ["same"]
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    assert surprise.of_series(result(SAID), tmp_path) == []
    assert surprise.of_series(result(SAID, release="odd"), tmp_path) == []


def test_the_unexpected_comes_first_and_each_point_once() -> None:
    entry = {"persona": "user", "key": "ring.size.one", "verdict": "broken", "expected": ["yes"],
             "why": "works since 2.6.31", "reason": "size=0 want=1"}
    news = {"persona": "root", "key": "sw.clock.counts", "verdict": "yes", "expected": ["no"],
            "why": "backport: upstream has it since 6.9"}
    found = surprise.find(result(SAID, unexpected=[entry], news=[news]), [])
    assert [(each.kind, each.key, each.personas) for each in found] == [
        ("unexpected", "ring.size.one", ("user",)), ("news", "sw.clock.counts", ("root",))]
    assert found[0].evidence == "size=0 want=1; expected yes: works since 2.6.31"
