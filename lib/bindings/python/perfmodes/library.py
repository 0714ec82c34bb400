# SPDX-License-Identifier: MIT
"""The shared library, its functions with their types, and its errors as exceptions."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

from perfmodes import abi

NAME = "libperfmodes.so.0"
SLICE = 100     # ms: as long a poll without limit waits before it looks whether it is closed


class Error(OSError):
    """A call that failed. `errno` is positive; `cause` says who decided; the text what to change."""

    def __init__(self, number: int, text: str, cause: abi.Cause = abi.Cause.NONE) -> None:
        super().__init__(number, text)
        self.cause = cause

    def __str__(self) -> str:
        return str(self.strerror)


class _Found(ctypes.Structure):
    """dladdr(3): where a function comes from."""
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("symbol", ctypes.c_char_p),
                ("address", ctypes.c_void_p)]


def _load(path: str, functions: dict[str, Any]) -> ctypes.CDLL:
    """The library, whose functions know their types."""
    loaded = ctypes.CDLL(path)
    for name, (result, arguments) in functions.items():
        function = getattr(loaded, name)
        function.restype = result
        function.argtypes = arguments
    return loaded


#: $PERFMODES_LIBRARY, a path, else what the system finds
lib = _load(os.environ.get("PERFMODES_LIBRARY", NAME), abi.FUNCTIONS)


def part(name: str, functions: dict[str, Any]) -> ctypes.CDLL:
    """An optional library, of the folder perfmodes beside the library. Raises ImportError."""
    found, dladdr = _Found(), ctypes.CDLL(None).dladdr
    dladdr.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    dladdr(ctypes.cast(lib.pm_event_parse, ctypes.c_void_p), ctypes.byref(found))
    folder = os.path.dirname(os.path.realpath(os.fsdecode(found.file or b"")))
    path = os.path.join(folder, "perfmodes", f"libperfmodes-{name}.so")
    try:
        return _load(path, functions)
    except OSError as error:
        raise ImportError(f"perfmodes.{name} needs {error}") from error


def sized(kind: Callable[[], Any]) -> Any:
    """A structure of the interface, 0 but for its size."""
    made = kind()
    made.size = ctypes.sizeof(made)
    return made


def array(kind: Any, count: int) -> Any:
    """An array of structures; the first one tells the size of all."""
    made = (kind * max(count, 1))()
    made[0].size = ctypes.sizeof(kind)
    return made


def check(result: int, what: str, diag: abi.pm_diag | None = None) -> int:
    """The result, if it is none of failure; else raises Error with the diagnosis there is."""
    if result >= 0:
        return result
    if diag is not None and diag.text:
        raise Error(-result, diag.text.decode(errors="backslashreplace"), abi.Cause(diag.cause))
    raise Error(-result, f"{what}: {os.strerror(-result)}")


def encoded(given: str | bytes | os.PathLike[str]) -> bytes:
    """A text for C, which would end at a NUL. Raises ValueError for one."""
    made = os.fsencode(given)
    if b"\0" in made:
        raise ValueError(f"{given!r} holds a NUL")
    return made


def milliseconds(seconds: float) -> int:
    """As the library takes a timeout: at least as long, and 0 for what is over; endless is 23 days."""
    return math.ceil(min(max(0.0, seconds), 2e6) * 1000)


def text_of(call: Callable[[Any, int], int]) -> str:
    """What a function writes that works as snprintf(3)."""
    buffer = ctypes.create_string_buffer(4096)
    length = call(buffer, len(buffer))
    if length >= len(buffer):
        buffer = ctypes.create_string_buffer(length + 1)
        call(buffer, len(buffer))
    return buffer.value.decode(errors="backslashreplace")


class Handle:
    """Something of the library that is closed once, at the latest when nobody needs it.

    What is closed cannot be used any more. It is destroyed when the last call that uses it has
    returned, so that a callback, or another thread, may close what is delivering.
    """

    _destroy: Callable[[Any], None]
    _pointer: Any = None
    _closed = False
    _users = 0

    def __init__(self, pointer: Any) -> None:
        self._lock = threading.RLock()      # an object may be finalized in the thread that has it
        self._alone_lock, self._pid = threading.RLock(), os.getpid()
        self._pointer = pointer

    @property
    def pointer(self) -> Any:
        if self._closed or not self._pointer:
            raise ValueError(f"{type(self).__name__} is closed")
        return self._pointer

    def hold(self) -> Any:
        """The pointer, which stays valid until release()."""
        with self._lock:
            pointer = self.pointer
            self._users += 1
            return pointer

    def release(self) -> None:
        with self._lock:
            self._users -= 1
        self._destroy_unused()

    @contextlib.contextmanager
    def held(self) -> Iterator[Any]:
        pointer = self.hold()
        try:
            yield pointer
        finally:
            self.release()

    @contextlib.contextmanager
    def alone(self) -> Iterator[Any]:
        """The pointer, for one thread at a time: the others wait, but for one that did not come along in a fork."""
        if self._pid != os.getpid():
            self._alone_lock, self._pid = threading.RLock(), os.getpid()
        with self.held() as pointer, self._alone_lock:
            yield pointer

    def close(self) -> None:
        self._closed = True
        self._destroy_unused()

    def _destroy_unused(self) -> None:
        if not self._pointer:
            return
        with self._lock:
            if not self._closed or self._users:
                return
            pointer, self._pointer = self._pointer, None
        if pointer:
            type(self)._destroy(pointer)
            self._destroyed()

    def _destroyed(self) -> None:
        """What it needed is needed no more."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


class Delivering(Handle):
    """A handle whose calls deliver to callbacks; what one of these raised, the call raises."""

    _listener: Any
    _failure: BaseException | None = None

    def _listen(self, name: str, listener: Callable[..., object] | None,
                given: Callable[..., tuple[Any, ...]]) -> None:
        if listener is None:
            return
        heard: Callable[..., object] = listener

        def call(_: object, *arguments: Any) -> None:
            if self._failure is not None or self._closed:
                return
            try:
                heard(*given(*arguments))
            except BaseException as failure:  # it cannot pass through C
                self._failure = failure

        kind: Any = dict(self._listener._fields_)[name]
        setattr(self._listener, name, kind(call))   # the structure keeps it alive

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
