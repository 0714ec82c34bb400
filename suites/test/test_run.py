# SPDX-License-Identifier: MIT
"""run.sh: shells, options, interruption, resumption, full disks, and adding a probe."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import (BUILD, NEVER, TREE, heeding, needs_mounts, processes_of, result_of, run, run_suite, verdicts,
                      wait_for)

SHELLS = ["dash", "busybox sh", "mksh", "bash --posix"]
COUNTS = {"meta.pass.counts": "yes"}


@pytest.mark.perf
@pytest.mark.parametrize("shell", SHELLS)
def test_every_posix_shell_gives_the_same_run(shell: str, build: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = run_suite(out, "--suite", "meta", "--probe", "meta.pass", "--persona", "user", shell=shell)
    assert done.returncode == 0, done.stderr
    assert verdicts(result_of(out), "user") == COUNTS
    assert sorted(p.name for p in out.iterdir()) == [
        "catalogue", "env", "plan", "profile.json", "result.json", "user"]
    (out / "user/meta.pass.ktap").unlink()
    done = run_suite(out, "--resume", shell=shell)
    assert done.returncode == 0, done.stderr
    assert verdicts(result_of(out), "user") == COUNTS


@pytest.mark.perf
@pytest.mark.parametrize("shell", SHELLS)
def test_results_may_lie_at_odd_places_below_any_folder(shell: str, build: Path, tmp_path: Path) -> None:
    for name in ("-o d", "plain"):
        done = run(*shell.split(), TREE / "run.sh", "--no-install", "--no-build", "--quiet", "--suite", "meta",
                   "--probe", "meta.pass", "--persona", "user,user", "--out", name, "--tee", "-tee", cwd=tmp_path,
                   env={**os.environ, "CDPATH": "/:/usr", "latest": "nowhere"})
        assert done.returncode == 0, done.stderr
        assert verdicts(result_of(tmp_path / name), "user") == COUNTS
        assert (tmp_path / "-tee").read_bytes().endswith(b"@@end 5\n")


def test_a_relative_way_to_the_runner_heeds_no_cdpath(build: Path, tmp_path: Path) -> None:
    (tmp_path / TREE.name).mkdir()
    done = run("sh", f"{TREE.name}/run.sh", "--no-install", "--no-build", "--suite", "meta", "--list",
               cwd=TREE.parent, env={**os.environ, "CDPATH": str(tmp_path)})
    assert done.returncode == 0 and "meta.pass " in done.stdout, done.stderr


def test_a_probe_that_is_skipped_says_why(build: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = run_suite(out, "--suite", "meta", "--probe", "meta.pass", "--persona",
                     "user", "--skip", "meta.pas=no such probe", "--skip", "meta.pass=it ends this: emulator")
    assert done.returncode == 0, done.stderr
    point = result_of(out)["personas"]["user"]["probes"]["meta.pass"]["points"]["counts"]
    assert point == {"verdict": "unknown", "reason": "not asked here: it ends this: emulator"}
    assert "no such probe" not in (out / "result.json").read_text()


@pytest.mark.parametrize("arguments, message", [
    (["--nonsense"], "unknown option"),
    (["--suite", "nowhere"], "no suite 'nowhere'"),
    (["--probe", "no.such"], "is called 'no.such'"),
    (["--probe", "meta.*", "--probe", "no.such"], "is called 'no.such'"),
    (["--suite"], "needs a value"),
    (["--resume"], "nothing to resume"),
    (["--jobs", "99999999999999999999"], "a number up to 9999"),
    (["--jobs", "2x"], "a number up to 9999"),
    (["--persona", "user,king"], "no persona called 'king'"),
    (["--persona", ""], "--persona needs a name of suites/personas.txt"),
    (["--persona", ","], "--persona needs a name of suites/personas.txt"),
    (["--skip", "meta.pass"], "--skip needs ID=REASON, not 'meta.pass'"),
    (["--env", "emulator"], "--env needs KEY=VALUE, not 'emulator'"),
    (["--fault", "nonsense"], "no fault 'nonsense'"),
    (["--fault", "list"], "no fault 'list'"),
    (["--no-build", "report", "site"], "'report' comes before all options: ./run.sh report"),
])
def test_usage_errors_exit_2_and_say_what_to_do(arguments: list[str], message: str, build: Path,
                                                tmp_path: Path) -> None:
    done = run_suite(tmp_path / "run", *arguments)
    assert done.returncode == 2 and message in done.stderr
    assert not (tmp_path / "run" / "plan").exists()


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("arguments, meant", [
    (["kernles"], "kernels"), (["doctr"], "doctor"), (["reprot"], "report"), (["devicee"], "device"), (["run"], ""),
    (["--lst"], "--list"), (["--no-biuld"], "--no-build"), (["--suite", "defualt"], "default"),
    (["--probe", "meta.pas"], "meta.pass"), (["--probe", "meta.nothing_like_it"], ""), (["--persona", "usr"], "user")])
def test_what_was_meant_is_named(arguments: list[str], meant: str, shell: str, build: Path, tmp_path: Path) -> None:
    done = run_suite(tmp_path / "run", "--suite", "meta", *arguments, shell=shell)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.endswith(f"; did you mean {meant}?\n") if meant else "mean" not in done.stderr


@pytest.mark.parametrize("words", [["--help"], ["--no-build", "--list"]])
def test_what_cannot_be_shown_is_a_failure(words: list[str], build: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([TREE / "run.sh", "--no-install", *words], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3 and done.stderr.count("\n") == 1


def test_a_reader_may_leave_the_list(build: Path) -> None:
    command = '"$0" --no-install --no-build --list | sed 1q'
    done = subprocess.run(["sh", "-c", command, TREE / "run.sh"], capture_output=True, text=True)
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


@pytest.mark.parametrize("kind", ["fifo", "socket", "folder", "endless", "gone", "loop"])
def test_a_suite_that_is_no_file_is_told(kind: str, build: Path, tmp_path: Path) -> None:
    path = tmp_path / "it"
    if kind == "endless":
        path = Path("/dev/zero")
    elif kind != "gone":
        {"fifo": os.mkfifo, "folder": os.mkdir, "loop": lambda at: at.symlink_to(at),
         "socket": lambda at: socket.socket(socket.AF_UNIX).bind(str(at))}[kind](path)
    done = run_suite(tmp_path / "run", "--suite", str(path))
    assert (done.returncode, done.stderr) == (2, f"run.sh: {path}: no suite: no such file, or none that can be read\n")


@pytest.mark.parametrize("where", ["folder", "folder/none/file"])
def test_a_side_channel_that_takes_nothing_is_told(where: str, build: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    done = run_suite(tmp_path / "run", "--suite", "meta", "--tee", str(tmp_path / where))
    assert (done.returncode, done.stderr) == (2, f"run.sh: --tee: cannot write to {tmp_path / where}\n")
    assert not (tmp_path / "run").exists()


def test_a_result_folder_that_cannot_be_is_one_sentence(build: Path, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    done = run_suite(tmp_path / "run", "--suite", "meta", "--probe", "meta.pass", "--persona", "user")
    assert (done.returncode, done.stderr) == (3, f"run.sh: cannot make {tmp_path / 'run'}: File exists\n")


def test_a_path_without_tools_is_told(build: Path, tmp_path: Path) -> None:
    poor = {**os.environ, "PATH": str(tmp_path)}
    done = subprocess.run(["/bin/sh", TREE / "run.sh", "--list"], env=poor, capture_output=True, text=True)
    assert done.returncode == 3 and done.stderr == f"run.sh: dirname is not in PATH ({tmp_path})\n"
    none = {name: value for name, value in os.environ.items() if name != "PATH"}
    done = subprocess.run(["/bin/sh", TREE / "run.sh", "--list", "--suite", "meta", "--no-build"], env=none,
                          capture_output=True, text=True)
    assert done.returncode == 0 and "meta.pass" in done.stdout, done.stderr


def test_too_few_descriptors_are_told(build: Path) -> None:
    done = subprocess.run(["/bin/sh", "-c", "ulimit -n 12; exec ./run.sh --list"], cwd=TREE,
                          capture_output=True, text=True)
    assert done.returncode == 3 and "ulimit -n 256" in done.stderr


def test_help_names_every_option(build: Path) -> None:
    shown = run(TREE / "run.sh", "--help").stdout
    parsed = {line.split(")")[0].strip() for line in (TREE / "run.sh").read_text().splitlines()
              if line.startswith("\t--")}
    assert parsed and all(option in shown for option in parsed)


def test_list_names_the_probes_and_runs_none(build: Path, tmp_path: Path) -> None:
    done = run_suite(tmp_path / "run", "--suite", "meta", "--list")
    assert done.returncode == 0 and not (tmp_path / "run").exists()
    assert "meta.pass                        a counter that counts\n" in done.stdout
    assert len(done.stdout.splitlines()) == len(list((build / "probes/meta").iterdir()))


@pytest.fixture
def bundle(build: Path, tmp_path: Path) -> Path:
    """A bundle of meta probes whose launcher notes in the file `asked` what it was called with."""
    top = tmp_path / "bundle"
    shutil.copytree(build / "declared/meta", top / "bin/declared/meta")
    for name in ("identify", "probes"):
        (top / "bin" / name).symlink_to(build / name)
    (top / "bin/launch").write_text(f'#!/bin/sh\necho "$*" >>\'{tmp_path}/asked\'\nexec \'{build}/launch\' "$@"\n')
    (top / "bin/launch").chmod(0o755)
    for name in ("suites", "run.sh"):
        (top / name).symlink_to(TREE / name)
    return top


def test_a_probe_whose_text_is_missing_tells_its_own(bundle: Path, tmp_path: Path) -> None:
    words = ("--suite", "meta", "--probe", "meta.[np][oa]*", "--list")
    listed = run_suite(tmp_path / "run", *words, tree=bundle).stdout
    (bundle / "bin/declared/meta/pass.txt").unlink()
    assert "meta.pass " in listed and run_suite(tmp_path / "run", *words, tree=bundle).stdout == listed


def test_in_an_emulator_probes_run_one_by_one(bundle: Path, tmp_path: Path) -> None:
    run_suite(tmp_path / "run", "--suite", "meta", "--probe", "meta.absent", "--persona", "user", "--env",
              "emulator=qemu-tcg", tree=bundle)
    queue = [line for line in (tmp_path / "asked").read_text().splitlines() if line.startswith("--queue")]
    assert len(queue) == 1 and " --jobs 1" in queue[0]


def beside(folder: Path, name: str, script: str) -> dict[str, str]:
    """The environment in which a program of that name is found first."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def test_runs_of_one_second_have_folders_of_their_own(bundle: Path, tmp_path: Path) -> None:
    real = shutil.which("date")
    env = beside(tmp_path / "tools", "date", f'case "$*" in *%Y%m%dT*) echo 20260102T030405Z ;; *) exec {real} "$@" ;; esac')
    for _ in range(3):
        done = run(bundle / "run.sh", "--quiet", "--suite", "meta", "--probe", "meta.absent", "--persona", "user", cwd=bundle, env=env)
        assert done.returncode == 0, done.stderr
    assert sorted(each.name for each in (bundle / "results").iterdir() if not each.is_symlink()) == [
        "20260102T030405Z", "20260102T030405Z-2", "20260102T030405Z-3"]
    queue = [line for line in (tmp_path / "asked").read_text().splitlines() if line.startswith("--queue")]
    assert [line.partition(" --like ")[2].split(" ")[0] for line in queue] == [
        "", f"{bundle}/results/20260102T030405Z", f"{bundle}/results/20260102T030405Z-2"], "each is like the one before"


