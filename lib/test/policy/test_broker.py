# SPDX-License-Identifier: MIT
"""The example broker and hostile clients: it survives them and goes on serving others."""

from __future__ import annotations

import os
import platform
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[3]
PROGRAM = TREE / "build" / platform.machine() / "examples" / "perfmodes-broker"
MAGIC = 0x706D4252
STRANGER = 64321
EXCLUDED = 1 << 5 | 1 << 6      # kernel and hypervisor


def request(tid: int, flags: int = EXCLUDED) -> bytes:
    """A software event (dummy) in the smallest published attr."""
    attr = struct.pack("<IIQQQQQ", 1, 64, 9, 0, 0, 0, flags) + bytes(16)
    return struct.pack("<IIiiII", MAGIC, 1, tid, -1, len(attr), 0) + attr


@pytest.fixture(name="place")
def fixture_place(tmp_path: Path) -> Iterator[Path]:
    if not PROGRAM.exists():
        pytest.skip("not built: make examples")
    place = tmp_path / "socket"
    with subprocess.Popen([str(PROGRAM), str(place)]) as broker:
        while not place.exists() and broker.poll() is None:
            time.sleep(0.01)
        try:
            yield place
        finally:
            broker.terminate()
    assert broker.returncode == 0 and not place.exists()


def connect(place: Path) -> socket.socket:
    """The socket's name is there a moment before somebody listens."""
    end = time.monotonic() + 300
    while time.monotonic() < end:
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        client.settimeout(300)
        try:
            client.connect(str(place))
            return client
        except ConnectionRefusedError:
            client.close()
            time.sleep(0.01)
    raise TimeoutError(f"nobody listens at {place}")


def ask(client: socket.socket, packet: bytes) -> tuple[int, list[int]]:
    """The errno that the broker says, and the descriptors that it sends."""
    client.send(packet)
    reply, fds, _, _ = socket.recv_fds(client, 64, 4)
    magic, version, error, zero = struct.unpack("<IIiI", reply)
    assert (magic, version, zero) == (MAGIC, 1, 0)
    return error, fds


def test_serves_its_peer(place: Path) -> None:
    with connect(place) as client:
        error, fds = ask(client, request(os.getpid()))
        if error:
            pytest.skip(f"the broker itself is refused: {os.strerror(error)}")
        assert os.readlink(f"/proc/self/fd/{fds[0]}") == "anon_inode:[perf_event]"
        os.close(fds[0])
        assert ask(client, request(1)) == (3, [])
        assert ask(client, request(os.getpid(), 0)) == (13, [])


def test_survives_nonsense(place: Path) -> None:
    for packet in (b"x", b"\0" * 24, request(5)[:-8], b"y" * 70000):
        with connect(place) as client:
            client.send(packet)
            assert client.recv(64) == b""
    with connect(place) as client:
        assert ask(client, request(2**30))[0] == 3


def test_serves_one_user_only(tmp_path: Path) -> None:
    if not PROGRAM.exists():
        pytest.skip("not built: make examples")
    place = tmp_path / "socket"
    arguments = [str(PROGRAM), str(place), "--uid", str(os.getuid() + 1)]
    with subprocess.Popen(arguments) as broker:
        try:
            while not place.exists():
                time.sleep(0.01)
            with connect(place) as client:
                assert client.recv(64) == b""
        finally:
            broker.terminate()


def turn_away(place: Path) -> None:
    """Connects as a stranger, and is hung up on."""
    os.seteuid(STRANGER)
    try:
        client = connect(place)
    finally:
        os.seteuid(0)
    with client:
        assert client.recv(64) == b""


@pytest.mark.skipif(os.geteuid() != 0, reason="connects as somebody else, too")
def test_those_it_turns_away_take_no_place() -> None:
    """More of them than are served at a time; then two at a time still are."""
    if not PROGRAM.exists():
        pytest.skip("not built: make examples")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "socket")
        os.chmod(folder, 0o755)
        with subprocess.Popen([str(PROGRAM), str(place), "--uid", "0"]) as broker:
            try:
                while not place.exists():
                    time.sleep(0.01)
                place.chmod(0o777)
                for _ in range(70):
                    turn_away(place)
                with connect(place) as first, connect(place) as second:
                    assert ask(first, request(2**30))[0] == 3
                    assert ask(second, request(2**30))[0] == 3
            finally:
                broker.terminate()


def test_says_its_usage() -> None:
    if not PROGRAM.exists():
        pytest.skip("not built: make examples")
    done = subprocess.run([str(PROGRAM)], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.startswith("usage: ")
