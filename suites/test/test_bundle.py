# SPDX-License-Identifier: MIT
"""A downloaded bundle where there is nothing but busybox, on a file system that takes nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ALONE, TREE, needs_mounts, run
from elftools.elf.elffile import ELFFile

from reports import verbs

BUNDLE = TREE / "build" / os.uname().machine / "bundle"
ASK = "cd /perfmodes && ./run.sh --persona same --probe ring.size --probe perm.available --probe sw.clocks"


def small_root(place: Path) -> Path:
    """A root with busybox, its names, a bundle, and a folder for what is written."""
    busybox = shutil.which("busybox")
    if not busybox or not BUNDLE.is_dir():
        pytest.skip("no busybox: package busybox-static" if not busybox else "no bundle is built: make bundle")
    with open(busybox, "rb") as program:
        if any(segment["p_type"] == "PT_INTERP" for segment in ELFFile(program).iter_segments()):
            pytest.skip("busybox is not static: package busybox-static")
    root = place / "root"
    for name in ("bin", "proc", "sys", "dev", "tmp"):
        (root / name).mkdir(parents=True)
    shutil.copy(busybox, root / "bin" / "busybox")
    run(busybox, "--install", "-s", str(root / "bin"))
    for link in (root / "bin").iterdir():
        if link.is_symlink():
            link.unlink()
            link.symlink_to("busybox")
    shutil.copytree(BUNDLE, root / "perfmodes", symlinks=True)
    return root


def in_it(root: Path, kept: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the root, which is read-only but for /tmp."""
    mounts = f"""set -e
        mount --bind '{root}' '{root}'
        mount --rbind /proc '{root}/proc'
        mount --rbind /sys '{root}/sys'
        mount --rbind /dev '{root}/dev'
        mount --bind '{kept}' '{root}/tmp'
        mount -o remount,bind,ro '{root}'
        exec chroot '{root}' /bin/sh -c "$1" """
    return run(*ALONE, "--mount", "--propagation", "private", "sh", "-c", mounts, "sh", command,
               env={"PATH": "/bin:/sbin:/usr/bin:/usr/sbin"})


@needs_mounts
def test_a_bundle_ends_with_a_screen_and_one_file_to_hand_over(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    done = in_it(small_root(tmp_path), kept, ASK)
    assert done.returncode == 0, done.stderr
    (where,) = re.findall(r"/perfmodes/results cannot be written: results go to /tmp/(perfmodes-\S+) ", done.stderr)
    assert done.stdout.startswith(f"Linux {os.uname().release} ")
    assert all(len(line) <= 130 for line in done.stdout.splitlines())
    (name,) = re.findall(rf"^  /tmp/{where}/(perfmodes-[A-Za-z0-9._+-]+\.tar\.gz)$", done.stdout, re.MULTILINE)
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