def test_an_android_device_tells_its_build(bundle: Path, tmp_path: Path) -> None:
    """getprop says which; elsewhere there is none, and no line of it."""
    env, words = beside(tmp_path / "tools", "getprop", "echo acme/$1:9"), ("--suite", "meta", "--probe", "meta.absent", "--persona", "user")
    run(bundle / "run.sh", "--quiet", *words, "--out", tmp_path / "device", cwd=bundle, env=env)
    run(bundle / "run.sh", "--quiet", *words, "--out", tmp_path / "other", cwd=bundle)
    assert "\nfingerprint=acme/ro.build.fingerprint:9\n" in (tmp_path / "device/env").read_text()
    assert shutil.which("getprop") or "fingerprint=" not in (tmp_path / "other/env").read_text()


FOUR = "meta.daemon\nmeta.pass\nmeta.stubborn\nmeta.two_plans\n"


def start(out: Path, *arguments: str) -> subprocess.Popen[str]:
    """A run of four meta probes: the third one ends at its time-out."""
    (out.parent / "suite.txt").write_text(f"timeout 1000\n{FOUR}")
    return subprocess.Popen(
        [TREE / "run.sh", "--no-install", "--no-build", "--out", out, "--suite", out.parent / "suite.txt",
         "--persona", "user", "--jobs", "1", *arguments], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
        text=True, start_new_session=True, preexec_fn=heeding())


