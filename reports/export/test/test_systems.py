# SPDX-License-Identifier: MIT
"""Systems by the names that people use: whom they ask, at which level, and what is not known."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from reports import answers, asked, sheet, sheet_read, systems, verbs
from reports.test.conftest import GOOD, TREE, MakeRun, ktap
from reports.text import Unusable

ROWS = ("amd64-5.10", "amd64-6.1", "amd64-6.1-pmu", "amd64-6.12", "amd64-6.12-rt", "amd64-newest", "arm64-6.1")
LEVELS = """
id=perm.levels
title=levels
since=4.1
fact=nobody_at_3 enum - answer
"""
TOLD = "TAP version 13\n1..1\n#:perfmodes: nobody_at_3=EACCES\nok 1 global.t\n"


@pytest.mark.parametrize(("series", "arch", "rows"), [
    ("6.1", "amd64", ["amd64-6.1"]), ("5.15", "amd64", ["amd64-5.10", "amd64-6.1"]),
    ("6.8", "amd64", ["amd64-6.1", "amd64-6.12"]), ("3.10", "amd64", ["amd64-5.10"]),
    ("9.1", "amd64", ["amd64-6.12"]), ("6.12", "arm64", ["arm64-6.1"]), ("6.1", "vax", [])])
def test_a_series_is_answered_by_its_row_or_its_neighbours(series: str, arch: str, rows: list[str],
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "release", lambda name: "")
    assert systems.rows(series, arch, ROWS) == rows


@pytest.mark.parametrize(("name", "found"), [
    ("debian-12", ("debian-12", "amd64")), ("Debian12", ("debian-12", "amd64")),
    ("debian-12:arm64", ("debian-12", "arm64")), ("android-13", ("android-13", "arm64")), ("debian-1", None),
    ("Rocky-9", ("rhel-9", "amd64")), ("almalinux10", ("rhel-10", "amd64")), ("6.8", ("6.8", "amd64")), ("v6.8:arm64", ("6.8", "arm64")),
    ("6.17.4-200.fc42.x86_64", ("6.17.4-200.fc42.x86_64", "amd64")), ("linux-5.15.0-91-generic", ("5.15.0-91-generic", "amd64")),
    ("ubuntu2204", ("ubuntu-22.04", "amd64")), ("ubuntu:22.04", ("ubuntu-22.04", "amd64")), ("Jammy", ("ubuntu-22.04", "amd64")),
    ("ubuntu:22.04:arm64", ("ubuntu-22.04", "arm64")), ("debian-12:s390x", ("debian-12", "s390x")),
    ("Ubuntu 24.04.1 LTS", ("ubuntu-24.04", "amd64")), ("Debian GNU/Linux 12 (bookworm)", ("debian-12", "amd64")),
    ("Red Hat Enterprise Linux 9.4 (Plow)", ("rhel-9", "amd64")), ("Rocky Linux 9.3 (Blue Onyx)", ("rhel-9", "amd64")),
    ("AlmaLinux 9.3", ("rhel-9", "amd64")), ("CentOS Stream 9", ("rhel-9", "amd64")), ("Amazon Linux 2023", ("amazon-2023", "amd64")),
    ("5.14.0-427.13.1.el9_4.aarch64", ("5.14.0-427.13.1.el9_4.aarch64", "arm64")), ("Fedora Linux 40", None), ("ubuntu", None),
    ("el9", ("rhel-9", "amd64")), ("rocky_9", ("rhel-9", "amd64")), ("al2023", ("amazon-2023", "amd64")),
    ("6", None), ("6.x", None), ("amd64-6.99", None), ("6.8/../x", None)])
def test_a_name_is_found_as_it_is_typed(name: str, found: tuple[str, str] | None) -> None:
    system = systems.find(name)
    assert (system and (system[0].name, system[1])) == found


@pytest.mark.parametrize(("release", "level", "whose"), [
    ("6.8.0-45-generic", "4", "Ubuntu"), ("5.4.0-1103-aws", "4", "Ubuntu 20.04 LTS"), ("6.17.0-5-generic", "4", "Ubuntu"),
    ("6.1.0-18-amd64", "3", "Debian 12 (bookworm)"), ("6.6.87.2-microsoft-standard-WSL2", "2", "Windows Subsystem for Linux 2"),
    ("5.14.0-427.el9.x86_64", "2", "Red Hat Enterprise Linux 9"), ("6.1.75-android14-11-g1", "", "Android 14, common kernels"),
    ("6.17.4-200.fc42.x86_64", "", ""), ("6.6.1", "", "")])
def test_a_kernel_has_the_level_of_those_who_name_it_so(release: str, level: str, whose: str) -> None:
    found = systems.find(release)
    assert found and found[0].level == level and found[0].title.endswith(f"named as those of {whose}" if whose else "")
    assert ("of the series" in found[0].title) == (not whose)


def test_the_newest_row_answers_for_its_series(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "release", lambda name: "7.3.4+deb13-cloud-amd64")
    assert systems.rows("7.3", "amd64", ROWS) == systems.rows("9.1", "amd64", ROWS) == ["amd64-newest"]
    assert systems.rows("7.1", "amd64", ROWS) == ["amd64-6.12", "amd64-newest"]
    assert not any("no amd64 kernel here" in line for line in systems.about(systems._of_release("7.3", "7.3"), "amd64", ROWS))
    monkeypatch.undo()
    for name in answers.names(TREE / answers.FOLDER):
        assert re.match(r"\d+\.\d+", answers.release(name, TREE / answers.FOLDER)), name


def test_names_are_of_one_system_each() -> None:
    """As people write them; the search of a site and `doctor --as` take them."""
    every = [(name, each.name) for each in systems.read().values() for name in each.names()]
    assert len({name for name, _system in every}) == len(every)
    told = dict(every)
    for name, system in (("ubuntu 22.04", "ubuntu-22.04"), ("jammy", "ubuntu-22.04"), ("debian bookworm", "debian-12"),
                         ("debian 12", "debian-12"), ("red hat 9", "rhel-9"), ("rocky 9", "rhel-9"), ("android 14", "android-14")):
        assert told[name] == system
    found = systems.find("jammy")
    assert found and found[0].name == "ubuntu-22.04"


def test_each_entry_names_its_sources() -> None:
    asked_for = {"ubuntu-22.04", "rhel-9", "debian-12", "android-13", "wsl2", "amazon-2023", "raspberry-pi-os"}
    assert asked_for <= systems.read().keys()
    for each in systems.read().values():
        assert each.series and each.source and bool(each.level) == bool(each.level_source), each.name
        assert not each.level or each.level in asked.LEVELS


@pytest.mark.parametrize("source", ["", "format = 1", "format = 1\n[[system]]\nname = 3",
                                    "format = 1\n[[system]]\nname = 'x'", "format = 1\nsystem = [1]"])
def test_a_wrong_table_is_refused(source: str, tmp_path: Path) -> None:
    (tmp_path / "systems.toml").write_text(source)
    with pytest.raises(Unusable):
        systems.read(tmp_path / "systems.toml")


@pytest.fixture
def tree(tmp_path: Path, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two rows that ship. The points of the levels found that level 3 refuses all."""
    from reports.test.conftest import CATALOGUE
    monkeypatch.chdir(tmp_path)
    (tmp_path / "matrix").mkdir()
    catalogue = CATALOGUE.replace("id=sw.clock", LEVELS.strip() + "\npoint=t t\n\nid=sw.clock")
    for series in ("5.10", "6.1"):
        made = make_run({"root": {"ring.write_backward": ktap(GOOD), "perm.levels": ktap(TOLD)},
                         "user": {"ring.write_backward": ktap(GOOD)}}, f"matrix/amd64-{series}", series + ".3",
                        catalogue)
        assert verbs.main(["result", "--quiet", str(made)]) == 0
    answers.write([tmp_path / "matrix"])
    Path("need.toml").write_text('format = 1\n[[need]]\nwhat = "x"\nany = [["ring.write_backward.newest"]]\n')
    return tmp_path


