# SPDX-License-Identifier: MIT
"""Levels, capabilities and quantities that a program needs; and the programs that are kept by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports import answers, asked, limits, requirements, verbs
from reports.plain import Said
from reports.test.conftest import GOOD, MakeRun, ktap

# Two CPUs with 516 KiB each, and 8 MiB more for the process: 9224 KiB in all.
USER = {"paranoid": "2", "kptr_restrict": "0", "max_sample_rate": "1000", "mlock_kb": "516", "cpus_online": "2",
        "page_size": "4096", "rlimit_memlock": "8388608", "rlimit_nofile": "1024", "uid": "65534",
        "caps": "0000000000000000"}
PERFMON, LOCKS = {"caps": "0000004000000000"}, {"caps": "0000000000004000"}


@pytest.mark.parametrize(("word", "more", "said"), [
    ("level<=2", {}, "yes"), ("level<=1", {}, "blocked: perf_event_paranoid is 2, 1 or less is needed"),
    ("level<=-1", {"paranoid": "-1"}, "yes"), ("level<=2", {"paranoid": "none"}, "not known: nobody told perf_event_paranoid"),
    ("kptr<=0", {}, "yes"), ("rate>=4000", {}, "blocked: perf_event_max_sample_rate is 1000, 4000 or more is needed"),
    ("descriptors>=1024", {}, "yes"), ("descriptors>=9999", {"rlimit_nofile": "unlimited"}, "yes"),
    ("uid=0", {}, "blocked: the user id is 65534, 0 is needed"),
    ("capability=PERFMON", PERFMON, "yes"), ("capability=SYS_ADMIN|PERFMON", PERFMON, "yes"),
    ("capability=BPF|SYS_ADMIN", PERFMON, "blocked: CAP_BPF or CAP_SYS_ADMIN is not held"),
    ("capability=BPF", {"caps": ""}, "not known: nobody told which capabilities were held"),
    ("ring=4MiB", {}, "yes"),                       # 2 * (4096 + 4)
    ("ring=4MiB", {"rlimit_memlock": "0"}, "blocked: locks 8200 KiB, and 1032 KiB may be locked "
     "(perf_event_mlock_kb=516 for each of 2 CPUs, RLIMIT_MEMLOCK 0 KiB)"),
    ("ring=512KiB", {"rlimit_memlock": "0"}, "yes"),    # 2 * 516, just what is allowed
    ("ring=4KiB*130", {"rlimit_memlock": "0"}, "blocked: locks 1040 KiB"),
    ("ring=4KiB*129", {"rlimit_memlock": "0"}, "yes"), ("ring=4KiB", {"page_size": "65536", "rlimit_memlock": "0"}, "yes"),
    ("ring=4KiB*9", {"page_size": "65536", "rlimit_memlock": "0"}, "blocked: locks 1152 KiB"),
    ("ring=900MiB", {}, "blocked"), ("ring=900MiB", {"paranoid": "-1"}, "yes"), ("ring=900MiB", LOCKS, "yes"),
    ("ring=4KiB", {"mlock_kb": ""}, "not known: nobody told how much memory may be locked")])
def test_a_limit_is_held_against_what_a_result_tells(word: str, more: dict[str, str], said: str) -> None:
    assert limits.is_word(word)
    assert str(limits.said(word, USER | more)).startswith(said)


@pytest.mark.parametrize("word", ["level", "levl<=1", "level<=x", "capability=PERFMN", "capability=", "ring=4", "ring=4KB",
                                  "ring=4KiB*", "a.b.c", "descriptors"])
def test_what_is_no_limit_is_none(word: str) -> None:
    assert not limits.is_word(word)


@pytest.fixture
def row(tmp_path: Path, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A row that ships, and the result it was made of."""
    monkeypatch.chdir(tmp_path)
    Path("matrix").mkdir()
    made = make_run({"user": {"ring.write_backward": ktap(GOOD)}}, "matrix/amd64-6.1",
                    env="mlock_kb=516\ncpus_online=2\n")
    (made / "user" / "env").write_text("uid=65534\nrlimit_memlock=1024\nrlimit_nofile=64\ncaps=0000004000000000\n")
    assert verbs.main(["result", "--quiet", str(made)]) == 0
    answers.write([Path("matrix")])
    return made


