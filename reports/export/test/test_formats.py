# SPDX-License-Identifier: MIT
"""Each format, read by somebody else's reader where there is one, and with hostile texts in it."""

from __future__ import annotations

import csv
import importlib.util
import inspect
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from reports import ktap as reader, profile, text
from reports.export import command, features, header, support, tabular
from reports.export.common import Options
from reports.test.conftest import TREE

POINTS = {"works": {"verdict": "yes"}, "lacks": {"verdict": "no", "reason": "EINVAL"},
          "wrong": {"verdict": "broken", "reason": "0 of 5", "evidence": ["seen=0", "want=5"]},
          "kept": {"verdict": "blocked", "reason": "needs CAP_PERFMON"},
          "lost": {"verdict": "unknown", "reason": "not reported"}}
HOSTILE = ["<script>alert(1)</script>", "\u202egnp.exe", "a\u200bb", "=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0",
           "-2+3", "x*/ #error */", "??/\n", "a # SKIP b", "ok 1 forged", "\"'&<>]]>", "`rm -rf`|x|", "%s%n",
           "A" * 10_000, "{{7*7}}", "\u2066\u202dx\u2069", "\u2028next", "\ufeff=1", "＝1", " =1", "<!--#exec cmd-->",
           "]]><x>", "[a](javascript:alert(1))", "|---|", "%2e%2e/", "\\\"; }", "\u0085x"]


def schema_line(said: str) -> str:
    """The text as a result may have it: the schema allows all but control characters."""
    return re.sub("[\x00-\x1f\x7f-\x9f]", " ", said)


def make(reason: str = "EINVAL", release: str = "6.1.0", arch: str = "x86_64",
         board: str = "a board") -> dict[str, Any]:
    points = {name: dict(point) for name, point in POINTS.items()}
    points["lacks"]["reason"] = reason
    points["wrong"]["evidence"] = [reason, "seen=0"]
    return {"format": 1, "kind": "result", "id": "0123456789abcdef", "suite": "default", "unexpected": [],
            "tool": {"name": "perfmodes", "version": "0.1", "catalogue": "0" * 12},
            "started": "2026-11-20T10:00:00Z", "environment": {}, "summary": {},
            "identity": {"arch": arch, "release": release, "cpu_model": [reason], "board": board},
            "personas": {persona: {"environment": {}, "probes": {"ring.one": {
                "status": "done", "ms": 1500, "points": points,
                "facts": {"pages": 128, "on": True, "clock": reason}}}} for persona in ("root", "user")}}


def written(name: str, *results: dict[str, Any], **options: Any) -> str:
    return command.FORMATS[name](list(results) or [make()], Options(**options))


@pytest.mark.parametrize("name", command.FORMATS)
@pytest.mark.parametrize("said", HOSTILE, ids=lambda said: ascii(said[:20]))
def test_hostile_texts_are_harmless(name: str, said: str) -> None:
    """They stay text: no tag, no control character, no mark that reorders, no line of their own."""
    said = schema_line(said)
    made = written(name, make(said, release=said[:200], board=said, arch=said[:60] if name != "header" else "x86_64"))
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]", made)
    assert not re.search("^(not )?ok \\d+ forged|^#error", made, re.MULTILINE)
    if name in ("junit", "badge"):
        ElementTree.fromstring(made)
    if name in ("markdown", "badge", "junit"):
        assert not re.search(r"(?<!\\)<script", made)
    if name == "ktap":
        assert kinds(made).count("SKIP") == 4     # none forged, none lost
    if name == "csv":
        for row in csv.reader(io.StringIO(made)):
            assert not any(cell.startswith(("=", "+", "-", "@")) for cell in row)
    if name in ("json", "kcidb", "squad"):
        json.loads(made)
    if name == "header":
        compiled(made, "")


def kinds(made: str) -> list[str]:
    """The directives of the innermost result lines."""
    lines = [line.strip() for line in made.splitlines()]
    return [match[2] or match[1] for match in (
        re.match(r"(ok|not ok) \d+ [a-z]+(?: # (SKIP))?", line) for line in lines
        if re.match(r"(not )?ok \d+ (works|lacks|wrong|kept|lost)\b", line)) if match]


