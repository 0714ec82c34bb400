# SPDX-License-Identifier: MIT
"""The room lib/stacks: its unit tests and fuzz targets, and known call trees, as gdb sees them."""

from __future__ import annotations

import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import known  # noqa: E402

TREE = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
BUILT = TREE / "build" / "test" / "stacks"


def names(pattern: str) -> list[str]:
    return sorted(path.stem for path in HERE.glob(pattern))


def built(name: str) -> Path:
    if not (BUILT / name).exists():
        pytest.skip(f"not built: make stacks-tests, with libdw-dev and zlib1g-dev ({name})")
    return BUILT / name


def run(*command: str | Path, limit: float = 900) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], cwd=BUILT, capture_output=True,
                          text=True, errors="backslashreplace", timeout=limit, check=False)


@pytest.mark.parametrize("name", names("*_test.c"))
def test_unit(name: str) -> None:
    done = run(built(name))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[  PASSED  ]" in done.stderr + done.stdout


def test_manual_pages(tmp_path: Path) -> None:
    """Each function is on one page, and the pages are clean."""
    if shutil.which("mandoc") is None:
        pytest.skip("no mandoc: apt-get install mandoc")
    made = run(sys.executable, TREE / "lib" / "man" / "pages.py", tmp_path,
               TREE / "lib" / "perfmodes_stacks.h", "--",
               *sorted((TREE / "lib" / "stacks" / "man").glob("*.3.in")))
    assert made.returncode == 0, made.stderr
    checked = run("mandoc", "-T", "lint", "-W", "warning", *sorted(tmp_path.glob("*.3")))
    assert checked.returncode == 0 and len(list(tmp_path.glob("*.3"))) == 3, checked.stdout


# ---------------------------------------------------------------------------------- known call trees

@contextmanager
def tree(which: str, *more: str, program: str = "trees") -> Iterator[tuple[int, int, list[str]]]:
    """A process inside the tree: its pid, the thread that is in it, the calls it says it is in."""
    environment = os.environ | {"TREES_LIBRARY": str(built("late.so"))}
    with subprocess.Popen([built(program), which, *more], stdout=subprocess.PIPE, text=True,
                          env=environment) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline().split()
            if not line:
                pytest.skip(f"no tree {which} on this architecture")
            tids = sorted(int(tid) for tid in os.listdir(f"/proc/{process.pid}/task"))
            yield process.pid, tids[-1], line[2:]
        finally:
            process.kill()
            Path(f"/tmp/perf-{process.pid}.map").unlink(missing_ok=True)


def hold(pid: int) -> None:
    """Stops it, so that whoever looks next finds it where it is."""
    os.kill(pid, signal.SIGSTOP)
    end = time.monotonic() + 300
    while time.monotonic() < end:
        if Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] == "T":
            return
        time.sleep(0.01)
    raise AssertionError("it does not stop")


def ours(pid: int, tid: int) -> tuple[list[known.Frame], str]:
    """Frames as (address, name, file), and why there are no more."""
    done = run(built("stopped"), str(pid), str(tid))
    if done.returncode == 77:
        pytest.skip("ptrace is refused")
    assert done.returncode == 0, done.stderr
    return known.parsed(done.stdout)


def gdb(pid: int, tid: int, script: Path) -> list[int]:
    if shutil.which("gdb") is None:
        pytest.skip("no gdb: apt-get install gdb")
    script.write_text(known.GDB.replace("TID", str(tid)), encoding="utf-8")
    done = run("gdb", "-q", "-nx", "-batch", "-p", str(pid), *known.PAST_MAIN, "-x", script)
    found = known.gdb_frames(done.stdout)
    assert found, done.stdout + done.stderr
    return found


def inside(pid: int, tid: int, calls: list[str]) -> tuple[list[known.Frame], str]:
    """Holds it in the innermost call: it may still be saying where it is, or be out of the vDSO."""
    for _ in range(300):
        hold(pid)
        frames, end = ours(pid, tid)
        if frames[0][1] == calls[0] or (calls[0] == "?" and frames[0][2] == "[vdso]"):
            return frames, end
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.002)
    raise AssertionError(frames)