WANTED = ["ring=512KiB", "ring=1MiB", "level<=1", "capability=PERFMON", "capability=BPF", "descriptors>=65", "uid=0",
          "kptr<=0", "ring.write_backward.max_pages>=128", "ring.write_backward.max_pages>=129",
          "ring.write_backward.max_pages<=127", "ring.write_backward.newest"]


def test_a_row_that_ships_says_what_its_result_says(row: Path) -> None:
    ships, fresh = asked.loaded(Path("amd64-6.1"))[1], asked.loaded(row)[1]
    said = [fresh.said(word, "user", "2") for word in WANTED]
    assert said == [ships.said(word, "user", "2") for word in WANTED]
    assert [each.word for each in said] == [
        "yes", "blocked", "blocked", "yes", "blocked", "blocked", "blocked", "not known", "yes", "no", "no", "yes"]
    assert said[9] == Said("no", "is 128, wanted 129 or more")
    assert fresh.said("level<=1", "user", "1") == Said("not known", "nobody asked at perf_event_paranoid=1; asked at 2")


@pytest.mark.parametrize("key", ["levl<=1", "ring=4KB", "capability=PERFMN", "a.b.c>=x"])
def test_a_misspelt_limit_is_refused(row: Path, key: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("need.toml").write_text(f"format = 1\n[[need]]\nwhat = 'x'\nany = [['{key}']]\n")
    assert verbs.main(["check", "need.toml", "amd64-6.1"]) == 3
    assert f"'{key}' is neither a key, as in area.probe.point, nor a limit" in capsys.readouterr().err


def test_limits_decide_the_exit_status(row: Path, capsys: pytest.CaptureFixture[str]) -> None:
    need = "format = 1\n[[need]]\nwhat = 'x'\nany = [['ring.write_backward.max_pages>=128', 'ring={}']]\n"
    for size, status in (("512KiB", 0), ("1MiB", 1)):
        Path("need.toml").write_text(need.format(size))
        assert verbs.main(["check", "need.toml", "amd64-6.1"]) == status
    said = " ".join(capsys.readouterr().out.split())
    assert "[1] blocked: locks 2056 KiB, and 1033 KiB may be locked" in said and "points ring=1MiB" in said


# ------------------------------------------------------------------------ programs by their names

@pytest.mark.parametrize("name", requirements.programs())
def test_each_program_has_sources_and_asks_for_what_there_is(name: str) -> None:
    wanted = requirements.of_program(name)
    assert wanted.source and wanted.name and (wanted.needs or wanted.beware)
    assert len({need.what for need in wanted.needs}) == len(wanted.needs)
    known = answers.keys(answers.questions(tree() / answers.FOLDER))
    assert {*requirements.keys(wanted)} <= known


def tree() -> Path:
    """The tree whose answers ship."""
    return Path(requirements.__file__).resolve().parent.parent


def test_the_programs_that_people_ask_for_are_there() -> None:
    assert {"perf-record", "perf-stat", "perf-trace", "async-profiler", "perfetto", "parca-agent", "bpftrace", "papi",
            "simpleperf", "rr", "go-pprof", "node"} <= {*requirements.programs()}


def test_a_program_is_found_by_its_name(row: Path, monkeypatch: pytest.MonkeyPatch,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tree())
    assert verbs.main(["profile", "check", "--for", "go-pprof", str(row)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "timer_create" in said and ": yes, nothing is asked of perf events" in said
    assert verbs.main(["check", "--for", "perf-recrd", str(row)]) == 2
    assert "no program 'perf-recrd'; there are: async-profiler" in capsys.readouterr().err
    assert verbs.main(["check", "--for", "./need.toml", str(row)]) == 3
    assert verbs.main(["check", "--for", "lib/doctor/wishes.toml", "--for", "go-pprof", str(row)]) == 0
    assert verbs.main(["check", "--for", "rr", str(row), "--persona", "rot"]) == 2
    assert verbs.main(["check", "reports/data/programs/rr.toml"]) == 2
    assert "where? Name a row that ships" in capsys.readouterr().err


def test_a_wish_of_another_architecture_is_not_granted(row: Path, monkeypatch: pytest.MonkeyPatch,
                                                       capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tree())
    assert verbs.main(["doctor", "--as", str(row), "own-branches"]) == 2
    done = capsys.readouterr()
    assert "no wish 'own-branches' on x86_64: it is of ppc64 alone" in done.err and not done.out
