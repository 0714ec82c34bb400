# SPDX-License-Identifier: MIT
"""Names and shares beside perf's: how they are compared, and one load of which both are right."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[1] / "bench"


@pytest.fixture(name="names")
def bench_names(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("names")


@pytest.mark.parametrize(("ours", "perf"), [
    ("malloc", "__libc_malloc"), ("clone3", "__GI___clone3"), ("write", "__GI___libc_write"),
    ("fmt.(*fmt).fmtInteger", "fmt.(*fmt).fmtInteger"),
    ("operator new(unsigned long)", "operator new"),
    ("void std::__sort<a*, b<c> >(a*, a*, b<c>)", "std::__sort<a*, b<c> >"),
    ("alloc::fmt::format", "alloc::fmt::format::h0123456789abcdef"),
    ("sorted(std::vector<pair>)::{lambda(pair const&)#1}::operator()(pair const&) const",
     "sorted(std::vector<pair>)::{lambda(pair const&)#1}::operator()"),
    ("scrambled", "scrambled (inlined)"), ("part_of.isra.0", "part_of"),
    ("part_of [clone .constprop.0]", "part_of"), ("[no symbols]", "[unknown]"),
    ("read@@GLIBC_2.2.5", "read"),
])
def test_one_function_has_one_name(names: Any, ours: str, perf: str) -> None:
    assert names.plain(ours) == names.plain(perf) != ""


@pytest.mark.parametrize(("one", "other"), [
    ("JS:*fib work.js:3:13", "JS:*text work.js:7:14"), ("a::run", "b::run"),
    ("sort.(*IntSlice).Less", "sort.(*IntSlice).Swap"), ("operator new(unsigned long)", "new"),
    ("_int_malloc", "malloc"),
])
def test_two_functions_have_two(names: Any, one: str, other: str) -> None:
    assert names.plain(one) != names.plain(other)


def test_stacks_of_both_are_counted_from_the_innermost(tmp_path: Path, names: Any) -> None:
    folded = tmp_path / "folded"
    folded.write_text("prog;main;work;inner 3\nprog;main;work 1\nprog;[no symbols] 1\n",
                      encoding="utf-8")
    selves, totals = names.count(names.folded(folded))
    assert selves == {"inner": 3, "work": 1, "[unknown]": 1}
    assert totals == {"inner": 3, "work": 4, "main": 4, "[unknown]": 1}
    text = "\t  401 inner\n\t  402 work\n\t  403 main\n\n\t  402 work\n\t  403 main\n"
    selves, totals = names.count(names.scripted(text.splitlines(keepends=True)))
    assert selves == {"inner": 1, "work": 1} and totals == {"inner": 1, "work": 2, "main": 2}


def test_the_overlap_is_of_perfs_first_twenty(names: Any) -> None:
    theirs = {"[unknown]": 0.5, **{f"f{i}": 0.02 for i in range(20)}, "rare": 0.01}
    assert names.overlap(theirs, theirs) == pytest.approx(1)
    assert names.overlap({**theirs, "rare": 0, "[unknown]": 0}, theirs) == pytest.approx(1)
    assert names.overlap({f"f{i}": 0.02 for i in range(10)}, theirs) == pytest.approx(0.5)
    assert names.overlap({**theirs, "f0": 0.4}, theirs) == pytest.approx(1)
    assert names.overlap(theirs, {"[unknown]": 1.0}) != names.overlap(theirs, {"[unknown]": 1.0})


def test_a_load_is_named_alike_by_both(tmp_path: Path, names: Any) -> None:
    """Eight functions of known weights, all of them seen and named."""
    if not names.sampler.PROGRAM.exists() or shutil.which("perf") is None:
        pytest.skip("no perf: apt-get install linux-perf")
    result = tmp_path / "result"
    done = subprocess.run(
        [sys.executable, str(BENCH / "names.py"), "--seconds", "4", "--frequency", "997",
         "--json", str(result), "c"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(result.read_text(encoding="utf-8"))[0]
    assert told["named"] == [1, 1] and told["perf"]["samples"] > 0, told
    assert told["selves"]["ours"] > 0.7 and told["totals"]["ours"] > 0.8, told
