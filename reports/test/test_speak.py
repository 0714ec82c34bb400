# SPDX-License-Identifier: MIT
"""What the command line calls itself, and what it takes a misspelt word for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import TREE, MakeRun

from reports import speak, verbs


@pytest.mark.parametrize("words, said", [
    (["tabel", "x"], "no verb 'tabel'; there are: result validate"), (["tabel", "x"], "; did you mean table?"),
    (["nothing-like-it"], "uapi site db\n"), (["export", "cvs", "x"], "; did you mean csv?"),
    (["show", "--al", "--widht", "3", "x"], "reports show: no option '--widht'; did you mean --width?"),
    (["show", "x", "y"], "reports show: not expected: 'y'"),
    (["db", "lst"], "no query 'lst'; there are: add "), (["db", "lst"], "; did you mean list?")])
def test_a_misspelt_choice_is_named(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        verbs.main(words)
    told = capsys.readouterr().err
    assert end.value.code == 2 and said in told and told.startswith("usage: reports")


@pytest.mark.parametrize("words, status, said", [
    (["table", "+", "--persona", "rot"], 2, "no persona 'rot'; there are: root; did you mean root?"),
    (["table", "+", "--persona", "user"], 3, "no persona 'user'; there are: root"),
    (["export", "csv", "+", "--persona", "rot"], 2, "no persona 'rot'; there are: root; did you mean root?"),
    (["export", "csv", "+", "--persona", "user"], 3, "no persona 'user'; there are: root"),
    (["export", "header", "+", "--prefix", "1-x"], 2, "a prefix is a C identifier"),
    (["defects", "--mail", "redirected-map"], 2, "did you mean redirected-mmap?"),
    (["profile", "histroy", "+"], 2, "profile: 'histroy' is no result; did you mean history?"),
    (["profile", "merg"], 2, "did you mean merge?"), (["profile", "gone"], 3, "gone: No such file"),
    (["db", "point", "--db", "it.db", "sw.clock.count"], 3, "did you mean sw.clock.counts?")])
def test_a_misspelt_name_is_named(words: list[str], status: int, said: str, make_run: MakeRun, tmp_path: Path,
                                  monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(make_run())
    monkeypatch.chdir(tmp_path)
    assert verbs.main(["db", "add", "--db", "it.db", run]) == 0
    capsys.readouterr()
    assert verbs.main([run if word == "+" else word for word in words]) == status
    told = capsys.readouterr().err
    assert told.startswith("reports: ") and said in told and told.count("\n") == 1


@pytest.mark.parametrize("word, meant", [
    ("ubuntu", "; did you mean ubuntu-22.04 or ubuntu-24.04?"), ("PERF", "; did you mean perf-record, perf-stat or perf-trace?"),
    ("ROOT", "; did you mean root?"), ("perfeto", "; did you mean perfetto?"), ("pe", ""), ("nothing", "")])
def test_what_a_word_begins_is_named_first(word: str, meant: str) -> None:
    assert speak.near(word, ["ubuntu-22.04", "ubuntu-24.04", "perfetto", "perf-record", "perf-stat", "perf-trace", "root"]
                      if word != "PERF" else ["perf-record", "perf-stat", "perf-trace", "root"]) == meant


@pytest.mark.parametrize("typed, usage, prefix", [("", "usage: reports VERB", "reports: "), (
    "./run.sh report", "usage: ./run.sh report ", "run.sh report: "), ("./run.sh", "usage: ./run.sh ", "run.sh: ")])
def test_it_has_the_name_that_was_typed(typed: str, usage: str, prefix: str) -> None:
    """run.sh, whose verbs these are, tells it."""
    env = {**os.environ, "PERFMODES_COMMAND": typed, "PYTHONPATH": str(TREE)}

    def told(*words: str) -> str:
        return subprocess.run([sys.executable, "-m", "reports", *words], env=env, capture_output=True, text=True,
                              timeout=300, check=False).stderr
    assert told("show", "/nonexistent") == f"{prefix}/nonexistent: No such file or directory\n"
    assert told("tabel").startswith(usage.replace("VERB", "[-h] VERB")) and f"\n{prefix}no verb 'tabel'" in told("tabel")
