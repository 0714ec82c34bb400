# SPDX-License-Identifier: MIT
"""launch --queue: several workers carry out a plan; some probes must run alone."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import shutil
import signal
import struct
import subprocess
import termios
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import NEVER, TREE, heeding, processes_of, run, wait_for
from test_launch import footer

# Says in the file LOG when it begins and ends. It ends once another has begun, where LOG-NAME says which. One
# called left leaves a child behind.
PROBE = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void meet(const char *name)
{
	char path[4096], line[64], wanted[80];
	FILE *file;

	snprintf(path, sizeof(path), "LOG-%s", name);
	file = fopen(path, "r");
	if (!file || !fgets(line, sizeof(line), file))
		return;
	snprintf(wanted, sizeof(wanted), "begin %s\n", line);
	for (int i = 0; i < 12000; i++, usleep(5000)) {
		file = freopen("LOG", "r", file);
		while (fgets(line, sizeof(line), file))
			if (!strcmp(line, wanted))
				return;
	}
}
int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/') + 1;
	int log = open("LOG", O_WRONLY | O_APPEND | O_CREAT, 0644);
	dprintf(log, "begin %s\n", name);
	meet(name);
	usleep(argc > 1 ? 0 : 300000);
	dprintf(log, "end %s\n", name);
	printf("I am %s\n", name);
	fflush(stdout);
	if (!strcmp(name, "left") && fork() == 0)
		pause();
	return 0;
}
"""


@pytest.fixture
def queue(build: Path, tmp_path: Path, compile_c: Callable[[str], Path]) -> Callable[..., list[str]]:
    """Run probes with these ids and declarations. Returns what happened, in order."""
    program = compile_c(PROBE.replace("LOG", str(tmp_path / "log")))
    (tmp_path / "bin/probes/x").mkdir(parents=True)
    (tmp_path / "bin/identify").hardlink_to(program)

    def carry_out(declared: dict[str, str], *options: str, meets: dict[str, str] = {}, **env: str) -> list[str]:
        for name, other in meets.items():
            (tmp_path / f"log-{name}").write_text(other)
        for name in declared:
            (tmp_path / "bin/probes/x" / name).hardlink_to(program)
        out, log = tmp_path / "out", tmp_path / "log"
        out.mkdir()
        (out / "plan").write_text("".join(f"same x.{name}\n" for name in declared))
        (out / "catalogue").write_text("".join(f"id=x.{name}\n{more}\n\n" for name, more in declared.items()))
        done = run(build / "launch", "--queue", out, "--programs", tmp_path / "bin", *options,
                   env={**os.environ, **env})
        assert (done.returncode, done.stdout) == (0, f"{len(declared) + 1}\n"), done.stderr
        assert not list(out.rglob("*.part"))
        return [line for line in log.read_text().splitlines() if not line.endswith("identify")]
    return carry_out


