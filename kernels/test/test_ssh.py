# SPDX-License-Identifier: MIT
"""Places behind real ssh servers on loopback."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fake_place import FIRST, KTAP, STEPS, processes
from sshd import Cut, Server, need, serving, wait_until
from tiny_bundle import NAP

from kernels.errors import Missing
from kernels.place.channel import Channel, cksum
from kernels.place.engine import Engine
from kernels.place.link import Lost
from kernels.place.owner import Owner
from kernels.place.place import Order, Place
from kernels.place.report import Report, Request
from kernels.place.ssh import any_shell
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


def test_the_end_of_a_connection_is_not_told(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    """ssh says something of its own when it is asked to end one."""
    link = server.link()
    assert link.execute("true").status == 0
    link.close()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("script", ["echo 'a b'", "echo '!!' '$HOME' '\\'", "if true; then\n  echo \"it's\"\nfi"])
def test_a_script_is_one_line_that_no_shell_reads_otherwise(script: str) -> None:
    """csh ends a quoted word at a line break, replaces !, and fish takes a backslash away."""
    command = any_shell(script)
    quoted = command.rpartition("' '")[2].removesuffix("'")
    assert "\n" not in command and not {"!", "'"} & {*quoted} and "\\\\" not in command
    told = [subprocess.run(["sh", "-c", what], capture_output=True, check=True).stdout for what in (script, command)]
    assert told[0] == told[1]


@pytest.mark.parametrize("shell", ["csh", "tcsh", "fish"])
def test_an_account_with_another_shell(tmp_path: Path, bundle: Path, shell: str) -> None:
    program, passwd = need(shell, shell), tmp_path / "passwd"
    lines = [line.split(":") for line in Path("/etc/passwd").read_text().splitlines()]
    passwd.write_text("".join(":".join([*line[:6], program if line[0] == "root" else line[6]]) + "\n" for line in lines))
    mount = f'mount --bind {passwd} /etc/passwd && exec "$@"'
    with serving(tmp_path / "server", inside=("unshare", "-m", "sh", "-c", mount, "sh")) as server:
        place, channel = server.place(), Channel(tmp_path)
        with place.put(bundle):
            outcome = place.run(Order("good", limit=900), channel, threading.Event())
    assert outcome.ended == "done" and sorted(channel.files) == ALL, outcome


def test_what_holds_the_connection_does_not_hold_the_answer(server: Server) -> None:
    link = server.link()
    told = link.execute("sleep 600 & echo $!", limit=300)
    os.kill(int(told.body), signal.SIGKILL)
    link.close()


def test_an_account_that_nobody_may_log_in_to(tmp_path: Path) -> None:
    with serving(tmp_path / "server", command="echo 'This account is not available.'; exit 1") as server:
        with pytest.raises(Lost, match="^This account is not available.$"):
            server.link().execute("true")


def test_what_is_wrong_with_a_host_key(tmp_path: Path) -> None:
    with serving(tmp_path / "server") as server:
        server.link().execute("true")
        known = server.folder / "known"
        kind, key = (server.folder / "user.pub").read_text().split()[:2]
        known.write_text(f"[127.0.0.1]:{server.port} {kind} {key}\n")
        with pytest.raises(Lost) as changed:
            server.link().execute("true")
        known.unlink()
        server.config.write_text(server.config.read_text().replace("accept-new", "ask"))
        with pytest.raises(Lost) as unknown:
            server.link().execute("true")
    said = str(changed.value)
    assert said.startswith(f"its ED25519 key is not that of {known}, line 1; if it was set up anew: ssh-keygen ")
    assert said.endswith(f'-R "[127.0.0.1]:{server.port}"')
    assert str(unknown.value).startswith("its host key is not known: `ssh board`, once by hand")


def test_messages_have_no_carriage_return(tmp_path: Path) -> None:
    """Those of ssh have, when it speaks of a connection."""
    with serving(tmp_path / "server") as server:
        server.kill()
        with pytest.raises(Lost, match="Connection refused$"):
            server.link().execute("true")
        server.start()


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
        outcome = place.run(Order("gaps", limit=900), channel, threading.Event())
    cut.join()
    assert outcome.ended == "done" and sorted(channel.files) == ALL, outcome
    assert place.facts().record["link_lost"]


@pytest.mark.slow
def test_a_server_that_stays_away(server: Server, bundle: Path, tmp_path: Path) -> None:
    place, channel = server.place(Owner(patience=2)), Channel(tmp_path)
    channel.on_file = lambda name: server.kill() if name == answer(STEPS[0]) else None
    with place.put(bundle):
        outcome = place.run(Order("gaps", limit=900), channel, threading.Event())
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
    engine = Engine(tmp_path / "results", Request(Order(suite, limit=900)), {place.facts().machine: bundle})
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
        assert place.run(Order("good", limit=900), channel, threading.Event()).ended == "done"
        assert sorted(channel.files) == ALL


@pytest.mark.parametrize(("restarts", "ended"), [(True, "shutdown"), (False, "died")])
def test_the_folder_goes_in_mid_run(machine: Machine, bundle: Path, tmp_path: Path, restarts: bool, ended: str) -> None:
    """With a restart, as in a /tmp in memory, or by somebody who removes it: told at the next question."""
    base = tmp_path / "base"
    base.mkdir()
    place, channel = machine.place(Owner(folder=str(base), patience=600)), Channel(tmp_path)

    def empty(name: str) -> None:
        if name == answer(STEPS[0]):
            if restarts:
                (machine.folder / "boot_id").write_text("00000000-again\n")
            shutil.rmtree(base / place._folder)

    channel.on_file = empty
    with place.put(bundle):
        outcome = place.run(Order("slow", limit=900), channel, threading.Event())
    assert outcome.ended == ended and f"last file: {answer(STEPS[0])}" in outcome.reason, outcome
    wait_until(lambda: f"sleep\0{NAP}\0".encode() not in list(processes("cmdline")))
    assert not list(base.iterdir())


@pytest.mark.slow
def test_where_there_is_no_tar(server: Server, bundle: Path, tmp_path: Path) -> None:
    """The same files, one by one, links among them."""
    place, channel = server.place(), Channel(tmp_path)
    (bundle / "link").symlink_to("run.sh")
    monkey = place.link.execute
    place.link.execute = lambda script, *rest, **more: (  # type: ignore[method-assign]
        monkey("exit 1") if "command -v tar" in script else monkey(script, *rest, **more)
    )
    with place.put(bundle):
        told = monkey(f"readlink {place._folder}/bundle/link")
        assert told.body == b"run.sh\n"
        assert place.run(Order("good", limit=900), channel, threading.Event()).ended == "done"


def test_a_whole_run(server: Server, bundle: Path, tmp_path: Path) -> None:
    place, channel = server.place(), Channel(tmp_path)
    with place.put(bundle):
        outcome = place.run(Order("good", limit=900), channel, threading.Event())
    assert outcome.ended == "done" and sorted(channel.files) == ALL, outcome


def test_what_run_sh_said_is_kept(server: Server, bundle: Path, tmp_path: Path) -> None:
    place, channel = server.place(), Channel(tmp_path)
    with place.put(bundle):
        outcome = place.run(Order("quits", limit=900), channel, threading.Event())
    assert outcome.ended == "incomplete" and outcome.reason.endswith(": no room"), outcome
    assert channel.log.read_text() == "no room\n"


def test_a_bundle_goes_on_where_the_link_was_cut(tmp_path: Path, bundle: Path) -> None:
    """Twice, in the middle: what had arrived is not sent again."""
    size = 3 << 20
    (bundle / "big").write_bytes(os.urandom(size))
    with serving(tmp_path / "server") as server, Cut(2299, server.port, size // 3, 2) as cut:
        cut.arrived = lambda: sum(part.stat().st_size for part in server.scratch.glob("perfmodes.*/.bundle"))
        config = server.config.read_text().replace(f"Port {server.port}", "Port 2299")
        server.config.write_text(config)
        place, channel = server.place(), Channel(tmp_path)
        with place.put(bundle):
            there = place.link.execute(f"cat {place._folder}/bundle/big | cksum").body
            assert place.run(Order("good", limit=900), channel, threading.Event()).ended == "done"
        assert place.facts().record["link_lost"] == 2 and not list(server.scratch.iterdir())
    assert int(there.split()[0]) == cksum((bundle / "big").read_bytes())
    assert cut.cuts == 2 and size < cut.sent < size * 3 // 2, cut.sent


def test_an_interrupt_ends_the_way_of_a_bundle(tmp_path: Path, bundle: Path) -> None:
    """What sockets hold when it comes, some megabytes, is still carried; the rest is not sent."""
    (bundle / "big").write_bytes(os.urandom(24 << 20))
    with serving(tmp_path / "server") as server, Cut(2299, server.port, 1 << 20, 0) as cut:
        server.config.write_text(server.config.read_text().replace(f"Port {server.port}", "Port 2299"))
        place = server.place()
        cut.reached = place.stop.set
        with pytest.raises(KeyboardInterrupt), place.put(bundle):
            pass
        assert cut.sent < 16 << 20 and not list(server.scratch.iterdir())
