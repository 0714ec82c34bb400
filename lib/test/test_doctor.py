# SPDX-License-Identifier: MIT
"""The doctor and gates whose settings the test itself makes or reads.

What is expected is said here, from the setting, and never taken from the doctor's words: the level
of perf_event_paranoid at which mainline refuses what (kernel/events/core.c, perf_allow_kernel,
perf_allow_cpu, perf_allow_tracepoint), limits that the test lowers, filters it installs, and mounts
it hides.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import pty
import re
import resource
import shutil
import struct
import subprocess
import tempfile
import termios
from functools import lru_cache
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from surroundings import PERF, lower, refuse_perf

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree
TREE = Path(__file__).resolve().parents[2]
ARCH = os.environ.get("ARCH", platform.machine())
STRANGER = 64331                    # a user without other processes, whose memory counts for us
NEEDED = {"own-time": 1, "own-faults": 1, "own-switches": 1, "kernel-chains": 1,
          "other-process": 1, "system": 0}      # level that still allows it, unprivileged

Wishes = dict[str, dict[str, Any]]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="sets user ids and mounts")


@pytest.fixture(scope="session", name="doctor")
def _doctor() -> Iterator[Path]:
    """A copy that every user can run."""
    subprocess.run(["make", "-s", "--no-print-directory", f"ARCH={ARCH}", "doctor"], cwd=TREE,
                   check=True, capture_output=True, timeout=300)
    # not below pytest's folder, which each session of pytest closes to others
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        yield Path(shutil.copy(TREE / "build" / ARCH / "doctor", Path(place, "doctor")))


def setting(name: str) -> int:
    return int(Path("/proc/sys/kernel", name).read_text(encoding="utf-8"))


@lru_cache(maxsize=None)
def refusal_of_mounts() -> str:
    """Why nothing can be mounted for a test alone, or ''."""
    done = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/tmp"],
                          capture_output=True, text=True, timeout=300, check=False)
    return done.stderr.strip() or f"status {done.returncode}" if done.returncode else ""


def examine(doctor: Path, *wishes: str, uid: int = -1, before: str = "",
            limit: Callable[[], None] | None = None) -> Wishes:
    """What the doctor finds as that user, after a shell command in a mount namespace of its own."""
    command = [str(doctor), "--json", *wishes]
    if uid >= 0:
        command = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *command]
    if before:
        if refusal_of_mounts():
            pytest.skip(f"no mounts of its own: {refusal_of_mounts()}")
        command = ["unshare", "-m", "sh", "-ec", f'{before}\nexec "$@"', "sh", *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False,
                          preexec_fn=limit)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["format"] == 1
    return {wish["wish"]: wish for wish in found["wishes"]}


# ------------------------------------------------------------------------------------ privileged

@pytest.mark.perf
@as_root
def test_what_root_wishes_works(doctor: Path) -> None:
    found = examine(doctor)
    for wish in NEEDED:
        assert found[wish]["verdict"] == "works", found[wish]
        assert found[wish]["refusals"] == []
    assert found["rings"]["verdict"] == "works"


@pytest.mark.perf
@pytest.mark.skipif(any(Path("/sys/bus/event_source/devices").glob("*cpu*")) or
                    any(Path("/sys/bus/event_source/devices").glob("*pmu*")),
                    reason="this machine has a PMU")
@as_root
def test_without_a_pmu(doctor: Path) -> None:
    found = examine(doctor, "own-instructions", "rdpmc")
    for wish in found.values():
        first = wish["refusals"][0]
        assert wish["verdict"] == "instead"
        assert (first["errno"], first["cause"]) == ("ENOENT", "no event")
        assert "PMU" in first["gate"] and "PMU" in first["change"]
        assert "task-clock" in wish["used"]


# ---------------------------------------------------------------------------------- the level

@pytest.mark.perf
@as_root
@pytest.mark.skipif(not 0 < setting("perf_event_paranoid"), reason="nothing is refused at 0")
def test_the_level_refuses_a_stranger(doctor: Path) -> None:
    level = setting("perf_event_paranoid")
    found = examine(doctor, *NEEDED, uid=STRANGER)
    for wish, needed in NEEDED.items():
        if level <= needed:
            assert found[wish]["verdict"] == "works"
            continue
        first = found[wish]["refusals"][0]
        assert found[wish]["verdict"] == "instead"
        assert (first["errno"], first["cause"]) == ("EACCES", "paranoid")
        assert f"kernel.perf_event_paranoid={level}" in first["gate"]
        assert f"kernel.perf_event_paranoid={needed}" in first["change"]


@pytest.mark.perf
@as_root
@pytest.mark.skipif(setting("perf_event_paranoid") != 2, reason="says what happens at 2")
def test_user_mode_is_used_instead(doctor: Path) -> None:
    found = examine(doctor, "own-time", "own-switches", "kernel-chains", "other-process",
                    uid=STRANGER)
    assert "user mode only" in found["own-time"]["how"]
    # exclude_kernel makes this event count nothing, so it must not be what is used
    assert "switch" in found["own-switches"]["used"]
    assert "user mode" in found["kernel-chains"]["used"]
    assert "user mode" in found["other-process"]["used"]


@pytest.mark.perf
@as_root
@pytest.mark.skipif(setting("perf_event_paranoid") < 2, reason="own time is not refused")
def test_a_hidden_level_is_found_by_trying(doctor: Path) -> None:
    found = examine(doctor, "own-time", uid=STRANGER, before="mount -t tmpfs none /proc/sys")
    first = found["own-time"]["refusals"][0]
    assert (first["errno"], first["cause"]) == ("EACCES", "paranoid")
    assert "not readable" in first["gate"]


@pytest.mark.perf
@as_root
@pytest.mark.skipif(setting("perf_event_paranoid") < 2, reason="own time is not refused")
def test_capabilities_of_a_user_namespace_do_not_count(doctor: Path) -> None:
    command = ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups",
               "unshare", "-Ur", str(doctor), "--json", "own-time"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if "unshare:" in done.stderr:   # no user namespaces for strangers, or no way to the tree
        pytest.skip(done.stderr.strip())
    first = json.loads(done.stdout)["wishes"][0]["refusals"][0]
    assert first["cause"] == "paranoid" and "user namespace" in first["gate"]


@pytest.mark.perf
@as_root
@pytest.mark.skipif(setting("perf_event_paranoid") > 2, reason="the level refuses all")
def test_a_target_of_somebody_else(doctor: Path) -> None:
    done = subprocess.run(["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}",
                           "--clear-groups", str(doctor), "--json", "--pid", str(os.getpid()),
                           "other-process"], capture_output=True, text=True, timeout=300, check=True)
    wish = json.loads(done.stdout)["wishes"][0]
    last = wish["refusals"][-1]
    assert last["errno"] == "EACCES" and "may not be traced" in last["gate"]
    assert "/proc" in wish["used"]


# ------------------------------------------------------------------------------------ a filter

@pytest.mark.skipif(platform.machine() not in PERF, reason="its number is not known here")
@pytest.mark.parametrize("errno, name", [(1, "EPERM"), (13, "EACCES"), (38, "ENOSYS")])
def test_a_filter_is_told_from_the_kernel(doctor: Path, errno: int, name: str) -> None:
    found = examine(doctor, limit=lambda: refuse_perf(errno))
    for wish in (*NEEDED, "rings", "own-instructions"):
        first = found[wish]["refusals"][0]
        assert (first["errno"], first["cause"]) == (name, "filter"), first
        assert "seccomp" in first["change"]
        assert found[wish]["verdict"] == ("refused" if wish == "rings" else "instead")
    assert found["own-time"]["how"].startswith("timers")


# ------------------------------------------------------------------------------------ limits

@pytest.mark.perf
def test_no_descriptor_left(doctor: Path) -> None:
    # Without privilege the kernel refuses the whole system before it looks for a descriptor.
    wishes = ("system", "rings") if os.geteuid() == 0 else ("rings",)
    found = examine(doctor, *wishes, limit=lower(resource.RLIMIT_NOFILE, 3))
    for wish in wishes:
        first = found[wish]["refusals"][0]
        assert (first["errno"], first["cause"]) == ("EMFILE", "descriptors")
        assert "RLIMIT_NOFILE=3 " in first["gate"] and "nofile=4096:4096" in first["change"]


@pytest.mark.perf
@as_root
def test_few_descriptors_for_threads(doctor: Path) -> None:
    """2 + 1 threads x CPUs do not fit beside 3 open ones into half of 8."""
    found = examine(doctor, "own-time", limit=lower(resource.RLIMIT_NOFILE, 8))
    said = json.dumps(found["own-time"])
    assert "RLIMIT_NOFILE" in said and found["own-time"]["verdict"] != "refused"


@pytest.mark.perf
@as_root
def test_locked_memory(doctor: Path) -> None:
    """Two rings of 1 MiB + a page against perf_event_mlock_kb for each CPU and 64 kB on top."""
    cpus = os.cpu_count() or 1
    if cpus * 1028 <= cpus * setting("perf_event_mlock_kb") + 64:
        pytest.skip("perf_event_mlock_kb is large enough")
    found = examine(doctor, "rings", uid=STRANGER, limit=lambda: resource.setrlimit(
        resource.RLIMIT_MEMLOCK, (65536, cpus << 21)))
    first = found["rings"]["refusals"][0]
    assert (first["errno"], first["cause"]) == ("EPERM", "locked memory")
    assert f"perf_event_mlock_kb={setting('perf_event_mlock_kb')}" in first["gate"]
    assert "RLIMIT_MEMLOCK=64 kB" in first["gate"]
    # what it says to be enough has to be enough for the rings of all CPUs
    said = re.search(r"ulimit -l (\d+)", first["change"])
    assert said and int(said.group(1)) >= cpus * (1028 - setting("perf_event_mlock_kb"))
    assert f" {cpus} rings of 1028 kB" in first["gate"]
    assert int(found["rings"]["how"].split()[0]) < 1024
    enough = cpus * 1028 * 1024
    if resource.getrlimit(resource.RLIMIT_MEMLOCK)[1] >= enough:
        more = examine(doctor, "rings", uid=STRANGER, limit=lower(resource.RLIMIT_MEMLOCK, enough))
        assert more["rings"]["verdict"] == "works"


# ------------------------------------------------------------------------------------ tracefs

HIDE = "mount -t tmpfs none /sys/kernel/tracing\nmount -t tmpfs none /sys/kernel/debug"
SHOW = HIDE + "\nmount -t tracefs tracefs /sys/kernel/tracing"
# What an administrator may open or close, without changing tracefs, which all namespaces share:
# the id copied to a place of our own.
COPY = SHOW + """
id=$(cat /sys/kernel/tracing/events/sched/sched_switch/id)
mount -t tmpfs -o mode={} none /sys/kernel/tracing
mkdir -p /sys/kernel/tracing/events/sched/sched_switch
echo $id >/sys/kernel/tracing/events/sched/sched_switch/id"""
traceable = pytest.mark.skipif(
    not Path("/sys/kernel/tracing").is_dir(), reason="this kernel has no tracefs")


@as_root
@traceable
def test_tracefs_not_there(doctor: Path) -> None:
    first = examine(doctor, "tracepoints", before=HIDE)["tracepoints"]["refusals"][0]
    assert (first["errno"], first["cause"]) == ("ENOENT", "no event")
    assert "not mounted" in first["gate"] and "mount -t tracefs" in first["change"]


@pytest.mark.perf
@as_root
@traceable
def test_tracefs_for_root(doctor: Path) -> None:
    assert examine(doctor, "tracepoints", before=SHOW)["tracepoints"]["verdict"] == "works"


@as_root
@traceable
def test_tracefs_closed_to_a_stranger(doctor: Path) -> None:
    found = examine(doctor, "tracepoints", uid=STRANGER, before=COPY.format(700))
    first = found["tracepoints"]["refusals"][0]
    assert first["errno"] == "EACCES" and f"uid {STRANGER}" in first["gate"]
    assert "gid=" in first["change"]


@pytest.mark.perf
@as_root
@traceable
@pytest.mark.skipif(setting("perf_event_paranoid") < 0, reason="nothing is refused at -1")
def test_tracepoint_data_take_the_lowest_level(doctor: Path) -> None:
    found = examine(doctor, "tracepoints", uid=STRANGER, before=COPY.format(755))
    first = found["tracepoints"]["refusals"][0]
    assert first["errno"] in ("EACCES", "EPERM") and first["cause"] == "paranoid"
    assert "kernel.perf_event_paranoid=-1" in first["change"]


# --------------------------------------------------------------------------------- the program

def stranger(doctor: Path, *options: str, uid: int = STRANGER) -> list[str]:
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", str(doctor), *options]


def piped(doctor: Path, columns: str, filtered: bool, *wishes: str) -> str:
    command = [str(doctor), *wishes] if filtered else stranger(doctor, *wishes)
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True,
                          env={**os.environ, "COLUMNS": columns},
                          preexec_fn=(lambda: refuse_perf(1)) if filtered else None).stdout


def on_terminal(doctor: Path, columns: int, *wishes: str) -> str:
    """As on a terminal of that width, whatever COLUMNS says."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    parts: list[bytes] = []
    with subprocess.Popen(stranger(doctor, *wishes), stdout=slave,
                          env={**os.environ, "COLUMNS": "60"}) as program:
        os.close(slave)
        try:
            while part := os.read(master, 65536):
                parts.append(part)
        except OSError:         # how Linux says that nobody holds the other end
            pass
    os.close(master)
    assert program.returncode == 0
    return b"".join(parts).decode("ascii").replace("\r\n", "\n")