@pytest.mark.parametrize("jobs, more", [(1, ()), (3, ("--jobs", "3")), (9, ("--jobs", "8")), (9, ("--jobs", "9999"))])
def test_no_memory_is_misused(build: Path, tmp_path: Path, jobs: int, more: tuple[str, ...]) -> None:
    """The launcher under ASan and UBSan, with as many workers as there may be, too. It frees nothing before it ends."""
    (tmp_path / "bin/probes/x").mkdir(parents=True)
    shutil.copy(build / "identify", tmp_path / "bin")
    for number in range(jobs):
        shutil.copy(build / "probes/meta/pass", tmp_path / f"bin/probes/x/{number}")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/plan").write_text("".join(f"same x.{number}\n" for number in range(jobs)))
    (tmp_path / "out/catalogue").write_text("".join(f"id=x.{number}\n\n" for number in range(jobs)))
    done = run(TREE / "build/test/launch", "--queue", tmp_path / "out", "--programs", tmp_path / "bin", *more,
               env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{jobs + 1}\n", "")
    for number in range(jobs):
        assert footer(tmp_path / f"out/same/x.{number}.ktap")["exit"] == 0


def in_turn(*names: str) -> list[str]:
    return [f"{word} {name}" for name in names for word in ("begin", "end")]


def test_two_run_side_by_side(queue, tmp_path: Path) -> None:
    happened = queue({"a": "", "b": ""}, "--jobs", "2", meets={"a": "b", "b": "a"})
    assert sorted(happened[:2]) == ["begin a", "begin b"]
    assert "I am b\n" in (tmp_path / "out/same/x.b.ktap").read_text()


def test_one_job_keeps_to_the_plan(queue) -> None:
    assert queue({"a": "alone=why not", "b": "", "c": ""}, "--jobs", "1") == in_turn("a", "b", "c")


def test_who_must_be_alone_is_alone(queue) -> None:
    happened = queue({"a": "alone=it counts all", "b": "", "c": "", "d": "alone=so does it"}, "--jobs", "3",
                     meets={"b": "c", "c": "b"})
    assert sorted(happened[:2]) == ["begin b", "begin c"]
    assert happened[4:] == in_turn("a", "d")


def test_of_those_that_wait_for_one_lock_one_runs_beside_the_others(queue) -> None:
    happened = queue({"c": "", "d": "", "e": "", "a": "needs=tracefs", "b": "needs=uprobe"}, "--jobs", "2",
                     meets={"a": "c", "c": "a", "e": "b"})
    at = {line: number for number, line in enumerate(happened)}
    assert at["begin a"] < 2 and at["begin c"] < at["end a"], "the first of them begins the run"
    assert at["end a"] < at["begin b"] < at["end e"], happened


def test_nobody_idles_when_only_such_are_left(queue) -> None:
    happened = queue({"a": "needs=tracefs", "b": "needs=tracefs"}, "--jobs", "2", meets={"a": "b", "b": "a"})
    assert sorted(happened[:2]) == ["begin a", "begin b"]


def test_who_disturbs_is_alone_when_it_may(queue) -> None:
    happened = queue({"a": "disturbs=CPUs", "b": "", "c": ""}, "--jobs", "3", PERFMODES_MAY_DISTURB="1")
    assert happened[4:] == in_turn("a")


def test_hazards_come_one_by_one_in_order(queue) -> None:
    assert queue({"a": "hazard=panic", "b": "", "c": "hazard=hang"}, "--jobs", "3",
                 PERFMODES_HAZARDS="1") == in_turn("a", "b", "c")


def test_what_is_left_over_is_laid_at_the_right_door(queue, tmp_path: Path) -> None:
    queue({"a": "", "b": "", "left": "", "z": ""}, "--jobs", "4")
    found = {path.stem: footer(path)["leftover"] for path in (tmp_path / "out/same").glob("*.ktap")}
    assert found == {"x.a": 0, "x.b": 0, "x.left": 1, "x.z": 0}


@pytest.mark.parametrize("line", ["same ../../etc/passwd", "same x/../../y.z", "king x.a", "same x.a more",
                                  "same", "same x." + "a" * 200])
def test_a_plan_that_leads_elsewhere_is_refused(line: str, build: Path, tmp_path: Path) -> None:
    (tmp_path / "plan").write_text(f"same x.a\n{line}\n")
    done = run(build / "launch", "--queue", tmp_path, "--programs", build)
    assert done.returncode == 3 and "not 'persona probe' in the plan" in done.stderr
    assert not list(tmp_path.rglob("*.ktap"))


def test_a_plan_steers_no_terminal(build: Path, tmp_path: Path) -> None:
    (tmp_path / "plan").write_bytes(b"same \x1b]0;owned\x07 \xff\n")
    done = run(build / "launch", "--queue", tmp_path, "--programs", build)
    assert done.returncode == 3 and done.stderr == "launch: not 'persona probe' in the plan: same ?]0;owned? ?\n"


def test_a_plan_that_cannot_be_read_is_not_done(build: Path, tmp_path: Path) -> None:
    (tmp_path / "plan").mkdir()
    done = run(build / "launch", "--queue", tmp_path, "--programs", build)
    assert done.returncode == 3 and "Is a directory" in done.stderr


def test_a_plan_that_is_too_long_is_refused(build: Path, tmp_path: Path) -> None:
    """What a persona is, is one probe more."""
    (tmp_path / "plan").write_text("".join(f"same x.p{i}\n" for i in range(10000)))
    done = run(build / "launch", "--queue", tmp_path, "--programs", build)
    assert done.returncode == 3 and "more than 10000 probes" in done.stderr


def test_what_is_planned_twice_is_done_once(build: Path, tmp_path: Path) -> None:
    (tmp_path / "plan").write_text("same meta.pass\nsame meta.no\n" * 4)
    done = run(build / "launch", "--queue", tmp_path, "--programs", build, "--jobs", "4")
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr


def test_links_lead_nowhere(build: Path, tmp_path: Path) -> None:
    out, victim = tmp_path / "run", tmp_path / "victim"
    (out / "same").mkdir(parents=True)
    victim.write_text("precious")
    (out / "plan").write_text("same meta.pass\n")
    (out / "same/meta.pass.ktap.part").symlink_to(victim)
    assert run(build / "launch", "--queue", out, "--programs", build).returncode == 0
    assert victim.read_text() == "precious" and footer(out / "same/meta.pass.ktap")["exit"] == 0
    (out / "same").rename(tmp_path / "elsewhere")
    (out / "same").symlink_to(tmp_path / "elsewhere")
    done = run(build / "launch", "--queue", out, "--programs", build)
    assert done.returncode == 3 and "Not a directory" in done.stderr


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def start(build: Path, out: Path) -> subprocess.Popen[str]:
    """The probe of one worker never ends, the other finishes its: both results are there."""
    out.mkdir()
    (out / "plan").write_text("same meta.stubborn\nsame meta.pass\n")
    process = subprocess.Popen([build / "launch", "--queue", out, "--programs", build, "--jobs", "2",
                                "--timeout", "1000"], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=heeding())
    wait_for((out / "same/meta.pass.ktap").exists)
    wait_for(lambda: bool(list(processes_of(build / "probes/meta/stubborn"))))
    return process


def test_interruption_keeps_what_is_finished(build: Path, tmp_path: Path) -> None:
    process = start(build, tmp_path / "run")
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=NEVER)[0] == "2\n" and process.returncode == 128 + signal.SIGTERM
    assert sorted(path.name for path in (tmp_path / "run/same").iterdir()) == ["env", "meta.pass.ktap"]


