# SPDX-License-Identifier: MIT
"""Each lint has an input that breaks it, beside one that does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import CATALOGUE, CLOCK, GOOD, MakeRun, ktap

from reports import lint, result, rules

MIT, GPL = "/* SPDX-License-Identifier: MIT */\n", "/* SPDX-License-Identifier: GPL-2.0-only */\n"
PYTHON = "# SPDX-License-Identifier: MIT\n"
PROBE = GPL + '#include "probe.h"\nPROBE(TITLE("t") SINCE("4.7") POINT(a, "x"))\nTEST(a)\n{\n}\n'
LONG_C = "int f(void)\n{\n" + "\tg();\n" * 60 + "}\n"
FLAGS = dict(zip(("sigtrap", "mmap2", "ksymbol", "cgroup"), (37, 23, 29, 32)))
FIELDS = dict(zip(("IDENTIFIER", "REGS_USER", "DATA_SRC", "PHYS_ADDR"), (16, 12, 15, 19)))
ADVICE = ("ulim" "it -n 4096", "setc" "ap X=ep PROGRAM", "fs.file" "-max", "ulim" "it -l 64")
ERRNOS = "".join(f'\t{{ {name}, "{name}" }},\n' for name in ("EPERM", "EIO", "EINVAL", "E2BIG"))

BAD = [
    ("licence", "lib/a.c", "int a;\n"),
    ("licence", "lib/a.c", GPL + "int a;\n"),
    ("licence", "probes/a.h", MIT + "int a;\n"),
    ("licence", "suites/falsify/a.c", MIT + "int a;\n"),
    ("licence", "suites/a.py", "# SPDX-License-Identifier: GPL-2.0-only\n"),
    ("licence", "kernels/pmu/module/a.c", MIT + "int a;\n"),
    ("licence", "run.sh", "#!/bin/sh\ntrue\n"),
    ("file-size", "lib/a.c", MIT + "int a;\n" * 500),
    ("file-size", "probes/ring/a.c", PROBE + "\n" * 250),
    ("file-size", "README.md", "x\n" * 121),
    ("file-size", ".github/CONTRIBUTING.md", "x\n" * 121),
    ("file-size", "lib/README.md", "x\n" * 81),
    ("file-size", "Makefile", "# SPDX-License-Identifier: MIT\n" + "all:\n" * 150),
    ("function-size", "lib/a.c", MIT + LONG_C),
    ("function-size", "reports/a.py", PYTHON + "def f():\n" + "    g()\n" * 61),
    ("function-size", "run.sh", "#!/bin/sh\n" + PYTHON + "f() {\n" + "\ttrue\n" * 60 + "}\n"),
    ("columns", "lib/a.c", MIT + "\t" * 12 + "int a;\n"),
    ("arrow", "reports/a.py", PYTHON + 'open("lib/' + 'ring.c")\n'),
    ("arrow", "run.sh", "#!/bin/sh\n" + PYTHON + "cat probes/ring/a" + ".c\n"),
    ("version-compare", "lib/a.c", MIT + "int a = LINUX_VERSION_CODE;\n"),
    ("version-compare", "probes/a.h", GPL + "#define NEW KERNEL_VERSION(5, 1, 0)\n"),
    ("errno-switch", "probes/ring/a.c", PROBE + "void f(void) { switch (errno) {} }\n"),
    ("errno-switch", "probes/ring/a.c", PROBE + "void f(int r) { switch (r) { case -EINVAL: ; } }\n"),
    ("sleep", "probes/ring/a.c", PROBE + "void f(void) { usleep(10); }\n"),
    ("patience", "lib/test/test_a.py", PYTHON + "run(['a'], time" + "out=60)\n"),
    ("patience", "lib/test/policy/test_a.py", PYTHON + "end = time.mono" + "tonic() + 30\n"),
    ("by-hand", "lib/README.md", "Please ke" + "ep this in sync with that.\n"),
    ("file-name", "lib/util.c", MIT),
    ("file-name", "reports/misc.py", PYTHON),
    ("place", "lib/README.md", "see /ho" + "me/me/notes\n"),
    ("place", "reports/a.py", PYTHON + "URL = 'http://build.co" + "rp/x'\n"),
    ("declaration", "probes/ring/a.c", GPL + "int main(void) { return 0; }\n"),
    ("declaration", "probes/ring/a.c", PROBE + "TEST(b)\n{\n}\n"),
    ("declaration", "probes/ring/a.c", PROBE.replace("TEST(a)", "TEST(c)")),
    ("second-list", "lib/a.c", MIT + ERRNOS),
    ("second-list", "reports/a.py", PYTHON + "NAMES = {" + "".join(
        f'errno.{name}: "{name}", ' for name in ("EPERM", "EIO", "EINVAL", "E2BIG")) + "}\n"),
    ("second-list", "probes/attr/a.h", GPL + "#define ROWS(X) " + "".join(
        f"X({bit}, {name}) " for name, bit in FLAGS.items()) + "\n"),
    ("second-list", "lib/policy/diagnosis/a.c", MIT + "".join(
        f'static const char *a{n} = "{words}";\n' for n, words in enumerate(ADVICE))),
    ("second-list", "reports/a.py", PYTHON + f"FLAGS = {FLAGS}\n"),
    ("second-list", "lib/a.h", MIT + "enum {\n" + "".join(
        f"\tPERF_SAMPLE_{name} = 1 << {bit},\n" for name, bit in FIELDS.items()) + "};\n"),
    ("second-list", "reports/a.py", PYTHON + 'KEPT = {"yes", "no", "broken"}\n'),
    ("second-list", "reports/a.py", PYTHON + 'LETTER = {"yes": "y", "no": "n", "hazard": "h"}\n'),
    ("second-list", "lib/a.h", MIT + "enum a { PM_UNKNOWN, PM_YES,\n\tPM_NO };\n"),
    ("second-list", "lib/a.c", MIT + "int f(int v)\n{\n\tswitch (v) {\n\tcase PM_YES: return 1;\n"
     "\tcase PM_NO: return 2;\n\tcase PM_BLOCKED: return 3;\n\t}\n\treturn 0;\n}\n"),
    ("second-list", "probes/kit/a.h", GPL + "enum verdict { YES, NO, BROKEN, BLOCKED };\n"),
    ("second-list", "reports/schema/a.json", '{"enum": ["yes", "no", "unknown"]}\n'),
    ("second-list", "run.sh", "#!/bin/sh\n" + PYTHON + 'personas="root perfmon user"\n'),
    ("second-list", "kernels/a.py", PYTHON + 'HELP = "of root,user,seccomp"\n'),
    ("second-list", "probes/launcher/a.c", GPL + 'const char *a[] = { "root", "perfmon",\n\t"user" };\n'),
    ("expectation", "suites/expect/ring.a.toml", PYTHON + "format = 1\n"),
    ("expectation", "suites/expect/ring.gone.toml", PYTHON + 'format = 1\n[[deviation]]\n'
     'point = "a"\nwhen = {arch = "x86_64"}\nverdict = "no"\nreason = "a long reason"\n'
     'link = "https://example.org/issues/1"\n'),
    ("expectation", "suites/expect/ring.a.toml", PYTHON + 'format = 1\n[[deviation]]\n'
     'point = "a"\nwhen = {arch = "x86_64"}\nverdict = "no"\nreason = "a long reason"\n'
     'link = "seen on 6.1 mips64, reproducer ring.gone"\n'),
]

GOOD_TREE = {
    "kernels/pmu/module/a.c": GPL + "int a = LINUX_VERSION_CODE;\n",
    "Makefile": PYTHON + "all:\n",
    "README.md": "# A house\n",
    "run.sh": "#!/bin/sh\n" + PYTHON + "f() {\n\ttrue\n}\n",
    "lib/a.c": MIT + '#include "perfmodes.h"\n/* switch (errno) in LINUX_VERSION_CODE; sleep(1) */\n'
    'static const char *s = "{ sleep(1)";\nstruct a { int b; };\nint f(void)\n{\n\treturn 0;\n}\n',
    # Two words are a decision; what a test expects is no list; prose is prose.
    "reports/b.py": PYTHON + 'said = "yes" if word in ("no", "broken") else ""\n'
    'how = {"root": "yes"}  # no, not blocked, and user space is absent\n',
    "reports/test/b.py": PYTHON + 'want = {"root": "yes", "user": "no", "seccomp": "blocked"}\n',
    "probes/ring/a.c": PROBE + "/* sleep(1) */\n"
    "FIXTURE(r) { int x; };\nFIXTURE_VARIANT_ADD(r, one) { 1 };\n"
    "TEST_F(r, b)\n{\n}\n".replace("\n", "\n"),
    "suites/expect/ring.a.toml": PYTHON + 'format = 1\n[[deviation]]\npoint = "a"\n'
    'when = {arch = "riscv64", release = ">=5.10,<5.15"}\nverdict = ["no", "yes"]\n'
    'reason = "a long reason"\nlink = "https://example.org/issues/1"\n',
}


def lay(top: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return top


def good_tree(top: Path) -> Path:
    declared = GOOD_TREE["probes/ring/a.c"].replace('POINT(a, "x")', 'POINT(a, "x") POINT(one.b, "y")')
    return lay(top, GOOD_TREE | {"probes/ring/a.c": declared})


def test_a_good_tree_has_no_finding(tmp_path: Path) -> None:
    assert [str(finding) for finding in lint.tree(good_tree(tmp_path))] == []


@pytest.mark.parametrize("rule,name,content", BAD, ids=lambda value: str(value)[:30])
def test_each_rule_finds_what_it_is_for(tmp_path: Path, rule: str, name: str, content: str) -> None:
    good_tree(tmp_path)
    found = {(finding.rule, finding.where) for finding in lint.tree(lay(tmp_path, {name: content}))}
    assert found & {(rule, name), (rule, "suites/expect") if "ring.a.toml" in name else (rule, name)}


def test_every_rule_has_a_bad_case() -> None:
    assert set(rules.RULES) <= {rule for rule, _, _ in BAD}


def test_a_line_can_be_excused_with_a_reason(tmp_path: Path) -> None:
    line = "void f(void) { usleep(10); } "
    excused = PROBE + line + "/* lint: allow sleep: the passing of time is the question */\n"
    assert list(lint.tree(lay(tmp_path, {"probes/ring/a.c": excused}))) == []
    silent = excused.replace(": the passing of time is the question", "")
    assert [f.rule for f in lint.tree(lay(tmp_path, {"probes/ring/a.c": silent}))] == ["sleep"]


def test_tests_made_by_macros_are_left_to_the_run(tmp_path: Path) -> None:
    made = PROBE + "#define EACH(x) \\\n\tTEST(x##_one) { }\nEACH(b)\n"
    assert list(lint.tree(lay(tmp_path, {"probes/ring/a.c": made}))) == []


def test_binary_files_and_outputs_are_not_read(tmp_path: Path) -> None:
    lay(tmp_path, {"build/x/a.c": "no licence\n", "lib/x.c": "\0\1\2"})
    assert list(lint.tree(tmp_path)) == []


def rules_of(found: list[lint.Finding]) -> list[str]:
    return sorted({finding.rule for finding in found})


def test_a_good_result_has_no_finding(make_run: MakeRun, tmp_path: Path) -> None:
    assert lint.result(make_run(), tmp_path, ["somehost"]) == []


@pytest.mark.parametrize("env", ["board=built in /ho" + "me/me/x\n", "board=on somehost here\n",
                                 "board=aa:bb:cc:dd:ee:ff\n", "serialno=12345\n", "hostname=x1\n",
                                 "note=/tm" + "p/x\n"])
def test_a_result_names_nobody(make_run: MakeRun, tmp_path: Path, env: str) -> None:
    assert rules_of(lint.result(make_run(env=env), tmp_path, ["somehost"])) == ["privacy"]


def test_privacy_is_read_in_the_output_of_probes_too(make_run: MakeRun, tmp_path: Path) -> None:
    said = ktap(GOOD + "# /us" + "r/src/probe.c:3: a remark\n")
    run = make_run({"root": {"ring.write_backward": said}})
    assert rules_of(lint.result(run, tmp_path, [])) == ["privacy"]


@pytest.mark.parametrize("harmless", [
    "note=/proc/sys/kernel/perf_event_paranoid and /sys/bus/x and /dev/null\n",
    "note=read/write 1/2 a/b/c https://example.org/x\n"])
def test_kernel_paths_and_fractions_are_no_places(make_run: MakeRun, tmp_path: Path,
                                                  harmless: str) -> None:
    assert lint.result(make_run(env=harmless), tmp_path, []) == []


@pytest.mark.parametrize("said,message", [
    (GOOD.replace("1..2", "1..3") + "ok 3 global.more\n", "undeclared point more"),
    (GOOD + "#:perfmodes: more=1\n", "undeclared fact more=1"),
    (GOOD.replace("=128", "=many"), "fact max_pages is no int: 'many'"),
    (GOOD.replace("#:perfmodes: max_pages=128\n", ""), "fact max_pages is declared and not given"),
    (GOOD.replace("1..2", "1..1").replace("ok 2 global.plain\n", ""),
     "plain is declared and not reported"),
])
def test_declared_and_emitted_are_the_same(make_run: MakeRun, tmp_path: Path, said: str,
                                           message: str) -> None:
    run = make_run({"root": {"ring.write_backward": ktap(said)}})
    found = lint.result(run, tmp_path, [])
    assert any(finding.message == f"root ring.write_backward: {message}" for finding in found)


def test_a_fact_may_be_left_out_where_its_probe_says_why(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run({"root": {"ring.write_backward": ktap(GOOD.replace("#:perfmodes: max_pages=128\n", ""))}})
    fact = '      FACT(max_pages, int, "pages", "how many")\n'
    lay(tmp_path, {"probes/ring/write_backward.c": fact})
    assert rules_of(lint.result(run, tmp_path, [])) == ["declaration"]
    lay(tmp_path, {"probes/ring/write_backward.c": "/* lint: allow fact-missing: of rings alone */\n" + fact})
    assert lint.result(run, tmp_path, []) == []


def test_a_catalogue_with_an_error_is_found(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run(catalogue=CATALOGUE.replace("since=2.6.31\n", ""))
    assert rules_of(lint.result(run, tmp_path, [])) == ["declaration"]


def test_a_stale_deviation_is_found(make_run: MakeRun, tmp_path: Path) -> None:
    entry = ('format = 1\n[[deviation]]\npoint = "counts"\nwhen = {arch = "x86_*"}\n'
             'verdict = "broken"\nreason = "counted twice"\nlink = "https://example.org/issues/1"\n')
    lay(tmp_path, {"suites/expect/sw.clock.toml": entry})
    run = make_run()
    assert rules_of(lint.result(run, tmp_path, [])) == ["expectation"]
    lies = CLOCK.replace("ok 1", "#:perfmodes: observed=2\nnot ok 1")
    (run / "root" / "sw.clock.ktap").write_text(ktap(lies, 1))
    assert lint.result(run, tmp_path, []) == []


def test_a_profile_that_breaks_its_schema_is_found(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run()
    (run / "profile.json").write_text(json.dumps({"kernel": {"a.b": "unknown"}}))
    assert "schema" in rules_of(lint.result(run, tmp_path, []))


def test_a_result_without_its_directory_can_be_linted(make_run: MakeRun, tmp_path: Path) -> None:
    made = result.load(make_run(env="board=on somehost\n"))
    (tmp_path / "alone.json").write_text(json.dumps(made))
    assert rules_of(lint.result(tmp_path / "alone.json", tmp_path, ["somehost"])) == ["privacy"]


def test_a_deviation_of_a_point_that_is_not_there_is_stale(tmp_path: Path, make_elf) -> None:
    (good_tree(tmp_path) / "build" / "x" / "probes" / "ring").mkdir(parents=True)
    program = tmp_path / "build" / "x" / "probes" / "ring" / "a"
    program.write_bytes(make_elf("a", "id=ring.a\ntitle=t\nsince=4.7\npoint=a x\n"
                                 "point=one.b y").read_bytes())
    assert list(lint.tree(tmp_path)) == []
    path = tmp_path / "suites" / "expect" / "ring.a.toml"
    path.write_text(path.read_text().replace('point = "a"', 'point = "a.*"'))
    assert [finding.message for finding in lint.tree(tmp_path)] == [
        "stale: a.* matches no point of the probe"]
    program.unlink()		# not built: what points it has is not known
    assert list(lint.tree(tmp_path)) == []