@pytest.mark.parametrize("which", known.TREES)
def test_tree(which: str) -> None:
    """The calls that the program says it is in, from the innermost on, and up to _start or clone."""
    with tree(which) as (pid, tid, calls):
        frames, end = inside(pid, tid, calls)
    known.check_calls(which, calls, frames, end)
    found = [name for _, name, _ in frames]
    assert which == "vdso" or found[-1] in ("_start", "?") or "clone3" in found[-1]


@pytest.mark.parametrize("which", known.BY_GDB)
def test_tree_as_gdb(which: str, tmp_path: Path) -> None:
    """Address by address. In code of a JIT gdb guesses: that one is held against its maker alone."""
    with tree(which) as (pid, tid, calls):
        frames, _ = inside(pid, tid, calls)
        theirs = gdb(pid, tid, tmp_path / "frames.py")
    assert [address for address, _, _ in frames] == theirs


def test_code_without_a_name_is_no_end(tmp_path: Path) -> None:
    """A perf map of somebody else, in the place of the target's, is not believed; frames remain."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    with tree("jit") as (pid, tid, calls):
        inside(pid, tid, calls)
        path = Path(f"/tmp/perf-{pid}.map")
        path.unlink()
        path.write_text("0 ffffffffffff lie\n", encoding="utf-8")
        os.chown(path, 65534, 65534)
        frames, end = ours(pid, tid)
    found = [name for _, name, _ in frames]
    assert found[:4] == ["spin", "?", "by_jit", "main"] and end == "end: complete"


# ----------------------------------------------------------------------------------------- samples

def sampled(pid: int, seconds: float, stack: int, *files: Path) -> dict[str, int]:
    done = run(built("sample"), str(pid), str(seconds), "500", str(stack), *files)
    if done.returncode == 77:
        pytest.skip("whole CPUs may not be watched")
    assert done.returncode == 0, done.stderr
    return {line.split()[0]: int(line.split()[1]) for line in done.stdout.splitlines()}


@pytest.mark.perf
@pytest.mark.parametrize("which", known.SAMPLED)
def test_tree_from_samples(which: str, tmp_path: Path) -> None:
    """The same trees from registers and a copy of the stack, without stopping anybody."""
    folded = tmp_path / "folded"
    with tree(which) as (pid, _, calls):
        told = sampled(pid, 0.7, 16384, folded)
    cut = [line[:300] for line in folded.read_text(encoding="utf-8").splitlines()
           if "[truncated]" in line]
    assert told["stacks"] >= 5 and told["complete"] == told["stacks"], (cut, told)
    known.check_folded(folded.read_text(encoding="utf-8"), calls)


def by_perf_script(pid: int, data: Path) -> list[list[str]]:
    """Stacks that perf record copies and perf script unwinds, innermost first; "?" has no name."""
    if shutil.which("perf") is None:
        pytest.skip("no perf: apt-get install linux-perf")
    done = run("perf", "record", "-q", "-F", "50", "--call-graph", "dwarf,16384", "-p", str(pid),
               "-o", data, "--", "sleep", "1")
    if done.returncode != 0:
        pytest.skip("perf record is refused here")
    done = run("perf", "script", "--no-inline", "-i", data, "-F", "ip,sym")
    stacks = [[line.split()[1] for line in stack.splitlines() if line.strip()]
              for stack in re.split(r"\n\s*\n", done.stdout) if stack.strip()]
    return [["?" if name == "[unknown]" else name for name in stack] for stack in stacks]


@pytest.mark.slow
@pytest.mark.perf
@pytest.mark.parametrize("which", [name for name in known.SAMPLED if name != "jit"])
def test_tree_as_perf_script(which: str, tmp_path: Path) -> None:
    """Frame by frame: as many, and by the same names where both have one. Frames of the C library
    that are in no table have one in neither, or in perf's through debug files that it finds."""
    with tree(which) as (pid, _, calls):
        told = sampled(pid, 0.7, 16384, tmp_path / "folded")
        theirs = by_perf_script(pid, tmp_path / "perf.data")
    assert told["complete"] == told["stacks"] > 0, told
    ours = [stack[stack.index("spin"):-1] for stack in
            known.folded((tmp_path / "folded").read_text(encoding="utf-8")) if "spin" in stack]
    named = [["?" if name.startswith("[") else name for name in stack] for stack in ours]
    inside = [stack[stack.index("spin"):] for stack in theirs if "spin" in stack]
    assert len(inside) >= 0.9 * len(theirs) > 0, theirs
    for stack in inside:
        assert any(len(stack) == len(mine) and agree(stack[:len(calls)], mine)
                   for mine in named), (stack, named)


