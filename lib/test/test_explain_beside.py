# SPDX-License-Identifier: MIT
"""Programs that others trace, that get rights when they are executed, and those of other languages."""

from __future__ import annotations

import os
import platform
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from explaining import Explained, FAULTS, USER, as_root, paranoid, place_

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree
place = place_


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
    alone = subprocess.run([*USER, able, FAULTS], capture_output=True, text=True, timeout=120, check=False)
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


@pytest.mark.peer("go")
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
