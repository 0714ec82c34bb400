# SPDX-License-Identifier: MIT
"""What is said of a program's perf events, held against what the program itself and strace saw.

What is expected comes from the program's own output, from the level of perf_event_paranoid, from sysfs
and from filters that the test installs; never from the words of explain.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import re
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Iterator

import pytest
from surroundings import lower, refuse_perf

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree
TREE = Path(__file__).resolve().parents[2]
ARCH = os.environ.get("ARCH", platform.machine())
USER = ["setpriv", "--reuid=64321", "--regid=64321", "--clear-groups"]
FAULTS, SWITCHES, CYCLES, CLOCK = "1:2", "1:3", "0:0", "1:1"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="sets user ids")


@pytest.fixture(scope="session", name="place")
def _place() -> Iterator[Path]:
    """explain and the program that is explained, where every user can run them."""
    subprocess.run(["make", "-s", "--no-print-directory", f"ARCH={ARCH}", "explain"], cwd=TREE, check=True,
                   capture_output=True, timeout=300)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        shutil.copy(TREE / "build" / ARCH / "explain", place / "explain")
        subprocess.run(["gcc", "-O1", "-pthread", "-o", place / "asks", TREE / "lib/test/explain/asks.c"],
                       check=True, timeout=300)
        yield place


class Explained:
    """A run: what the program did, and what was said of it."""

    def __init__(self, place: Path, *words: str, before: tuple[str, ...] = (), options: tuple[str, ...] = (),
                 program: str = "", limit: Any = None) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o777)
            told = Path(folder, "told.json")
            command = [*before, str(place / "explain"), *options, "--json", str(told), "--",
                       program or str(place / "asks"), *words]
            self.done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False,
                                       preexec_fn=limit)
            self.told: dict[str, Any] = json.loads(told.exists() and told.read_text(encoding="utf-8") or "{}")
        self.text = " ".join(self.done.stderr.split())

    @property
    def errors(self) -> list[int]:
        """What the program says of its opens."""
        return [int(line) for line in self.done.stdout.split()]

    def one(self) -> dict[str, Any]:
        """The one kind of call that was made."""
        assert len(self.told["asked"]) == 1, self.told
        shape: dict[str, Any] = self.told["asked"][0]
        return shape

    def gate(self, shape: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self.told["gates"][shape["gate"] - 1]
        return found


def paranoid() -> int:
    return int(Path("/proc/sys/kernel/perf_event_paranoid").read_text(encoding="utf-8"))


def has_core_pmu() -> bool:
    return any(Path("/sys/bus/event_source/devices", name).exists() for name in ("cpu", "cpu_core")) or \
        any(Path("/sys/bus/event_source/devices").glob("armv8*"))


def test_an_event_that_opens_and_what_it_counted(place: Path) -> None:
    run = Explained(place, FAULTS + ":u", "work")
    asked = Explained(place, FAULTS + ":u", "keep", FAULTS + ":u", "work")
    assert run.errors == [0] and run.done.returncode == 3 and run.told["exit"] == 3
    assert run.one()["event"] == "page-faults:u" and run.one()["target"] == "self"
    # of the second program one event was open while 64 pages were touched
    assert asked.one()["calls"] == asked.one()["opened"] == 2 and asked.one()["sum"] >= 64


def test_output_and_status_are_the_programs(place: Path) -> None:
    run = Explained(place, "-c", "echo out; echo err >&2; exit 7", program="/bin/sh", options=("--quiet",))
    assert (run.done.stdout, run.done.stderr, run.done.returncode) == ("out\n", "err\n", 7)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT])
def test_it_ends_by_the_signal_that_ended_the_program(place: Path, number: int) -> None:
    run = Explained(place, "-c", f"kill -{int(number)} $$", program="/bin/sh")
    assert run.done.returncode == -number and run.told["signal"] == number


@pytest.mark.parametrize("options", [(), ("--ptrace",)])
def test_an_event_of_the_past_of_a_killed_program(place: Path, options: tuple[str, ...]) -> None:
    run = Explained(place, FAULTS + ":u", "die", options=options)
    assert run.told["signal"] == signal.SIGKILL and run.one()["opened"] == 1


def test_a_program_that_is_not_there(place: Path) -> None:
    run = Explained(place, program="/nonexistent/program")
    assert run.done.returncode == 127 and "No such file" in run.done.stderr and run.told == {}


@as_root
@pytest.mark.skipif(paranoid() < 2, reason="an ordinary user may watch the kernel here")
def test_a_level_and_what_lies_behind(place: Path) -> None:
    run = Explained(place, SWITCHES, FAULTS + ":u:cpu", CYCLES, before=tuple(USER))
    switches, cpu, cycles = run.told["asked"]
    assert switches["errors"] == cpu["errors"] == {"EACCES": 1}
    assert run.gate(switches)["name"] == run.gate(cpu)["name"] == "level"
    assert "1 or less" in run.gate(switches)["gate"] and "0 or less" in run.gate(cpu)["gate"]
    assert "setcap cap_perfmon=ep PROGRAM" in run.gate(switches)["change"]
    assert not run.gate(switches)["in_vain"]
    assert run.gate(cycles)["in_vain"] != has_core_pmu()


@as_root
def test_who_has_less_than_we_have(place: Path) -> None:
    """Started by root, who the program stops to be: the reason is that of the user, behind it root's."""
    if paranoid() < 2:
        pytest.skip("an ordinary user may watch the kernel here")
    run = Explained(place, *USER[1:], str(place / "asks"), SWITCHES, CYCLES, program=USER[0])
    switches, cycles = run.told["asked"]
    assert run.errors == [errno.EACCES] * 2 and run.gate(switches)["name"] == "level"
    assert run.gate(switches)["behind"] == "as root: it opens"
    assert ("no CPU PMU" in run.gate(cycles)["behind"]) != has_core_pmu()