def test_a_worker_that_is_killed_stops_the_run_with_a_word(build: Path, tmp_path: Path) -> None:
    process = start(build, tmp_path / "run")
    busy = next(pid for pid in children(process.pid) if children(pid))
    os.kill(busy, signal.SIGKILL)
    shown = process.communicate(timeout=NEVER)[1]
    assert process.returncode == 3 and "the worker ended while it ran meta.stubborn as same" in shown
    assert not list(processes_of(build / "probes/meta")), "what it had running is ended"


def test_a_worker_that_is_killed_while_it_waits_is_missed(build: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    (out / "plan").write_text("same meta.stubborn\nsame meta.pass\n")
    (out / "catalogue").write_text("id=meta.pass\nalone=the other worker waits\n")
    process = subprocess.Popen([build / "launch", "--queue", out, "--programs", build, "--jobs", "2", "--timeout", "1000"],
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for((out / "same/env").exists)
    wait_for(lambda: bool(list(processes_of(build / "probes/meta/stubborn"))))
    idle = next(pid for pid in children(process.pid) if not children(pid))
    os.kill(idle, signal.SIGKILL)
    for pid in processes_of(build / "probes/meta/stubborn"):
        os.kill(pid, signal.SIGKILL)
    shown = process.communicate(timeout=NEVER)
    assert (process.returncode, shown[0]) == (3, "2\n")
    assert "the worker ended while it ran meta.pass as same" in shown[1]


def watched(build: Path, folder: Path, program: Path, terminal: str | None, *options: object) -> str:
    """What a run of three probes writes to a terminal of 40 columns, or to a pipe (None)."""
    (folder / "bin/probes/x").mkdir(parents=True)
    (folder / "bin/identify").hardlink_to(program)
    for name in ("one", "two", "of_a_name_that_is_longer_than_the_line"):
        (folder / "bin/probes/x" / name).hardlink_to(program)
    (folder / "out").mkdir()
    (folder / "out/plan").write_text(
        "same x.one\nsame x.two\nsame x.of_a_name_that_is_longer_than_the_line\n")
    (folder / "out/catalogue").write_text("")
    argv = [build / "launch", "--queue", folder / "out", "--programs", folder / "bin", "--jobs", "1",
            "--progress", *options]
    env = {**os.environ, "TERM": terminal or "xterm"}
    if terminal is None:
        return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=NEVER).stderr
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 25, 40, 0, 0))
    with subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=slave) as process:
        assert process.wait(NEVER) == 0
    os.close(slave)
    shown = bytearray()
    try:    # what was written last comes through a queue of the kernel; EIO is the end
        while part := os.read(master, 1 << 16):
            shown += part
    except OSError as error:
        assert error.errno == errno.EIO
    finally:
        os.close(master)
    return shown.decode()


@pytest.mark.parametrize("terminal", [None, "dumb"])
def test_the_live_line_is_for_terminals_that_can_erase_it(terminal: str | None, build: Path, tmp_path: Path,
                                                          compile_c: Callable[[str], Path]) -> None:
    assert watched(build, tmp_path, compile_c(PROBE.replace("LOG", "/dev/null")), terminal) == ""


def test_the_live_line_tells_the_time_left(build: Path, tmp_path: Path, compile_c: Callable[[str], Path]) -> None:
    like = tmp_path / "like/same"
    like.mkdir(parents=True)
    for name in ("one", "two"):     # the others are expected to take as long
        (like / f"x.{name}.ktap").write_text("ok\n#:launch: exit=0 signal=0 ms=100000 timeout=0\n")
    shown = watched(build, tmp_path, compile_c(PROBE.replace("LOG", "/dev/null")), "xterm", "--like", like.parent)
    lines = shown.split("\r\x1b[K")
    assert lines[0] == "" and lines[-1] == "", "written over, and erased at the end"
    assert lines[1] == "[1/4], 7 min left  same "
    assert lines[-2].startswith("[4/4], ") and " s left  same x.of_a_name" in lines[-2]
    assert max(map(len, lines)) == 39, "cut before the terminal wraps it"


def test_a_hostile_earlier_run_tells_no_time(build: Path, tmp_path: Path, compile_c: Callable[[str], Path]) -> None:
    like = tmp_path / "like/same"
    like.mkdir(parents=True)
    os.mkfifo(like / "x.one.ktap")
    (like / "x.two.ktap").write_text("#:launch: ms=-5\n")
    (like / "x.of_a_name_that_is_longer_than_the_line.ktap").write_bytes(b"#:launch: \0 ms=" + b"9" * 400)
    shown = watched(build, tmp_path, compile_c(PROBE.replace("LOG", "/dev/null")), "xterm", "--like", like.parent)
    assert "[1/4]  same " in shown and "left" not in shown.split("\r\x1b[K")[1]
