# SPDX-License-Identifier: MIT
"""A downloaded bundle where there is nothing but busybox or toybox, on a file system that takes nothing."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ALONE, TREE, needs_mounts, run
from elftools.elf.elffile import ELFFile

from reports import verbs

BUNDLE = TREE / "build" / os.uname().machine / "bundle"
ASK = "cd /perfmodes && ./run.sh --persona same --probe ring.size --probe perm.available --probe sw.clocks --probe pmu.unregistered"


def interpreter(program: str) -> str:
    """The dynamic linker that starts it, or ''."""
    with open(program, "rb") as file:
        found = [segment.get_interp_name() for segment in ELFFile(file).iter_segments() if segment["p_type"] == "PT_INTERP"]
    return found[0] if found else ""


def busybox(root: Path) -> None:
    """Its names alone. BUSYBOX=PROGRAM is another one, which may be linked to musl, with that C library alone."""
    program = os.environ.get("BUSYBOX") or shutil.which("busybox")
    if not program:
        pytest.skip("no busybox: package busybox-static")
    linker = interpreter(program)
    if linker and "musl" not in linker:
        pytest.skip("busybox is not static: package busybox-static")
    if linker:
        (root / linker[1:]).parent.mkdir(parents=True)
        shutil.copy(linker, root / linker[1:])
    shutil.copy(program, root / "bin" / "busybox")
    for name in {*run(*filter(None, [linker, program]), "--list").stdout.split()} - {"busybox"}:
        (root / "bin" / name).symlink_to("busybox")


def toybox(root: Path) -> None:
    """With mksh for a shell, as Android has; no tr, expr or gzip."""
    programs = {"sh": shutil.which("mksh-static") or shutil.which("mksh"), "toybox": shutil.which("toybox")}
    for name, program in programs.items():
        if not program:
            pytest.skip("packages mksh and toybox")
        shutil.copy(program, root / "bin" / name)
        for library in re.findall(r"(/\S+) \(0x", run("ldd", program).stdout):
            (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, root / library[1:])
    for name in run("toybox").stdout.split():
        (root / "bin" / name).symlink_to("toybox")


def small_root(place: Path, tools: Callable[[Path], None]) -> Path:
    """A root with those tools, a bundle, and a folder for what is written."""
    if not BUNDLE.is_dir():
        pytest.skip("no bundle is built: make bundle")
    root = place / "root"
    for name in ("bin", "proc", "sys", "dev", "tmp"):
        (root / name).mkdir(parents=True)
    tools(root)
    shutil.copytree(BUNDLE, root / "perfmodes", symlinks=True)
    return root


def in_it(root: Path, kept: Path, command: str, there: tuple[str, ...] = ("proc", "sys", "dev"),
          before: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in the root, which is read-only but for /tmp, with those file systems of the machine."""
    brought = "".join(f"mount --rbind /{name} '{root}/{name}'\n" for name in there)
    mounts = f"""set -e
        mount --bind '{root}' '{root}'
        {brought}
        mount --bind '{kept}' '{root}/tmp'
        mount -o remount,bind,ro '{root}'
        exec chroot '{root}' /bin/sh -c "$1" """
    return run(*ALONE, "--mount", "--propagation", "private", "sh", "-c", mounts, "sh", command,
               env={"PATH": "/bin:/sbin:/usr/bin:/usr/sbin"}, preexec_fn=before)


