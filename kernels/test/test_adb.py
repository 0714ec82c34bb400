# SPDX-License-Identifier: MIT
"""Places behind a real adbd on loopback. Debian has it in bookworm-backports and later; with
PERFMODES_ADBD a program of that name is taken from elsewhere."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fake_place import FIRST, KTAP, STEPS
from sshd import answers, need, own_network, wait_until

from kernels.errors import Missing, Refused, Usage
from kernels.place.adb import AdbLink
from kernels.place.channel import Channel
from kernels.place.follow import Pace
from kernels.place.link import Lost
from kernels.place.owner import Owner
from kernels.place.place import Order
from kernels.place.remote import RemotePlace
from kernels.place.steps import answer

ALL = sorted([*FIRST, *map(answer, STEPS)])
INSTALLED = "/usr/lib/android-sdk/platform-tools/adbd"
SERIAL = "127.0.0.1:5555"
GETPROP = """#!/bin/sh
case $0 in
*/setprop) echo "$2" >"$PROPERTIES/$1" ;;
*) cat "$PROPERTIES/$1" 2>/dev/null || echo ;;
esac
"""


@dataclass
class Phone:
    """A daemon with mounts and processes of its own, and links to it."""

    folder: Path
    daemon: subprocess.Popen[bytes] | None = None
    mount: str = "true"

    def start(self) -> None:
        program = os.environ.get("PERFMODES_ADBD") or INSTALLED
        if not os.access(program, os.X_OK):
            program = need("adbd", "adbd, of bookworm-backports or later")
        need("adb", "adb")
        properties = self.folder / "properties"
        properties.mkdir(exist_ok=True)
        for name in ("getprop", "setprop"):
            (self.folder / name).write_text(GETPROP)
            (self.folder / name).chmod(0o755)
        path = f"{self.folder}:{os.environ['PATH']}"
        with open(self.folder / "log", "ab") as log:
            self.daemon = subprocess.Popen(
                ["unshare", "-m", "-p", "-f", "--mount-proc", "--kill-child", "sh", "-c", f'{self.mount} && exec "$@"',
                 "sh", program],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "PATH": path, "PROPERTIES": str(properties)},
            )  # fmt: skip
        wait_until(lambda: answers(5555))

    def stop(self) -> None:
        if self.daemon:
            self.daemon.kill()
            self.daemon.wait()

    def place(self, old: bool = False, owner: Owner = Owner(patience=30)) -> RemotePlace:
        made = RemotePlace("phone", AdbLink(SERIAL, old), "adb", owner, Pace(0.1, 1, 20))
        made.look()
        return made


@pytest.fixture
def phone(tmp_path: Path) -> Iterator[Phone]:
    if os.geteuid():
        pytest.skip("a network of its own needs root")
    folder = tmp_path / "phone"
    folder.mkdir()
    with own_network():
        made = Phone(folder)
        try:
            made.start()
            yield made
        finally:
            made.stop()


@pytest.mark.parametrize("serial", ["", "-s", "../x", "a b", "a\n", "x" * 101])
def test_no_serial_number(serial: str) -> None:
    with pytest.raises(Usage, match="not the serial number"):
        AdbLink(serial)


# An adb that has one device, this machine: its new shell tells where its output ends, its old one is a terminal.
ADB = """#!/bin/sh
cd "$(dirname "$0")"
case $1 in -s) shift 2 ;; *) exit 0 ;; esac
case $1 in
get-state) echo device ;;
features) cat features ;;
shell) echo "$2" >>asked; cd /; exec sh -c "$3" ;;
push) cat <"$2" >"$3" ;;
esac
"""


@pytest.fixture
def features(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the device says that it can, for the test to write."""
    (tmp_path / "adb").write_text(ADB)
    (tmp_path / "adb").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "features").write_text("cmd\nshell_v2\n")
    return tmp_path / "features"


@pytest.mark.parametrize(("told", "shell"), [("cmd\nshell_v2\n", "-T"), ("cmd\n", "-x"), ("", "-x")])
def test_the_shell_is_one_that_the_device_has(features: Path, told: str, shell: str) -> None:
    features.write_text(told)
    link = AdbLink("R58N1234567")
    said = link.execute("echo a; exit 7")
    assert (said.status, said.body, link.clean) == (7, b"a\n", shell == "-T")
    assert (features.parent / "asked").read_text() == f"{shell}\n"
    link.close()


@pytest.mark.parametrize("told", ["cmd\nshell_v2\n", "cmd\n"])
def test_input_and_long_scripts_arrive(features: Path, told: str) -> None:
    """The old shell has no input and a short command line: both go there as files."""
    features.write_text(told)
    link = AdbLink("R58N1234567")
    said = link.execute("cat; echo a; exit 7", b"in\n")
    assert (said.status, said.body) == (7, b"in\na\n")
    assert link.execute("#" * 9000 + "\necho long").body == b"long\n"
    link.close()


