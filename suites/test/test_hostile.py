# SPDX-License-Identifier: MIT
"""Hostile places: no standard descriptors, links and FIFOs, another user's folder, two runs at once."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import BUILD, TREE, needs_root, result_of, run, run_suite, verdicts, wait_for

ONE = ("--suite", "meta", "--probe", "meta.pass", "--persona", "user")
STRANGER = 1234


def begin(out: Path) -> None:
    """A run of one probe, and that probe still to be run."""
    assert run_suite(out, *ONE, "--quiet").returncode == 0
    (out / "user/meta.pass.ktap").unlink()


@pytest.mark.perf
@pytest.mark.parametrize("shell", ["dash", "busybox sh", "mksh", "bash --posix"])
@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_a_run_without_standard_descriptors_is_a_run(shell: str, closed: str, build: Path,
                                                     tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = run("sh", "-c", f"{shell} '{TREE}/run.sh' --no-install --no-build {' '.join(ONE)} --out {out} {closed}")
    assert done.returncode == 0 and "Traceback" not in done.stderr, (done, sorted(out.rglob("*")))
    assert verdicts(result_of(out), "user") == {"meta.pass.counts": "yes"}


@pytest.mark.perf
@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_the_launcher_opens_no_file_onto_them(closed: str, build: Path, tmp_path: Path) -> None:
    out = tmp_path / "x"
    done = run("sh", "-c", f"'{build}/launch' --out {out} -- '{build}/probes/meta/pass' {closed}")
    assert done.returncode == 0 and "\nok 1 global.counts\n" in out.read_text()


def test_a_run_that_executed_nothing_says_so(build: Path, tmp_path: Path) -> None:
    tree = tmp_path / "bundle"
    for name in ("launch", "identify", "probes/meta/pass", "declared/meta/pass.txt"):
        (tree / "bin" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(build / name, tree / "bin" / name)
    shutil.copytree(TREE / "suites", tree / "suites", ignore=shutil.ignore_patterns("[!mdp]*", "test", "expect"))
    shutil.copy2(TREE / "run.sh", tree)
    assert run_suite(tmp_path / "good", *ONE, tree=tree).returncode == 0
    (tree / "bin/probes/meta/pass").write_bytes(b"\x7fELF and nothing that could be executed")
    done = run_suite(tmp_path / "bad", *ONE, tree=tree)
    assert done.returncode == 3 and "no probe could be executed: cannot execute" in done.stderr
    assert run_suite(tmp_path / "bad", "--resume", tree=tree).returncode == 3


TELL = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	DIR *open = opendir("/proc/self/fd");
	struct dirent *entry;

	while ((entry = readdir(open)))
		if (atoi(entry->d_name) != dirfd(open))
			printf("fd %s\n", entry->d_name);
	for (char **at = environ; *at; at++)
		puts(*at);
	return 0;
}
"""


@pytest.mark.parametrize("queue", [False, True])
def test_probes_inherit_no_descriptor_and_no_secret(queue: bool, build: Path, tmp_path: Path,
                                                    compile_c: Callable[[str], Path]) -> None:
    program = compile_c(TELL)
    out = tmp_path / "out/same/x.tell.ktap"
    command: list[str | Path] = [build / "launch", "--out", out, "--", program]
    out.parent.mkdir(parents=True)
    if queue:
        (tmp_path / "bin/probes/x").mkdir(parents=True)
        for name in ("identify", "probes/x/tell"):
            (tmp_path / "bin" / name).hardlink_to(program)
        (tmp_path / "out/plan").write_text("same x.tell\n")
        command = [build / "launch", "--queue", tmp_path / "out", "--programs", tmp_path / "bin"]
    with open("/etc/passwd", "rb") as secret:
        os.set_inheritable(secret.fileno(), True)
        done = run(*command, close_fds=False, env={"PATH": "/bin", "SECRET": "s", "LC_ALL": "C", "LD_X": "y",
                                                   "PERFMODES_HAZARDS": "1"})
    assert done.returncode == 0, done.stderr
    said = {line for line in out.read_text().splitlines()
            if not line.startswith(("#", ".", "fd .", "PERFMODES_TRACEPOINTS="))}
    assert said == {"fd 0", "fd 1", "fd 2", "PATH=/bin", "LC_ALL=C", "PERFMODES_HAZARDS=1"}


@pytest.mark.parametrize("name", ["env", "plan", "catalogue"])
@pytest.mark.parametrize("what", ["link", "fifo"])
def test_neither_a_link_nor_a_fifo_is_resumed(name: str, what: str, build: Path, tmp_path: Path) -> None:
    out, victim = tmp_path / "run", tmp_path / "victim"
    begin(out)
    (out / name).rename(victim)
    before = victim.read_bytes()
    if what == "link":
        (out / name).symlink_to(victim)
    else:
        os.mkfifo(out / name)
    done = run_suite(out, "--resume")
    assert done.returncode == 2 and f"/{name} is no regular file" in done.stderr
    assert victim.read_bytes() == before