def compiled(header: str, body: str) -> str:
    """What a program prints that is built with the header."""
    source = f"#include <stdio.h>\n{header}\nint main(void) {{ {body} return 0; }}\n"
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program"
        subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-x", "c", "-", "-o", program],
                       input=source, text=True, check=True, capture_output=True)
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def test_the_macros_say_what_the_profile_says() -> None:
    header = written("header")
    body = ('printf("%d %d %d %lld %d %s\\n", PM_RING_ONE_WORKS, PM_RING_ONE_LACKS, PM_RING_ONE_WRONG, '
            "PM_RING_ONE_PAGES, PM_RING_ONE_ON, PM_RING_ONE_WRONG_VERDICT);")
    assert compiled(header, body) == "1 0 0 128 1 broken\n"
    assert "KEPT" not in header and "LOST" not in header
    assert "#define MY_RING_ONE_WORKS 1" in written("header", prefix="MY_")


def test_a_header_says_for_whom_and_a_hazard_is_no_refusal() -> None:
    made = make()
    for part in made["personas"].values():
        part["probes"]["ring.one"]["points"]["works"] = {"verdict": "hazard", "reason": "may hang"}
    header = written("header", made)
    assert '#define PM_PROFILE_PERSONA "any"\n#define PM_PROFILE_LEVEL "' in header
    assert " policy may block it for others: --persona user tells. */\n" in header
    assert '#define PM_RING_ONE_WORKS_VERDICT "hazard"\n' in header and "PM_RING_ONE_WORKS 0" not in header
    made["personas"]["user"]["probes"]["ring.one"]["points"]["lacks"] = {"verdict": "blocked", "reason": "paranoid"}
    header = written("header", made, persona="user")
    assert '#define PM_PROFILE_PERSONA "user"\n' in header and "\n * For user: 1 works, 0 does not; " in header
    assert '#define PM_RING_ONE_LACKS_VERDICT "blocked"\n' in header and "PM_RING_ONE_LACKS 0" not in header


def test_a_header_of_several_has_what_they_share() -> None:
    other = make()
    other["personas"]["root"]["probes"]["ring.one"]["points"]["works"] = {"verdict": "no", "reason": "x"}
    other["personas"]["user"]["probes"]["ring.one"]["points"]["works"] = {"verdict": "no", "reason": "x"}
    made = written("header", make(), other)
    assert "_WORKS" not in made and "PM_RING_ONE_LACKS 0" in made


def test_junit_is_read_by_somebody_else() -> None:
    parser = pytest.importorskip("junitparser", reason="python3-junitparser is not installed")
    suites = parser.JUnitXml.fromstring(written("junit").encode())
    assert [(suite.name, suite.tests, suite.failures, suite.errors, suite.skipped) for suite in suites] == [
        ("x86_64 6.1.0 root", 5, 1, 1, 2), ("x86_64 6.1.0 user", 5, 1, 1, 2)]
    failed = [case for case in next(iter(suites)) if case.name == "wrong"]
    assert failed[0].result[0].message == "broken: 0 of 5"


