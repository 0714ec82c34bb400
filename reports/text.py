# SPDX-License-Identifier: MIT
"""Untrusted text: bounded reading, escaping, and files that are written whole or not at all."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any, NoReturn

# C0, DEL, C1; line and paragraph separators; marks that reorder or hide text; lone surrogates;
# what is no character at all, which XML does not take.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f"
                     "\ufeff\ud800-\udfff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~&]|:(?=//)|(?<=www)\.)")

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


def open_regular(path: Path) -> int:
    """Open a regular file; links, FIFOs and devices are refused without waiting."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(f"{path.name}: not a regular file")
    return fd


def read_bounded(path: Path, limit: int) -> tuple[bytes, bool]:
    """At most `limit` bytes of a regular file, and whether there are more."""
    with os.fdopen(open_regular(path), "rb") as file:
        data = file.read(limit + 1)
    return data[:limit], len(data) > limit


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _few_values(source: str) -> None:
    """Refuse a text with too many values before they take their place in memory. The marks within
    strings count as well."""
    if source.count(",") + source.count("[") + source.count("{") > VALUES_LIMIT:
        raise ValueError(f"more than {VALUES_LIMIT} values")


def _few_members(member: Any) -> None:
    waiting = [member]
    while waiting:
        member = waiting.pop()
        if isinstance(member, (dict, list)):
            if len(member) > MEMBERS_LIMIT:
                raise ValueError(f"more than {MEMBERS_LIMIT} members in one place")
            waiting.extend(member.values() if isinstance(member, dict) else member)


def load_json(path: Path) -> Any:
    """The value of an untrusted JSON file. Raises Unusable."""
    try:
        data, more = read_bounded(path.resolve(), JSON_LIMIT)
        if more:
            raise Unusable(f"{path}: larger than {JSON_LIMIT >> 20} MiB")
        source = data.decode("utf-8")
        _few_values(source)
        value = json.loads(source, parse_constant=_refuse_constant)
        if source.count(",") >= MEMBERS_LIMIT:      # else no list or object can have so many
            _few_members(value)
        return value
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise Unusable(clean(f"{path}: not usable JSON: {error}", 300)) from error


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