def joined(text: str) -> str:
    return " ".join(text.split())


def joined_lines(text: str) -> str:
    """With what was wrapped after a verdict on one line again."""
    return re.sub(r"\n {10}", " ", text)


@pytest.mark.perf
@as_root
@pytest.mark.parametrize("filtered", [False, True])
def test_people_get_the_same(doctor: Path, filtered: bool) -> None:
    """What JSON says of each gate stands there once, whole; the verdict comes first."""
    if filtered and platform.machine() not in PERF:
        pytest.skip("the number of perf_event_open is not known here")
    found = examine(doctor, limit=lambda: refuse_perf(1)) if filtered else \
        examine(doctor, uid=STRANGER)
    text = piped(doctor, "80", filtered)
    first = joined(text.split("\nLinux ")[0])
    count = {word: sum(wish["verdict"] == word for wish in found.values())
             for word in ("works", "instead", "refused")}
    assert first.startswith(f"Perf events do not work here: "
                            f"{found['own-time']['refusals'][0]['gate']}; "
                            if filtered else "Perf events work here: ")
    for word, phrase in (("works", "as asked"), ("instead", "in another way"),
                         ("refused", "not at all")):
        told = re.findall(rf"(\d+)(?: of {len(found)} wishes can be met)? {phrase}", first)
        assert [int(number) for number in told] == ([count[word]] if count[word] else [])
    below = joined(text.split("\nWho refuses")[1])
    for wish in found.values():
        assert re.search(rf"^{wish['answer']:<9} .*\({wish['wish']}\)", joined_lines(text), re.M)
        assert wish["answer"] == {"works": "yes", "instead": "instead", "refused": "blocked"}[wish["verdict"]]
        for refusal in wish["refusals"]:
            # a level is one gate, whatever is asked of it
            more = re.search(r"paranoid=\S+, (-?\d+ or less)", refusal["gate"])
            assert below.count(refusal["gate"] + " costs") == 1 or more and re.search(
                rf"also kernel.perf_event_paranoid={more[1]}, .* for [^.]*{wish['wish']}", below)
            assert refusal["change"] in below or more
    assert below.count("and CAP_PERFMON is missing") <= 1