@needs_mounts
@pytest.mark.parametrize("tools", [busybox, toybox])
def test_a_bundle_ends_with_a_screen_and_one_file_to_hand_over(
        tools: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    done = in_it(small_root(tmp_path, tools), kept, ASK)
    assert done.returncode == 0, done.stderr
    (where,) = re.findall(r"/perfmodes/results cannot be written: results go to /tmp/(perfmodes-\S+) ", done.stderr)
    assert done.stdout.startswith(f"Linux {os.uname().release} ")
    assert all(len(line) <= 130 for line in done.stdout.splitlines())
    (name,) = re.findall(rf"^  /tmp/{where}/(perfmodes-[A-Za-z0-9._+-]+\.tar(?:\.gz)?)$", done.stdout, re.MULTILINE)
    assert f"report db add {name}" in done.stdout
    result = kept / where
    monkeypatch.chdir(TREE)
    capsys.readouterr()
    assert verbs.main(["result", "--quiet", str(result)]) == 0
    counts = json.loads((result / "result.json").read_text())["summary"]["same"]
    for verdict, count in counts.items():       # the screen counts what a report does
        assert re.search(rf"^{verdict} +{count} ", done.stdout, re.MULTILINE), (verdict, done.stdout)
    for part in (result / "result.json", result / "profile.json"):
        part.unlink()
    database = str(tmp_path / "elsewhere.db")
    assert verbs.main(["db", "add", "--db", database, str(result / name)]) == 0
    assert verbs.main(["db", "point", "--db", database, "ring.size.powers_of_two"]) == 0
    assert os.uname().release in capsys.readouterr().out
    assert verbs.main(["db", "add", "--db", database, str(result)]) == 0
    assert "0 added, 1 known" in capsys.readouterr().out
    monkeypatch.setenv("PATH", "/nowhere")      # without npm: no scripts
    assert verbs.main(["site", "--db", database, str(tmp_path / "site")]) == 0
    (page,) = (tmp_path / "site" / "point").glob("ring.size.powers_of_two*")
    kernels = re.findall(r'href="\.\./kernel/([^"#]+)"', page.read_text(encoding="utf-8"))
    assert any(os.uname().release in (tmp_path / "site" / "kernel" / kernel).read_text(encoding="utf-8") for kernel in kernels)


def filtered(answer: str) -> Callable[[], None]:
    """A system call filter with that answer to perf_event_open, as the doctor's tests install it."""
    spec = importlib.util.spec_from_file_location("surroundings", TREE / "lib" / "test" / "surroundings.py")
    assert spec and spec.loader
    filters = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(filters)
    if os.uname().machine not in filters.PERF:
        pytest.skip("its number is not known here")
    return lambda: filters.install_filter(getattr(filters, answer), filters.PERF[os.uname().machine])


ODD = "cd /perfmodes && ./run.sh --persona same --probe sw.clocks --probe perm.gates --probe ring.locked_memory && ./run.sh doctor own-faults"


@needs_mounts
@pytest.mark.parametrize(("there", "answer", "command", "said"), [
    (("proc", "sys", "dev"), "KILL", ODD, ["\nA system call filter ended ", " tests (SIGSYS), which tell nothing of this kernel:"]),
    (("proc", "sys", "dev"), "TRAP", ODD, ["\nA system call filter ended ", " tests (SIGSYS), which tell nothing of this kernel:"]),
    (("sys", "dev"), "", ODD, [" | ? | ", "| paranoid absent\n"]), (("proc", "dev"), "", ODD, [" | ? CPUs | "]),
    (("dev",), "", ODD, [" | ? | ? CPUs | paranoid absent\n"]),
    (("proc", "sys", "dev"), "", f"exec env -i /bin/sh -c '{ODD}'", [f"Linux {os.uname().release} "])],
    ids=["killed", "trapped", "no-proc", "no-sys", "neither", "no-environment"])
def test_it_ends_with_sentences_wherever_it_is(there: tuple[str, ...], answer: str, command: str, said: list[str],
                                               tmp_path: Path) -> None:
    """The screen, the file and the doctor; no probe hangs, and nothing is called broken."""
    kept = tmp_path / "kept"
    kept.mkdir()
    done = in_it(small_root(tmp_path, busybox), kept, command, there, filtered(answer) if answer else None)
    assert done.returncode == 0, done.stderr
    assert all(each in done.stdout for each in said), done.stdout
    assert ("SIGSYS), which" in done.stdout) == bool(answer)
    assert "To hand this over, there is one file" in done.stdout and "\nPerf events " in done.stdout
    assert re.search(r"^broken +0 ", done.stdout, re.MULTILINE) and "ended early" not in done.stdout
    assert ("Perf events do not work here: a system call filter ends a process" in " ".join(done.stdout.split())) == bool(answer)
