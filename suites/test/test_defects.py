# SPDX-License-Identifier: MIT
"""Defects of kernels: each reproducer says of this kernel what the probe says of it."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import NEVER, TREE, run_suite

from reports import answers, catalogue, defects, expect, result, text

DEFECTS = defects.read()
AGAIN = 4       # times that what cannot tell is asked
# What a program ends with, by what the probe says of its points.
STATUS = {"yes": defects.RIGHT, "no": defects.WRONG, "broken": defects.WRONG}
# A program looks up tracepoints in tracefs, which nobody may have mounted; for probes the launcher does.
TRACEFS = "test -d /sys/kernel/tracing/events || mount -t tracefs none /sys/kernel/tracing; exec \"$0\""


def test_each_file_is_whole(build: Path) -> None:
    found = catalogue.gather([catalogue.built(TREE)])
    points = {f"{probe.id}.{item.name}" for probe in found.probes.values() for item in probe.points()}
    assert len(DEFECTS) >= 18 and defects.problems(DEFECTS, points) == []
    expected = [(f"{one.probe}.{one.point}", one.verdicts) for one in expect.read(expect.FOLDER).deviations]
    for defect in DEFECTS:
        for point in defect.points:
            assert any(fnmatchcase(point, pattern) and defect.verdict in verdicts for pattern, verdicts in expected), point


def test_a_file_that_is_not_whole_is_told(tmp_path: Path) -> None:
    path = tmp_path / "some.toml"
    for lines, said in (("", "format is 1"), ("format = 1\nkind = 2\n", "kind is unknown, title, hurts"),
                        ('format = 1\ntitle="a"\nhurts="b"\nsince="soon"\nworkaround="c"\npoints=["d"]\n', "since is a release")):
        path.write_text(lines, encoding="utf-8")
        with pytest.raises(Exception, match=said):
            defects.load(path)


def by_probe(defect: defects.Defect, place: Path) -> set[str]:
    """What its points say here. Beside other load a point cannot tell now and then: it is asked again."""
    words = [word for probe in {".".join(point.split(".")[:2]) for point in defect.points} for word in ("--probe", probe)]
    for again in range(AGAIN):
        run_suite(place / f"run{again}", "--persona", "root,user", *words)
        made = result.load(place / f"run{again}")
        told = {point["verdict"] for persona, probe, name, point in expect.points(made) if f"{probe}.{name}" in defect.points}
        if told - {"unknown"}:
            break
    return told


def breakpoint_is_hit(build: Path) -> bool:
    """On a virtual machine without debug registers none is, and a program cannot tell."""
    said = subprocess.run([build / "probes/breakpoint/access"], stdout=subprocess.PIPE, text=True, timeout=NEVER, check=False).stdout
    return "\nok 1 access.w.counts\n" in said


@pytest.mark.perf
@pytest.mark.parametrize("defect", [defect for defect in DEFECTS if not defect.hazard], ids=lambda defect: defect.name)
def test_program_and_probe_agree(build: Path, tmp_path: Path, defect: defects.Defect) -> None:
    """Where the probe's points differ among themselves, with one of them; three times,
    and once where it takes seconds as it waits for a race. What is a hazard is not run."""
    program = defects.build(defect, tmp_path)
    told = by_probe(defect, tmp_path)
    allowed = {STATUS.get(verdict, defects.UNTOLD) for verdict in told}
    if defect.race:     # a run that saw nothing proves nothing
        allowed.add(defects.RIGHT)
    if told == {"no"}:      # what it asks for may be younger than this kernel
        allowed.add(defects.UNTOLD)
    if os.geteuid() == 0:
        command = ["unshare", "--mount", "sh", "-c", TRACEFS, str(program)]
    else:
        command = [str(program)]
    for _ in range(1 if defect.race else 3):
        for _again in range(AGAIN):
            done = subprocess.run(command, capture_output=True, text=True, timeout=NEVER, check=False)
            if done.returncode != defects.UNTOLD or defects.UNTOLD in allowed:
                break
        if done.returncode == defects.UNTOLD and "BREAKPOINT" in defect.program.read_text(encoding="utf-8") and not breakpoint_is_hit(build):
            pytest.skip("no breakpoint counts here")
        assert done.returncode in allowed, (done, told)


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
def test_all_of_them_are_told() -> None:
    said = subprocess.run(["./run.sh", "report", "defects", "--markdown"], cwd=TREE, capture_output=True, text=True,
                          timeout=120, check=True).stdout
    for defect in DEFECTS:
        assert f"## {defect.title.split('`')[0][:20]}" in said and f"`suites/defects/{defect.name}.c`" in said


def test_a_text_can_be_mailed() -> None:
    for defect in DEFECTS:
        said = defects.as_mail(defect)
        head, _, body = said.partition("\n\n")
        assert head.startswith("Subject: [BUG] perf: ") and body.endswith(defect.program.read_text(encoding="utf-8"))
        prose = body[:body.index("// SPDX")]
        assert max(map(len, prose.splitlines())) <= 75 and defect.since in prose and f"gcc -pthread {defect.name}.c" in prose.replace("\n", " ")
    done = subprocess.run(["./run.sh", "report", "defects", "--mail", "nothing"], cwd=TREE, capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode != 0 and "no defect 'nothing'; there are: " in done.stderr


def agree_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("agree", TREE / "suites/agree_defects.py")
    assert spec and spec.loader
    agree = importlib.util.module_from_spec(spec)
    sys.modules["agree"] = agree
    spec.loader.exec_module(agree)
    return agree


def test_a_program_and_a_probe_that_disagree_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    agree = agree_module()
    (defect,) = [each for each in DEFECTS if each.name == "ended-target-output"]
    (tmp_path / "root").mkdir()
    for status, verdict, told in ((0, "yes", ("right", True)), (1, "no", ("wrong", True)), (1, "broken", ("wrong", True)),
                                  (0, "no", ("right", False)), (1, "yes", ("wrong", False)), (4, "yes", ("untold", True)),
                                  (1, "absent", ("wrong", True)), (139, "absent", ("exit 139", False)),
                                  (None, "yes", ("did not end", False))):
        file = tmp_path / "root/defect.ended_target_output.ktap"
        file.write_text(f"TAP version 13\n1..1\n# exit {status}\nok 1 ran\n" if status is not None else "TAP version 13\n")
        monkeypatch.setattr(agree.result, "load", lambda row: None)
        point = {"verdict": verdict}
        monkeypatch.setattr(agree.expect, "points", lambda made, point=point: [("root", "output.ended_target", "by_flag", point)])
        word, verdicts, agreed = agree.compare(tmp_path, [defect])[defect.name]
        assert (word, agreed) == told and verdicts == [verdict]


def test_a_race_is_compared_over_all_runs() -> None:
    agree = agree_module()
    for programs, points, told in (({"wrong"}, {0, 1}, True), ({"wrong"}, {0}, False), ({"right"}, {0, None}, True),
                                   ({"right"}, {0, 1}, False), ({"right", "wrong"}, {1}, True), ({"wrong"}, {None}, True)):
        assert agree.Tally(programs, points).agree() is told, (programs, points)
    assert [defect.name for defect in DEFECTS if defect.race] == ["counted-twice"]


def test_each_cause_was_read_in_a_series() -> None:
    """Function and line of a release, so that a mail says that the cause was read."""
    for defect in DEFECTS:
        assert re.search(r"\w+\(\)", defect.cause), defect.name
        assert re.search(r"\d+\.\d+\.\d+", defect.cause) and re.search(r"[\w/]+\.[ch]:\d+", defect.cause), defect.name
        assert "Cause, by reading: " in defects.as_mail(defect)


# Causes that are in the kernel's own source, which the deviation names, on machines whose reproducer nobody has run yet.
READ = {"kernel/events/ring_buffer.c", "kernel/trace/trace_syscalls.c", "arch/powerpc/perf/core-book3s.c", "kernel/irq_work.c",
        "kernel/events/core.c", "kernel/events/hw_breakpoint.c", "arch/powerpc/kernel/hw_breakpoint.c",
        "arch/arm/include/asm/irq_work.h", "arch/mips/kernel/perf_event.c", "arch/arm/kernel/perf_callchain.c",
        "arch/s390/mm/fault.c", "include/linux/perf_event.h"}


def test_what_is_broken_is_explained(tmp_path: Path) -> None:
    """None is only seen: by a defect, by the source of an emulator or a hypervisor or our PMU, by another point,
    by the commit that mended it, or by the kernel's source."""
    known = defects.others(DEFECTS)
    read = {other.source.partition("/linux.git/tree/")[2] for other in known if other.fault == "kernel"}
    assert read == READ and {other.fault for other in known} == {*defects.FAULTS} - {"unknown"}
    entry = '[[deviation]]\npoint = "a"\nwhen = { %s }\nverdict = ["yes", "broken"]\nreason = "b"\nlink = "%s"\n%s\n'
    seen, source = "seen on 6.1, reproducer x.y", 'source = "https://example.org/linux.git/tree/a.c"'
    for when, link, more, fault in (('release = "<6"', seen, source, "kernel"), ('emulator = "qemu-*"', seen, source, "emulator"),
                                    ('pmu = "synthetic"', seen, source, "pmu"), ('hypervisor = "bhyve"', seen, "", "hypervisor"),
                                    ('release = "<6"', "commit f3bed55e8509", "", "mended"), ('release = "<6"', seen, "", "unknown")):
        (tmp_path / "x.y.toml").write_text("format = 1\n" + entry % (when, link, more), encoding="utf-8")
        assert [(other.fault, other.points) for other in defects.others([], tmp_path)] == [(fault, ("x.y.a",))]
    (tmp_path / "x.y.toml").write_text("format = 1\n" + entry % ('broken = "z"', seen, ""), encoding="utf-8")
    assert defects.others([], tmp_path) == []


