# SPDX-License-Identifier: MIT
"""The version register of a guest that has not started: a stub that plays along, and ones that do not."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kernels import matrix
from kernels.errors import Missing
from kernels.guest import machine, pvr, snapshot

DESCRIPTIONS = {
    "target.xml": '<target><xi:include href="core.xml"/><xi:include href="spr.xml"/></target>',
    "core.xml": '<reg name="r0" bitsize="64"/><reg name="f0" regnum="70"/><reg name="f1"/>',
    "spr.xml": '<reg name="dsisr" bitsize="64"/><reg name="pvr" bitsize="64"/>',
}
Answer = Callable[[str], bytes]


def plays_along(asked: str) -> bytes:
    found = re.fullmatch(r"qXfer:features:read:([\w.]+):(\w+),(\w+)", asked)
    if not found:
        return b"OK"
    text = DESCRIPTIONS.get(found[1], "").encode()[int(found[2], 16) :]
    piece = text[:20]  # several pieces, with a star and a brace to be escaped
    return (b"l" if piece == text else b"m") + piece.replace(b"6", b"}\x16")


@pytest.fixture
def told(tmp_path: Path) -> Callable[[Answer], list[str]]:
    """Talk to a stub that answers so; what it was told."""

    def talk(answer: Answer) -> list[str]:
        heard: list[str] = []
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(tmp_path / "stub"))
        server.listen()

        def serve() -> None:
            connection, _ = server.accept()
            buffer = b""
            while data := connection.recv(4096):
                buffer += data
                while found := re.search(rb"\$([^#]*)#(..)", buffer):
                    buffer = buffer[found.end() :]
                    assert int(found[2], 16) == sum(found[1]) % 256
                    heard.append(found[1].decode())
                    said = answer(heard[-1])
                    if said == b"hangs up":
                        return connection.close()
                    connection.sendall(b"+$" + said + b"#00")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            pvr.set_and_start(tmp_path, 0x3F0201)
        finally:
            thread.join(300)
            server.close()
        return heard

    return talk


def test_the_register_is_found_by_its_name(told: Callable[[Answer], list[str]]) -> None:
    heard = told(plays_along)
    assert heard[-2:] == [f"P{73:x}=00000000003f0201", "D"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda asked: b"E01" if asked.startswith("P") else plays_along(asked), "be written"),
        (lambda asked: plays_along(asked.replace("spr", "core")), "knows no register pvr"),
        (lambda asked: b"E00", "no description target.xml"),
        (lambda asked: b"m", "no description target.xml"),
        (lambda asked: b"hangs up", "it went away"),
    ],
)
def test_a_stub_that_does_not_is_missing(told: Callable[[Answer], list[str]], answer: Answer, reason: str) -> None:
    with pytest.raises(Missing, match=reason):
        told(answer)


def test_repeats_and_escapes() -> None:
    assert pvr._unescape(b"0* 1}\x03") == b"00001#"
    assert pvr._unescape(b"*x") == b"*x"


def test_no_stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pvr, "PATIENCE", 0.1)
    with pytest.raises(Missing, match="stub"):
        pvr.set_and_start(tmp_path, 1)


def test_rows_with_a_register(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "program", lambda row: "/usr/bin/qemu")
    row = matrix.load().rows["ppc64el-6.12-power7"]
    argv = machine.command(row, Path("k"), Path("i"), machine.Wires(0, -1, 0), tmp_path, False)
    assert "-S" in argv and any(str(tmp_path / "stub") in word for word in argv)
    assert "at the start" in snapshot.cannot(row)