@pytest.mark.parametrize(("words", "status", "said"), [
    (["debian-12"], 1, ["as user at perf_event_paranoid=3, on amd64-6.1 (Linux 6.1.3, x86_64): 0 of 1 as asked "
                        "perf_event_paranoid=3 refuses every event to user (perm.levels.nobody_at_3 is EACCES); "
                        "--level 2 tells what holds at that blocked x, because of [1]"]),
    (["debian-12", "--level", "2"], 0, ["as user at perf_event_paranoid=2", " yes x"]),
    (["debian-12", "--level", "1"], 4, ["nobody asked at perf_event_paranoid=1; asked at 2;", " not known x, because of [1]"]),
    (["debian-12", "--persona", "root"], 0, ["nobody asked at perf_event_paranoid=3; asked at 2; what follows holds at 2"]),
    (["rhel-9"], 0, ["no amd64 kernel here is Linux 5.14; the nearest that are answer for it: amd64-5.10, amd64-6.1 ",
                     "on amd64-5.10 (Linux 5.10.3", "on amd64-6.1 (Linux 6.1.3", "not known: what it has backported",
                     "on the machine itself: ./run.sh doctor"]),
    (["rhel-7"], 0, ["with which perf_event_paranoid it starts is not known here", "as user at perf_event_paranoid=2"]),
    (["5.15.0-91-generic"], 0, ["the nearest that are answer for it: amd64-5.10, amd64-6.1"]),
    (["debian-12", "--persona", "seccomp"], 4, ["as seccomp at perf_event_paranoid=3", " nobody asked as seccomp "]),
    (["android-13"], 3, []), (["ubunto-22.04"], 3, []), (["ubuntu"], 3, []), (["fedora-42"], 3, [])])
