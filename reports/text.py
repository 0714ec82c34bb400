# SPDX-License-Identifier: MIT
"""Untrusted text: bounded reading, escaping, and files that are written whole or not at all."""

from __future__ import annotations

import errno
import gc
import json
import os
import re
import stat
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

# C0, DEL, C1; line and paragraph separators; marks that reorder or hide text; lone surrogates;
# what is no character at all, which XML does not take.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f"
                     "\ufeff\ud800-\udfff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~&]|:(?=//)|(?<=www)\.)")

TEXT_LIMIT = 1 << 20
JSON_LIMIT = 16 << 20
VALUES_LIMIT = 300_000      # of one document; the result of a default run has some 20,000
MEMBERS_LIMIT = 20_000      # of one list or object of it


class Unusable(Exception):
    """Raised when an input is of no use; the message is one line for a person."""


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def clean(text: str, limit: int = 4096) -> str:
    """The text with control characters spelled out, cut to `limit` characters."""
    if len(text) <= limit and text.isascii() and text.isprintable():
        return text
    cut = text[:limit + 1]
    safe = _UNSAFE.sub(_escape, cut)
    return safe if len(cut) <= limit and len(safe) <= 4 * limit else safe[:limit] + "..."


def count(number: int, what: str) -> str:
    """The number and the noun, in the plural unless it is one."""
    return f"{number} {what}" + ("" if number == 1 else "s")


def decode(data: bytes) -> tuple[str, bool]:
    """Bytes decoded as UTF-8, invalid ones as backslash escapes; and whether all were valid."""
    try:
        return data.decode("utf-8"), True
    except UnicodeDecodeError:
        return data.decode("utf-8", "backslashreplace"), False


def markdown(text: str) -> str:
    """The text escaped for a cell of a Markdown table."""
    return _MARKDOWN.sub(r"\\\1", clean(text))


def _refuse_special(path: Path, mode: int) -> None:
    """Raise OSError for what is no regular file."""
    kinds = {stat.S_IFDIR: "a directory", stat.S_IFLNK: "a symbolic link", stat.S_IFIFO: "a FIFO",
             stat.S_IFSOCK: "a socket"}
    if not stat.S_ISREG(mode):
        what = kinds.get(stat.S_IFMT(mode), "a device")
        raise OSError(errno.EINVAL, f"{what}, not a regular file", str(path))


def open_regular(path: Path, follow: bool = False) -> int:
    """Open a regular file; FIFOs, devices and, without `follow`, links are refused without waiting.
    Opening a device can do something: it is looked at first."""
    _refuse_special(path, os.stat(path, follow_symlinks=follow).st_mode)
    links = 0 if follow else os.O_NOFOLLOW
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | links)
    try:
        _refuse_special(path, os.fstat(fd).st_mode)
    except OSError:
        os.close(fd)
        raise
    return fd


def read_bounded(path: Path, limit: int, follow: bool = False) -> tuple[bytes, bool]:
    """At most `limit` bytes of a regular file, and whether there are more."""
    with os.fdopen(open_regular(path, follow), "rb") as file:
        data = file.read(limit + 1)
    return data[:limit], len(data) > limit


def require_file(path: Path) -> None:
    """Raise Unusable unless the path leads to a regular file that can be read."""
    try:
        os.close(open_regular(path, follow=True))
    except OSError as error:
        raise Unusable(clean(f"{path}: {error.strerror}", 300)) from error


def load_text(path: Path, limit: int = TEXT_LIMIT) -> str:
    """The text of a file that a person named, whole. Raises Unusable."""
    try:
        data, more = read_bounded(path, limit, follow=True)
    except OSError as error:
        raise Unusable(clean(f"{path}: {error.strerror or error}", 300)) from error
    if more:
        raise Unusable(clean(f"{path}: larger than {limit >> 20} MiB", 300))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Unusable(clean(f"{path}: line {line} is not UTF-8 text", 300)) from error


def load_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file that a person named. Raises Unusable."""
    try:
        return tomllib.loads(load_text(path))
    except (ValueError, RecursionError) as error:
        raise Unusable(clean(f"{path}: not TOML: {error}", 300)) from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _few_values(source: str) -> None:
    """Refuse a text with too many values before they take their place in memory. The marks within
    strings count as well."""
    if source.count(",") + source.count("[") + source.count("{") > VALUES_LIMIT:
        raise ValueError(f"more than {VALUES_LIMIT} values")


def _few_members(member: Any) -> None:
    waiting = [member] if isinstance(member, (dict, list)) else []
    while waiting:
        member = waiting.pop()
        if len(member) > MEMBERS_LIMIT:
            raise ValueError(f"more than {MEMBERS_LIMIT} members in one place")
        waiting += [inner for inner in (member.values() if isinstance(member, dict) else member)
                    if isinstance(inner, (dict, list))]


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the collector of cycles, for what makes many objects and no cycle: it would look at all of
    them again and again, which is half of the time that JSON takes."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _refuse_halves(source: str, value: Any) -> None:
    """Raise ValueError for half of a surrogate pair, which an escape can name and no text can hold."""
    if "\\ud" in source or "\\uD" in source:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"\\u{ord(error.object[error.start]):04x} alone is no character") from error


def load_source(path: Path) -> str:
    """The text of an untrusted JSON file. Raises Unusable."""
    return load_text(path, JSON_LIMIT)


def parse_json(source: str, path: Path | str) -> Any:
    """The value of untrusted JSON, which came from that path. Raises Unusable."""
    try:
        if len(source) > VALUES_LIMIT:      # else there cannot be so many
            _few_values(source)
        with uncollected():
            value = json.loads(source, parse_constant=_refuse_constant)
        _refuse_halves(source, value)
        if len(source) > MEMBERS_LIMIT and source.count(",") >= MEMBERS_LIMIT:
            _few_members(value)
        return value
    except (ValueError, RecursionError) as error:
        raise Unusable(clean(f"{path}: not usable JSON: {error}", 300)) from error


def load_json(path: Path) -> Any:
    """The value of an untrusted JSON file. Raises Unusable."""
    return parse_json(load_source(path), path)


def dump_json(value: Any) -> str:
    """The form in which all JSON is written: sorted keys, a line for each value, a newline at the
    end. Control characters and lone surrogates are escaped."""
    plain = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)
    return _UNSAFE.sub(lambda char: char[0] if char[0] == "\n" else json.dumps(char[0])[1:-1],
                       plain) + "\n"


def pack_json(value: Any) -> str:
    """One line of JSON, all of it ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")) + "\n"


def write_whole(path: Path, text: str) -> None:
    """Replace a file so that a reader sees the old one or the new one, never a part of one."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.unlink(missing_ok=True)    # left by a killed process of the same number
    try:
        with open(part, "x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_named(path: Path, said: str) -> None:
    """Write where a person said. A file is replaced whole; a pipe or a device, as /dev/stdout may be
    one, is written into: replacing it would take it from everybody. Raises Unusable."""
    mode = stat.S_IFREG
    try:
        with suppress(FileNotFoundError):
            mode = os.stat(path).st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY), "wb") as file:
                os.set_blocking(file.fileno(), True)
                file.write(said.encode("utf-8"))
        else:
            _refuse_special(path, mode)
            write_whole(Path(os.path.realpath(path)), said)
    except OSError as error:
        why = "a FIFO that nobody reads" if error.errno == errno.ENXIO else error.strerror
        raise Unusable(clean(f"{path}: cannot be written: {why}", 300)) from error
