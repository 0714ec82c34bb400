# SPDX-License-Identifier: MIT
"""The producer's side of Perfetto's traced, written from its published protocol: protos/perfetto/ipc and
include/perfetto/ext/tracing/core/shared_memory_abi.h of github.com/google/perfetto. It drives one producer and keeps
the packets of each buffer."""

from __future__ import annotations

import mmap
import os
import selectors
import socket
import struct
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

METHODS = ("InitializeConnection", "RegisterDataSource", "UnregisterDataSource", "CommitData", "GetAsyncCommand",
           "RegisterTraceWriter", "UnregisterTraceWriter", "NotifyDataSourceStarted", "NotifyDataSourceStopped",
           "ActivateTriggers", "Sync")
LIMIT = 900     # seconds, of what hangs
START, STOP, SETUP_TRACING, FLUSH, SETUP, FORGET = 1, 2, 3, 5, 6, 7
CONTINUES_BEFORE, CONTINUES_AFTER = 1, 2


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes([*made, value])


def message(*fields: tuple[int, int | bytes | str]) -> bytes:
    made = b""
    for number, value in fields:
        if isinstance(value, int):
            made += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            made += varint(number << 3 | 2) + varint(len(data)) + data
    return made


def number_at(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        tag, at = number_at(data, at)
        if tag & 7 == 0:
            value, at = number_at(data, at)
            yield tag >> 3, value
        else:
            assert tag & 7 == 2, f"wire type {tag & 7}"
            size, at = number_at(data, at)
            assert at + size <= len(data)
            yield tag >> 3, data[at:at + size]
            at += size


def first(data: bytes, number: int, otherwise: Any = None) -> Any:
    return next((value for each, value in fields(data) if each == number), otherwise)


class Traced:
    """Listens, starts `command` with the socket's name in its environment, and answers its calls. What a test waits for is
    a state of this object: until(condition). What the program says goes to folder/log."""

    def __init__(self, folder: Path, command: list[str], page_kb: int = 4, pages: int = 64, **process: Any):
        self.page_kb, self.pages = page_kb, pages
        self.listener = socket.socket(socket.AF_UNIX)
        name = f"perfmodes-test-{os.getpid()}-{folder.stat().st_ino}"
        self.listener.bind(f"\0{name}")     # no path is too long for it
        self.listener.listen(1)
        self.listener.settimeout(LIMIT)
        environment = {**os.environ, "PERFETTO_PRODUCER_SOCK_NAME": f"@{name}"}
        self.log = (folder / "log").open("w+")
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stderr=self.log, **process)
        self.peer, _ = self.listener.accept()
        self.peer.settimeout(LIMIT)
        self.held = b""
        self.memory: mmap.mmap | None = None
        self.calls: dict[str, list[bytes]] = defaultdict(list)
        self.commands: int | None = None    # the request whose replies are commands
        self.packets: dict[int, list[bytes]] = defaultdict(list)
        self.partial: dict[int, tuple[int, bytes]] = {}     # writer: (chunk that goes on, bytes so far)
        self.flushed: list[int] = []
        self.closed = False

    # ---- frames
    def send(self, body: bytes, *descriptors: int) -> None:
        socket.send_fds(self.peer, [struct.pack("<I", len(body)) + body], descriptors)

    def command(self, kind: int, *inner: tuple[int, int | bytes], descriptor: int = -1) -> None:
        assert self.commands is not None
        reply = message((1, 1), (2, 1), (3, message((kind, message(*inner)))))
        self.send(message((2, self.commands), (6, reply)), *([descriptor] if descriptor >= 0 else []))

    def until(self, condition: Callable[[], Any]) -> None:
        """Answers calls until that is so; a producer that goes away before is an error."""
        while not condition():
            assert not self.closed, f"the producer is gone: {self.said()}"
            self.turn()

    def turn(self) -> None:
        try:
            data = self.peer.recv(1 << 16)
        except ConnectionResetError:    # it was killed while something was on its way to it
            data = b""
        self.closed = not data
        self.held += data
        while len(self.held) >= 4:
            size = struct.unpack("<I", self.held[:4])[0]
            if len(self.held) < 4 + size:
                return
            frame, self.held = self.held[4:4 + size], self.held[4 + size:]
            self.answer(frame)

    def answer(self, frame: bytes) -> None:
        request = first(frame, 2)
        if bind := first(frame, 3):
            assert first(bind, 1) == b"ProducerPort"
            methods = [(3, message((1, at), (2, name))) for at, name in enumerate(METHODS, 1)]
            self.send(message((2, request), (4, message((1, 1), (2, 7), *methods))))
            return
        invoke = first(frame, 5)
        assert invoke is not None and first(invoke, 1) == 7, frame
        name, arguments = METHODS[first(invoke, 2) - 1], first(invoke, 3, b"")
        self.calls[name].append(arguments)
        if name == "GetAsyncCommand":
            self.commands = request
            return
        if name == "CommitData":
            self.commit(arguments)
        self.send(message((2, request), (6, message((1, 1), (3, b"")))))

    # ---- shared memory
    def share(self) -> None:
        descriptor = os.memfd_create("shared")
        os.ftruncate(descriptor, self.page_kb * 1024 * self.pages)
        self.memory = mmap.mmap(descriptor, 0)
        self.command(SETUP_TRACING, (1, self.page_kb), descriptor=descriptor)
        os.close(descriptor)

    def commit(self, request: bytes) -> None:
        for number, value in fields(request):
            if number == 1:
                self.move(first(value, 1, 0), first(value, 2, 0), first(value, 3, 0))
            elif number == 3:
                self.flushed.append(value)

    def move(self, page: int, chunk: int, buffer: int) -> None:
        assert self.memory is not None and page < self.pages and chunk == 0
        size = self.page_kb * 1024
        data = self.memory[page * size:(page + 1) * size]
        assert struct.unpack_from("<I", data)[0] == 1 << 28 | 3, "a page of one chunk that is complete"
        number, writer, packed = struct.unpack_from("<IHH", data, 8)
        self.take(writer, number, packed & 1023, packed >> 10, data[16:], buffer)
        self.memory[page * size:page * size + 4] = bytes(4)

    def take(self, writer: int, number: int, count: int, flags: int, data: bytes, buffer: int) -> None:
        at = 0
        for index in range(count):
            size, begin = number_at(data, at)
            assert begin == at + 4 and begin + size <= len(data)
            at, fragment = begin + size, data[begin:begin + size]
            if index == 0 and flags & CONTINUES_BEFORE:
                before, bytes_before = self.partial.pop(writer)
                assert before + 1 == number, "a fragment that follows no other"
                fragment = bytes_before + fragment
            if index == count - 1 and flags & CONTINUES_AFTER:
                self.partial[writer] = number, fragment
            else:
                self.packets[buffer].append(fragment)
        assert not (flags & CONTINUES_BEFORE and count == 0)

    # ---- a consumer's session
    def begin(self, identity: int, config: bytes, buffer: int = 1) -> None:
        if self.memory is None:
            self.share()
        whole = message((1, "linux.perf"), (2, buffer), (111, config))
        self.command(SETUP, (1, identity), (2, whole))
        self.command(START, (1, identity), (2, whole))

    def told(self, name: str) -> list[int]:
        return [first(arguments, 1) for arguments in self.calls[name]]

    def end(self, identity: int) -> None:
        self.command(STOP, (1, identity))
        self.until(lambda: identity in self.told("NotifyDataSourceStopped"))

    def trace(self, buffer: int = 1) -> bytes:
        """As a file: each packet with the sequence that traced gives it."""
        return b"".join(message((1, packet + message((10, 1)))) for packet in self.packets[buffer])

    # ---- the process
    def said(self) -> str:
        self.log.seek(0)
        return self.log.read()

    def finish(self, signal: int | None = None) -> int:
        """Its exit status, after that signal."""
        if signal is not None:
            self.process.send_signal(signal)
        selector = selectors.DefaultSelector()
        selector.register(self.peer, selectors.EVENT_READ)
        while not self.closed and self.process.poll() is None:
            if selector.select(0.05):
                self.turn()
        return self.process.wait(LIMIT)

    def close(self) -> None:
        """Of a test that failed nothing goes on."""
        self.peer.close()
        self.listener.close()
        self.process.kill()
        self.process.wait(LIMIT)
        self.log.close()