def blamed(name: str, facts: expect.Facts, entry: dict[str, Any] | None) -> str:
    """Who is to blame for a broken point: a defect of that release, a word of FAULTS, or another broken point;
    "" where nobody is."""
    if entry is None or "broken" not in entry["verdict"]:
        return ""
    if "broken" in entry["when"]:
        return "another point"
    release = expect.release_of(facts["release"][0])
    for defect in DEFECTS:
        since, until = expect.release_of(defect.since), expect.release_of(defect.until)
        if name in defect.points and since <= release and (not until or release < until):
            return defect.name
    return defects.fault(entry["when"], entry)


def unexplained(sheets: dict[str, answers.Sheet], deviations: dict[tuple[str, str, str], dict[str, Any]],
                expected: expect.Expectations) -> dict[str, set[str]]:
    """Who is to blame -> the rows and points that are broken for that, in all answers of these rows."""
    found: dict[str, set[str]] = {}
    for row, made in ((row, made) for row, sheet in sheets.items() for made in sheet.levels.values()):
        facts = {persona: expect.facts_of(made, persona) for persona in made["personas"]}
        for persona, probe, name, point in expect.points(made):
            if point["verdict"] == "broken":
                deviation = expected.find(probe, name, facts[persona])
                entry = deviations[deviation.probe, deviation.point, deviation.reason] if deviation else None
                found.setdefault(blamed(f"{probe}.{name}", facts[persona], entry), set()).add(f"{row}: {probe}.{name}")
    return found


