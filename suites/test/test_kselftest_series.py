# SPDX-License-Identifier: MIT
"""The patch series for the kernel's selftests: it applies, builds without a warning, and says what the probes say."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import TREE, result_of, run, run_suite, verdicts

pytestmark = pytest.mark.xdist_group("series")  # one tree serves them all
SCRIPT = TREE / ".packaging/kselftest_series.py"
HARNESS = TREE / "build/kselftest"
FOLDER = "tools/testing/selftests/perf_events"
FILES = {
    f"{FOLDER}/Makefile": "CFLAGS += -Wall $(KHDR_INCLUDES)\nLDFLAGS += -lpthread\n\nTEST_GEN_PROGS := mmap\ninclude ../lib.mk\n",
    f"{FOLDER}/.gitignore": "mmap\n", f"{FOLDER}/config": "CONFIG_PERF_EVENTS=y\n", f"{FOLDER}/settings": "timeout=120\n",
    "MAINTAINERS": "PERFORMANCE EVENTS SUBSYSTEM\nM:\tSome One <one@example.org>\nF:\ttools/lib/perf/\nF:\ttools/perf/\n\nPERSONALITY\n",
}
WORDS = {"yes": "ok", "no": "skip", "broken": "not ok", "blocked": "skip", "absent": "skip", "unknown": "not ok"}


def module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kselftest_series", SCRIPT)
    assert spec and spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def make_base(folder: Path) -> Path:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def make(out: Path, linux: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, SCRIPT, "--out", out, "--linux", linux, *(words or ("--author", "A B <a@example.org>")))


@pytest.fixture(scope="module", name="applied")
def _applied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree where the series was applied by git am."""
    folder = tmp_path_factory.mktemp("series")
    done = make(folder / "out", make_base(folder / "base"))
    assert done.returncode == 0, done.stderr
    tree = make_base(folder / "tree")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(tree)]
    for words in (["init", "-q"], ["add", "-A", "-f"], ["commit", "-q", "-m", "base"],
                  ["am", "-q", *map(str, sorted((folder / "out").glob("0001*.patch")))]):
        done = run(*git, *words)
        assert done.returncode == 0, (words, done.stderr)
    return tree


def test_the_series_is_whole(applied: Path) -> None:
    series = module()
    names = [series.name_of(probe) for probe in series.TESTS]
    assert len(names) >= 12
    makefile = (applied / FOLDER / "Makefile").read_text()
    assert re.findall(r"^TEST_GEN_PROGS \+= (\w+)$", makefile, re.M) == names and makefile.endswith("\ninclude ../lib.mk\n")
    assert (applied / FOLDER / ".gitignore").read_text().split() == ["mmap", *names]
    assert f"F:\ttools/perf/\nF:\t{FOLDER}/\n\nPERSONALITY" in (applied / "MAINTAINERS").read_text()
    cover = (applied.parent / "out/0000-cover-letter.patch").read_text()
    assert "***" not in cover and "@TESTS@" not in cover and all(f"  {name} " in cover for name in names)
    for name in names:
        text = (applied / FOLDER / f"{name}.c").read_text()
        assert text.startswith("// SPDX-License-Identifier: GPL-2.0-only\n/*\n") and text.endswith("\nTEST_HARNESS_MAIN\n")
        assert max(len(line.expandtabs(8)) for line in text.splitlines()) <= 100, name
    patch = next((applied.parent / "out").glob("0001*.patch")).read_text()
    assert "Signed-off-by: A B <a@example.org>" in patch and "perfmodes" not in patch.lower()


@pytest.mark.perf
def test_tests_say_what_the_probes_say(applied: Path, tmp_path: Path) -> None:
    series = module()
    shutil.copy(HARNESS / "kselftest.h", applied / FOLDER / "..")
    # The generation of 6.1 has a status of its own for what is skipped.
    harness = (HARNESS / "kselftest_harness.h").read_text().replace("WEXITSTATUS(status) == 255", "WEXITSTATUS(status) == KSFT_SKIP")
    (applied / FOLDER / "../kselftest_harness.h").write_text(harness)
    run_suite(tmp_path / "run", "--persona", "root,user",
              *[word for probe in series.TESTS for word in ("--probe", probe.replace("/", "."))])
    made = result_of(tmp_path / "run")
    found = verdicts(made, next(iter(made["personas"])))
    for probe in series.TESTS:
        program = tmp_path / series.name_of(probe)
        done = run("gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-pthread", "-o", program,
                   applied / FOLDER / f"{series.name_of(probe)}.c")
        assert done.returncode == 0, done.stderr
        said = run(program).stdout
        # The oldest generation prints a skipped test without its name.
        names = [name.partition(".")[2] for name in re.findall(r"^#  RUN +(\S+) \.\.\.$", said, re.M)]
        told = {names[int(number) - 1]: "skip" if "# SKIP" in rest else word
                for word, number, rest in re.findall(r"^(ok|not ok) (\d+)(.*)$", said, re.M)}
        points = {point.split(".", 2)[2]: verdict for point, verdict in found.items() if point.startswith(probe.replace("/", ".") + ".")}
        assert points and told == {point: WORDS[verdict] for point, verdict in points.items()}, (probe, said)


def test_lines_below_a_parenthesis_stay_there() -> None:
    made = module().styled('int f(uint64_t one,\n      uint64_t two)\n{\n\tsay("a=%" PRIu64 " b"\n\t    " c", one,\n\t    two);\n}\n')
    assert made == 'int f(__u64 one,\n      __u64 two)\n{\n\tsay("a=%llu b c", one,\n\t    two);\n}\n'
    assert module().styled("uint64_t f(int one,\n\t   int two);\n") == "__u64 f(int one,\n\tint two);\n"


def test_what_has_no_word_in_the_harness_is_told() -> None:
    with pytest.raises(Exception, match=r"read_x: require\( has no word"):
        module().converted("/* SPDX-License-Identifier: GPL-2.0-only */\n/*\n * a\n */\n\nTEST(a)\n{\n\trequire(1);\n}\n", "read_x")


def test_what_is_no_tree_is_refused(tmp_path: Path) -> None:
    done = make(tmp_path / "out", tmp_path)
    assert done.returncode == 2 and "no tree of Linux" in done.stderr
    base = make_base(tmp_path / "base")
    (base / FOLDER / "Makefile").write_text("all:\n")
    assert "no line `include ../lib.mk`" in make(tmp_path / "out", base).stderr
    assert "AUTHOR= is to be" in make(tmp_path / "out", base, "--author", "nobody").stderr
