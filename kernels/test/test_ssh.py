# SPDX-License-Identifier: MIT
"""Places behind real ssh servers on loopback."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fake_place import FIRST, KTAP, STEPS, processes
from sshd import Server, serving

from kernels.errors import Missing
from kernels.place.channel import Channel
from kernels.place.engine import Engine
from kernels.place.owner import Owner
from kernels.place.place import Order, Place
from kernels.place.report import Report, Request
from kernels.place.steps import answer

ALL = sorted([*FIRST, *map(answer, STEPS)])


@pytest.fixture(params=["sshd", "dropbear"])
def server(request: pytest.FixtureRequest, tmp_path: Path):  # type: ignore[no-untyped-def]
    with serving(tmp_path / "server", kind=request.param) as made:
        yield made


def test_a_script_an_answer(server: Server) -> None:
    link = server.link()
    answer = link.execute("cat; printf 'a\\r\\n\\0'; echo oh >&2; exit 7", b"in\n")
    assert (answer.status, answer.body, answer.why) == (7, b"in\na\r\n\0", "oh")
    link.close()


def left_over(what: str) -> list[bytes]:
    return [line for line in processes("cmdline") if what.encode() in line]


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["slow", "flood", "good"])
def test_nothing_is_left_at_a_device(server: Server, bundle: Path, tmp_path: Path, suite: str) -> None:
    """Neither processes nor files, however the run ended."""
    base = tmp_path / "base"
    base.mkdir()
    place = server.place(Owner(folder=str(base)))
    (tmp_path / "out").mkdir()
    with place.put(bundle):
        assert len(list(base.glob("perfmodes.*/bundle/run.sh"))) == 1
        place.run(Order(suite, limit=2), Channel(tmp_path / "out"), threading.Event())
        assert not left_over(f"{base}/perfmodes")
    assert not list(base.iterdir()) and not left_over("agent\0supervise\0")


def test_a_folder_that_will_not_do(server: Server, bundle: Path, tmp_path: Path) -> None:
    for base, why in (("/proc", "not writable"), (str(tmp_path / "none"), "not there")):
        with pytest.raises(Missing, match=why), server.place(Owner(folder=base)).put(bundle):
            pass


@pytest.mark.slow
def test_a_server_that_is_killed_in_mid_run(server: Server, bundle: Path, tmp_path: Path) -> None:
    """The run goes on there; what it writes meanwhile arrives once the server is back."""
    place, channel = server.place(), Channel(tmp_path)

    def away() -> None:
        server.kill()
        time.sleep(1)
        server.start()

    cut = threading.Thread(target=away)
    channel.on_file = lambda name: cut.start() if name == answer(STEPS[0]) else None
    with place.put(bundle):
        outcome = place.run(Order("gaps", limit=60), channel, threading.Event())
    cut.join()
    assert outcome.ended == "done" and sorted(channel.files) == ALL, outcome
    assert place.facts().record["link_lost"]


@pytest.mark.slow
def test_a_server_that_stays_away(server: Server, bundle: Path, tmp_path: Path) -> None:
    place, channel = server.place(Owner(patience=2)), Channel(tmp_path)
    channel.on_file = lambda name: server.kill() if name == answer(STEPS[0]) else None
    with place.put(bundle):
        outcome = place.run(Order("gaps", limit=60), channel, threading.Event())
        assert outcome.ended == "dropped" and "no connection for 2 s" in outcome.reason
        assert "refused" in place.health()
    assert (tmp_path / answer(STEPS[0])).exists()
    server.start()


REBOOT = "/proc/sys/kernel/random/boot_id"


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A server with processes and a boot id of its own."""
    folder = tmp_path / "server"
    folder.mkdir()
    (folder / "boot_id").write_text("00000000-first\n")
    script = f'mount -t proc proc /proc && mount --bind {folder}/boot_id {REBOOT} && exec "$@"'
    inside = ("unshare", "-m", "-p", "-f", "--kill-child", "sh", "-c", script, "sh")
    with serving(folder, inside=inside, type=Machine) as made:
        yield made


@dataclass
class Machine(Server):
    """A server that can be restarted with all that runs on it."""

    def reboot(self) -> None:
        self.kill()
        (self.folder / "boot_id").write_text(f"{time.monotonic_ns():08}-again\n")
        self.start()


def run_of(place: Place, tmp_path: Path, bundle: Path, suite: str) -> Report:
    engine = Engine(tmp_path / "results", Request(Order(suite, limit=60)), {place.facts().machine: bundle})
    return engine.run(place)


@pytest.mark.slow
def test_a_device_that_restarts_accuses_the_probe_that_ran(
    machine: Machine, bundle: Path, tmp_path: Path
) -> None:
    """It goes down each time that c.d is asked; all others are answered."""
    base = tmp_path / "base"
    base.mkdir()
    place, down = machine.place(Owner(folder=str(base), patience=30)), base / "down"
    down.touch()
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.05):
            if list(base.glob("perfmodes.*/run/tmp/asked")):
                for path in base.glob("perfmodes.*/run/tmp/asked"):
                    path.unlink()
                machine.reboot()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        report = run_of(place, tmp_path, bundle, "restarts")
    finally:
        stop.set()
        watcher.join()
    assert report.downs == ["root c.d: shutdown, 2 of 2 guests"], str(report)
    assert report.outcome.ended == "done" and not report.lost
    folder = tmp_path / "results" / "board"
    assert b"#:guest: ended=shutdown" in (folder / answer(STEPS[1])).read_bytes()
    assert (folder / answer(STEPS[2])).read_bytes() == KTAP and not list(base.glob("perfmodes.*"))


@pytest.mark.slow
def test_a_restart_that_emptied_the_folder(machine: Machine, bundle: Path, tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    place, channel = machine.place(Owner(folder=str(base))), Channel(tmp_path)
    with place.put(bundle):
        machine.reboot()
        for path in base.iterdir():
            shutil.rmtree(path)
        assert place.run(Order("good", limit=30), channel, threading.Event()).ended == "done"
        assert sorted(channel.files) == ALL


@pytest.mark.slow
def test_where_there_is_no_tar(server: Server, bundle: Path, tmp_path: Path) -> None:
    """The same files, one by one, links among them."""
    place, channel = server.place(), Channel(tmp_path)
    (bundle / "link").symlink_to("run.sh")
    send = place.link.send
    place.link.send = lambda file, script, limit=600: send(  # type: ignore[method-assign]
        file, script.replace("tar -xf -", "no-such-tar"), limit
    )
    monkey = place.link.execute
    place.link.execute = lambda script, *rest, **more: (  # type: ignore[method-assign]
        monkey("exit 1") if "command -v tar" in script else monkey(script, *rest, **more)
    )
    with place.put(bundle):
        told = monkey(f"readlink {place._folder}/bundle/link")
        assert told.body == b"run.sh\n"
        assert place.run(Order("good", limit=30), channel, threading.Event()).ended == "done"


def test_a_whole_run(server: Server, bundle: Path, tmp_path: Path) -> None:
    place, channel = server.place(), Channel(tmp_path)
    with place.put(bundle):
        outcome = place.run(Order("good", limit=30), channel, threading.Event())
    assert outcome.ended == "done" and sorted(channel.files) == ALL, outcome
