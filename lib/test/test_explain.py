# SPDX-License-Identifier: MIT
"""What is said of a program's perf events, held against what the program itself and strace saw.

What is expected comes from the program's own output, from the level of perf_event_paranoid, from sysfs
and from filters that the test installs; never from the words of explain.
"""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from explaining import ARCH, CLOCK, CYCLES, Explained, FAULTS, SWITCHES, TREE, USER, as_root, has_core_pmu, paranoid, place_
from surroundings import PERF, lower, refuse_perf, refuse_request

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree
place = place_


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


@pytest.mark.parametrize("closed", [(2,), (1, 2), (0, 1, 2)])
def test_what_is_closed_stays_so(place: Path, closed: tuple[int, ...]) -> None:
    """No pipe of explain's takes its place, into which it would tell."""
    count = "n=0; for fd in 0 1 2; do [ -e /proc/$$/fd/$fd ] || n=$((n + 1)); done; exit $n"
    run = Explained(place, "-c", count, program="/bin/sh", limit=lambda: [os.close(fd) for fd in closed])
    assert run.done.returncode == run.told["exit"] == len(closed)


def test_help_that_cannot_be_written(place: Path) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        assert subprocess.run([place / "explain", "--help"], stdout=full, check=False).returncode == 3


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


@pytest.mark.parametrize("options", [(), ("--ptrace",)])
def test_children_that_execute(place: Path, options: tuple[str, ...]) -> None:
    run = Explained(place, FAULTS + ":u", "exec", FAULTS + ":u", "exec", FAULTS + ":u", options=options)
    assert run.errors == [0, 0, 0] and run.one()["calls"] == 3


def test_a_ring(place: Path) -> None:
    run = Explained(place, FAULTS + ":u:sample")
    assert run.one()["rings"] == 1 and run.one()["pages"] == 9


