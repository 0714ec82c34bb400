# SPDX-License-Identifier: MIT
from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernels import ROOT, __main__, cli, matrix, options, probes
from kernels.errors import Usage
from kernels.place.outcome import Outcome
from kernels.place.report import Report
from kernels.show import summary as show

ROW = matrix.load().rows["uml"]
GONE = replace(ROW, name="gone", unavailable="no archive has it")


def test_each_package_that_is_imported_at_the_start_can_be_named() -> None:
    listed = "import sys, kernels.cli; print(*(m.__file__ for m in sys.modules.values() if getattr(m, '__file__', 0)), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", listed], cwd=ROOT, capture_output=True, text=True, check=True)
    ours = [ast.parse(Path(name).read_text()) for name in done.stdout.splitlines() if Path(name).is_relative_to(ROOT)]
    found = {alias.name for tree in ours for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    found |= {node.module for tree in ours for node in tree.body if isinstance(node, ast.ImportFrom) and node.module}
    others = {name.partition(".")[0] for name in found} - set(sys.stdlib_module_names) - {"kernels", "reports"}
    assert "rich" in others and others <= set(__main__.PACKAGES)


def test_the_list_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "--list"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in matrix.load().rows) and "limit: no hardware counters" in said


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "which kernel?"),
        (["uml", "--git", "."], "go with --bisect"),
        (["vax-4.3"], "no kernel 'vax-4.3'"),
        (["--tag", "nightly"], "no tag 'nightly'; there are:"),
        (["uml", "--paranoid", "9"], "--paranoid is"),
        (["uml", "--paranoid=-1,5"], "--paranoid is"),
        (["uml", "--paranoid", "-1,5"], "--paranoid is"),
        (["uml", "--paranoid=-1,2", "--hazards"], "go with one level"),
        (["uml", "--jobs", "0"], "positive"),
        (["uml", "--suite", "../x"], "no suite"),
        (["uml", "--suite", "none"], "no suite 'none'; there are:"),
        (["uml", "--suite", "/etc/hostname"], "a suite is a file NAME.txt"),
        (["uml", "--suite", "personas"], "no suite"),
        (["uml", "--persona", "root,king"], "no persona called 'king'; there are: root perfmon"),
        (["uml", "--persona", "root,"], "no persona called ''"),
        (["--kernel", "/nowhere"], "no kernel file"),
        (["amd64-5.01"], "; did you mean amd64-5.10?"),
        (["--tag", "cor"], "; did you mean core?"),
        (["uml", "--suite", "defualt"], "; did you mean default?"),
        (["uml", "--persona", "usr"], "; did you mean user?"),
        (["uml", "--probe", "ring.write_bakward"], "no probe is called 'ring.write_bakward'"),
        (["uml", "--probe", "sw.*", "--probe", "ring.write_bakward"], "; did you mean ring.write_backward?"),
        (["uml", "--junit", "/nowhere/x.xml"], "--junit: no folder /nowhere"),
        (["uml", "--bundle", "/nowhere"], "--bundle: no bundle in /nowhere: run.sh is missing"),
        (["uml", "--arch", "arm64"], "--arch goes with --kernel"),
        (["--bisect", "sw.clocks.cpu", "amd64-5.1", "amd64-6.1"], "; did you mean amd64-5.10, amd64-5.10-pmu"),
    ],
)
def test_usage_errors_are_one_line(
    args: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", *args]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1 and error.startswith("run.sh kernels: ")


def test_a_point_that_a_probe_has_not_is_named_before_a_boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the probe was not built, its guests are still to say so."""
    monkeypatch.setattr(probes, "ROOT", tmp_path)
    probes.check_point("sw.clocks", "cpx")
    declared = tmp_path / "build/x86_64/declared/sw/clocks.txt"
    declared.parent.mkdir(parents=True)
    declared.write_text("id=sw.clocks\ntitle=t\nsince=2.6.31\npoint=cpu counts\npoint=task counts\nfact=x bool - y\n")
    probes.check_point("sw.clocks", "cpu")
    with pytest.raises(Usage, match="no point of sw.clocks 'cpx'; there are: cpu task; did you mean cpu[?]"):
        probes.check_point("sw.clocks", "cpx")


def test_every_verb_is_listed_with_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    said = capsys.readouterr().out
    assert all(re.search(rf"^    {verb} +[a-z]", said, re.MULTILINE) for verb in cli.VERBS)


@pytest.mark.parametrize("what", ["--report", "--health"])
def test_without_an_inventory_there_is_no_device(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is said of a word that nobody typed, as `all`."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("PERFMODES_DEVICES", raising=False)
    assert cli.main(["device", what]) == 2
    assert "which device? there is no devices.toml; or ssh:..." in capsys.readouterr().err


def test_a_misspelt_verb_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(["bundels"])
    said = capsys.readouterr().err
    assert end.value.code == 2 and said.endswith("; did you mean bundles?\n") and "no verb 'bundels'" in said


def test_a_list_of_kernels_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "matrix.toml").write_bytes(b"[arch.x]\nrunner = '\xe4'\n")
    with pytest.raises(Usage, match=r"matrix.toml: line 2 is not UTF-8 text$"):
        matrix.load(tmp_path / "matrix.toml")
    with pytest.raises(Usage, match="gone.toml: No such file or directory$"):
        matrix.load(tmp_path / "gone.toml")


def test_a_result_folder_that_cannot_be_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without what Python puts before it."""
    (tmp_path / "file").write_text("")
    assert cli.main(["run", "uml", "--no-install", "--out", str(tmp_path / "file" / "x")]) == 3
    assert capsys.readouterr().err.endswith(f"run.sh kernels: {tmp_path}/file/x: Not a directory\n")


def test_more_words_for_the_command_line() -> None:
    row = matrix.load().rows["amd64-6.1"]
    locked = options.with_words(row, "lockdown=integrity")
    assert locked.append == f"{row.append} lockdown=integrity"
    assert locked.limits == (*row.limits, "its command line had: lockdown=integrity")
    assert options.with_words(row, "") is row
    told = options.with_words(replace(row, append="quiet damon_stat.enabled=N"), "damon_stat.enabled=Y")
    assert told.append == "quiet damon_stat.enabled=Y"
    with pytest.raises(Usage, match="takes words"):
        options.with_words(row, "a=$(reboot)")


def test_a_suite_is_a_name_or_a_path(tmp_path: Path) -> None:
    def suite(word: str) -> str:
        args = options.parser().parse_args(["run", "uml", "--suite", word])
        return options.request(args).order.suite

    (tmp_path / "mine.txt").write_text("timeout 5\nsw.*\n")
    (tmp_path / "quick.txt").write_text("sw.*\n")
    assert suite("quick") == suite(str(ROOT / "suites" / "quick.txt")) == "quick"
    assert suite(str(tmp_path / "mine.txt")) == "mine"
    with pytest.raises(Usage, match="suites/ has another quick.txt"):
        suite(str(tmp_path / "quick.txt"))


def test_any_interpreter_will_do() -> None:
    """Started by one without the packages, it goes on with the system's."""
    argv = [sys.executable, "-m", "kernels", "run", "--list"]
    assert subprocess.run(argv, cwd=ROOT, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("report", "status", "said"),
    [
        (Report(ROW.name, Outcome("done", stage="probes"), release="6.1"), 0, "uml"),
        (Report(ROW.name, Outcome("done", stage="probes"), unexpected={"root": 2, "user": 1}), 1, "3 unexpected"),
        (Report(ROW.name, Outcome("panic", "oh", stage="probes")), 1, "panic (oh)"),
        (Report(ROW.name, Outcome("hang", "late", stage="init")), 3, "hang (late)"),
        (Report(ROW.name, error="no network"), 3, "no result: no network"),
        (Report(GONE.name, unavailable=GONE.unavailable), 0, "gone                 not run: no archive has it"),
    ],
)
def test_exit_status_and_line_of_a_row(report: Report, status: int, said: str) -> None:
    assert report.status == status and said in show.line(report)


def test_a_row_that_is_not_to_be_had_is_told_and_not_booted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither silence nor a boot: the reason, on the list and in the run, without emulator or bundle."""
    reason = matrix.load().rows["amd64-6.5"].unavailable
    assert cli.main(["run", "--list", "amd64-6.5"]) == 0
    assert f"cannot be run: {reason}" in capsys.readouterr().out
    args = ["run", "amd64-6.5", "loong64-newest", "--no-install", "--out", str(tmp_path)]
    assert cli.main(args) == 0
    said = capsys.readouterr().out
    assert f"not run: {reason}" in said and "2 kernels, 2 unavailable" in said
    assert [path.name for path in tmp_path.iterdir()] == ["rows.txt"]
    assert reason in (tmp_path / "rows.txt").read_text()


def of(name: str, ended: str = "done", **more: Any) -> Report:
    guest = {"start": "cold", "wall": 21.4, "cpu": 13.0, "times": {"init": 7.6},
             "cpu_times": {"init": 4.5}}
    outcome = Outcome(ended, "" if ended == "done" else "no word", stage="probes")
    return Report(name, outcome, release="6.12.117+deb13-cloud-amd64",
                  guests=[guest], wall=21.4, cpu=13.0, **more)


def pictured(reports: list[Report], capsys: pytest.CaptureFixture[str]) -> list[str]:
    show.picture(reports, show.console())
    return capsys.readouterr().out.splitlines()


def test_the_closing_picture_says_how_each_kernel_came_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = pictured(
        [
            of("fine", verdicts={"root": {"yes": 9, "absent": 3}, "user": {"yes": 4, "no": 1}}),
            of("odd", verdicts={"root": {"broken": 2, "yes": 1}, "user": {"unknown": 3}},
               unexpected={"root": 4}),
            of("stuck", "hang", verdicts={"root": {"unknown": 12}}, downs=["root a.b: hang"]),
            Report("none", error="no network"),
            Report(GONE.name, unavailable=GONE.unavailable),
        ],
        capsys,
    )  # fmt: skip
    assert [line.split() for line in said[1:]] == [
        ["kernel", "release", "ended", "root", "user", "wall"],
        ["─" * len(said[2])],
        ["fine", "6.12.117+deb13-cloud-amd64", "done", "ok", "ok", "21", "s"],
        ["odd", "6.12.117+deb13-cloud-amd64", "done", "4/2/0", "0/0/3", "21", "s"],
        ["stuck", "6.12.117+deb13-cloud-amd64", "hang", "0/0/12", "21", "s"],
        ["none", "no", "result"],
        ["gone", "not", "run"],
        [],
        *(line.split() for line in (
            "root, user: unexpected/broken/unknown verdicts, ok when there are none",
            "stuck: hang (no word)",
            "stuck: went down: root a.b: hang",
            "none: no result: no network",
            "gone: not run: no archive has it")),
    ]  # fmt: skip


def test_levels_are_added_up_by_persona(capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = {"paranoid-1 user": {"broken": 1}, "paranoid-2 user": {"broken": 2, "unknown": 1}}
    said = pictured([of("a", verdicts=verdicts, unexpected={"paranoid-2 user": 1})], capsys)
    assert "1/3/1" in said[3] and "paranoid" not in "".join(said)


def test_the_closing_picture_fits_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The longest row of the matrix, three personas, and a reason as long as they come."""
    monkeypatch.setenv("COLUMNS", "80")
    name = max(matrix.load().rows, key=len)
    everyone = {who: {"broken": 12, "unknown": 345} for who in ("root", "perfmon", "user")}
    lost = ["root a.b and 3 more: 12 guests went down before " * 9]
    reports = [of(name, verdicts=everyone, lost=lost), Report("gone", unavailable="x " * 99)]
    said = pictured(reports, capsys)
    assert any(line.startswith(f"{name} ") and "0/12/345" in line for line in said)
    assert max(map(len, said)) <= 80
    assert all(len(show.line(report)) <= 80 for report in (of(name), of("a", unexpected={"a": 9})))


def test_the_file_of_a_run_has_every_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = of("one", verdicts={"root": {"yes": 288, "no": 11}, "user": {"yes": 275}}), of("two")
    show.closing([two, one], [one.name, two.name], 30.0, tmp_path)
    kept = (tmp_path / "rows.txt").read_text()
    assert kept.index("one ") < kept.index("root: 288 yes 11 no") < kept.index("two ")
    assert "21.4 s wall, 13.0 s cpu" in kept and "booted in 7.6 s wall" in kept
    said = capsys.readouterr().out
    assert said.index("one ") < said.index("two ") and "288" not in said and "rows.txt" in said


def test_nothing_a_row_says_steers_a_terminal_or_spoils_junit(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Reasons of a mirror, of an emulator, of a results folder somebody sent."""
    evil = "\x1b]0;t\x07 \u202e <&> \ufffe"
    report = Report(ROW.name, Outcome("hang", evil, stage="probes"), release=evil, downs=[evil])
    said = "\n".join([*pictured([report, Report(GONE.name, error=evil)], capsys), show.line(report),
                      show.full(report)])  # fmt: skip
    assert all(char.isprintable() or char == "\n" for char in said)
    (failure,) = ElementTree.fromstring(show.junit([report])).iter("failure")
    assert "\\x1b" in failure.get("message", "") and "<&>" in failure.get("message", "")


def test_counts_leave_out_what_is_not_there() -> None:
    assert show.counts({"unknown": 2, "yes": 5, "no": 0}) == "5 yes 2 unknown"


SLOW_TO_END = """
import sys, time
from kernels import cli
def run(args, listed):
    try:
        print("runs", flush=True)
        time.sleep(300)
    finally:
        print("ends", flush=True)
        sys.stdin.read()
        print("put away", flush=True)
cli.VERBS["run"] = run
sys.exit(cli.main(["run", "uml"]))
"""


def slow_to_end(ignored: Collection[int] = ()) -> subprocess.Popen[str]:
    """It ignores these signals and no others, however these tests were started."""

    def prepare() -> None:
        for number in cli.ENDING:
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

    return subprocess.Popen(
        ["/usr/bin/python3", "-c", SLOW_TO_END],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=prepare,
    )


@pytest.mark.parametrize("ignored", cli.ENDING)
def test_a_signal_that_is_ignored_from_the_start_ends_nothing(ignored: signal.Signals) -> None:
    """As with nohup, or in the background of a shell."""
    last = signal.SIGTERM if ignored != signal.SIGTERM else signal.SIGHUP
    with slow_to_end([ignored]) as child:
        assert child.stdout and child.stdout.readline() == "runs\n"
        child.send_signal(ignored)
        child.send_signal(last)
        said, complained = child.communicate(timeout=300)
    assert said == "ends\nput away\n" and child.returncode == 128 + last, complained
    assert "already ending" not in complained, "only one of both was heard"


@pytest.mark.parametrize(("first", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_second_signal_does_not_break_off_the_clean_up(first: int, status: int) -> None:
    with slow_to_end() as child:
        assert child.stdout and child.stdout.readline() == "runs\n"
        child.send_signal(first)
        assert child.stdout.readline() == "ends\n"
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM):
            child.send_signal(number)
        said, complained = child.communicate(timeout=300)
    assert said == "put away\n" and child.returncode == status
    assert "already ending" in complained and "Traceback" not in complained


EARLY = """
import builtins, os, signal, sys
load = builtins.__import__
def interrupted(name, *more):
    if name.startswith("rich"):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
    return load(name, *more)
import kernels.__main__ as top
builtins.__import__ = interrupted
sys.argv = ["kernels", "run", "--list"]
sys.exit(top.main())
"""


def test_an_interrupt_while_it_is_loaded_ends_it_quietly() -> None:
    done = subprocess.run(
        ["/usr/bin/python3", "-c", EARLY], cwd=ROOT, capture_output=True, text=True, check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("words", [["run", "--list"], ["run", "--help"], ["device", "--help"]], ids=" ".join)
def test_a_reader_that_leaves_ends_it_quietly(words: list[str]) -> None:
    """As `head` does: no message, and the status that a shell gives SIGPIPE."""
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(
        [sys.executable, "-m", "kernels", *words], stdout=theirs, stderr=subprocess.PIPE, cwd=ROOT, check=False
    )
    os.close(theirs)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_full_disk_is_told() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kernels", "run", "--list"], stdout=full, stderr=subprocess.PIPE, cwd=ROOT, check=False
        )
    said = done.stderr.decode()
    assert done.returncode == 3 and "No space left on device" in said and "Traceback" not in said


def test_a_full_disk_of_results_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rows.txt").symlink_to("/dev/full")
    assert cli.main(["run", "amd64-6.5", "--no-install", "--out", str(tmp_path)]) == 3
    assert capsys.readouterr().err.endswith(f"run.sh kernels: {tmp_path}/rows.txt: No space left on device\n")


@pytest.mark.parametrize("words", [["run", "nosuch"], ["run", "--nosuch"]], ids=" ".join)
def test_messages_that_nobody_can_write_change_no_status(words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        argv = [sys.executable, "-m", "kernels", *words]
        assert subprocess.run(argv, stderr=full, cwd=ROOT, check=False).returncode == 2


def test_another_broken_pipe_is_told(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def breaks(*args: object) -> int:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setitem(cli.VERBS, "bundles", breaks)
    assert cli.main(["bundles"]) == 3 and "Broken pipe" in capfd.readouterr().err