@as_root
@pytest.mark.parametrize("columns", [80, 200])
def test_lines_fit(doctor: Path, columns: int) -> None:
    for filtered in {False, platform.machine() in PERF}:
        text = piped(doctor, str(columns), filtered)
        assert all(len(line) <= columns for line in text.splitlines())
        # as far as there is room: at twice the width nobody needs as many lines
        assert len(text.splitlines()) <= len(piped(doctor, "80", filtered).splitlines())
    text = on_terminal(doctor, columns)
    assert columns * 3 // 4 < max(len(line) for line in text.splitlines()) <= columns
    # the words are those of a pipe, but for the number of the process that was watched
    assert re.sub(r"pid \d+", "", joined(text)) == \
        re.sub(r"pid \d+", "", joined(piped(doctor, "60", False)))


@pytest.mark.perf
@as_root
@pytest.mark.skipif(setting("perf_event_paranoid") != 2, reason="the page shows level 2")
def test_the_page_shows_what_is_said(doctor: Path) -> None:
    """Word for word, but for the line that tells the kernel and the caller."""
    page = (TREE / "lib" / "man" / "perfmodes-doctor.1").read_text(encoding="utf-8")
    shown = page.split(".Bd -literal\n$ perfmodes-doctor ")[1].split("\n.Ed")[0]
    wishes, shown = shown.split("\n", 1)
    said = piped(doctor, "80", False, *wishes.split())
    shown, said = (re.sub(r"^Linux (.*\n)+?\n", "", text, count=1, flags=re.M)
                   for text in (shown, said))
    assert shown.strip() == said.strip()