def test_what_can_only_count_nothing(place: Path) -> None:
    run = Explained(place, "keep", SWITCHES + ":u", "work")
    assert run.errors == [0] and run.one()["silent"] and run.one()["sum"] == 0
    assert "its 0 is no count" in run.text
    assert not Explained(place, "keep", FAULTS + ":u", "work").one()["silent"]


def test_a_thousand_threads(place: Path) -> None:
    run = Explained(place, "threads=1000", "times=10", CLOCK + ":u")
    assert run.one()["calls"] == run.one()["opened"] == 10000 and run.done.returncode == 3


def test_ten_thousand_descriptors_and_the_one_too_many(place: Path) -> None:
    run = Explained(place, "times=500", "keep", FAULTS + ":u", limit=lower(resource.RLIMIT_NOFILE, 400))
    refused = run.errors.count(errno.EMFILE)
    assert refused > 100 and run.one()["errors"] == {"EMFILE": refused}
    assert run.one()["opened"] == 500 - refused and run.gate(run.one())["name"] == "nofile"


class Followed:
    """A program that runs already, before it goes on: explain looks at it once it says so."""

    def __init__(self, place: Path, *words: str, before: tuple[str, ...] = ()) -> None:
        self.target = subprocess.Popen([place / "asks", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.until("waits")
        self.folder = tempfile.TemporaryDirectory()
        self.json = Path(self.folder.name, "told.json")
        Path(self.folder.name).chmod(0o777)
        self.explain = subprocess.Popen([*before, place / "explain", "--json", self.json, "--pid", str(self.target.pid)],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert self.explain.stderr
        self.first = self.explain.stderr.readline()

    def __enter__(self) -> "Followed":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.explain, self.target:
            process.kill()
            process.communicate()
        self.folder.cleanup()

    def until(self, line: str) -> None:
        assert self.target.stdout
        while (seen := self.target.stdout.readline()) != line + "\n":
            assert seen, f"it ended before it said {line}"

    def go_on(self) -> None:
        assert self.target.stdin
        self.target.stdin.write("x")
        self.target.stdin.flush()

    def end(self, number: int = 0) -> Any:
        if number:
            self.explain.send_signal(number)
        self.text = " ".join(self.explain.communicate(timeout=60)[1].split())
        return json.loads(self.json.read_text(encoding="utf-8"))

    def states(self) -> set[str]:
        """Of all threads of both."""
        return {(task / "stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
                for process in (self.target, self.explain) for task in Path("/proc", str(process.pid), "task").iterdir()}

    def tracers(self) -> set[str]:
        return {line for task in Path("/proc", str(self.target.pid), "task").iterdir()
                for line in (task / "status").read_text(encoding="utf-8").splitlines() if line.startswith("TracerPid")}


def test_a_process_that_runs_already(place: Path) -> None:
    """It asked once before we looked; its threads, those it starts, and what its child executes are seen."""
    words = ("keep", FAULTS + ":u", "busy=8", "wait", FAULTS + ":u", SWITCHES + ":u", "threads=5", CLOCK + ":u", "exec",
             FAULTS + ":u:sample")
    with Followed(place, *words) as run:
        assert "looking at asks" in run.first
        run.go_on()
        assert run.target.wait(timeout=60) == 3
        told = run.end()
        assert [(shape["event"], shape["calls"], shape["opened"]) for shape in told["asked"]] == [
            ("page-faults:u", 1, 1), ("context-switches:u", 1, 1), ("task-clock:u", 5, 5), ("page-faults:u", 1, 1)]
        assert told["open_before"] == 1 and told["pid"] == run.target.pid and run.explain.returncode == 0
        assert "1 event was open already" in run.text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_process_that_is_let_go(place: Path, number: int) -> None:
    """Its threads wait in four ways: none of their calls ends otherwise than alone, and nobody traces them."""
    with Followed(place, "busy=12", "wait", FAULTS + ":u", "wait", SWITCHES + ":u") as run:
        assert run.tracers() == {f"TracerPid:\t{tracer(run.target.pid)}"} and tracer(run.target.pid)
        run.go_on()
        run.until("0")
        if number == signal.SIGKILL:
            run.explain.kill()
            run.explain.wait(timeout=60)
        else:
            assert [shape["event"] for shape in run.end(number)["asked"]] == ["page-faults:u"]
            assert run.explain.returncode == 0
        assert run.tracers() == {"TracerPid:\t0"}
        run.go_on()
        assert run.target.wait(timeout=60) == 3


def tracer(pid: int) -> int:
    status = Path("/proc", str(pid), "status").read_text(encoding="utf-8")
    return int(status.split("TracerPid:")[1].split()[0])


def test_a_stopped_process_stays_stopped(place: Path) -> None:
    """Also while it is looked at: what it waits for comes, and it does not go on."""
    with Followed(place, "wait", FAULTS + ":u", "wait") as run:
        run.target.send_signal(signal.SIGSTOP)
        assert os.waitpid(run.target.pid, os.WUNTRACED)[1] >> 8 == signal.SIGSTOP
        run.go_on()
        while run.states() - {"S", "t"}:
            pass
        assert "t" in run.states()
        assert run.end(signal.SIGINT)["asked"] == []
        assert "State:\tT (stopped)" in Path("/proc", str(run.target.pid), "status").read_text(encoding="utf-8")
        run.target.send_signal(signal.SIGCONT)
        run.go_on()
        assert run.target.wait(timeout=60) == 3


def test_signals_on_their_way_arrive(place: Path) -> None:
    """As many as were sent, while the look begins and ends again and again. Real-time signals are queued."""
    script = ("import os, signal\nread, write = os.pipe()\nos.set_blocking(write, False)\n"
              "signal.set_wakeup_fd(write)\nsignal.signal(signal.SIGRTMIN, lambda *_: None)\nprint('ready', flush=True)\n"
              "input()\nprint(len(os.read(read, 1 << 20)))")
    with subprocess.Popen(["/usr/bin/python3", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout and run.stdin and run.stdout.readline() == "ready\n"
        sent = 0
        for _ in range(20):
            with subprocess.Popen([place / "explain", "--pid", str(run.pid)], stderr=subprocess.PIPE, text=True) as look:
                assert look.stderr and "looking at" in look.stderr.readline()
                for at in range(1000):
                    os.kill(run.pid, signal.SIGRTMIN)
                    sent += 1
                    if at == 20:
                        look.send_signal(signal.SIGINT)
                    if look.poll() is not None:
                        break
        run.stdin.write("\n")
        run.stdin.flush()
        assert run.stdout.readline() == f"{sent}\n" and run.wait(timeout=60) == 0


@as_root
def test_a_process_that_cannot_be_followed(place: Path) -> None:
    def refused(pid: object, *before: str) -> str:
        done = subprocess.run([*before, place / "explain", "--pid", str(pid)], capture_output=True, text=True,
                              timeout=60, check=False)
        assert done.returncode in (2, 3) and done.stdout == ""
        return " ".join(done.stderr.split())

    with Followed(place, "wait") as run:
        assert f"process {run.explain.pid} traces asks already" in refused(run.target.pid)
        run.end(signal.SIGINT)
        assert "run this as root" in refused(run.target.pid, *USER)
        run.go_on()
        assert run.target.wait(timeout=60) == 3
    assert "there is no process" in refused(run.target.pid)
    kernel = [pid for pid in ("2",) if Path("/proc", pid, "comm").read_text(encoding="utf-8").strip() == "kthreadd"]
    assert not kernel or "a thread of the kernel" in refused(kernel[0])
    assert "no number" in refused("12x") and "no number" in refused(2 ** 40)


@pytest.mark.parametrize("options", [(), ("--ptrace",)])
def test_children_that_execute(place: Path, options: tuple[str, ...]) -> None:
    run = Explained(place, FAULTS + ":u", "exec", FAULTS + ":u", "exec", FAULTS + ":u", options=options)
    assert run.errors == [0, 0, 0] and run.one()["calls"] == 3


def test_a_ring(place: Path) -> None:
    run = Explained(place, FAULTS + ":u:sample")
    assert run.one()["rings"] == 1 and run.one()["pages"] == 9


def test_a_static_program(place: Path) -> None:
    subprocess.run(["gcc", "-static", "-pthread", "-o", place / "static", TREE / "lib/test/explain/asks.c"],
                   check=True, timeout=300)
    assert Explained(place, FAULTS + ":u", program=str(place / "static")).one()["opened"] == 1


@pytest.mark.skipif(ARCH != "x86_64", reason="other numbers of system calls")
@pytest.mark.parametrize("options", [(), ("--ptrace",), ("--pretend",)])
def test_a_32_bit_program(place: Path, options: tuple[str, ...]) -> None:
    """Without a library, which need not be there for 32 bits."""
    program = str(place / "narrow")
    built = subprocess.run(["gcc", "-m32", "-nostdlib", "-static", "-ffreestanding", "-fno-stack-protector", "-fno-pie",
                            "-no-pie", "-o", program, TREE / "lib/test/explain/narrow.c"],
                           capture_output=True, timeout=300, check=False)
    if built.returncode != 0:
        pytest.skip("the compiler makes no 32-bit programs")
    try:
        alone = subprocess.run([program], timeout=120, check=False).returncode
    except OSError:
        pytest.skip("this kernel runs no 32-bit programs")
    run = Explained(place, program=program, options=options)
    faults, never = run.told["asked"]
    assert run.done.returncode == alone and never["errors"] == {"ENOENT": 1}
    assert never["pretended"] == ("--pretend" in options)
    if alone == 3:      # all that it asked for was allowed here
        assert (faults["opened"], faults["rings"], faults["pages"]) == (1, 1, 9)


def test_a_filter_of_its_own(place: Path) -> None:
    run = Explained(place, FAULTS + ":u", "filter", FAULTS + ":u")
    assert run.errors == [0, errno.EPERM] and run.one()["calls"] == 1
    assert "set itself answers EPERM" in run.text and "--ptrace shows them" in run.text
    run = Explained(place, "filter", FAULTS + ":u", options=("--ptrace",))
    assert run.one()["errors"] == {"EPERM": 1}
    assert "set itself" in run.gate(run.one())["gate"] and run.gate(run.one())["behind"] == "without that filter: it opens"


def test_a_program_whose_calls_are_hidden_is_not_said_to_make_none(place: Path) -> None:
    assert "never called" in Explained(place, program="/bin/true").text
    run = Explained(place, "filter", FAULTS + ":u")
    assert run.errors == [errno.EPERM] and "No perf_event_open of" in run.text and "never called" not in run.text


@as_root
def test_what_it_may_have_looked_at_before_it_asked_nothing(place: Path) -> None:
    tracefs = Path("/sys/kernel/tracing")
    if not tracefs.is_dir() or tracefs.stat().st_mode & 0o007 or tracefs.stat().st_gid == 64321:
        pytest.skip("an ordinary user may read tracefs, or there is none")
    assert "looks at tracefs first" in Explained(place, program="/bin/true", before=tuple(USER)).text
    assert "looks at tracefs first" not in Explained(place, FAULTS + ":u", before=tuple(USER)).text


@as_root
@pytest.mark.skipif(paranoid() < 2 or has_core_pmu(), reason="it is not in vain here")
def test_what_to_change_is_told_where_it_helps(place: Path) -> None:
    """The first of the two has nothing behind the level; the second one's change is told, once."""
    run = Explained(place, CYCLES, SWITCHES, before=tuple(USER))
    assert run.text.count("[2] the same as [1] change") == run.text.count("setcap cap_perfmon") == 1


@as_root
@pytest.mark.skipif(paranoid() < 2, reason="an ordinary user may watch the kernel here")
def test_user_mode_is_no_advice_for_physical_addresses(place: Path) -> None:
    run = Explained(place, FAULTS, FAULTS + ":u:sample:phys", before=tuple(USER))
    plain, physical = (run.gate(shape) for shape in run.told["asked"])
    assert run.errors == [errno.EACCES] * 2 and "watch user mode only" in plain["change"]
    assert "leave physical addresses out" in physical["change"] and "watch user mode only" not in physical["change"]


def test_an_address_and_an_id_that_cannot_be(place: Path) -> None:
    run = Explained(place, "5:0:u:at", "2:99999:u")     # 8 bytes at ...abc
    watched, traced = run.told["asked"]
    if run.errors[0] == errno.EINVAL:
        assert "no multiple of its length, 8" in run.gate(watched)["gate"]
    if os.geteuid() == 0 and Path("/sys/kernel/tracing/events").is_dir():
        assert run.errors[1] == errno.EINVAL and "no tracepoint of this kernel has the id 99999" in run.gate(traced)["gate"]


def test_a_line_is_short(place: Path) -> None:
    """Events of one fate share a line: each name once, the first twelve, and times have a unit."""
    run = Explained(place, *(f"77:{config}:u" for config in range(1, 21)), "keep", SWITCHES + ":u", SWITCHES + ":u:old",
                    CLOCK + ":u")
    assert "event 77:0xc:u and 8 more of its own thread" in run.text and len(run.told["asked"]) == 23
    assert "count context-switches:u of its own thread: counted 0" in run.text
    assert re.search(r"task-clock:u of its own thread: counted [0-9]+ ns", run.text)
    assert all(len(line) <= 80 for line in run.done.stderr.splitlines())


@pytest.mark.parametrize("options", [(), ("--ptrace",)])
def test_a_program_that_loads_a_program_of_bpf(place: Path, options: tuple[str, ...]) -> None:
    """The verifier gives up with EAGAIN where a signal is pending, as a tracer's interrupt is."""
    alone = subprocess.run([place / "asks", "load"], capture_output=True, text=True, timeout=300, check=False)
    run = Explained(place, "load", options=options)
    assert run.done.stdout == alone.stdout and ("bpf(2)" in run.text) == bool(options and run.errors != [0])


@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOSYS])
def test_a_filter_around_it(place: Path, error: int) -> None:
    run = Explained(place, FAULTS + ":u", limit=lambda: refuse_perf(error))
    assert run.errors == [error] and run.one()["errors"] == {errno.errorcode[error]: 1}
    assert "filter" in run.gate(run.one())["gate"] and run.told["remarks"]["ptrace"]


NO_PMU = "77:1:u"       # no PMU has that type: ENOENT

pretends = pytest.mark.skipif(ARCH != "x86_64" or platform.machine() != ARCH, reason="calls are not made again here")


@pretends
@pytest.mark.parametrize("who", [(), tuple(USER)])
def test_a_refused_event_is_pretended(place: Path, tmp_path: Path, who: tuple[str, ...]) -> None:
    """The program goes on as if it opened, with a group and a ring; what opens is the real one."""
    if who and os.geteuid() != 0:
        pytest.skip("sets user ids")
    words = ("keep", NO_PMU + ":ask", "77:2:u:member:ask", FAULTS + ":u:ask", "work", SWITCHES + ":u:sample")
    alone = subprocess.run([*who, place / "asks", *words], capture_output=True, text=True, timeout=60, check=False)
    assert [int(line) for line in alone.stdout.split()][:2] == [errno.ENOENT, errno.ENOENT]
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as made:
        os.chmod(made.name, 0o666)
        run = Explained(place, *words, before=who, options=("--pretend", "--record", made.name))
        recording = json.load(made)
    assert run.errors == [0] * 19 and run.done.returncode == 3
    leader, member, faults, switches = run.told["asked"]
    assert leader["errors"] == {"ENOENT": 1} and leader["pretended"] == leader["rings"] == 1 and leader["opened"] == 0
    assert (member["errors"], member["unseen"], member["pretended"]) == ({}, 1, 1)
    assert (faults["opened"], faults["pretended"]) == (1, 0) and faults["sum"] >= 64
    assert switches["opened"] == switches["rings"] == 1 and leader["looked"] == member["looked"] == 0
    assert "what the program told is not true" in run.text and "1 of a pretended group" in run.text
    schema = pytest.importorskip("reports.schema", reason="the tree is not in the path of Python")
    schema.require("recording", recording, "the recording")
    assert [call.get("pretended", 0) for call in recording["calls"]] == [1, 1, 0, 0]


@pretends
def test_without_being_asked_nothing_is_pretended(place: Path) -> None:
    run = Explained(place, NO_PMU)
    assert run.errors == [errno.ENOENT] and run.one()["pretended"] == 0 and "not true" not in run.text


@pretends
def test_what_is_wrong_or_full_is_not_pretended(place: Path) -> None:
    """A limit of descriptors holds, and a thousand threads are told apart."""
    run = Explained(place, "times=500", "keep", NO_PMU, options=("--pretend",), limit=lower(resource.RLIMIT_NOFILE, 400))
    refused = 500 - run.errors.count(0)
    assert 100 < refused < 400 and run.one()["pretended"] == 500 - refused
    run = Explained(place, "threads=200", "times=10", NO_PMU, options=("--pretend",))
    assert run.one()["pretended"] == run.one()["errors"]["ENOENT"] == 2000 and run.done.returncode == 3


@pretends
def test_where_nothing_can_be_pretended(place: Path) -> None:
    run = Explained(place, NO_PMU, options=("--pretend", "--ptrace"))
    assert run.done.returncode == 2 and run.done.stdout == "" and "notifications" in run.text
    run = Explained(place, NO_PMU, options=("--pretend",), limit=lambda: refuse_perf(errno.EPERM))
    assert run.done.returncode == 2 and "a filter around it" in run.text


@pytest.mark.skipif(not shutil.which("strace"), reason="no strace here")
def test_a_program_that_somebody_else_traces(place: Path) -> None:
    run = Explained(place, "-f", "-o", "/dev/null", str(place / "asks"), FAULTS + ":u", program="strace")
    assert run.errors == [0] and run.one()["unseen"] == 1 and run.one()["opened"] == 0
    assert "asked again from here: opens" in run.text


@as_root
def test_set_user_id(place: Path) -> None:
    trusted = Path(shutil.copy(place / "asks", place / "trusted"))
    trusted.chmod(0o4755)
    run = Explained(place, FAULTS, program=str(trusted), before=tuple(USER))
    assert run.done.returncode == 2 and "set-user-id" in run.text and run.errors == []
    run = Explained(place, "-c", f"{trusted} {FAULTS}", program="/bin/sh", before=tuple(USER))
    assert run.told["remarks"]["changed"] == [f"{trusted} (set-user-id)"]
    # root's filter takes no rights away
    run = Explained(place, *USER[1:], str(trusted), FAULTS, program=USER[0])
    assert run.errors == [0] and run.told["remarks"]["changed"] == []


@as_root
@pytest.mark.skipif(paranoid() < 2, reason="an ordinary user may watch the kernel here")
def test_capabilities_of_a_file(place: Path) -> None:
    """CAP_PERFMON, number 38, permitted and effective: alone it opens, and under a user's filter it would not."""
    able = Path(shutil.copy(place / "asks", place / "able"))
    os.setxattr(able, "security.capability", struct.pack("<5I", 0x02000001, 0, 0, 1 << 38 - 32, 0))
    alone = subprocess.run([*USER, able, FAULTS], capture_output=True, text=True, timeout=60, check=False)
    assert alone.stdout == "0\n"
    run = Explained(place, FAULTS, program=str(able), before=tuple(USER))
    assert run.done.returncode == 2 and "with capabilities of its file" in run.text and run.errors == []
    run = Explained(place, "-c", f"{able} {FAULTS}", program="/bin/sh", before=tuple(USER))
    assert run.told["remarks"]["changed"] == [f"{able} (with capabilities of its file)"]
    run = Explained(place, *USER[1:], str(able), FAULTS, program=USER[0])
    assert run.errors == [0] and run.told["remarks"]["changed"] == []


@pytest.mark.skipif(not shutil.which("gdb"), reason="no gdb here")
def test_a_program_in_a_debugger(place: Path) -> None:
    """The debugger keeps its thread: the same is printed as alone, and the result is told to be unseen."""
    words = ["-nx", "-batch", "-ex", "run", "-ex", "quit $_exitcode", "--args", str(place / "asks"), FAULTS + ":u"]
    alone = subprocess.run(["gdb", *words], capture_output=True, text=True, timeout=120, check=False)
    run = Explained(place, *words, program="gdb")
    ends = [re.sub(r"process \d+", "", done.stdout) for done in (alone, run.done)]
    assert ends[0] == ends[1] and run.done.returncode == alone.returncode == 3
    assert run.one()["unseen"] == 1 and run.one()["opened"] == 0 and "another program traces" in run.text


@pytest.mark.skipif(not shutil.which("rr"), reason="no rr here")
def test_a_recorder_of_programs(place: Path, tmp_path: Path) -> None:
    """rr ends as it does alone, with what it wrote last."""
    words = ["record", "-n", "true"]
    ends = [subprocess.run([*before, "rr", *words], capture_output=True, text=True, timeout=120, check=False,
                           env={**os.environ, "_RR_TRACE_DIR": str(tmp_path / str(len(before)))})
            for before in ([], [place / "explain", "--quiet", "--"])]
    alone, seen = ((end.returncode, end.stderr.splitlines()[:1] if end.returncode else []) for end in ends)
    assert alone == seen


GO = """package main
import ("os"; "syscall"; "unsafe"; "fmt")
func main() {
	attr := [32]uint32{1, 128, 2}
	attr[10] = 0x60
	fd, _, err := syscall.Syscall6(%d, uintptr(unsafe.Pointer(&attr)), 0, ^uintptr(0), ^uintptr(0), 0, 0)
	fmt.Println(int(err))
	if err == 0 { syscall.Close(int(fd)) }
	os.Exit(3)
}
"""


@pytest.mark.skipif(not shutil.which("go"), reason="no Go here")
@pytest.mark.parametrize("options", [(), ("--ptrace",)])
def test_a_static_program_of_go(place: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    number = {"x86_64": 298, "aarch64": 241}.get(platform.machine())
    if number is None:
        pytest.skip("other numbers of system calls")
    (tmp_path / "main.go").write_text(GO % number, encoding="utf-8")
    subprocess.run(["go", "build", "-o", place / "go", "main.go"], cwd=tmp_path, check=True, timeout=300,
                   env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod", "GOCACHE": str(tmp_path / "cache"),
                        "GOPATH": str(tmp_path / "path"), "GOPROXY": "off"})
    run = Explained(place, program=str(place / "go"), options=options)
    assert run.errors == [0] and run.one()["opened"] == 1 and run.one()["event"] == "page-faults:u"
    assert run.done.returncode == 3


def test_what_goes_on_after_the_first_process(place: Path, tmp_path: Path) -> None:
    """It is answered by a child of explain, also where explain is killed."""
    gate, late = tmp_path / "gate", tmp_path / "late"
    os.mkfifo(gate)
    script = f"(read x <{gate}; {place}/asks {FAULTS}:u >{late}.part; mv {late}.part {late}; echo >{gate}) & exit 5"
    assert Explained(place, "-c", script.replace(" &", " >/dev/null 2>&1 &"), program="/bin/sh").done.returncode == 5
    gate.write_text("go\n", encoding="utf-8")
    gate.read_text(encoding="utf-8")
    assert late.read_text(encoding="utf-8") == "0\n"
    late.unlink()
    with subprocess.Popen([place / "explain", "/bin/sh", "-c", script.replace("& exit 5", "& echo; wait")],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
        assert run.stdout and run.stdout.read(1) == b"\n"
        run.kill()
        gate.write_text("go\n", encoding="utf-8")
        gate.read_text(encoding="utf-8")
        assert late.read_text(encoding="utf-8") == "0\n"


def test_a_recording_holds_what_was_asked_and_nothing_private(place: Path, tmp_path: Path) -> None:
    """A program with a secret in its path, its argument, its environment and an address of its memory."""
    schema = pytest.importorskip("reports.schema", reason="the tree is not in the path of Python")
    program = Path(shutil.copy(place / "asks", tmp_path / "Xsecret"))
    made = tmp_path / "made.json"
    # 8 bytes at 0x123456789abc: not a multiple of 8
    words = [FAULTS + ":u:sample", "5:0:u:at", "Xsecret", "times=3", "keep", SWITCHES + ":u"]
    subprocess.run([place / "explain", "--quiet", "--record", made, program, *words], timeout=300, check=False,
                   capture_output=True, env={**os.environ, "Xsecret": "Xsecret"})
    text = made.read_text(encoding="utf-8")
    assert "secret" not in text and "123456789abc" not in text and str(tmp_path) not in text
    found = json.loads(text)
    schema.require("recording", found, "the recording")
    faults, watched, _, switches = found["calls"]
    assert faults["attr"]["type"] == "software" and faults["attr"]["config"] == "0x2" and faults["pages"] == 9
    assert faults["attr"]["fields"] == {"sample_period": "0xf4240", "read_format": "0x3"}
    assert faults["attr"]["flags"] == {"exclude_kernel": 1, "exclude_hv": 1}
    assert watched["attr"]["type"] == "breakpoint" and watched["attr"]["fields"]["config1"] == "unaligned"
    assert found["machine"]["page_size"] == os.sysconf("SC_PAGESIZE")
    assert (switches["calls"], switches["opened"], switches["target"]) == (3, 3, "self")


@pytest.mark.skipif(not shutil.which("strace"), reason="no strace here")
@pytest.mark.parametrize("who", [(), tuple(USER)])
def test_what_strace_sees(place: Path, tmp_path: Path, who: tuple[str, ...]) -> None:
    if who and os.geteuid() != 0:
        pytest.skip("sets user ids")
    tmp_path.chmod(0o777)
    tmp_path.parent.chmod(0o711)
    words = [FAULTS, FAULTS + ":u", SWITCHES + ":cpu", CYCLES, "77:1", "2:99999", "5:0", CLOCK + ":u:sample"]
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as log:
        os.chmod(log.name, 0o666)
        subprocess.run([*who, "strace", "-f", "-e", "trace=perf_event_open", "-o", log.name, place / "asks", *words],
                       check=False, capture_output=True, timeout=300)
        seen = re.findall(r"perf_event_open\(.*\) = (?:(\d+)|-1 (E\w+))", log.read())
    run = Explained(place, *words, before=who)
    told = [next(iter(shape["errors"]), "") for shape in run.told["asked"]]
    assert [error for _, error in seen] == told and len(told) == len(words)
