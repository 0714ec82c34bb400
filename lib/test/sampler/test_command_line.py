# SPDX-License-Identifier: MIT
"""perfmodes-sampler by its options: what is run and watched, what is written, and how it ends."""

from __future__ import annotations

import gzip
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import perfetto  # noqa: E402
from service import LIMIT, PROGRAM, WORKLOAD  # noqa: E402

pytestmark = [pytest.mark.xdist_group("sampler"),
              pytest.mark.skipif(not PROGRAM.exists(), reason="not built: libdw-dev and zlib1g-dev")]
SVG = "{http://www.w3.org/2000/svg}"
KNOWN = "known_outer;known_inner"


def sampler(*arguments: object, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(PROGRAM), *map(str, arguments)], capture_output=True, text=True,
                          errors="backslashreplace", timeout=LIMIT, check=False, **more)


def folded(path: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    for line in path.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        stack, _, weight = line.rpartition(" ")
        found[stack] += int(weight)
    return found


def frames(path: Path) -> list[tuple[str, float, float, float]]:
    """Each frame of a flame graph: its name, left, width and top."""
    found = []
    for group in ElementTree.parse(path).iter(f"{SVG}g"):
        title, box = group.find(f"{SVG}title"), group.find(f"{SVG}rect")
        assert title is not None and title.text and box is not None
        name = title.text.rpartition(" (")[0]
        found.append((name, *(float(box.get(key, "")) for key in ("x", "width", "y"))))
    return found


def drawn(stacks: Counter[str]) -> Counter[tuple[str, int]]:
    """What a picture of these stacks shows: (name, rows above the ground) and its weight."""
    found: Counter[tuple[str, int]] = Counter()
    for stack, weight in stacks.items():
        found["all", 0] += weight
        for row, name in enumerate(stack.split(";"), 1):
            found[name, row] += weight
    return found


@pytest.mark.perf
def test_a_command_is_watched_from_its_beginning_to_its_end(tmp_path: Path) -> None:
    """All that is written tells the same."""
    outputs = [tmp_path / name for name in ("a.svg", "a.folded", "a.txt", "a.pb.gz", "a.pftrace")]
    done = sampler("-F", 499, *(word for path in outputs for word in ("-o", path)), "--", WORKLOAD, "spin", 500)
    assert (done.returncode, done.stdout) == (0, "ready\n"), done
    stacks = folded(tmp_path / "a.folded")
    total, known = sum(stacks.values()), sum(weight for stack, weight in stacks.items() if KNOWN in stack)
    assert known > total / 2 and all(stack.startswith("workload;") for stack in stacks), stacks

    here = frames(tmp_path / "a.svg")
    ground = next(y for name, _, _, y in here if name == "all")
    row = 17
    shown: Counter[tuple[str, int]] = Counter()
    for name, _, width, y in here:
        shown[name, round((ground - y) / row)] += width / 1180 * total
    expected = drawn(stacks)
    assert set(shown) <= set(expected)
    for key, weight in expected.items():
        assert abs(shown[key] - weight) < total / 1000, (key, shown[key], weight)
    for name, x, width, y in here:
        if name != "all":
            assert any(below[3] == y + row and below[1] - 0.01 <= x and x + width <= below[1] + below[2] + 0.01
                       for below in here), name

    table = (tmp_path / "a.txt").read_text(encoding="utf-8")
    assert table in done.stderr
    told = re.search(r"^ *([\d.]+) % +([\d.]+) %  known_inner$", table, re.M)
    assert told
    inner = sum(weight for stack, weight in stacks.items() if stack.endswith(";known_inner"))
    assert abs(float(told[1]) - 100 * inner / total) < 0.06
    assert b"known_inner" in gzip.decompress((tmp_path / "a.pb.gz").read_bytes())
    assert b"known_inner" in (tmp_path / "a.pftrace").read_bytes()
    samples = re.search(r"(\d+) samples of cpu-clock in", done.stderr)
    assert samples and int(samples[1]) > 50


@pytest.mark.perf
def test_names_are_text_and_nothing_else(tmp_path: Path) -> None:
    """A process may be called anything."""
    program = tmp_path / b"<g>&]]>\xff\xc3\xa4\x9b".decode("utf-8", "surrogateescape")
    shutil.copy(WORKLOAD, program)
    done = subprocess.run([PROGRAM, "-q", "-o", tmp_path / "a.svg", "--", program, "spin", "200"],
                          capture_output=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done
    names = {name for name, *_ in frames(tmp_path / "a.svg")}
    assert "<g>&]]>?ä?" in names and "known_inner" in names, names


@pytest.mark.perf
@pytest.mark.parametrize(("command", "status", "said"), [
    (("sh", "-c", "exit 7"), 7, ""),
    (("sh", "-c", "kill -9 $$"), 128 + signal.SIGKILL, ""),
    (("/nowhere/to/be/found",), 127, "/nowhere/to/be/found: No such file"),
    (("/",), 126, "/: Permission denied"),
])
def test_the_status_is_the_commands(command: tuple[str, ...], status: int, said: str) -> None:
    done = sampler("--", *command)
    assert done.returncode == status and said in done.stderr, done


@pytest.mark.perf
def test_of_a_program_that_cannot_be_run_the_reason_is_all_that_is_said() -> None:
    done = sampler("--", "/nowhere/to/be/found")
    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr == "perfmodes-sampler: /nowhere/to/be/found: No such file or directory\n", done


@pytest.mark.perf
def test_nothing_seen_is_no_success(tmp_path: Path) -> None:
    """A sleeper takes no samples; one each second of CPU time is beyond it even on a slow machine."""
    asleep = subprocess.Popen(["sleep", "600"])
    try:
        done = sampler("-c", 1_000_000_000, "-d", 0.2, "-p", asleep.pid, "-o", tmp_path / "a.svg")
    finally:
        asleep.kill()
        asleep.wait()
    assert done.returncode == 4 and "no sample: no process that was watched" in done.stderr, done
    assert ElementTree.parse(tmp_path / "a.svg").getroot().tag == f"{SVG}svg"


@pytest.mark.perf
@pytest.mark.parametrize("who", [("-n", "nobody has this name"), ("--cgroup", "no/such"), ("-u", 4294967293)])
def test_nobody_there_is_told(who: tuple[object, ...]) -> None:
    done = sampler("-d", 0.2, *who)
    assert done.returncode == 4 and "no sample: there was no process of that name" in done.stderr, done


def test_users_and_cgroups_have_names() -> None:
    made = [json.loads(sampler("--print", *who).stdout)["sources"][0]["targets"] for who in
            (("-u", "root"), ("-u", 7), ("--cgroup", "a.slice"), ("--cgroup", "/a.slice"))]
    assert made == [["uid:0"], ["uid:7"], ["cgroup:/a.slice"], ["cgroup:/a.slice"]]


@pytest.mark.perf
def test_the_time_is_over_before_the_command() -> None:
    done = sampler("-q", "-d", 0.3, "--", "sleep", "600")
    assert done.returncode == 128 + signal.SIGTERM, done


@pytest.mark.perf
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_and_all_is_written(number: signal.Signals) -> None:
    """The command, which is not asked by it, ends with the watching. A terminal that is closed is no loss."""
    with subprocess.Popen([PROGRAM, "-q", "-o", "-", "--", WORKLOAD, "spin", "600000"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True,
                          preexec_fn=lambda: signal.signal(number, signal.SIG_DFL)) as process:  # nohup ignores one
        assert process.stdout and process.stdout.readline() == "ready\n"
        burning = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()[0]
        clock = Path(f"/proc/{burning}/schedstat")
        began = time.monotonic()
        while int(clock.read_text(encoding="ascii").split()[0]) < 1e8 and time.monotonic() < began + LIMIT:
            time.sleep(0.02)
        process.send_signal(number)
        said, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 128 + signal.SIGTERM and KNOWN in said, (said, errors)
    assert not Path(f"/proc/{burning}").exists()


def readable(path: Path) -> str:
    """What a reader gets of a file that grows, or was cut off while it did: all that is whole."""
    data = path.read_bytes()
    if path.suffix != ".gz":
        return data.decode("utf-8", "replace").rpartition("\n")[0]
    found = b""
    while data:
        member = zlib.decompressobj(31)
        part = member.decompress(data)
        if not member.eof:
            break
        found, data = found + part, member.unused_data
    return found.decode("utf-8", "replace")


@pytest.mark.perf
def test_what_is_killed_has_lost_little(tmp_path: Path) -> None:
    """What was sampled is in every file while it goes on; a picture is replaced as a whole."""
    paths = [tmp_path / name for name in ("a.svg", "a.folded", "a.pb.gz", "a.txt")]
    command = (str(WORKLOAD), "spin", "600000")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as spinning:
        made = sampler("--print", "-p", spinning.pid, "-F", 499, *(word for path in paths for word in ("-o", path)))
        config = tmp_path / "config.json"
        config.write_text(json.dumps(json.loads(made.stdout) | {"keep_ms": 200}), encoding="utf-8")
        with subprocess.Popen([PROGRAM, config], stdout=subprocess.DEVNULL) as watching:
            try:
                waiting, deadline = set(paths), time.monotonic() + LIMIT
                while waiting and time.monotonic() < deadline and watching.poll() is None:
                    waiting = {path for path in waiting if not path.exists() or "known_inner" not in readable(path)}
                    time.sleep(0.02)
            finally:
                watching.kill()
                spinning.kill()
    assert not waiting and watching.returncode == -signal.SIGKILL
    assert all("known_inner" in readable(path) for path in paths)
    assert any(name == "known_inner" for name, *_ in frames(paths[0]))


@pytest.mark.perf
def test_what_has_no_symbols_is_told_how_to_get_them(tmp_path: Path) -> None:
    """The same program with its names and without; the sentence is on what the table shows."""
    bare = tmp_path / "bare"
    subprocess.run(["strip", "-o", bare, WORKLOAD], check=True)
    told = re.compile(r"^ *([0-9.]+) % in bare, which has no symbols: .*--debuginfod$", re.MULTILINE)
    done = sampler("-F", 499, "--", bare, "spin", 2000)
    found = told.search(done.stderr)
    assert found and re.search(rf"^ *{re.escape(found[1])} % .* \[bare\]$", done.stderr, re.MULTILINE), done
    assert not told.search(sampler("-F", 499, "--", WORKLOAD, "spin", 500).stderr)


ENDLESS = {"x86_64": b"\xeb\xfe", "aarch64": b"\0\0\0\x14"}  # a branch to itself


@pytest.mark.perf
@pytest.mark.skipif(platform.machine() not in ENDLESS, reason="needs a machine whose code is known here")
@pytest.mark.parametrize(("named", "flags", "said"), [
    ("python3", "mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS", "python3 -X perf"),
    ("strange", "mmap.MAP_SHARED", "/tmp/perf-PID.map"),
])
def test_code_that_a_program_makes_is_told_how_to_get_names(named: str, flags: str, said: str, tmp_path: Path) -> None:
    """By the name of the process, which decides what makes the code."""
    script = tmp_path / "make_code.py"
    script.write_text(
        "import ctypes, mmap\n"
        f"open('/proc/self/comm', 'w').write({named!r})\n"
        f"area = mmap.mmap(-1, 4096, {flags}, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)\n"
        f"area.write({ENDLESS[platform.machine()]!r})\n"
        "ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(area)))()\n")
    for seconds in (3, 30, 300):    # other programs may leave it no CPU to begin in
        done = sampler("-F", 499, "-d", seconds, "--", "/usr/bin/python3", script)
        if "has made as it ran" in done.stderr:
            break
    (line,) = (line for line in done.stderr.splitlines() if "has made as it ran" in line)
    assert f"code that {named} has made" in line and said in line


def test_a_command_is_not_run_where_nothing_watches_it(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    for arguments in (("-e", "no-such-event"), ("-o", "/nowhere/a.svg"), ("-F", "99", "-e", "{")):
        done = sampler(*arguments, "--", "touch", trace)
        assert done.returncode in (1, 2) and done.stderr.startswith("perfmodes-sampler: "), done
    assert not trace.exists()


@pytest.mark.perf
def test_each_event_has_outputs_of_its_own(tmp_path: Path) -> None:
    done = sampler("-q", "-F", 499, "-e", "cpu-clock:u,page-faults/period=1,name=faults/", "-e", "task-clock/call-graph=no/",
                   "-o", tmp_path / "a.folded", "--", WORKLOAD, "spin", 500)
    assert done.returncode == 0 and re.search(r"samples of faults in", done.stderr), done
    names = ("a.1-cpu-clock_u.folded", "a.2-page-faults_period_1_name_faults_.folded", "a.3-task-clock_call-graph_no_.folded")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    clock, faults, bare = (folded(tmp_path / name) for name in names)
    assert any(KNOWN in stack for stack in clock) and min(clock.values()) > 1000, clock
    # Of the faults each is one; a stack in which there is none is the process alone.
    assert 10 < sum(faults.values()) < 10000 and any("_dl_start" in stack for stack in faults), faults
    assert not any(";known" in stack for stack in bare) and sum(bare.values()) > 0, bare


@pytest.mark.perf
def test_a_group_is_one_source(tmp_path: Path) -> None:
    done = sampler("-q", "-F", 499, "-e", "{cpu-clock,page-faults}:S", "-o", tmp_path / "a.pftrace", "-o", tmp_path / "a.folded",
                   "--", WORKLOAD, "spin", 300)
    assert done.returncode == 0 and any(KNOWN in stack for stack in folded(tmp_path / "a.folded")), done
    decoded = perfetto.decode(tmp_path / "a.pftrace", perfetto.compiled(tmp_path))
    assert decoded.packets[0].trace_packet_defaults.perf_sample_defaults.followers[0].counter == 2  # SW_PAGE_FAULTS
    assert max(sample.packet.perf_sample.follower_counts[0] for sample in decoded.samples) > 10


@pytest.mark.perf
@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_who_may_not_watch_all_watches_its_own() -> None:
    paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text(encoding="ascii"))
    if paranoid < 1:
        pytest.skip("here an ordinary user may watch all")
    if paranoid > 2:
        pytest.skip("here an ordinary user may watch nobody")
    with tempfile.TemporaryDirectory(dir="/tmp") as name:       # the tree and pytest's folders are closed to others
        folder = Path(name)
        folder.chmod(0o777)
        shutil.copy(PROGRAM, folder / "sampler")
        shutil.copy(WORKLOAD, folder / "workload")
        command = f"cd {folder}; ./workload spin 60000 >/dev/null & ./sampler -a -q -d 2 -o a.folded; echo $?; kill $!"
        done = subprocess.run(["setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups", "sh", "-c", command],
                              capture_output=True, text=True, timeout=LIMIT, check=False)
        assert done.stdout == "0\n" and "only processes of uid 12345 are watched: " in done.stderr, done
        assert any(KNOWN in stack for stack in folded(folder / "a.folded")), done

@pytest.mark.parametrize("events, says", [
    ("{cpu-clock,page-faults}", "write {a,b}:S, or a,b"), ("{cpu-clock,page-faults}:W", "no W"), ("cpu-clock:b", "programs of BPF"),
    ("cpu-clock,,cs", "-e needs an event"), ("cpu-clock/percore/", "not supported here"), ("duration_time", "measured by perf(1)"),
    ("cs,cs,cs,cs,cs,cs,cs,cs,cs", "more than 8 events"), ("{cs,faults/period=2/}:S", "only the first of a group has a rate")])
def test_events_that_are_not_supported_are_told(events: str, says: str) -> None:
    done = sampler("-q", "-e", events, "--", "true")
    assert done.returncode in (1, 2) and says in done.stderr, done


def test_options_are_a_configuration(tmp_path: Path) -> None:
    """What --print says is what a service may be given."""
    made = sampler("--print", "-p", "1,22", "-n", 'a"b*', "-F", 49, "-g", "fp", "-k", "-d", 1.5, "-o", "x.svg",
                   "--debuginfod", "--no-inline")
    config = json.loads(made.stdout)
    (source,) = config["sources"]
    assert made.returncode == 0 and source["targets"] == ["pid:1", "pid:22", 'cmd:a"b*']
    assert (source["frequency"], source["stacks"], source["kernel"], config["duration_ms"]) == (49, "frames", True, 1500)
    assert config["debuginfod"] is True and config["inlined"] is False
    assert config["outputs"][0] == {"format": "svg", "path": "x.svg"}
    path = tmp_path / "config.json"
    path.write_text(made.stdout, encoding="utf-8")
    assert sampler("--check", path).returncode == 0


@pytest.mark.parametrize(("words", "path"), [
    (("-a",), "/dev/stdout"), (("-a", "-o", "x.svg"), "/dev/stdout"), (("-a", "-o", "x.svg", "-o", "-"), "/dev/stderr")])
def test_the_table_goes_to_standard_output_where_that_is_free(words: tuple[str, ...], path: str) -> None:
    assert json.loads(sampler("--print", *words).stdout)["outputs"][-1] == {"format": "top", "path": path}


@pytest.mark.perf
def test_a_report_on_standard_output_is_behind_what_is_there(tmp_path: Path) -> None:
    config, there = tmp_path / "config.json", tmp_path / "there"
    source = {"name": "a", "event": "cpu-clock", "frequency": 99, "targets": [f"pid:{os.getpid()}"]}
    config.write_text(json.dumps({"sources": [source], "outputs": [{"format": "top", "path": "/dev/stderr"}],
                                  "report": "/dev/stdout", "duration_ms": 50}), encoding="utf-8")
    there.write_text("before\n", encoding="utf-8")
    with there.open("a", encoding="utf-8") as out:
        done = subprocess.run([PROGRAM, config], stdout=out, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0 and there.read_text(encoding="utf-8").startswith('before\n{"time":')


@pytest.mark.parametrize("words", [("--print", "-a"), ("--help",), ("--version",)])
def test_an_answer_that_cannot_be_written_is_a_failure(words: tuple[str, ...]) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([PROGRAM, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1 and "standard output takes no answer" in done.stderr


@pytest.mark.parametrize(("arguments", "said"), [
    ((), "who is to be watched?"), (("-p", "1", "--", "true"), "either a command is run, or processes are named"),
    (("-p", "x"), "-p needs the number of a process"), (("-p", "1,"), "-p needs the number"),
    (("-a", "-o", "x.png"), "-o x.png: the name says what is written: .svg"), (("-a", "-F", "0"), "-F needs"),
    (("-a", "-F", "9", "-c", "9"), "exclude each other"), (("-a", "-g", "lbr"), "-g is dwarf, fp"),
    (("-a", "-d", "soon"), "-d needs seconds"), (("-a", "true"), "true: a command to run stands behind --"),
    (("-F", "9", "config.json"), "config.json: a command to run stands behind --"),
    (("-a", *(word for n in range(8) for word in ("-o", f"{n}.svg"))), "more than 7 outputs"),
    (("-p", ",".join(["1"] * 65)), "more than 64 processes"),
    (("-a", "-o", "x.svg", "-o", "x.svg"), "-o x.svg: it is named twice"),
    (("--print", "--", "true"), "--print and --check run no command"), (("--check", "--", "true"), "run no command"),
    (("-u", "no such user"), "-u no such user: there is no such user"),
    (("-a", "-o", "\udce4.svg"), '"\\xe4.svg" is not UTF-8'), (("-a", "--cgroup", "\udcff"), '"\\xff" is not UTF-8'),
])
def test_wrong_usage_is_told(arguments: tuple[str, ...], said: str) -> None:
    done = sampler(*arguments)
    assert done.returncode == 2 and said in done.stderr and "--help tells more" in done.stderr, done
