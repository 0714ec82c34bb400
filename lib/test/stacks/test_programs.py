# SPDX-License-Identifier: MIT
"""Real programs: 99 % of the frames of their samples have names, side by side with perf."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[3]
SAMPLE = TREE / "build" / "test" / "stacks" / "sample"
pytestmark = pytest.mark.slow

PYTHON_WORK = """
import json, re, time
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
end = time.time() + 100
while time.time() < end:
    fib(15); json.loads(json.dumps({str(i): [i] * 20 for i in range(200)}))
    sorted(range(3000), key=lambda x: -x)
"""
NODE_WORK = """
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
const end = Date.now() + 100000;
while (Date.now() < end) { fib(18); JSON.parse(JSON.stringify(Array.from({length: 500}))); }
"""


JAVA_WORK = """
public class Work {
	static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
	public static void main(String[] args) {
		long sum = 0;
		while (sum >= 0) {
			StringBuilder text = new StringBuilder();
			for (int i = 0; i < 2000; i++) text.append(i).append(',');
			sum = (sum + fib(22) + text.toString().split(",").length) & 65535;
		}
	}
}
"""


def run(*command: str | Path, limit: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], cwd=TREE, capture_output=True, text=True,
                          errors="backslashreplace", timeout=limit, check=False)


def sampled(pid: int, seconds: float, **environment: str) -> dict[str, int]:
    if not SAMPLE.exists():
        pytest.skip("not built: make stacks-tests, with libdw-dev and zlib1g-dev")
    done = subprocess.run([SAMPLE, str(pid), str(seconds), "500", "32768"], capture_output=True,
                          text=True, timeout=120, env=os.environ | environment, check=False)
    if done.returncode == 77:
        pytest.skip("whole CPUs may not be watched")
    assert done.returncode == 0, done.stderr
    return {line.split()[0]: int(line.split()[1]) for line in done.stdout.splitlines()}


def check(told: dict[str, int], complete: float = 0.99) -> None:
    """99 % of the frames have names, so few frames prove nothing."""
    assert told["complete"] >= complete * told["stacks"] and told["frames"] > 200, told
    assert told["named"] >= 0.99 * told["frames"], told


@contextmanager
def program(*command: str, **environment: str) -> Iterator[int]:
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]}: apt-get install {command[0].rsplit('/', 1)[-1]}")
    # In a folder of its own: node writes its log where it is started.
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen(
        command, stdout=subprocess.DEVNULL, cwd=folder, env=os.environ | environment
    ) as process:
        try:
            time.sleep(1)
            yield process.pid
        finally:
            process.kill()
            Path(f"/tmp/perf-{process.pid}.map").unlink(missing_ok=True)


def perf_named(pid: int, folder: Path, debug: Path | None = None) -> float:
    """The part of frames that perf script names, of stacks that perf record copied. Debug files it
    finds in /usr/lib/debug alone: others are put there for it, where nobody else sees them."""
    if shutil.which("perf") is None:
        pytest.skip("no perf: apt-get install linux-perf")
    taken = run("perf", "record", "-q", "-F", "200", "--call-graph", "dwarf,32768", "-p", str(pid),
                "-o", folder / "perf.data", "--", "sleep", "2")
    if taken.returncode != 0:
        pytest.skip("perf record is refused here")
    script = f"perf script -i {folder}/perf.data -F ip,sym"
    if debug:
        script = f"mkdir -p /usr/lib/debug; mount --bind {debug} /usr/lib/debug; {script}"
    told = run("unshare", "-m", "sh", "-c", script, limit=300).stdout
    frames = [line for line in told.splitlines() if line.strip()]
    return sum("[unknown]" not in line for line in frames) / max(1, len(frames))


def test_python_is_named_as_by_perf(tmp_path: Path) -> None:
    """What a stripped program names is all that is there: as much of it as perf script finds."""
    with program("/usr/bin/python3", "-c", PYTHON_WORK) as pid:
        told = sampled(pid, 2)
        theirs = perf_named(pid, tmp_path)
    assert told["complete"] >= 0.99 * told["stacks"] > 0, told
    assert told["named"] / told["frames"] >= theirs - 0.05, (told, theirs)


def debian_python(folder: Path) -> tuple[Path, Path]:
    """Python as Debian ships it with the debug files of that build; all of it in the cache."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    root = folder / "root"
    names = [f"python{version}-minimal", f"libpython{version}-minimal",
             f"libpython{version}-stdlib", f"python{version}-dbg"]
    done = run("/usr/bin/python3", "-m", "kernels", "sysroot", platform.machine(), root, *names,
               limit=600)
    if done.returncode:
        pytest.skip(f"Debian's packages are not to be had: {done.stderr.strip()[-200:]}")
    return root / "usr" / "bin" / f"python{version}", root / "usr"


def test_python_with_its_debug_files(tmp_path: Path) -> None:
    """All of it has names with the debug files beside it, and few of it without."""
    python, usr = debian_python(tmp_path)
    debug = usr / "lib" / "debug"
    with program(str(python), "-c", PYTHON_WORK, PYTHONHOME=str(usr)) as pid:
        told = sampled(pid, 2, SAMPLE_DEBUG_ROOT=f"{debug}:/usr/lib/debug")
        bare = sampled(pid, 2, SAMPLE_DEBUG_ROOT="/nonexistent")
        theirs = perf_named(pid, tmp_path, debug)
    assert bare["named"] < 0.9 * bare["frames"], bare
    check(told)
    assert told["named"] / told["frames"] >= theirs > 0.5, (told, theirs)


def test_a_virtual_machine_of_java() -> None:
    """Compiled and interpreted methods through the perf map that the machine writes when asked."""
    if shutil.which("jcmd") is None:
        pytest.skip("no jcmd: apt-get install openjdk-17-jdk-headless")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "Work.java"
        source.write_text(JAVA_WORK, encoding="utf-8")
        with program("java", "-XX:+PreserveFramePointer", str(source)) as pid:
            told = perf_map(pid)
            check(sampled(pid, 3), complete=0.9)
    assert told.count("Work.fib") >= 1


def perf_map(pid: int) -> str:
    """The map, once it has the method that is called most."""
    path, end = Path(f"/tmp/perf-{pid}.map"), time.monotonic() + 300
    while time.monotonic() < end:
        run("jcmd", str(pid), "Compiler.perfmap")
        told = path.read_text(encoding="utf-8") if path.exists() else ""
        if "Work.fib" in told:
            return told
        time.sleep(0.5)
    raise AssertionError("no perf map with the method")


def test_node_and_its_jit_are_named() -> None:
    """Code of the JIT among it."""
    with program("node", "--perf-basic-prof", "-e", NODE_WORK) as pid:
        check(sampled(pid, 3), complete=0.9)
