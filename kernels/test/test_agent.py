# SPDX-License-Identifier: MIT
"""The agent in shells of devices: which tools it asks for, whose folder is removed, and whose is not."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kernels.place.bring import AGENT, BUSY, agent_call

SHELLS = ("dash", "busybox sh", "mksh", "bash")
BOOT, UPTIME = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/uptime")


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> list[str]:
    words = str(request.param).split()
    if not shutil.which(words[0]):
        pytest.skip(f"no {words[0]}: package {words[0]}")
    return words


def agent(shell: list[str], *words: object, path: str = "") -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PATH": path or os.environ["PATH"]}
    argv = [shutil.which(shell[0]) or shell[0], *shell[1:], "-c", agent_call(*words)]
    return subprocess.run(argv, capture_output=True, text=True, env=env, check=False)


def folder(shell: list[str], base: Path, name: str, owner: str, force: str = "-") -> subprocess.CompletedProcess[str]:
    return agent(shell, "folder", 1, base, name, owner, 900, force)


def test_a_folder_is_made_once_and_asked_for_again(shell: list[str], tmp_path: Path) -> None:
    for _ in range(2):
        done = folder(shell, tmp_path, "aa", "me")
        assert (done.returncode, done.stdout) == (0, f"{tmp_path}/perfmodes.aa\n"), done
    boot, _, lease, owner = (tmp_path / "perfmodes.aa" / "held").read_text().split()
    assert (boot, lease, owner) == (BOOT.read_text().strip(), "900", "me")
    assert [path.name for path in tmp_path.iterdir()] == ["perfmodes.aa"]


def test_another_run_at_work_is_left_alone(shell: list[str], tmp_path: Path) -> None:
    assert folder(shell, tmp_path, "aa", "somebody").returncode == 0
    done = folder(shell, tmp_path, "bb", "me")
    assert done.returncode == BUSY and done.stdout.startswith("in use by another run, which was heard of ")
    assert [path.name for path in tmp_path.iterdir()] == ["perfmodes.aa"]
    assert folder(shell, tmp_path, "bb", "me", "force").returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["perfmodes.bb"]


@pytest.mark.parametrize("why", ["mine", "old", "restarted"])
def test_what_was_left_is_removed_at_the_next_contact(shell: list[str], tmp_path: Path, why: str) -> None:
    left = tmp_path / "perfmodes.left"
    (left / "bundle").mkdir(parents=True)
    uptime = UPTIME.read_text().split()[0]
    boot = "another-boot" if why == "restarted" else BOOT.read_text().strip()
    lease = -1 if why == "old" else 900
    (left / "held").write_text(f"{boot} {uptime} {lease} {'me' if why == 'mine' else 'somebody'}\n")
    stranger = tmp_path / "perfmodes.stranger"  # who knows what that is
    stranger.mkdir()
    link = tmp_path / "perfmodes.link"
    link.symlink_to("/etc")
    assert folder(shell, tmp_path, "aa", "me").returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {"perfmodes.aa", stranger.name, link.name}


def test_clean_removes_ours_and_says_who_is_at_work(shell: list[str], tmp_path: Path) -> None:
    for name, owner in (("aa", "me"), ("bb", "somebody")):
        (tmp_path / name).mkdir()
        assert folder(shell, tmp_path / name, name, owner).returncode == 0
        (tmp_path / name / f"perfmodes.{name}").rename(tmp_path / f"perfmodes.{name}")
        (tmp_path / name).rmdir()
    done = agent(shell, "clean", tmp_path, "me", "-")
    assert done.stdout.startswith("swept=1 in use by another run")
    assert [path.name for path in tmp_path.iterdir()] == ["perfmodes.bb"]
    (tmp_path / "perfmodes.git" / "objects").mkdir(parents=True)  # a person's, in their home
    assert agent(shell, "clean", tmp_path, "me", "force").stdout == "swept=1 \n"
    assert [path.name for path in tmp_path.iterdir()] == ["perfmodes.git"]


def applets(folder: Path, *without: str) -> str:
    """A PATH with what this machine's tools are called, but for some."""
    folder.mkdir()
    for name in ("cat chmod cksum cut date dd df dirname find grep head id ls mkdir mv printf rm sed sleep sort tail tr uname "
                 "wc xargs sh od base64 gzip").split():
        if name not in without:
            (folder / name).symlink_to(shutil.which(name) or name)
    return str(folder)


def test_what_a_device_lacks_is_told_at_once(shell: list[str], tmp_path: Path) -> None:
    if shell[0] == "busybox":
        pytest.skip("that of Debian prefers its own applets to any PATH")
    told = agent(shell, "look", path=applets(tmp_path / "whole")).stdout.splitlines()
    assert told[0] == "lacks=" and told[1].startswith("machine=")
    told = agent(shell, "look", path=applets(tmp_path / "some", "sed", "cksum", "gzip", "wc")).stdout.splitlines()
    assert told[0] == "lacks=sed wc"


def test_a_device_without_cksum_has_launch_make_the_sums(shell: list[str], tmp_path: Path) -> None:
    path = applets(tmp_path / "bin", "cksum")
    shutil.copy(AGENT, tmp_path / "agent")
    launch = tmp_path / "bundle" / "bin" / "launch"
    launch.parent.mkdir(parents=True)
    launch.write_text(f'#!/bin/sh\n[ "$1" = --cksum ] && exec {shutil.which("cksum")}\n')
    launch.chmod(0o755)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "stream").write_bytes(b"some words\n")
    words = [shutil.which(shell[0]) or shell[0], *shell[1:], tmp_path / "agent", "read", "stream", "0", "100", "0", "raw"]
    done = subprocess.run(words, capture_output=True, env={"PATH": path}, check=False)
    head, _, body = done.stdout.partition(b"\n")
    want = subprocess.run(["cksum"], input=b"some words\n", capture_output=True, check=True).stdout.split()
    assert head.split()[-2:] == want and body == b"some words\n", done