@pytest.mark.skipif(platform.machine() not in PERF, reason="its number is not known here")
@as_root
def test_a_gate_is_told_once(doctor: Path) -> None:
    """However many strategies it stands in the way of."""
    assert "; none of 1 wishes can be met." in joined(piped(doctor, "80", True, "rings"))
    text = joined(piped(doctor, "80", True))
    assert text.count("a system call filter answers EPERM") == 2     # the verdict and the gate
    how = examine(doctor, "own-time", limit=lambda: refuse_perf(1))["own-time"]["how"]
    lines = how.splitlines()
    assert lines[0].startswith("timers (") and len(lines) == len(set(
        line.split(": ", 2)[-1] for line in lines))
    assert any(line.startswith("passed over: per_cpu, ") and "SystemCallFilter=" in line
               for line in lines)


@as_root
def test_no_process_to_watch(doctor: Path) -> None:
    """A user who may have one process has no child that could be watched. No other test is that user."""
    done = subprocess.run(stranger(doctor, "other-process", uid=STRANGER + 1), capture_output=True, text=True,
                          timeout=300, check=False, preexec_fn=lower(resource.RLIMIT_NPROC, 1))
    assert done.returncode == 3 and "a process to watch" in done.stderr and not done.stdout


@pytest.mark.parametrize("option", ["--json", "--", "--list", "--help"])
def test_an_answer_that_cannot_be_written(doctor: Path, option: str) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([doctor, option], stdout=full, stderr=subprocess.PIPE, timeout=300, check=False)
    assert (done.returncode, done.stderr.count(b"standard output takes no answer")) == (3, 1)