@as_root
def test_some_rings_of_many_are_refused(place: Path) -> None:
    """One more than perf_event_mlock_kb has room for, of a user who has no others and may lock nothing."""
    room = int(Path("/proc/sys/kernel/perf_event_mlock_kb").read_text(encoding="utf-8")) * 1024
    pages = 1 << max((room // os.sysconf("SC_PAGE_SIZE") - 1).bit_length() - 1, 0)
    fit = room * (os.cpu_count() or 1) // ((1 + pages) * os.sysconf("SC_PAGE_SIZE"))
    run = Explained(place, f"times={fit + 1}", "keep", f"{CLOCK}:u:sample:pages={pages}",
                    before=("setpriv", "--reuid=64330", "--regid=64330", "--clear-groups"), limit=lower(resource.RLIMIT_MEMLOCK, 0))
    assert run.errors == [0] * (fit + 1)
    assert f"{fit} of {fit + 1} rings of {pages + 1} pages, the rest EPERM [1]" in run.text
    assert run.gate(run.one())["name"] == "locked_memory"


@as_root
@pytest.mark.skipif(not shutil.which("perf"), reason="no perf")
def test_rings_that_are_too_large(place: Path) -> None:
    """The pages that are advised fit for each CPU, and twice as many do not; for a user who has no other rings."""
    def run(pages: int) -> Explained:
        return Explained(place, "record", "-o", "/dev/null", "-e", "cpu-clock:u", "-m", str(pages), "true", program="perf",
                         before=("setpriv", "--reuid=64329", "--regid=64329", "--clear-groups"),
                         limit=lower(resource.RLIMIT_MEMLOCK, 65536))

    told = run(8192)
    refused = [shape for shape in told.told["asked"] if "ring_error" in shape]
    assert [shape["ring_error"] for shape in refused] == ["EPERM"] and told.done.returncode != 0
    gate = told.gate(refused[0])
    found = re.match(r"smaller rings: 1 \+ (\d+) pages fit, as many as perf's --mmap-pages=\1; ", gate["change"])
    assert gate["name"] == "locked_memory" and found
    assert run(int(found[1])).done.returncode == 0 and run(2 * int(found[1])).done.returncode != 0


def test_a_ring_of_three_pages(place: Path) -> None:
    run = Explained(place, FAULTS + ":u:sample:pages=3")
    assert run.one()["ring_error"] == "EINVAL" and run.gate(run.one())["change"] == "map 3 pages, or 5"
    assert "ring_error" not in Explained(place, FAULTS + ":u:sample:pages=2").one()


def test_more_samples_than_the_kernel_gives(place: Path) -> None:
    most = int(Path("/proc/sys/kernel/perf_event_max_sample_rate").read_text(encoding="utf-8"))
    run = Explained(place, f"{CLOCK}:u:freq={2 * most}")
    assert run.gate(run.one())["name"] == "too_often"
    assert run.gate(run.one())["change"].startswith(f"ask for {most} samples a second, or fewer; ")
    assert Explained(place, f"{CLOCK}:u:freq={most}").one()["opened"] == 1


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


def test_calls_that_a_signal_came_before(place: Path) -> None:
    """A handler without SA_RESTART: what then ends with EINTR, and would not alone, is told."""
    run = Explained(place, "alarm=20000")
    assert run.told["remarks"]["interrupted"] >= run.errors[0] and ("met a signal" in run.text) >= (run.errors[0] > 0)
    quiet = Explained(place, program="/bin/true")
    assert quiet.told["remarks"]["interrupted"] == 0 and "met a signal" not in quiet.text


@as_root
@pytest.mark.skipif(paranoid() < 2 or has_core_pmu(), reason="it is not in vain here")
def test_what_to_change_is_told_where_it_helps(place: Path) -> None:
    """The first of the two has nothing behind the level; the second one's change is told, once."""
    run = Explained(place, CYCLES, SWITCHES, before=tuple(USER))
    assert run.text.count("[2] the same as [1] change") == run.text.count("setcap cap_perfmon") == 1
    assert "whatever is changed here, [1] stays refused" in run.text
    assert "stays refused" not in Explained(place, CYCLES, before=tuple(USER)).text


def test_a_program_that_ends_well_after_all_was_refused(place: Path) -> None:
    """What a collector shows then looks like an answer."""
    for status, words in ((0, "no event opened, and the program ended with 0 all the same"), (3, "no event opened: what the program")):
        for asked, told in (("77:1", True), (FAULTS + ":u", False)):
            run = Explained(place, "-c", f"{place}/asks {asked}; exit {status}", program="/bin/sh")
            assert (words in run.text) == told and ("no event opened" in run.text) == told, run.text
    assert "no event opened" not in Explained(place, "77:1", FAULTS + ":u").text


def test_a_count_says_of_how_many_events_it_is(place: Path) -> None:
    """Of the events of a kind the first 1024 are looked at."""
    run = Explained(place, "times=1100", FAULTS + ":u")
    assert (run.one()["opened"], run.one()["looked"]) == (1100, 1024)
    assert f"counted {run.one()['sum']} in 1024 of them" in run.text
    assert "of them" not in Explained(place, "times=1024", FAULTS + ":u").text


def test_calls_that_read_alike_are_one_line(place: Path) -> None:
    """They differ in the size of the attr; the JSON has both."""
    run = Explained(place, "keep", FAULTS + ":u", "work", FAULTS + ":u:old", CLOCK + ":u")
    first, second, _ = run.told["asked"]
    assert (first["calls"], second["calls"]) == (1, 1) and first["sum"] >= 64
    assert f"count page-faults:u of its own thread: 2 opened, counted {first['sum'] + second['sum']}" in run.text
    assert run.text.count("page-faults:u") == run.text.count("task-clock:u") == 1


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


PROBE = """
import ctypes, struct, sys
kind = int(open("/sys/bus/event_source/devices/uprobe/type").read())
path = ctypes.create_string_buffer(sys.argv[1].encode())
attr = bytearray(struct.pack("IIQQQQQ", kind, 128, 0, 1, 0, 0, 1) + bytes(80))
struct.pack_into("QQ", attr, 56, ctypes.addressof(path), int(sys.argv[2]))
call, number, attr = ctypes.CDLL(None).syscall, int(sys.argv[3]), (ctypes.c_char * 128).from_buffer(attr)
fd = call(number, attr, 0, -1, -1, 8)
ctypes.memset(path, 65, len(sys.argv[1]))       # what is told is of the time of the call
print(fd >= 0)
"""


@as_root
@pytest.mark.skipif(not Path("/sys/bus/event_source/devices/uprobe/type").exists() or ARCH not in PERF, reason="no uprobes")
def test_the_file_of_a_probe(place: Path, tmp_path: Path) -> None:
    """Which cannot be had, is none, or ends before the probe; one that is good opens."""
    program = tmp_path / "program"
    shutil.copy("/bin/true", program)
    size = program.stat().st_size

    def at(path: Path, offset: int) -> Explained:
        return Explained(place, "-c", PROBE, str(path), str(offset), str(PERF[ARCH]), program="/usr/bin/python3")

    for path, offset, gate, change in (
            (tmp_path / "gone", 4096, f"the file of the probe cannot be had: {tmp_path}/gone: ENOENT", "/proc/PID/root"),
            (tmp_path, 4096, f"a probe takes a regular file, which {tmp_path} is not", "name the program or library"),
            (program, size + 4096, f"{program} has {size} bytes, and the probe is to be at byte {size + 4096}", "an offset in the file")):
        run = at(path, offset)
        assert run.done.stdout == "False\n" and run.gate(run.one())["gate"] == gate and change in run.gate(run.one())["change"]
    assert at(program, size // 2 & ~15).one()["opened"] == 1


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
    assert run.done.stdout == alone.stdout and ("bpf(2)" in run.text) == (run.errors == [errno.EPERM])


def test_who_asks_whether_there_are_links_is_refused_nothing(place: Path) -> None:
    """As libbpf does before it attaches: a link of no target, which kernels that have links answer with EBADF."""
    script = """
import ctypes, platform
number = {"x86_64": 321, "s390x": 351, "ppc64le": 361}.get(platform.machine(), 280)
print(ctypes.CDLL(None).syscall(number, 28, (ctypes.c_int32 * 8)(0, TARGET), 32))
"""
    for target, said in (-1, False), (-2, True):
        run = Explained(place, "-c", script.replace("TARGET", str(target)), program="/usr/bin/python3")
        assert run.numbers() == [-1] and ("bpf(2) was refused" in run.text) == said


@as_root
def test_a_member_that_its_group_does_not_take(place: Path) -> None:
    """The leader is of a CPU, the member of a task: alone it opens, and no field of it is to blame."""
    run = Explained(place, "keep", FAULTS + ":u:cpu", FAULTS + ":u:member")
    assert run.errors == [0, errno.EINVAL]
    assert "alone the event opens, and not in its group" in run.text and "does not know a field" not in run.text


@as_root
@pytest.mark.parametrize("options", [(), ("--ptrace",)])
@pytest.mark.parametrize("caps, lacks", [((), "has no CAP_BPF and no CAP_PERFMON"),
                                         (("--inh-caps=+perfmon", "--ambient-caps=+perfmon"), "has no CAP_BPF change"),
                                         (("--inh-caps=+bpf", "--ambient-caps=+bpf"), "has no CAP_PERFMON change")])
def test_who_may_load_no_program_of_bpf(place: Path, caps: tuple[str, ...], lacks: str, options: tuple[str, ...]) -> None:
    """Its load is refused before it asks for an event, which no file tells."""
    run = Explained(place, "load", before=(*USER, *caps), options=options)
    assert run.errors == [errno.EPERM] and f"refuses uid 64321 (EPERM): it {lacks}" in run.text
    assert "may have given up" not in run.text and "wants no perf events" not in run.text


@as_root
def test_who_has_the_rights_to_load_is_told_nothing(place: Path) -> None:
    run = Explained(place, "load", before=(*USER, "--inh-caps=+perfmon,+bpf", "--ambient-caps=+perfmon,+bpf"))
    assert run.errors == [0] and "bpf(2)" not in run.text


@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOSYS])
def test_a_filter_around_it(place: Path, error: int) -> None:
    run = Explained(place, FAULTS + ":u", limit=lambda: refuse_perf(error))
    assert run.errors == [error] and run.one()["errors"] == {errno.errorcode[error]: 1}
    assert "filter" in run.gate(run.one())["gate"] and run.told["remarks"]["ptrace"]


@as_root
@pytest.mark.skipif(paranoid() < 2, reason="an ordinary user may watch the kernel here")
def test_what_lies_behind_a_filter_around_it(place: Path) -> None:
    """A level that refuses the same call without the filter, and events that no machine without a PMU has."""
    for who in ((), tuple(USER)):
        asked = (FAULTS + ":u", SWITCHES, CYCLES)
        alone = Explained(place, *asked, before=who).errors
        run = Explained(place, *asked, before=who, limit=lambda: refuse_perf(errno.EPERM))
        gates = [run.gate(shape) for shape in run.told["asked"]]
        assert run.errors == [errno.EPERM] * 3 and all(gate["name"] == "filtered" for gate in gates)
        assert ["perf_event_paranoid" in gate["behind"] for gate in gates] == [error == errno.EACCES for error in alone]
        assert [gate["in_vain"] for gate in gates] == [False, False, not has_core_pmu()]
        assert ("no CPU PMU" in gates[2]["behind"]) != has_core_pmu() and "no CPU PMU" not in gates[1]["behind"]


def test_a_kernel_that_tells_a_tracer_of_no_call(place: Path, tmp_path: Path) -> None:
    """Before 5.3: what was asked is not known, which is not that nothing was."""
    record = tmp_path / "record.json"
    run = Explained(place, FAULTS + ":u", options=("--ptrace", "--record", str(record)), limit=lambda: refuse_request(errno.EIO, 0x420e))
    assert run.errors == [0] and run.told["remarks"]["untold"] > 0 and run.told["asked"] == []
    assert "is not known" in run.text and "never called" not in run.text
    assert record.read_bytes() == b""  # it may be /dev/null: nothing is removed


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
