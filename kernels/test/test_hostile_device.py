# SPDX-License-Identifier: MIT
"""A device that does everything wrong: a state is reported, what had finished is kept, nothing else
is written anywhere, and memory stays bounded.

Every login runs a script in place of the command that was sent. What it does is in a file that the
test writes, for ever or for some logins.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_place import FIRST, STEPS
from sshd import Server, serving

from kernels.errors import RowError
from kernels.place.channel import Channel
from kernels.place.follow import Pace
from kernels.place.outcome import Outcome
from kernels.place.owner import Owner
from kernels.place.place import Order
from kernels.place.remote import RemotePlace
from kernels.place.steps import answer

LOGIN = r"""#!/bin/sh
read -r mode times <"$0.mode"
if [ "$times" != 0 ]; then
	echo "$mode $((times - 1))" >"$0.mode"
else
	mode=good
fi
case $mode in
good) exec sh -c "$SSH_ORIGINAL_COMMAND" ;;
hang) exec sleep 60 ;;
garbage) head -c 1000000000 </dev/zero | tr '\0' '\377' ;;
lines) yes '@@file ../../evil 1 1' | head -c 1000000000 ;;
escapes) printf '\033]0;x\007\033[2J%s\n' 'uname: ../../x' >&2; exit 3 ;;
cut) sh -c "$SSH_ORIGINAL_COMMAND" | head -c 30 ;;
noise) echo 'Welcome! @@pm-0 0'; echo warning >&2; sh -c "$SSH_ORIGINAL_COMMAND"; echo bye ;;
changed) sh -c "$SSH_ORIGINAL_COMMAND" | sed 's/launch/lounge/; s/x86_64/x86-64/' ;;
machine) sh -c "$SSH_ORIGINAL_COMMAND" | sed 's|machine=.*|machine=../../../etc/x|' ;;
folder) sh -c "$SSH_ORIGINAL_COMMAND" | sed 's|/perfmodes|/../perfmodes|' ;;
esac
"""
ALL = sorted([*FIRST, *map(answer, STEPS)])
PART = sorted([*FIRST, answer(STEPS[0])])
PACE = Pace(pause=0.1, wait=1, answer=3)


class Hostile(Server):
    def behave(self, mode: str, times: int = -1) -> None:
        (self.folder / "login.mode").write_text(f"{mode} {times}\n")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Hostile]:
    folder = tmp_path / "server"
    folder.mkdir()
    (folder / "login").write_text(LOGIN)
    (folder / "login").chmod(0o755)
    (folder / "login.mode").write_text("good -1\n")
    with serving(folder, type=Hostile, command=str(folder / "login")) as made:
        yield made


def a_place(server: Hostile, answer_s: float = 30) -> RemotePlace:
    pace = Pace(pause=0.1, wait=1, answer=answer_s)
    made = RemotePlace("board", server.link(), "ssh", Owner(patience=4), pace)
    made.look()
    return made


def resident() -> int:
    """Bytes of this process in memory."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10
    return 0


def meets(
    server: Hostile, bundle: Path, target: Path, mode: str, times: int = -1, suite: str = "gaps"
) -> tuple[Outcome, Channel]:
    """A run at a device that begins to behave so once the first answer has come."""
    place, channel = a_place(server, 10), Channel(target)
    target.mkdir()

    def turn(name: str) -> None:
        if name == answer(STEPS[0]):
            server.behave(mode, times)

    channel.on_file = turn
    with place.put(bundle):
        outcome = place.run(Order(suite, limit=60), channel, threading.Event())
        place.get(channel)
        server.behave("good")
    return outcome, channel