def test_a_process_that_is_not_there(doctor: Path) -> None:
    done = subprocess.run([doctor, "--pid", "2147483647"], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (3, "perfmodes-doctor: there is no process 2147483647\n")


@pytest.mark.parametrize("arguments", [["--pid", "no"], ["--nonsense"], ["no-such-wish"],
                                       ["--pid", "0"]])
def test_usage(doctor: Path, arguments: list[str]) -> None:
    done = subprocess.run([str(doctor), *arguments], capture_output=True, text=True, timeout=300,
                          check=False)
    assert done.returncode == 2 and done.stderr and not done.stdout


@pytest.mark.parametrize("word, said", [
    ("--level", "no option '--level' without --as WHERE, for which ./run.sh doctor"), ("--pid", "--pid needs a value\n"),
    ("--chek", "no option '--chek'\n"), ("sytem", "no wish 'sytem'; there are: own-time own-instructions ")])
def test_a_wrong_word_is_named(doctor: Path, word: str, said: str) -> None:
    """Under the program's name, and with what there is."""
    done = subprocess.run([str(doctor), word], capture_output=True, text=True, timeout=300, check=False)
    assert done.stderr.startswith(f"perfmodes-doctor: {said}") and done.returncode == 2


def test_run_sh_has_the_verb(doctor: Path, tmp_path: Path) -> None:
    """As it lies on a device: run.sh beside bin/."""
    shutil.copy(TREE / "run.sh", tmp_path)
    (tmp_path / "bin").mkdir()
    shutil.copy(doctor, tmp_path / "bin" / "doctor")
    done = subprocess.run([tmp_path / "run.sh", "doctor", "--list"], capture_output=True, text=True,
                          timeout=300, check=True)
    assert {line.split()[0] for line in done.stdout.splitlines()} >= set(NEEDED)


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind")
def test_valgrind_finds_nothing(tmp_path: Path) -> None:
    """Also that the gate is looked at without a call that crashes Valgrind 3.19."""
    program = f"build/{ARCH}/perfmodes-doctor"
    subprocess.run(["make", "-s", "--no-print-directory", f"ARCH={ARCH}", program], cwd=TREE,
                   check=True, capture_output=True, timeout=300)
    log = tmp_path / "log"
    done = subprocess.run(["valgrind", "-q", "--leak-check=full", "--error-exitcode=99",
                           f"--log-file={log}", program, "own-switches", "system", "tracepoints"],
                          cwd=TREE, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, log.read_text(encoding="utf-8")


# ------------------------------------------------------------------------------------ strangers

PIPE_FOR_EVENT = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/syscall.h>

int pipe(int *);

long syscall(long number, long a, long b, long c, long d, long e, long f)
{
	long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	int ends[2];

	if (number == SYS_perf_event_open)
		return pipe(ends) ? -1 : ends[0];
	return real(number, a, b, c, d, e, f);
}
"""


def test_a_file_that_is_no_event_is_not_waited_for(tmp_path: Path) -> None:
    """Whoever stands in front of the call may hand out anything; a pipe is read for ever."""
    program = TREE / "build" / ARCH / "perfmodes-doctor"
    subprocess.run(["make", "-s", "--no-print-directory", f"ARCH={ARCH}",
                    str(program.relative_to(TREE))], cwd=TREE, check=True, capture_output=True,
                   timeout=300)
    (tmp_path / "lie.c").write_text(PIPE_FOR_EVENT, encoding="utf-8")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "lie.so", tmp_path / "lie.c"],
                   check=True, timeout=300)
    done = subprocess.run([str(program), "--json", "other-process"], capture_output=True, text=True,
                          timeout=300, check=False,
                          env={**os.environ, "LD_PRELOAD": str(tmp_path / "lie.so")})
    wish = json.loads(done.stdout)["wishes"][0]
    assert wish["verdict"] != "works"
    assert {one["errno"] for one in wish["refusals"]} == {"EPROTO"}