def left_of_run() -> list[int]:
    return [*processes_of(BUILD / "launch"), *processes_of(BUILD / "probes/meta")]


@pytest.mark.perf
@pytest.mark.parametrize("number, group", [(signal.SIGINT, True), (signal.SIGTERM, False)])
def test_interrupted_run_is_valid_and_resumes(number: int, group: bool, build: Path,
                                              tmp_path: Path) -> None:
    out = tmp_path / "it's here"
    process = start(out)
    wait_for((out / "user/meta.stubborn.ktap.part").exists)
    (os.killpg if group else os.kill)(process.pid, number)
    assert process.wait(NEVER) == 128 + number
    hint = process.stderr.read().rpartition("interrupted; ")[2].removesuffix(" goes on\n")
    assert "/run.sh" in hint and hint.endswith(" --resume --out '" + str(out).replace("'", "'\\''") + "'")
    assert not left_of_run() and not list(out.rglob("*.part"))
    partial = result_of(out)["personas"]["user"]["probes"]
    assert partial["meta.two_plans"]["status"] == partial["meta.stubborn"]["status"] == "not_run"
    assert {point["verdict"] for point in partial["meta.two_plans"]["points"].values()} == {"unknown"}

    before = (out / "user/meta.daemon.ktap").stat().st_mtime_ns
    (tmp_path / "suite.txt").write_text(f"timeout 1\n{FOUR}")
    assert run("sh", "-c", f"{hint} --no-install --no-build").returncode in (0, 1)
    assert (out / "user/meta.daemon.ktap").stat().st_mtime_ns == before, "what is done is not redone"
    whole = result_of(out)["personas"]["user"]["probes"]
    assert whole["meta.stubborn"]["status"] == "timeout" and whole["meta.two_plans"]["status"] != "not_run"
    assert verdicts(result_of(out), "user")["meta.pass.counts"] == "yes"


