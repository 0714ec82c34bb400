# SPDX-License-Identifier: MIT
"""The service on processes whose work is known."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import perfetto  # noqa: E402
from service import (LIMIT, NOBODY, OURS, PERIOD, PROGRAM, TREE, WHOLE, WORKLOAD, Run, Service, accounted,  # noqa: E402
                     need_all, start)

pytestmark = pytest.mark.xdist_group("sampler")  # a service sees the workload of another

KNOWN = "known_outer;known_inner"


@pytest.mark.perf
def test_known_work_of_several_processes(tmp_path: Path) -> None:
    """Weights add up to the page faults that were caused, but for what is told to be lost."""
    faults = 10_000
    service = Service(tmp_path, {"event": "page-faults", "period": 1, "stacks": "frames",
                                 "read_ms": 20, "turn_records": 1_000_000, "turn_us": 1_000_000,
                                 "ring_pages": 1024}, queue_bytes=64 << 20,
                      queue_records=100_000).start()
    workloads = [start("touch", str(faults)) for _ in range(3)]
    for workload in workloads:
        workload.cpu_ns()
    run = service.stop()
    assert run.status in WHOLE, run.errors
    weights = {stack: weight for stack, weight in run.folded().items()
               if stack.startswith("workload;")}
    known = sum(weight for stack, weight in weights.items() if "touch_outer;touch_inner" in stack)
    source = run.source()
    missing = source["lost"] + source["dropped"] + source["unresolved"]
    assert 3 * faults * 0.999 <= known + missing and known <= 3 * faults + 30, (known, source)
    assert known > 3 * faults // 2, source
    assert [run.state(workload.pid) for workload in workloads] == ["resolved"] * 3
    accounted(run)


@pytest.mark.perf
def test_time_of_the_cpu(tmp_path: Path) -> None:
    """A clock's samples are in the functions that used the time, but for those that are told to have no
    stack. A busy host takes some of them, and in a guest the clock also counts what the host takes."""
    service = Service(tmp_path, {}).start()
    began = time.monotonic_ns()
    workload = start("spin", "500")
    used = workload.cpu_ns()
    there = time.monotonic_ns() - began
    run = service.stop()
    weights = {stack: weight for stack, weight in run.folded().items()
               if stack.startswith("workload;")}
    seen = sum(weights.values())
    assert 0.2 * used < seen < max(1.1 * used, there) + 30 * PERIOD
    known = sum(weight for stack, weight in weights.items() if KNOWN in stack)
    without = PERIOD * (run.source()["dropped"] + run.source()["unresolved"])
    assert known > 0 and known + without > 0.9 * seen, (known, without, seen)
    accounted(run)


@pytest.mark.perf
def test_the_trace_tells_the_same(tmp_path: Path) -> None:
    classes = perfetto.compiled(tmp_path)
    service = Service(tmp_path, {"followers": ["page-faults"]}).start()
    workload = start("spin", "300")
    workload.cpu_ns()
    run = service.stop()
    accounted(run, "perfetto")
    trace = perfetto.decode(tmp_path / "perfetto", classes)
    mine = [sample for sample in trace.samples
            if sample.packet.perf_sample.pid == workload.pid]
    assert list(trace.processes[workload.pid].cmdline)[-2:] == ["spin", "300"]
    names = [[function for function, _ in sample.stack] for sample in mine]
    known = [stack for stack in names if stack[:2] == ["known_inner", "known_outer"]]
    assert len(mine) > 50 and len(known) > 0.8 * len(mine), names[:3]
    counts: dict[int, list[int]] = {}
    for sample in trace.samples:
        counts.setdefault(sample.packet.perf_sample.cpu, []).append(sample.packet.perf_sample.timebase_count)
    for each in counts.values():       # ns of the clock, which the page faults beside it are not; timers may be late
        assert each[-1] - each[0] >= PERIOD / 2 * (len(each) - 1), each
    assert all(len(sample.packet.perf_sample.follower_counts) == 1 for sample in mine)
    modules = {module for sample in mine for _, module in sample.stack}
    assert any(module.endswith("/workload") for module in modules)


@pytest.mark.perf
def test_states_of_each_process(tmp_path: Path) -> None:
    """A sampler that may not open /proc/PID/mem: who answers, who is silent, who cannot be asked."""
    need_all()
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("not root, or without setpriv: cannot become a user with CAP_PERFMON")
    closed = [str(folder) for folder in PROGRAM.parents if not folder.stat().st_mode & 0o001]
    if closed:
        pytest.skip(f"others may not enter {closed[-1]}, so that they find no names")
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.getuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    socket = f"@perfmodes-service-{os.getpid()}"
    service = Service(tmp_path, {"targets": [OURS, "!cmd:* 333000*"]}, socket=socket,
                      timeout_ms=5000).start(
        "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
        "--inh-caps=+perfmon", "--ambient-caps=+perfmon")
    hidden, silent = start("hidden", "60000", socket), start("silent", "60000")
    shut = [start("closed", "400"), start("closed", "333000")]
    shut[0].cpu_ns()
    service.wait_for(f'"pid":{silent.pid},"comm":"workload","state":"descriptors timed out"')
    hidden.burn(0.2)    # asked before the silent one, it has answered by now
    for workload in (hidden, silent):
        workload.process.kill()
        workload.cpu_ns()
    run = service.stop()
    shut[1].process.kill()
    shut[1].cpu_ns()
    assert run.status in WHOLE, run.errors
    assert [run.state(workload.pid) for workload in [hidden, *shut, silent]] == [
        "resolved", "unwinding refused", "rejected by filter", "descriptors timed out"]
    known = sum(weight for stack, weight in run.folded().items() if KNOWN in stack)
    assert known > 0 and run.source()["unresolved"] > 0
    accounted(run)


@pytest.mark.perf
def test_those_that_ended_make_room(tmp_path: Path) -> None:
    """A service that runs for long meets more processes than it may know at a time."""
    need_all()
    alive = sum(name.name.isdigit() for name in Path("/proc").iterdir())
    most = 2 * alive + 500
    service = Service(tmp_path, {}, processes=most).start()
    subprocess.run(["sh", "-c", f"i=0; while [ $i -lt {3 * most} ]; do /bin/true; i=$((i + 1)); done"], check=True)
    workload = start("spin", "300")
    workload.cpu_ns()
    run = service.stop()
    assert run.status in WHOLE, run.errors
    assert run.state(workload.pid) == "resolved"
    assert any(KNOWN in stack for stack in run.folded())
    assert len(run.all("summary of a process")) < most and run.all("end")[0]["processes_unknown"] == 0
    accounted(run)


@pytest.mark.perf
def test_exec_in_the_middle(tmp_path: Path) -> None:
    """The program before and the program after are each unwound by their own memory. What is
    sampled shortly before the exec may be unwound too late, and is then nobody's."""
    service = Service(tmp_path, {}).start()
    workload = start("reexec", "500")
    workload.cpu_ns()
    run = service.stop()
    # What else runs meanwhile is sampled, too; the workload is "exe" after its exec of /proc/self/exe.
    weights = {stack: weight for stack, weight in run.folded().items() if stack.startswith(("workload;", "exe;"))}
    before = sum(weight for stack, weight in weights.items() if "main;before_exec" in stack)
    after = sum(weight for stack, weight in weights.items() if f"main;{KNOWN}" in stack)
    both = sum(weights.values())
    assert before > 0 and after > 0 and 0.5 < (both - after) / after < 2, (weights, run.source())
    summary = [line for line in run.all("summary of a process") if line["pid"] == workload.pid]
    assert len(summary) == 1 and summary[0]["execs"] >= 1
    accounted(run)


