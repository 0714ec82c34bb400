# SPDX-License-Identifier: MIT
"""A fleet with one command: every fifth device fails in a way and at a login that chance picks.

One server plays all of them; which one is meant comes as LC_DEVICE. PERFMODES_FLEET is how many there
are (10), PERFMODES_FLEET_JOBS how many at a time (8). What a device costs is printed, and how long the healthy
ones took beside a run without failures just before: pytest -s.
"""

from __future__ import annotations

import os
import random
import resource
import time
from pathlib import Path

import pytest
from sshd import Server, serving

from kernels import cli
from kernels.device import command, fleet as devices
from kernels.place.follow import Pace
from kernels.show import progress as show

COUNT = int(os.environ.get("PERFMODES_FLEET", "10"))
JOBS = os.environ.get("PERFMODES_FLEET_JOBS", "8")
MODES = ("hang", "garbage", "cut", "refuse")
LOGIN = r"""#!/bin/sh
here=${0%/*}/fleet/$LC_DEVICE
TMPDIR=${0%/*}/tmp/$LC_DEVICE
export TMPDIR
mkdir -p "$TMPDIR"
[ -e "$here" ] || exec sh -c "$SSH_ORIGINAL_COMMAND"
read -r mode first <"$here"
count=0
[ ! -e "$here.count" ] || read -r count <"$here.count"
echo $((count + 1)) >"$here.count"
[ "$count" -ge "$first" ] || exec sh -c "$SSH_ORIGINAL_COMMAND"
case $mode in
hang) exec sleep 90 ;;
garbage) head -c 50000000 </dev/zero ;;
cut) sh -c "$SSH_ORIGINAL_COMMAND" | head -c 30 ;;
refuse) echo 'no more' >&2; exit 1 ;;
esac
"""


def spoil(server: Server, chance: random.Random) -> set[str]:
    """Every fifth device fails from now on. Returns which."""
    bad = range(4, COUNT, 5)
    for number in bad:
        (server.folder / "fleet" / str(number)).write_text(f"{chance.choice(MODES)} {chance.randrange(6)}\n")
    return {f"d{number}" for number in bad}


def fleet(server: Server) -> None:
    """Entries for all devices."""
    (server.folder / "fleet").mkdir()
    hosts = [
        f"Host d{number}\n  HostName 127.0.0.1\n  Port {server.port}\n  User root\n  SetEnv LC_DEVICE={number}\n"
        for number in range(COUNT)
    ]
    server.config.write_text("".join(hosts) + server.config.read_text())
    (server.folder / "devices.toml").write_text(
        "format = 1\n[defaults]\npatience = 20\n" + "".join(
            f'[[device]]\nname = "d{number}"\ntransport = "ssh"\naddress = "d{number}"\nssh_config = '
            f'"{server.config}"\n' for number in range(COUNT)
        )
    )  # fmt: skip


def last_of(names: set[str], ended: dict[str, float]) -> float:
    return max(at for name, at in ended.items() if name in names)


@pytest.mark.slow
def test_every_device_of_a_fleet_is_accounted_for(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (bundle / "suites").mkdir()
    (bundle / "suites" / "default.txt").touch()
    run = bundle / "run.sh"
    run.write_text(run.read_text().replace("--suite) suite=$2; shift", "--suite) shift"))
    monkeypatch.setattr(devices, "bundles", lambda machines, *rest: dict.fromkeys([*machines], bundle))
    monkeypatch.setattr(command, "PACE", Pace(1.0, 5, 60.0))
    server_folder = tmp_path / "server"
    server_folder.mkdir()
    (server_folder / "login").write_text(LOGIN)
    (server_folder / "login").chmod(0o755)
    more = ("-oAcceptEnv=LC_DEVICE", "-oMaxStartups=1000")
    ended: dict[str, float] = {}
    note = show.Progress.ended
    monkeypatch.setattr(
        show.Progress, "ended", lambda self, name, said: (ended.update({name: time.monotonic()}), note(self, name, said))
    )
    with serving(server_folder, command=str(server_folder / "login"), more=more) as server:
        fleet(server)
        words = ["device", "all", "--inventory", str(server_folder / "devices.toml"), "--no-install", "--jobs", JOBS]
        began = time.monotonic()
        assert cli.main([*words, "--out", str(tmp_path / "well")]) in (0, 1)
        alone = {name: at - began for name, at in ended.items()}
        bad = spoil(server, random.Random(7))
        capsys.readouterr()
        began, before = time.monotonic(), spent()
        status = cli.main([*words, "--out", str(tmp_path / "out")])
        wall, cpu = time.monotonic() - began, spent() - before
        beside = {name: at - began for name, at in ended.items()}
    said = capsys.readouterr().out
    lines = [line for line in said.splitlines() if line.startswith("d") and " s wall" in line]
    good = {line.split()[0] for line in lines if ": done;" in line}
    every = {f"d{number}" for number in range(COUNT)}
    assert good >= every - bad and status in (1, 3), said
    told = {line.split()[0] for line in (tmp_path / "out" / "rows.txt").read_text().splitlines() if line[0] == "d"}
    assert told == every, "each has a line, whatever became of it"
    assert {path.stem for path in (tmp_path / "out" / "logs").iterdir()} == every
    assert not list((tmp_path / "out").glob("*.part"))
    with capsys.disabled():
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        ratio = last_of(every - bad, beside) / last_of(every - bad, alone)
        print(f"\n{COUNT} devices: {wall:.1f} s wall, {cpu / COUNT * 1000:.0f} ms of our CPU each, {most} MB; the healthy "
              f"ones in {last_of(every - bad, beside):.1f} s, {ratio:.2f} times what they took without failures")


def spent() -> float:
    """CPU seconds of this process and of what it has started; the server's sessions are not among it."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
