# SPDX-License-Identifier: MIT
"""Debug files of a stripped program: by build-id, by link, in perf's cache, from a server when asked."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[3]
STOPPED = TREE / "build" / "test" / "stacks" / "stopped"
PROGRAM = """
#include <unistd.h>
static volatile int turns;
static __attribute__((noinline)) void innermost(void) { while (turns >= 0) turns = 1; }
static __attribute__((noinline)) void outer(void) { innermost(); turns++; }
int main(void) { if (write(1, "!", 1) == 1) outer(); return 0; }
"""
PORT = 8002


def run(*command: str | Path, limit: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          timeout=limit, check=False)


def make(folder: Path, *flags: str) -> tuple[Path, Path, str]:
    """A stripped program, its symbols in another file, and its build-id."""
    source, program, debug = folder / "p.c", folder / "program", folder / "program.debug"
    source.write_text(PROGRAM, encoding="utf-8")
    for command in (["gcc", "-O1", "-g", *flags, "-o", program, source],
                    ["objcopy", "--only-keep-debug", program, debug]):
        done = run(*command)
        assert done.returncode == 0, done.stderr
    notes = run("readelf", "-n", program).stdout
    build_id = next((line.split()[-1] for line in notes.splitlines() if "Build ID" in line), "")
    assert run("strip", program).returncode == 0
    return program, debug, build_id


@contextmanager
def running(program: Path) -> Iterator[int]:
    def used() -> int:
        fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    with subprocess.Popen([program], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout and process.stdout.read(1) == b"!"
            before = used()
            while used() < before + 2:  # ticks of CPU time: by then it is in its loop
                time.sleep(0.01)
            yield process.pid
        finally:
            process.kill()


def names(pid: int, *before: str, **environment: str) -> list[str]:
    """The two innermost functions; "?" where nothing names them."""
    if not STOPPED.exists():
        pytest.skip("not built: make stacks-tests, with libdw-dev and zlib1g-dev")
    done = subprocess.run([*before, STOPPED, str(pid)], capture_output=True, text=True, check=False,
                          timeout=120, env=os.environ | {"HOME": "/nonexistent"} | environment)
    if done.returncode == 77:
        pytest.skip("ptrace is refused")
    assert done.returncode == 0, done.stderr
    return [line.split()[1] for line in done.stdout.splitlines()[:2]]


FOUND, NOTHING = ["innermost", "outer"], ["?", "?"]


def below(folder: Path, build_id: str) -> Path:
    return folder / ".build-id" / build_id[:2] / build_id[2:]


def test_by_build_id(tmp_path: Path) -> None:
    program, debug, build_id = make(tmp_path)
    target = below(tmp_path / "second", build_id).with_suffix(".debug")
    target.parent.mkdir(parents=True)
    with running(program) as pid:
        assert names(pid, STOPPED_DEBUG_ROOT=f"{tmp_path}/first:{tmp_path}/second") == NOTHING
        shutil.copy(debug, target)
        assert names(pid, STOPPED_DEBUG_ROOT=f"{tmp_path}/first:{tmp_path}/second") == FOUND


def test_a_file_of_another_build_is_passed_over(tmp_path: Path) -> None:
    program, debug, build_id = make(tmp_path)
    (tmp_path / "other").mkdir()
    _, wrong, _ = make(tmp_path / "other", "-DOTHER", "-O2")
    for name, file in (("first", wrong), ("second", debug)):
        target = below(tmp_path / name, build_id).with_suffix(".debug")
        target.parent.mkdir(parents=True)
        shutil.copy(file, target)
    with running(program) as pid:
        assert names(pid, STOPPED_DEBUG_ROOT=f"{tmp_path}/first") == NOTHING
        assert names(pid, STOPPED_DEBUG_ROOT=f"{tmp_path}/first:{tmp_path}/second") == FOUND


def pack(folder: Path, program: Path, debug: Path) -> Path:
    """MiniDebugInfo, as rpm's find-debuginfo makes it: functions that the dynamic symbols leave out, packed by xz."""
    def symbols(file: Path, *flags: str) -> set[str]:
        rows = [line.split() for line in run("nm", *flags, "--format=posix", "--defined-only", file).stdout.splitlines()]
        return {row[0] for row in rows if row[1] in "TtD"}

    keep, mini = folder / "keep", folder / "mini"
    keep.write_text("\n".join(sorted(symbols(debug) - symbols(program, "-D"))), encoding="utf-8")
    for command in (["objcopy", "-S", "--remove-section", ".gdb_index", "--remove-section", ".comment",
                     f"--keep-symbols={keep}", debug, mini], ["xz", mini]):
        assert run(*command).returncode == 0
    return mini.with_suffix(".xz")


def add_packed(program: Path, packed: Path) -> None:
    assert run("objcopy", "--add-section", f".gnu_debugdata={packed}", program).returncode == 0