def test_whatever_is_broken_in_what_ships_has_somebody_to_blame() -> None:
    deviations = {(path.stem, entry["point"], entry["reason"]): entry
                  for path in expect.FOLDER.glob("*.toml") for entry in text.load_toml(path)["deviation"]}
    sheets, expected = answers.load_all(), expect.read(expect.FOLDER)
    found = unexplained(sheets, deviations, expected)
    assert not {"", "unknown"} & found.keys(), found.get("", found.get("unknown"))
    assert {"shared-sample-id", "inherit-stat-swapped", "kernel"} <= found.keys()
    without = {key: entry for key, entry in deviations.items() if key[0] != "sample.shared_hit"}
    nothing = expect.Expectations([one for one in expected.deviations if one.probe != "sample.shared_hit"])
    assert unexplained({"amd64-6.12": sheets["amd64-6.12"]}, without, nothing)[""] == {"amd64-6.12: sample.shared_hit.faults_own_id"}


def test_the_manual_of_the_library_says_the_same_releases() -> None:
    """Of the defects that concern programs with the library: a paragraph each, with the release that the file names."""
    page = (TREE / "lib/man/perfmodes.7").read_text(encoding="utf-8").partition(".Sh BUGS")[2].partition(".Sh ")[0]
    paragraphs = page.split(".Pp\n")[1:]
    said = {"shared-sample-id": "Since Linux {0.since} two software events that sample one hit",
            "ended-target-output": "Linux {0.since} and later,", "counted-twice": "Before Linux {0.until} the sum of an inherited event",
            "cpu-clock-lost": "In Linux {0.since} and early 6.17 cpu-clock loses",
            "cgroup-event-alone": "Before Linux {0.until} the first event of a cgroup on a CPU",
            "tracepoint-period": "Before Linux {0.until} the first samples of a tracepoint",
            "precise-ip-ignored": "core PMUs that have nothing precise accept", "deferred-chain-ignored": "From Linux {0.since} on,",
            "ksymbol-without-jit": "Where BPF programs are not compiled,", "watch-across-words": "from Linux {0.since} to before {0.until},"}
    found = {defect.name: defect for defect in DEFECTS}
    for (name, words), paragraph in zip(said.items(), paragraphs, strict=False):
        assert words.format(found[name]) in paragraph, name
    assert len(paragraphs) == len(said) + 2     # and the command that lists all