def test_a_script_that_does_not_end_is_ended(features: Path) -> None:
    link = AdbLink("R58N1234567")
    with pytest.raises(Lost, match="no answer within"):
        link.execute("sleep 20", limit=2)
    link.close()


@pytest.mark.slow
@pytest.mark.parametrize("old", [False, True])
def test_a_script_an_answer(phone: Phone, old: bool) -> None:
    link = AdbLink(SERIAL, old)
    said = link.execute("cat; echo a; exit 7", b"in\n")
    assert (said.status, said.body.replace(b"\r", b"")) == (7, b"in\na\n")
    long = "#" * 9000 + "\necho long"
    assert link.execute(long).body.strip() == b"long"
    assert link.clean != old
    link.close()


@pytest.mark.slow
@pytest.mark.parametrize("old", [False, True])
def test_a_whole_run_without_a_trace(phone: Phone, bundle: Path, tmp_path: Path, old: bool) -> None:
    base = tmp_path / "base"
    base.mkdir()
    place, channel = phone.place(old, Owner(folder=str(base))), Channel(tmp_path / "out")
    (tmp_path / "out").mkdir()
    with place.put(bundle):
        outcome = place.run(Order("good", limit=60), channel, threading.Event())
    assert outcome.ended == "done" and sorted(channel.files) == ALL, outcome
    assert (tmp_path / "out" / answer(STEPS[2])).read_bytes() == KTAP
    assert not list(base.iterdir())


@pytest.mark.slow
def test_one_server_for_all_devices(phone: Phone) -> None:
    """Ours ends with the last of them."""
    one, two = AdbLink(SERIAL), AdbLink(SERIAL)
    ports = [link.execute("true") and link._env["ANDROID_ADB_SERVER_PORT"] for link in (one, two)]
    assert ports[0] == ports[1] != "5037"
    one.close()
    assert two.execute("echo here").body.strip() == b"here"
    two.close()
    wait_until(lambda: not server_of(ports[0]))


def server_of(port: str) -> int:
    """The process of the adb server on that port."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"fork-server" in words and any(word.endswith(f":{port}".encode()) for word in words):
            return int(path.parent.name)
    return 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_the_cable_is_pulled_at_a_random_moment(
    phone: Phone, bundle: Path, tmp_path: Path, seed: int
) -> None:
    """The server is killed; the run goes on, and every file arrives."""
    place, chance = phone.place(seed % 2 == 1), random.Random(seed)
    done = threading.Event()

    def pull() -> None:
        done.wait(chance.uniform(0.0, 3.0))
        pid = server_of(place.link._env.get("ANDROID_ADB_SERVER_PORT", "5037"))
        if pid:
            os.kill(pid, signal.SIGKILL)

    channel = Channel(tmp_path / "out")
    (tmp_path / "out").mkdir()
    with place.put(bundle):
        puller = threading.Thread(target=pull)
        puller.start()
        outcome = place.run(Order("gaps", limit=90), channel, threading.Event())
        puller.join()
    assert outcome.ended == "done" and sorted(channel.files) == ALL, outcome


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "why"),
    [("size=64k", "kB left of the|is full"), ("noexec", "nothing can be executed"), ("ro", "not writable")],
)
def test_a_folder_that_will_not_do(
    phone: Phone, bundle: Path, tmp_path: Path, options: str, why: str
) -> None:
    base = tmp_path / "base"
    base.mkdir()
    phone.stop()
    phone.mount = f"mount -t tmpfs -o {options} tmpfs {base}"
    phone.start()
    with pytest.raises(Missing, match=why), phone.place(owner=Owner(folder=str(base))).put(bundle):
        pass


@pytest.mark.slow
def test_perf_harden_is_put_back(phone: Phone, bundle: Path, tmp_path: Path) -> None:
    """It is 0 while the run lasts, if that was asked for and is allowed."""
    value = phone.folder / "properties" / "security.perf_harden"
    value.write_text("1\n")
    place, seen = phone.place(owner=Owner(perf_harden=True)), []
    assert place.facts().record["perf_harden"] == "1"
    channel = Channel(tmp_path / "out")
    (tmp_path / "out").mkdir()
    channel.on_file = lambda name: seen.append(value.read_text())
    with place.put(bundle):
        place.run(Order("gaps", limit=60), channel, threading.Event())
        assert set(seen) == {"1\n"}, "nothing is changed unasked"
        seen.clear()
        place.clear = True
        place.run(Order("gaps", limit=60), channel, threading.Event())
        assert seen[0] == "0\n" and value.read_text() == "1\n"
        place.owner = Owner()
        with pytest.raises(Refused, match="perf_harden"):
            place.run(Order("gaps", limit=60), channel, threading.Event())


@pytest.mark.slow
def test_a_device_that_is_not_there(phone: Phone) -> None:
    began = time.monotonic()
    place = RemotePlace("gone", AdbLink("R58N0000000"), "adb", Owner(patience=1), Pace(0.1, 1, 20))
    assert "not found" in place.health() and time.monotonic() - began < 40
    place.link.close()