@pytest.mark.skipif(not shutil.which("xz"), reason="no xz")
def test_packed_into_the_program(tmp_path: Path) -> None:
    program, debug, _ = make(tmp_path)
    packed = pack(tmp_path, program, debug)
    with running(program) as pid:
        assert names(pid, STOPPED_DEBUG_ROOT=f"{tmp_path}/none") == NOTHING
    add_packed(program, packed)
    debug.unlink()
    with running(program) as pid:
        assert names(pid, STOPPED_DEBUG_ROOT=f"{tmp_path}/none") == FOUND


@pytest.mark.skipif(not shutil.which("xz"), reason="no xz")
@pytest.mark.parametrize("spoil", ["cut", "bits", "no xz", "huge"])
def test_what_is_packed_and_spoilt_names_nothing(tmp_path: Path, spoil: str) -> None:
    program, debug, _ = make(tmp_path)
    packed = pack(tmp_path, program, debug)
    whole = bytearray(packed.read_bytes())
    if spoil == "huge":         # 1 GiB of zeros in 150 kB
        done = subprocess.run("head -c 1073741824 /dev/zero | xz -1", shell=True, capture_output=True, check=True, timeout=240)
        whole = bytearray(done.stdout)
    elif spoil == "bits":
        whole[len(whole) // 2] ^= 0xff
    packed.write_bytes({"cut": whole[:len(whole) // 2], "no xz": b"x" * len(whole)}.get(spoil, whole))
    add_packed(program, packed)
    with running(program) as pid:
        assert names(pid, STOPPED_DEBUG_ROOT=f"{tmp_path}/none") == NOTHING


@pytest.mark.parametrize("folder", ["", ".debug", "root"])
def test_by_link(tmp_path: Path, folder: str) -> None:
    """Without a build-id, by name and checksum; a file with another checksum is not taken."""
    program, debug, build_id = make(tmp_path, "-Wl,--build-id=none")
    assert not build_id
    root = tmp_path / "root"
    place = root / str(tmp_path).lstrip("/") if folder == "root" else tmp_path / folder
    place.mkdir(parents=True, exist_ok=True)
    linked = run("objcopy", f"--add-gnu-debuglink={debug}", program)
    assert linked.returncode == 0, linked.stderr
    shutil.move(debug, place / "program.debug")
    with running(program) as pid:
        assert names(pid, STOPPED_DEBUG_ROOT=str(root)) == FOUND
        with open(place / "program.debug", "ab") as file:
            file.write(b"\0")
        assert names(pid, STOPPED_DEBUG_ROOT=str(root)) == NOTHING


def test_in_the_cache_of_perf(tmp_path: Path) -> None:
    program, debug, build_id = make(tmp_path)
    cached = below(tmp_path / ".debug", build_id) / "elf"
    cached.parent.mkdir(parents=True)
    with running(program) as pid:
        assert names(pid, HOME=str(tmp_path)) == NOTHING
        shutil.copy(debug, cached)
        assert names(pid, HOME=str(tmp_path)) == FOUND


@contextmanager
def served(folder: Path) -> Iterator[list[str]]:
    """debuginfod on loopback in a network of its own; yields what runs a command in there."""
    if shutil.which("debuginfod") is None:
        pytest.skip("no debuginfod: apt-get install debuginfod")
    tried = run("unshare", "-n", "true")
    if tried.returncode != 0:
        pytest.skip(f"no network of its own: {tried.stderr.strip()}")
    script = f"ip link set lo up && exec debuginfod -p {PORT} -d :memory: -t 1 -F {folder}"
    with open(folder.parent / "log", "w", encoding="utf-8") as log, subprocess.Popen(
            ["unshare", "-n", "sh", "-c", script], stdout=log, stderr=log) as server:
        try:
            yield ["nsenter", "-t", str(server.pid), "-n"]
        finally:
            server.terminate()


def answers(inside: list[str], path: str) -> bool:
    ask = f"import urllib.request as r; r.urlopen('http://127.0.0.1:{PORT}/{path}', timeout=300)"
    return run(*inside, "/usr/bin/python3", "-c", ask).returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a network of its own")
def test_a_server_is_asked_when_somebody_asks_for_it(tmp_path: Path) -> None:
    """With its address at hand and no wish, nothing is contacted: the server has no request."""
    program, debug, build_id = make(tmp_path)
    (tmp_path / "files").mkdir()
    shutil.move(debug, tmp_path / "files" / "program.debug")
    server = {"DEBUGINFOD_URLS": f"http://127.0.0.1:{PORT}/",
              "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache")}
    with served(tmp_path / "files") as inside, running(program) as pid:
        end = time.monotonic() + 300
        while not answers(inside, f"buildid/{build_id}/debuginfo"):
            assert time.monotonic() < end, (tmp_path / "log").read_text(encoding="utf-8")
            time.sleep(0.2)
        before = (tmp_path / "log").read_text(encoding="utf-8").count("buildid/")
        assert names(pid, *inside, **server) == NOTHING
        assert (tmp_path / "log").read_text(encoding="utf-8").count("buildid/") == before
        assert not (tmp_path / "cache").exists()
        assert names(pid, *inside, STOPPED_DEBUGINFOD="1", **server) == FOUND
        assert (tmp_path / "log").read_text(encoding="utf-8").count("buildid/") > before