def test_a_system_is_answered_for(tree: Path, words: list[str], status: int, said: list[str],
                                  capsys: pytest.CaptureFixture[str]) -> None:
    assert verbs.main(["check", "need.toml", *words]) == status
    told = capsys.readouterr()
    out = " ".join(told.out.split())
    assert all(each in out for each in said), told.out
    assert {"ubunto-22.04": "did you mean ubuntu-22.04?", "ubuntu": "did you mean ubuntu-20.04, ubuntu-22.04, ",
            "fedora-42": "systems: debian-11 debian-12 debian-13 ",
            "android-13": "no answers of a plain kernel of arm64 ship; of: amd64"}.get(words[0], "") in told.err


def test_a_persona_that_was_asked_at_some_levels(tree: Path, make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    """What is said of it names its own levels, not those of others."""
    (tree / "some" / "amd64-6.1").mkdir(parents=True)
    for level, whose in (("0", ("root", "user")), ("1", ("root", "user")), ("2", ("root",))):
        made = make_run({persona: {"ring.write_backward": ktap(GOOD)} for persona in whose}, f"some/amd64-6.1/paranoid-{level}")
        (made / "env").write_text((made / "env").read_text().replace("paranoid=2", f"paranoid={level}"))
        assert verbs.main(["result", "--quiet", str(made)]) == 0
    (answers.FOLDER / "amd64-5.10.txt").unlink()
    answers.write([tree / "some"])
    for words, status, at, said in (
            ([], 0, "0", "nobody asked as user at perf_event_paranoid=2; asked at 0, 1; what follows holds at 0 "),
            (["--level", "2"], 4, "2", "nobody asked as user at perf_event_paranoid=2; asked at 0, 1; --level 0 tells what holds at that "),
            (["--level", "-1"], 4, "-1", "nobody asked at perf_event_paranoid=-1; asked at 0, 1; --level 0 tells what"),
            (["--persona", "root"], 0, "2", "1 of 1 as asked yes x")):
        assert verbs.main(["check", "need.toml", "amd64-6.1", *words]) == status
        told = " ".join(capsys.readouterr().out.split())
        assert f" at perf_event_paranoid={at}, on amd64-6.1" in told and said in told


def test_a_synthetic_pmu_is_marked(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What it answers is kept, and says so."""
    for name in ("amd64-6.1",):
        one = answers.load(name)
        one.one["identity"]["pmu"] = "synthetic"
        one.one["personas"]["user"]["probes"]["sw.clock"] = {       # which declares that it needs a PMU
            "status": "done", "points": {"counts": {"verdict": "yes"}}, "facts": {}}
        (answers.FOLDER / f"{name}.txt").write_text(sheet.write(one))
    assert sheet_read.read(answers.FOLDER / "amd64-6.1.txt").synthetic
    Path("need.toml").write_text('format = 1\n[[need]]\nwhat = "x"\nany = [["sw.clock.counts"]]\n')
    assert verbs.main(["check", "need.toml", "amd64-6.1"]) == 0
    assert f"\nyes       x ({asked.SYNTHETIC})\n" in capsys.readouterr().out


@pytest.mark.parametrize(("words", "status", "said"), [
    (["own-faults", "--check"], 1, "\ninstead   sample my page faults"), (["own-faults"], 0, "\ninstead "),
    (["rings", "--check"], 4, "\nblocked   rings of 1 MiB"), (["rings"], 0, "\nblocked "),
    (["own-time", "--level", "1", "--check"], 0, "\nyes       sample my threads"),
    (["own-faults", "rings", "--check", "--json"], 4, '"answer": "blocked"'),
    (["own-time", "--persona", "seccomp", "--check"], 5, "\nnot known sample my threads"),
    (["own-time", "--persona", "seccomp"], 0, "nobody asked as seccomp"), (["--list"], 0, "own-time "),
    (["--for", "rr"], 1, "rr record, as user at perf_event_paranoid=3"), (["amd64-6.12", "own-time"], 0, "on amd64-6.12 (Linux"),
    (["rr"], 2, "no wish 'rr'; there are: own-time own-instructions "), (["rr"], 2, "; --for rr tells what that needs\n"),
    (["sytem"], 2, "; did you mean system?\n"), (["--persona", "usr"], 2, "; did you mean user?\n"),
    (["--level", "5"], 2, "; there are: -1 0 1 2 3 4\n")])
def test_the_doctor_as_another_machine(words: list[str], status: int, said: str, monkeypatch: pytest.MonkeyPatch,
                                       capsys: pytest.CaptureFixture[str]) -> None:
    """Of Debian 12, at its own level. With --check it exits as the doctor's does, and with 5 where nobody asked."""
    monkeypatch.chdir(TREE)
    assert verbs.main(["doctor", "--as", "debian-12", *words]) == status
    told = capsys.readouterr()
    assert said in f"\n{told.out}{told.err}"


@pytest.mark.parametrize(("words", "said"), [
    (["doctor", "--as", ""], "which machine? An empty name is none"), (["check", "need.toml", "--as", ""], "which machine?"),
    (["doctor", "--chek", "--as", "debian-12"], "no option '--chek'; did you mean --check?"), (["doctor", "system"], "--as")])
def test_what_is_no_question_is_usage(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        verbs.main(words)
    assert end.value.code == 2 and said in capsys.readouterr().err


def test_a_place_without_needs_is_told_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(TREE)
    assert verbs.main(["check", "debian-12"]) == 2
    assert "debian-12 is where; what for? Name a file of needs before it, or --for async-profiler " in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--as", "debian-12"], ["--as=debian-12"]])
def test_run_sh_hands_it_over(words: list[str]) -> None:
    done = subprocess.run([TREE / "run.sh", "doctor", *words, "own-faults", "--check", "--no-install"], capture_output=True,
                          text=True, timeout=300, check=False)
    assert done.returncode == 1 and "on amd64-6.1 (Linux" in done.stdout, done.stderr
    done = subprocess.run([TREE / "run.sh", "doctor", *words, "--nothing"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2 and done.stderr.startswith("usage: ./run.sh doctor [-h] --as WHERE")