def kept(target: Path) -> list[str]:
    found = (path for path in target.rglob("*") if path.is_file() and path.name != "console.log")
    return sorted(str(path.relative_to(target)) for path in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "times", "ended", "files"),
    [
        ("hang", -1, "dropped", PART),
        ("hang", 1, "done", ALL),
        ("garbage", -1, "flood", PART),
        ("lines", -1, "flood", PART),
        ("escapes", -1, "dropped", PART),
        ("cut", -1, "dropped", PART),
        ("cut", 2, "done", ALL),
        ("noise", -1, "done", ALL),
        ("changed", 3, "done", ALL),
    ],
)
def test_a_device_that_turns_hostile_in_mid_run(
    server: Hostile, bundle: Path, tmp_path: Path, mode: str, times: int, ended: str, files: list[str]
) -> None:
    before = resident()
    outcome, channel = meets(server, bundle, tmp_path / "out", mode, times)
    assert (outcome.ended, outcome.stage, outcome.infra) == (ended, "probes", False), outcome
    assert kept(tmp_path / "out") == files
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle", "out", "server"]
    assert "\033" not in outcome.reason and "\n" not in outcome.reason
    assert resident() - before < 64 << 20, "memory is bounded"


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["hang", "garbage", "lines", "escapes", "cut", "machine"])
def test_a_device_that_is_hostile_from_the_start(server: Hostile, mode: str) -> None:
    """A reason of one line, no exception of another kind."""
    place = RemotePlace("board", server.link(), "ssh", Owner(patience=1), PACE)
    server.behave(mode)
    ill = place.health()
    assert ill and "\n" not in ill and "\033" not in ill and not place.facts().machine.strip("x86_64")
    place.link.close()


@pytest.mark.slow
def test_a_folder_that_is_not_one(server: Hostile, bundle: Path, tmp_path: Path) -> None:
    """What the device names as its folder is never taken into a command as it is."""
    place = a_place(server)
    server.behave("folder")
    with pytest.raises(RowError, match="no folder there"), place.put(bundle):
        pass


def inside(script: str) -> tuple[str, ...]:
    return ("unshare", "-m", "sh", "-c", f'{script} && exec "$@"', "sh")


@pytest.mark.slow
def test_a_full_disk(bundle: Path, tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    script = f"mount -t tmpfs -o size=20m tmpfs {base}"
    with serving(tmp_path / "server", inside=inside(script)) as server:
        place, channel = server.place(Owner(folder=str(base))), Channel(tmp_path / "out")
        (tmp_path / "out").mkdir()
        with place.put(bundle):
            outcome = place.run(Order("fills", limit=30), channel, threading.Event())
            place.get(channel)
            assert outcome.ended == "incomplete" and "the disk is full" in outcome.reason, outcome
            assert kept(tmp_path / "out") == PART
            with pytest.raises(RowError, match="kB left of the|is full"):
                with server.place(Owner(folder=str(base))).put(bundle):
                    pass
        with place.put(bundle):
            (tmp_path / "more").mkdir()
            again = place.run(Order("good", limit=30), Channel(tmp_path / "more"), threading.Event())
            assert again.ended == "done", "what filled the disk was removed"


@pytest.mark.slow
def test_a_clock_that_lies(bundle: Path, tmp_path: Path) -> None:
    server_folder = tmp_path / "server"
    server_folder.mkdir()
    uptime = server_folder / "uptime"
    uptime.write_text("1000.00 1.00\n")
    with serving(server_folder, inside=inside(f"mount --bind {uptime} /proc/uptime")) as server:
        place, channel = server.place(), Channel(tmp_path / "out")
        (tmp_path / "out").mkdir()

        def leap(name: str) -> None:
            uptime.write_text("9000.00 1.00\n")

        channel.on_file = leap
        with place.put(bundle):
            outcome = place.run(Order("gaps", limit=30), channel, threading.Event())
        assert outcome.ended == "clock" and "8000.0 s while" in outcome.reason and outcome.infra
        assert kept(tmp_path / "out") == ALL
        place.known["epoch"] = "1000000000"
        assert int(str(place.facts().record["clock_skew_s"])) < -10_000_000