def test_a_plan_that_is_a_pipe_is_no_run(build: Path, tmp_path: Path) -> None:
    """Neither a run to go on with nor one to write into: it is read by nobody."""
    out = tmp_path / "run"
    out.mkdir()
    os.mkfifo(out / "plan")
    done = run_suite(out, *ONE)
    assert done.returncode == 2 and "/plan is no regular file" in done.stderr and "--resume" not in done.stderr
    assert not list(out.glob("env*"))


def test_the_launcher_waits_for_no_fifo(build: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "plan")
    done = run(build / "launch", "--queue", tmp_path, "--programs", build)
    assert done.returncode == 3 and "/plan: Invalid argument" in done.stderr


def test_a_new_run_writes_through_no_link(build: Path, tmp_path: Path) -> None:
    out, victim = tmp_path / "run", tmp_path / "victim"
    out.mkdir()
    victim.write_text("precious")
    for name in ("env", "plan", "catalogue"):
        (out / f"{name}.part").symlink_to(victim)
    (out / "env").symlink_to(victim)
    (out / "user").mkdir()
    (out / "user/meta.pass.ktap.part").symlink_to(victim)
    assert run_suite(out, *ONE).returncode == 0
    assert victim.read_text() == "precious" and not (out / "env").is_symlink()


@needs_root
@pytest.mark.parametrize("owner, mode, why", [(STRANGER, 0o755, "belongs to another user"),
                                              (0, 0o777, "others may write"), (0, 0o775, "others may write")])
def test_root_writes_in_no_folder_of_others(owner: int, mode: int, why: str, build: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    begin(out)
    os.chown(out, owner, owner)
    out.chmod(mode)
    for arguments in (["--resume"], [*ONE]):
        done = run_suite(out, *arguments)
        assert done.returncode == 2 and why in done.stderr
    assert not (out / "user/meta.pass.ktap").exists()


def test_two_runs_do_not_share_a_folder(build: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = [TREE / "run.sh", "--no-install", "--no-build", "--quiet", "--out", out]
    first = subprocess.Popen([*arguments, "--suite", "meta", "--probe", "meta.hang", "--persona", "user"])
    wait_for((out / "user/meta.hang.ktap.part").exists)
    for more in (["--resume"], [*ONE]):
        done = run(*arguments, *more)
        assert done.returncode == 2 and f"another run is at work in {out}" in done.stderr
    first.kill()                # the lock ends with those who hold it
    first.wait(300)
    wait_for(lambda: run(*arguments, "--resume").returncode != 2)


def test_nothing_is_left_in_the_temporary_folder(build: Path, tmp_path: Path) -> None:
    """None is used: it may be full, or not be there."""
    done = run(TREE / "run.sh", "--no-install", "--no-build", *ONE, "--out", tmp_path / "run",
               env={**os.environ, "TMPDIR": "/nowhere"})
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        "catalogue", "env", "plan", "profile.json", "result.json", "user"}


@pytest.mark.parametrize("line", ["timeout abc", "timeout", "timeout 0", "timeout -3", "timeout 1.2.3",
                                  "timeout 99999999"])
def test_a_suite_with_a_bad_limit_is_named_with_its_line(line: str, build: Path, tmp_path: Path) -> None:
    suite = tmp_path / "mine.txt"
    suite.write_text(f"# a suite\nmeta.pass\n{line}\n")
    done = run_suite(tmp_path / "run", "--suite", str(suite), "--persona", "user")
    assert done.returncode == 2 and f"{suite}:3: timeout needs a number" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("command", [["run.sh", "--list", "--no-install"], ["run.sh", "report", "--no-install", "--help"],
                                     ["run.sh", "kernels", "--no-install", "--help"],
                                     ["run.sh", "doctor", "--no-install", "--help"], ["run.sh", "report", "--help"],
                                     ["run.sh", "doctor", "--help"], [".ci/install", "bench"]])
def test_who_wants_no_packages_gets_none(command: list[str], build: Path, tmp_path: Path) -> None:
    """With a dpkg-query that knows no package, and an apt-get that tells."""
    for name, text in (("dpkg-query", "exit 1"), ("apt-get", f"touch {tmp_path}/asked; exit 1"),
                       ("make", f"[ -n \"$NO_INSTALL\" ] || touch {tmp_path}/asked")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    if "--no-install" not in command:
        env["NO_INSTALL"] = "1"
    run(TREE / command[0], *command[1:], env=env)
    assert not (tmp_path / "asked").exists()


def test_jobs_beyond_counting_are_refused_by_the_launcher(build: Path, tmp_path: Path) -> None:
    for jobs in ("99999999999999999999", "-1", "2x", ""):
        done = run(build / "launch", "--queue", tmp_path, "--programs", BUILD, "--jobs", jobs)
        assert done.returncode == 2 and "usage" in done.stderr