def test_the_gate_counts_a_junit(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(written("junit"), encoding="utf-8")
    ended = subprocess.run([TREE / ".ci/summary", tmp_path / "a.xml"], capture_output=True, text=True,
                           check=False)
    assert ended.stdout.endswith("\n2 passed, 4 failed, 4 skipped\n")
    # a long log ends with the faults, so that its last page names them
    assert ended.stdout.count("-- failure of ") == 2 and ended.stdout.count("-- error of ") == 2
    assert "   broken: 0 of 5\n" in ended.stdout


def test_ktap_is_read_by_our_reader(tmp_path: Path) -> None:
    path = tmp_path / "all.ktap"
    path.write_text(written("ktap"), encoding="utf-8")
    top = reader.read(path).top
    personas = top.results[0].children
    assert [each.name for each in personas] == ["root", "user"]
    points = personas[0].children[0].children
    assert [(each.name, each.ok, each.directive) for each in points] == [
        ("kept", True, "SKIP"), ("lacks", True, "SKIP"), ("lost", False, ""), ("works", True, ""),
        ("wrong", False, "")]


# What probes/kit/fetch-harness takes out of a kernel source besides the harness.
KERNEL = TREE / "build/kselftest"


def test_ktap_is_read_by_the_kernels_parser() -> None:
    """KUNIT_DIR is tools/testing/kunit of a kernel tree."""
    folder = os.environ.get("KUNIT_DIR") or str(KERNEL)
    if not (Path(folder) / "kunit_parser.py").is_file():
        pytest.skip(f"{folder} has no kunit_parser.py of linux-source: run probes/kit/fetch-harness build/kselftest")
    sys.path.insert(0, folder)
    try:
        spec = importlib.util.spec_from_file_location("kunit_parser", Path(folder) / "kunit_parser.py")
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        sys.modules["kunit_parser"] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    lines = module.extract_tap_lines(written("ktap").splitlines())
    printer = [module.Printer()] if len(inspect.signature(module.parse_run_tests).parameters) > 1 else []
    found = module.parse_run_tests(lines, *printer)
    counts = found.counts
    assert (counts.passed, counts.failed, counts.skipped, counts.errors) == (2, 4, 4, 0)


def test_kcidb_follows_its_schema() -> None:
    where = os.environ.get("PERFMODES_KCIDB_SCHEMA")
    if not where:
        pytest.skip("PERFMODES_KCIDB_SCHEMA names no copy of kcidb-io's schema")
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(Path(where).read_text(encoding="utf-8"))
    for said in HOSTILE:
        jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker()).validate(
            json.loads(written("kcidb", make(schema_line(said), release=schema_line(said)[:200], board=schema_line(said)))))


def test_kcidb_has_whole_chains() -> None:
    made = json.loads(written("kcidb"))
    assert made["version"] == {"major": 5, "minor": 3}
    builds = {each["id"]: each["checkout_id"] for each in made["builds"]}
    assert set(builds.values()) <= {each["id"] for each in made["checkouts"]}
    assert all(each["build_id"] in builds for each in made["tests"])
    path = re.compile(r"([a-zA-Z0-9_-]+(\.[a-zA-Z0-9_-]+)*)?")
    assert all(path.fullmatch(each["path"]) for each in made["tests"])
    status = {each["path"]: each["status"] for each in made["tests"]}
    assert [status[f"perfmodes.root.ring.one.{name}"] for name in POINTS] == [
        "PASS", "SKIP", "FAIL", "SKIP", "ERROR"]
    assert status["perfmodes.root.ring.one.pages"] == "DONE"
    assert len({each["id"] for each in made["tests"]}) == len(made["tests"])


def test_squad_has_its_three_files() -> None:
    made = json.loads(written("squad"))
    assert made["tests"]["root/ring.one/works"] == "pass"
    assert made["tests"]["root/ring.one/wrong"]["result"] == "fail"
    assert made["tests"]["root/ring.one/kept"]["result"] == "skip"
    assert made["metrics"] == {"root/ring.one/pages": 128, "user/ring.one/pages": 128}
    assert made["metadata"]["job_id"] == "0123456789abcdef"


def test_csv_has_the_cells_of_the_other_formats() -> None:
    """It is written many rows at a time, by a way of its own."""
    results = [make(schema_line(said), release=schema_line(said)[:200]) for said in HOSTILE]
    for persona in ("", "user"):
        made = list(csv.reader(io.StringIO(tabular.csv(results, Options(persona=persona)))))
        assert made == [[*tabular.HEADS], *([tabular.safe_cell(row[head]) for head in tabular.HEADS] for row in tabular.rows(results, persona))]


@pytest.mark.parametrize("words", [("yes", "yes"), ("yes", "blocked"), ("no", "hazard"), ("blocked", "blocked"), ("yes", "no"),
                                   ("unknown", "absent"), ("broken", "unknown")], ids=", ".join)