def agree(some: list[str], others: list[str]) -> bool:
    return all(one in ("?", other) or other == "?" for one, other in zip(some, others))


@pytest.mark.perf
def test_samples_in_the_vdso(tmp_path: Path) -> None:
    """All to their end, also those of the stub that leads to the C library's function."""
    with tree("vdso") as (pid, _, _):
        told = sampled(pid, 0.7, 16384, tmp_path / "folded")
    assert told["complete"] == told["stacks"] > 0, told
    known.check_in_vdso((tmp_path / "folded").read_text(encoding="utf-8"))


@pytest.mark.perf
def test_samples_on_an_alternate_stack(tmp_path: Path) -> None:
    """What was interrupted is known, its callers are on a stack that no sample copied: marked."""
    with tree("altstack") as (pid, _, calls):
        told = sampled(pid, 0.7, 16384, tmp_path / "folded")
    assert told["complete"] == 0 < told["stacks"], told
    known.check_cut((tmp_path / "folded").read_text(encoding="utf-8"), calls)


@pytest.mark.perf
def test_a_copy_that_is_too_small(tmp_path: Path) -> None:
    """2,000 calls of 200 bytes or so: 8 KiB of stack do not hold them, and that is said."""
    with tree("deep", "2000") as (pid, _, _):
        told = sampled(pid, 0.5, 8192, tmp_path / "folded")
    assert told["stacks"] >= 3 and told["end_2"] == told["stacks"], told
    assert "target;[truncated];deep;deep" in (tmp_path / "folded").read_text(encoding="utf-8")


@pytest.mark.perf
def test_chains_of_the_kernel(tmp_path: Path) -> None:
    """The example by frame pointers: the same stacks, whether or not this kernel defers them."""
    example = TREE / "build" / platform.machine() / "examples" / "stacks" / "folded_stacks"
    if not example.exists():
        pytest.skip("not built: make library, with libdw-dev and zlib1g-dev")
    with tree("recursion", program="pointers") as (pid, _, calls):
        done = run(example, str(pid), "2", "chains")
    if "perf_event_paranoid" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0 and ", 0 dropped, " in done.stderr, done.stderr
    known.check_folded(done.stdout, calls)


@pytest.mark.peer("go")
@pytest.mark.perf
def test_pprof_is_read(tmp_path: Path) -> None:
    """By the tool that the format is from."""
    if shutil.which("go") is None:
        pytest.skip("no go: apt-get install golang-go")
    with tree("recursion") as (pid, _, _):
        sampled(pid, 0.5, 16384, Path(""), tmp_path / "pprof")
    done = run("go", "tool", "pprof", "-top", "-cum", tmp_path / "pprof")
    assert done.returncode == 0, done.stderr
    rows = {line.split()[-1]: line.split() for line in done.stdout.splitlines() if "%" in line}
    assert {"spin", "recurse", "main", "_start"} <= rows.keys(), done.stdout
    assert float(rows["recurse"][4].rstrip("%")) > 90
    raw = run("go", "tool", "pprof", "-raw", tmp_path / "pprof").stdout
    assert "comm:[target]" in raw and "recurse" in raw