def is_mostly_known(run: Run, pids: list[int]) -> None:
    """Nine in ten of what those processes used have a whole stack, also in the functions that used it."""
    weights = {stack: weight for stack, weight in run.folded().items() if stack.startswith("workload;")}
    known = sum(weight for stack, weight in weights.items() if KNOWN in stack)
    whole = sum(weight for stack, weight in weights.items() if "main" in stack.split(";") or "_dl_start" in stack)
    assert known > 0 and whole > 0.9 * sum(weights.values()), (weights, run.source())
    assert [run.state(pid) for pid in pids] == ["resolved"] * len(pids)
    accounted(run)


AT_THE_END = {"read_ms": 60_000, "ring_pages": 2048, "stack_bytes": 1024}


@pytest.mark.perf
def test_processes_that_had_ended_when_they_were_read(tmp_path: Path) -> None:
    """What they had mapped was told since their exec: rings are read once, when all of them are gone."""
    service = Service(tmp_path, AT_THE_END).start()
    workloads = [start("spin", "150") for _ in range(3)]
    for workload in workloads:
        workload.cpu_ns()
    is_mostly_known(service.stop(), [workload.pid for workload in workloads])


@pytest.mark.perf
def test_a_child_that_had_ended_has_mapped_what_its_parent_has(tmp_path: Path) -> None:
    need_all()
    with subprocess.Popen([WORKLOAD, "fork", "300"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdin and parent.stdout and parent.stdout.readline() == b"ready\n"
        service = Service(tmp_path, AT_THE_END).start()
        parent.stdin.write(b"!")
        parent.stdin.flush()
        child = int(parent.stdout.readline())
        is_mostly_known(service.stop(), [child])


@pytest.mark.perf
def test_files_are_rotated(tmp_path: Path) -> None:
    """Each is whole, and together they have every sample. Of those that are too many the oldest went."""
    def told(path: Path) -> int:
        return sum(int(line.rsplit(" ", 1)[1]) for line in path.read_text(encoding="utf-8").splitlines())

    classes = perfetto.compiled(tmp_path)
    service = Service(tmp_path, {}, former=3).start("nohup")
    workload = start("spin", "600000")
    folded, gone = tmp_path / "folded", 0
    for number in range(5):
        workload.burn(0.2)
        if number > 2:
            gone += told(tmp_path / "folded.3")
        before = folded.stat().st_ino
        assert service.process
        service.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + LIMIT
        while not folded.exists() or folded.stat().st_ino == before:
            assert service.process.poll() is None and time.monotonic() < end, "no new file"
            time.sleep(0.01)
    workload.burn(0.2)
    run = service.stop()
    workload.process.kill()
    workload.cpu_ns()
    assert run.status in WHOLE, run.errors
    names = ["folded", "folded.1", "folded.2", "folded.3"]
    assert sorted(path.name for path in tmp_path.glob("folded*")) == names
    assert sum(told(tmp_path / name) for name in names) + gone == PERIOD * run.output("folded")["written"]
    for name in names:
        assert KNOWN in (tmp_path / name).read_text(encoding="utf-8"), name
        trace = perfetto.decode(tmp_path / name.replace("folded", "perfetto"), classes)
        assert workload.pid in trace.processes and trace.samples, name
    reports = [tmp_path / "report", *(tmp_path / f"report.{number}" for number in (1, 2, 3))]
    assert all("rotated" in path.read_text(encoding="utf-8") for path in reports[1:])


@pytest.mark.perf
def test_target_that_is_killed(tmp_path: Path) -> None:
    service = Service(tmp_path, {}).start()
    workload = start("spin", "60000")
    spent = Path(f"/proc/{workload.pid}/schedstat")
    while int(spent.read_text(encoding="ascii").split()[0]) < 300_000_000:
        time.sleep(0.01)
    workload.process.kill()
    workload.cpu_ns()
    run = service.stop()
    assert run.status in WHOLE
    assert sum(weight for stack, weight in run.folded().items() if KNOWN in stack) > 0
    accounted(run)


@pytest.mark.perf
def test_guardrail_of_memory_stops(tmp_path: Path) -> None:
    classes = perfetto.compiled(tmp_path)
    service = Service(tmp_path, {"period": 100_000}, memory_bytes=1 << 20, window_ms=50).start()
    workload = start("spin", "500")
    with subprocess.Popen(["sh", "-c", "while :; do (:); done"]) as others:     # processes end in the queue, too
        run = service.wait()
        others.kill()
    workload.process.kill()
    workload.cpu_ns()
    accounted(run)
    assert run.status == 3, run.errors
    assert [line["why"] for line in run.all("guardrail")] == ["memory"]
    assert run.all("purged")
    trace = perfetto.decode(tmp_path / "perfetto", classes)
    assert trace.packets and run.all("shed")


@pytest.mark.perf
def test_queue_that_is_flooded(tmp_path: Path) -> None:
    """Samples of 64 kB into a queue of 128 kB: dropped ones are counted, the reader goes on."""
    service = Service(tmp_path, {"period": 100_000, "stack_bytes": 65528, "ring_pages": 2048},
                      queue_bytes=1 << 17, queue_records=64).start()
    workload = start("spin", "400")
    workload.cpu_ns()
    run = service.stop()
    assert run.status in WHOLE and run.source()["dropped"] > 0
    assert run.output("folded")["written"] > 0
    accounted(run)


@pytest.mark.perf
def test_loss_is_an_exit_status(tmp_path: Path) -> None:
    """Rings of 32 KiB that are read each second."""
    service = Service(tmp_path, {"period": 100_000, "stack_bytes": 16384, "ring_pages": 8, "read_ms": 1000}).start()
    workload = start("spin", "400")
    workload.cpu_ns()
    run = service.stop()
    lost, samples = run.source()["lost"], run.source()["samples"]
    assert run.status == 4 and lost * 20 > lost + samples, run.errors
    assert "% of the records were lost: fewer samples" in run.errors


@pytest.mark.perf
def test_full_disk_is_said(tmp_path: Path) -> None:
    need_all()
    outputs = [{"format": "folded", "path": "/dev/full"},
               {"format": "perfetto", "path": str(tmp_path / "perfetto")}]
    service = Service(tmp_path, {}, outputs=outputs).start()
    workload = start("spin", "200")
    workload.cpu_ns()
    run = service.stop()
    assert run.status == 1 and re.search(r"No space left on device; of (\d+) samples up to \1 are missing", run.errors)
    assert run.output("perfetto")["error"] == ""
    accounted(run, "perfetto")


@pytest.mark.perf
def test_counters_are_polled(tmp_path: Path) -> None:
    classes = perfetto.compiled(tmp_path)
    for duration in (400, 4000, 40000):     # other programs may leave it no CPU for so long
        folder = tmp_path / str(duration)
        folder.mkdir()
        run = Service(folder, {"event": "context-switches", "followers": ["cpu-migrations"], "poll_ms": 20},
                      duration_ms=duration).start().wait()
        assert run.status in WHOLE, run.errors
        trace = perfetto.decode(folder / "perfetto", classes)
        cpus: dict[int, list[int]] = {}
        for sample in trace.samples:
            body = sample.packet.perf_sample
            assert len(body.follower_counts) == 1 and not body.pid
            cpus.setdefault(body.cpu, []).append(body.timebase_count)
        if cpus and min(map(len, cpus.values())) >= 3:
            break
    assert len(cpus) == len(os.sched_getaffinity(0)) or len(cpus) >= 1
    assert all(len(counts) >= 3 and counts == sorted(counts) for counts in cpus.values())
    assert trace.packets[0].trace_packet_defaults.perf_sample_defaults.timebase.poll_period_ms == 20


@pytest.mark.perf
@pytest.mark.parametrize("how", ["ordered", "abrupt"])
def test_a_source_stops_by_itself(tmp_path: Path, how: str) -> None:
    service = Service(tmp_path, {"stop_ms": 300, "stop": how}).start()
    workload = start("spin", "500")
    workload.cpu_ns()
    run = service.wait()
    assert run.status in WHOLE, run.errors
    assert run.all("stopped" if how == "ordered" else "purged")
    assert how == "abrupt" or run.source()["purged"] == 0
    accounted(run)


@pytest.mark.perf
def test_two_signals_end_at_once(tmp_path: Path) -> None:
    service = Service(tmp_path, {"period": 100_000}).start()
    workload = start("spin", "400")
    assert service.process
    service.process.send_signal(signal.SIGTERM)
    run = service.stop(signal.SIGTERM)
    workload.process.kill()
    workload.cpu_ns()
    assert run.status in WHOLE
    accounted(run)


def test_the_page_says_what_the_program_takes(tmp_path: Path) -> None:
    """Options and keys of the page are those of the program, and its example is a right one."""
    need_all()
    path = TREE / "lib" / "sampler" / "service" / "perfmodes-sampler.1"
    page = path.read_text(encoding="utf-8")
    if shutil.which("mandoc"):
        lint = subprocess.run(["mandoc", "-Tlint", "-W", "warning", str(path)], text=True,
                              capture_output=True, timeout=300, check=False)
        assert lint.returncode == 0, lint.stdout
    usage = subprocess.run([str(PROGRAM), "--help"], capture_output=True, text=True, timeout=300,
                           check=True).stdout
    assert set(re.findall(r"^\.It.* Fl -(\w+)", page, re.M)) == set(
        re.findall(r"^ +(?:-\w, )?--(\w+)", usage, re.M))
    short = set(re.findall(r"^\.It Fl (\w) ", page, re.M))
    assert short == set(re.findall(r"^  -(\w), ", usage, re.M)) and len(short) >= 12
    source = (TREE / "lib" / "sampler" / "service" / "config.c").read_text(encoding="utf-8")
    keys = set(re.findall(r'^\t\{ "(\w+)", [A-Z]', source, re.M)) | {"sources", "outputs"}
    told = set(re.findall(r"\bVa ([\w]+)", page))
    told |= set(re.findall(r"^\.Va (\w+)", page, re.M))
    assert keys == told, keys ^ told
    example = re.search(r"^\.Bd -literal\n(.*?)^\.Ed", page, re.M | re.S)
    assert example
    config = tmp_path / "config"
    config.write_text(example.group(1), encoding="ascii")
    done = subprocess.run([str(PROGRAM), "--check", str(config)], timeout=300, check=False)
    assert done.returncode == 0


def test_wrong_usage_is_explained(tmp_path: Path) -> None:
    need_all()
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{ "sources": [ { "frequenzy": 1 } ] }', encoding="ascii")
    for arguments, status, text in (
            (["--help"], 0, ""), ([], 2, "configuration file is needed"),
            (["--duration", "x", "y"], 2, "milliseconds"), (["--nonsense"], 2, "--help"),
            ([str(tmp_path / "none")], 2, "No such file"),
            (["--check", str(wrong)], 2, "unknown key \"frequenzy\"")):
        done = subprocess.run([str(PROGRAM), *arguments], capture_output=True, text=True,
                              timeout=300, check=False)
        assert (done.returncode, text in done.stderr) == (status, True), done
    version = subprocess.run([str(PROGRAM), "--version"], capture_output=True, text=True,
                             timeout=300, check=True).stdout
    wanted = (TREE / "lib" / "sampler" / "perfmodes-sampler.pc.in").read_text(encoding="utf-8")
    assert f"Version: {version.split()[1]}\n" in wanted
    service = Service(tmp_path, {"event": "no-such-event"})
    run = service.start().wait()
    assert run.status == 1 and "no-such-event" in run.errors


@pytest.mark.perf
def test_without_standard_descriptors(tmp_path: Path) -> None:
    """As a daemon may be started: no file of the service takes their place."""
    service = Service(tmp_path, {}).start("sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh")
    assert service.process
    places = [os.readlink(f"/proc/{service.process.pid}/fd/{number}") for number in range(3)]
    run = service.stop()
    assert run.status in WHOLE and places == ["/dev/null"] * 3, places