@pytest.mark.perf
def test_a_run_goes_on_with_the_lies_it_was_begun_with(build: Path, tmp_path: Path) -> None:
    out, lie = tmp_path / "run", ["--fault", "enable-nothing"]
    assert run_suite(out, "--suite", "meta", "--probe", "meta.pass", "--persona", "user", *lie).returncode == 1
    (out / "user/meta.pass.ktap").unlink()
    mixed = run_suite(out, "--resume")
    assert mixed.returncode == 2 and "begun with --fault enable-nothing" in mixed.stderr
    assert not (out / "user/meta.pass.ktap").exists()
    assert run_suite(out, "--resume", *lie).returncode == 1
    assert verdicts(result_of(out), "user") == {"meta.pass.counts": "broken"}


def test_lies_that_begin_later_are_marked_too(build: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    (out / "plan").write_text("user meta.pass\n")
    (out / "env").write_text("format=1\nsuite=meta\n")
    run_suite(out, "--resume", "--old-kernel")
    assert "launch_flags=--old-kernel\n" in (out / "env").read_text()


def test_a_hostile_plan_names_no_program(build: Path, tmp_path: Path) -> None:
    out, mark = tmp_path / "run", tmp_path / "mark"
    out.mkdir()
    program = tmp_path / "x"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    up = "../" * len((build / "probes").parts)
    (out / "plan").write_text(f"user {up}{program}\nuser meta.pass\nuser meta.gone\n")
    (out / "env").write_text("suite=meta\n")
    done = run_suite(out, "--resume", "--list")
    assert done.returncode == 0 and not mark.exists()


def test_killed_runner_takes_its_probe_along(build: Path, tmp_path: Path) -> None:
    process = start(tmp_path / "run")
    wait_for((tmp_path / "run/user/meta.stubborn.ktap.part").exists)
    process.kill()
    process.wait(NEVER)
    wait_for(lambda: not left_of_run())


@needs_mounts
def test_full_disk_stops_with_a_word_and_can_be_resumed(build: Path, tmp_path: Path) -> None:
    run_it = f"'{TREE}/run.sh' --no-install --no-build --suite meta --persona user --out {tmp_path}/run"
    done = run("unshare", "-m", "sh", "-c", f"""
        mount -t tmpfs -o size=64k t {tmp_path}
        {run_it} --probe 'meta.*o*'; echo rc=$?
        ls {tmp_path}/run/user | grep -c part
        mount -o remount,size=8m {tmp_path}
        '{TREE}/run.sh' --no-install --no-build --quiet --resume --out {tmp_path}/run; echo rc=$?
        cat {tmp_path}/run/result.json | grep -c says_ok""")
    assert done.stdout.endswith("rc=3\n0\nrc=1\n1\n"), done
    assert "No space left" in done.stderr and "--resume" in done.stderr


def test_finished_files_are_framed_on_the_side_channel(build: Path, tmp_path: Path) -> None:
    done = run_suite(tmp_path / "run", "--suite", "meta", "--probe", "meta.pass", "--persona", "user",
                     "--tee", str(tmp_path / "tee"), "--env", "emulator=none")
    assert done.returncode == 0
    stream = (tmp_path / "tee").read_bytes()
    content = (tmp_path / "run/user/meta.pass.ktap").read_bytes()
    cksum = subprocess.run(["cksum"], input=content, capture_output=True, check=True).stdout.split()[0]
    frame = b"@@file user/meta.pass.ktap %d %s\n" % (len(content), cksum)
    assert frame + content + b"\n" in stream
    assert stream.endswith(b"@@end 5\n")
    assert "emulator=none\n" in (tmp_path / "run/env").read_text()


def test_framing_needs_no_cksum(build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian's busybox has none: launch makes the sums, of run.sh's own files too."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cksum").write_text("#!/bin/sh\nexit 127\n")
    (tmp_path / "bin" / "cksum").chmod(0o755)
    with monkeypatch.context() as without:
        without.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
        done = run_suite(tmp_path / "run", "--suite", "meta", "--probe", "meta.pass", "--persona", "user",
                         "--tee", str(tmp_path / "tee"))
    assert done.returncode == 0
    stream = (tmp_path / "tee").read_bytes()
    for name in ("env", "catalogue", "plan"):
        content = (tmp_path / "run" / name).read_bytes()
        if name == "env":  # its last line is written at the end
            content = content[: content.rindex(b"seconds=")]
        told = subprocess.run(["cksum"], input=content, capture_output=True, check=True).stdout.split()[0]
        assert b"@@file %s %d %s\n" % (name.encode(), len(content), told) + content + b"\n" in stream


@pytest.mark.parametrize("size", [0, 1, 255, 256, 70_000])
def test_the_sum_of_a_pipe_is_that_of_cksum(build: Path, size: int) -> None:
    data = bytes(number * 7 % 251 for number in range(size))
    ours = subprocess.run([build / "launch", "--cksum"], input=data, capture_output=True, check=True)
    assert ours.stdout == subprocess.run(["cksum"], input=data, capture_output=True, check=True).stdout


PROBE = """/* SPDX-License-Identifier: GPL-2.0-only */
/* Does dropping in one file make a probe? Observed: it is listed, catalogued, run and shown. */
#include "probe.h"
PROBE(TITLE("a probe dropped in") SINCE("2.6.31") POINT(works, "it ran"))
TEST(works)
{
}
PROBE_MAIN
"""


def test_adding_one_file_is_enough(copy: Path, tmp_path: Path) -> None:
    (copy / "probes/dropped").mkdir()
    (copy / "probes/dropped/here.c").write_text(PROBE)
    assert run("make", "-s", cwd=copy).returncode == 0
    shown = run_suite(tmp_path / "run", "--list", tree=copy).stdout
    assert "dropped.here                     a probe dropped in\n" in shown
    page = run("/usr/bin/python3", "-m", "reports", "catalogue", "--markdown", cwd=copy).stdout
    assert "a probe dropped in" in page
    done = run_suite(tmp_path / "run", "--probe", "dropped.here", "--persona", "user", tree=copy)
    assert done.returncode == 0 and "dropped" in done.stdout
    assert verdicts(result_of(tmp_path / "run"), "user") == {"dropped.here.works": "yes"}


def test_a_frequency_above_the_limit_of_now_is_no_answer(copy: Path) -> None:
    """A kernel whose samples take long lowers its limit, by itself: what it refuses then it would take at another time."""
    (copy / "probes/meta/often.c").write_text(PROBE.replace("""{
}""", """{
	struct perf_event_attr without = attr_faults(PERF_SAMPLE_IP), with = without;

	with.freq = 1;
	with.sample_freq = 1ull << 40;
	close(ask_open(&with, &without, 0, -1, "a frequency"));
}"""))
    assert run("make", "-s", "probes/meta/often", cwd=copy).returncode == 0
    done = run(copy / "build" / BUILD.name / "probes/meta/often")
    if "SKIP" in done.stdout and "SKIP no" not in done.stdout:
        pytest.skip(done.stdout)
    assert "could not tell: EINVAL with a frequency of 1099511627776 Hz, ok with 1: the kernel allows" in done.stderr


def test_the_build_refuses_an_undeclared_probe(copy: Path) -> None:
    before = "".join(line for line in PROBE.splitlines(True) if not line.startswith("PROBE("))
    parts = {"TITLE": 'TITLE("t")', "SINCE": 'SINCE("2.6.31")', "POINT": 'POINT(works, "it ran")'}
    for lost in parts:
        said = " ".join(text for part, text in parts.items() if part != lost)
        name = f"mute_{lost.lower()}"
        (copy / f"probes/meta/{name}.c").write_text(before.replace("TEST(", f"PROBE({said})\nTEST(", 1))
        done = run("make", "-s", f"probes/meta/{name}", cwd=copy)
        assert done.returncode != 0 and f"declares no {lost.lower()}" in done.stderr
        assert not (copy / "build" / BUILD.name / "probes/meta" / name).exists()


@pytest.mark.perf
def test_a_broken_binary_is_unknown_and_nothing_else(copy: Path, tmp_path: Path) -> None:
    broken = copy / "build" / BUILD.name / "probes/meta/pass"
    broken.write_bytes(b"\x7fELF and then nothing sensible" * 9)
    done = run_suite(tmp_path / "run", "--suite", "meta", "--probe", "meta.[np][oa]*", "--persona", "user",
                     tree=copy)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    probes = result_of(tmp_path / "run")["personas"]["user"]["probes"]
    assert probes["meta.pass"]["exit"] == 127
    assert {p["verdict"] for p in probes["meta.pass"]["points"].values()} <= {"unknown"}
    assert probes["meta.no"]["points"]["refused"]["verdict"] == "no"


def settled(out: Path, *options: str) -> dict[str, str]:
    """The points that a run answers, and the probe of each."""
    run_suite(out, "--persona", "user", *options)
    probes = result_of(out)["personas"]["user"]["probes"]
    return {f"{probe}.{name}": probe for probe, body in probes.items() for name, point in body["points"].items()
            if point["verdict"] != "unknown"}


def test_nothing_needs_a_kernel_newer_than_3_10_to_run(build: Path, tmp_path: Path) -> None:
    """Under a filter that hides every newer system call, each point is still answered. Beside other load a
    point cannot tell now and then: it is asked again, both ways."""
    now, old = settled(tmp_path / "now"), settled(tmp_path / "old", "--old-kernel")
    assert now, "the default suite is empty"
    needed = {point: probe for point, probe in now.items() if point not in old}
    for again in range(4):
        if needed:
            chosen = [word for probe in set(needed.values()) for word in ("--probe", probe)]
            now = settled(tmp_path / f"now{again}", *chosen)
            old = settled(tmp_path / f"old{again}", "--old-kernel", *chosen)
            needed = {point: probe for point, probe in needed.items() if point in now and point not in old}
    assert not needed, "points that a newer system call was needed to answer"


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder whose name fits on a line of the screen; those of pytest may be cut off there."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def test_a_run_ends_in_one_screen(build: Path, short: Path) -> None:
    """The default suite as everybody, in a pipe of 80 columns; then again, as a list."""
    shown = run("env", "-u", "COLUMNS", "LC_ALL=C", "TERM=dumb", TREE / "run.sh", "--no-install", "--no-build",
                "--out", short / "run", cwd=TREE)
    lines = (shown.stderr + shown.stdout).splitlines()
    assert 30 < len(lines) <= 60 and max(map(len, shown.stdout.splitlines())) <= 80, shown
    assert shown.stdout.isascii() and "\x1b" not in shown.stdout + shown.stderr
    assert f"Results in {short}/run" in shown.stdout
    made = result_of(short / "run")
    assert 0 < made["seconds"] < NEVER and f", in {made['seconds']} s" in shown.stdout
    again = run_suite(short / "run", "--resume", "--all")
    assert len(again.stdout.splitlines()) > 300 and "Surprising" not in again.stdout
    assert result_of(short / "run")["seconds"] >= made["seconds"]


def test_blocks_are_drawn_in_the_locale_of_the_caller(build: Path, tmp_path: Path) -> None:
    for locale, ascii_only in (("C.UTF-8", False), ("C", True)):
        done = run("env", "-u", "LC_ALL", "-u", "LC_CTYPE", f"LANG={locale}", TREE / "run.sh", "--no-install", "--no-build", "--suite",
                   "meta", "--probe", "meta.pass", "--persona", "user", "--out", tmp_path / locale, cwd=TREE)
        assert done.stdout.isascii() is ascii_only, done


@needs_mounts
def test_a_result_names_no_path_and_no_host(build: Path, tmp_path: Path) -> None:
    done = run("unshare", "-u", "sh", "-c", f"""
        hostname tell-tale-host
        '{TREE}/run.sh' --no-install --no-build --suite meta --probe 'meta.*a*' --out {tmp_path}/run""")
    assert done.returncode == 0, done.stderr
    for name in ("result.json", "profile.json", "env", "plan", "user/env"):
        text = (tmp_path / "run" / name).read_text()
        assert str(TREE) not in text and str(tmp_path) not in text and "tell-tale-host" not in text