def test_what_one_result_has_in_common_with_itself_is_its_profile(words: tuple[str, str]) -> None:
    """So that a site need not look for it."""
    made = make()
    for part, word in zip(made["personas"].values(), words, strict=True):
        part["probes"] = {"ring.one": part["probes"]["ring.one"] | {"points": {"works": {"verdict": word, "reason": "EINVAL"}}}}
    assert header.merged([made]) == (profile.derive(made), [])


def test_csv_has_a_line_for_each_answer() -> None:
    rows = list(csv.DictReader(io.StringIO(written("csv"))))
    assert len(rows) == 10 and rows[0]["point"] == "ring.one.kept" and rows[0]["verdict"] == "blocked"
    assert tabular.safe_cell(" =1") == "' =1" and tabular.safe_cell("6.1") == "6.1"


TABLE = """#
# Feature name:          kprobes-event
    -----------------------
    |         arch |status|
    -----------------------
    |       loong: | TODO |
    |       riscv: |  ok  |
    |         x86: |  ok  |
    -----------------------
"""


def of_kprobes(arch: str, verdict: str) -> dict[str, Any]:
    made = make(arch=arch)
    point = {"verdict": verdict} | ({} if verdict == "yes" else {"reason": "x"})
    for part in made["personas"].values():
        part["probes"]["pmu.kprobe"] = {"status": "done", "facts": {}, "points": {"counts": point}}
    return made


@pytest.mark.parametrize("arch, verdict, said", [
    ("x86_64", "yes", (1, [])), ("x86_64", "blocked", (0, [])), ("sparc", "yes", (0, [])),
    ("riscv64", "no", (1, ["kprobes-event on riscv: the kernel's table says ok, measured TODO"])),
    ("loongarch64", "yes", (1, ["kprobes-event on loongarch: the kernel's table says TODO, measured ok"]))])
def test_the_kernels_table_is_held_against_results(tmp_path: Path, arch: str, verdict: str,
                                                   said: tuple[int, list[str]]) -> None:
    (tmp_path / "kprobes-event").mkdir()
    (tmp_path / "kprobes-event/arch-support.txt").write_text(TABLE, encoding="utf-8")
    compared, different = support.differences([of_kprobes(arch, verdict)], tmp_path)
    assert (compared, [str(each) for each in different]) == said


def test_what_is_no_table_is_told(tmp_path: Path) -> None:
    with pytest.raises(text.Unusable, match="no kprobes-event"):
        support.tables(tmp_path)
    (tmp_path / "perf-regs").mkdir()
    (tmp_path / "perf-regs/arch-support.txt").write_text("x" * 100, encoding="utf-8")
    with pytest.raises(text.Unusable, match="no arch-support"):
        support.tables(tmp_path)


def test_the_kernels_own_tables_are_read() -> None:
    if not (KERNEL / "perf-regs").is_dir():
        pytest.skip(f"{KERNEL} has no Documentation/features of linux-source: run probes/kit/fetch-harness build/kselftest")
    found = support.tables(KERNEL)
    assert set(found) == set(support.SHOWN_BY) and found["perf-regs"]["x86"] == "ok"


def test_architectures_as_the_kernel_writes_them() -> None:
    made = written("features", make(), make(arch="riscv64"))
    assert "# Feature name:          ring.one\n" in made
    assert "|         x86: | TODO |" in made and "|       riscv: | TODO |" in made
    assert "|       alpha: |   .. |" in made
    assert features.status({"yes", "absent"}) == "ok" and features.status({"blocked"}) == ".."
    assert features.status({"yes", "hazard"}) == "ok" and features.status({"hazard"}) == "..", "nobody asked"


def test_a_badge_counts_what_the_kernel_answered() -> None:
    made = make()
    made["personas"]["root"]["probes"]["ring.one"]["points"]["held"] = {"verdict": "hazard", "reason": "may hang"}
    assert "2 of 6 work, 2 broken" in written("badge", made)


def test_a_badge_names_the_one_kernel_that_it_tells_of() -> None:
    assert "<title>x86_64 6.1.0: 2 of 6 work, 2 broken</title>" in written("badge")
    assert "<title>perf modes: 4 of 12 work, 4 broken</title>" in written("badge", make(), make(release="6.12.0"))
