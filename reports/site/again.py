# SPDX-License-Identifier: MIT
"""What the site that is replaced has of the same is taken again: files by what they are made of, and any file whose
bytes are the same, so that who copies a site finds the old file with its old time."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from reports import text
from reports.text import Unusable

FILE = ".perfmodes-made.json"
TREE = Path(__file__).resolve().parents[2]
MADE_BY = ("reports", "lib/doctor/wishes.toml", "lib/perfmodes_verdicts.def")      # what turns results into pages
_KINDS = {".py", ".html", ".svg", ".json", ".toml", ".def"}
_NOT = {"test", "answers", "recordings", "node_modules"}

Before = dict[str, tuple[str, list[str]]]       # what -> of what it was made, and its files


def digest(*parts: Any) -> str:
    """A digest of values that repr() tells apart."""
    made = hashlib.blake2b(digest_size=16)
    for part in parts:
        made.update(repr(part).encode("utf-8", "backslashreplace") + b"\0")
    return made.hexdigest()


def _sources() -> Iterator[Path]:
    for name in MADE_BY:
        path = TREE / name
        every = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (each for each in every if each.suffix in _KINDS and not _NOT & set(each.parts) and each.is_file())


@lru_cache(maxsize=1)
def of_program() -> str:
    """A digest of the program and its data: another one makes other pages."""
    made = hashlib.blake2b(digest_size=16)
    for path in _sources():
        made.update(str(path.relative_to(TREE)).encode() + b"\0" + path.read_bytes() + b"\0")
    return made.hexdigest()


def _is_file_of_site(name: Any) -> bool:
    return isinstance(name, str) and name != "" and not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts


def read(folder: Path) -> Before:
    """What a site has, by its own list; nothing where it has none that can be read."""
    try:
        found = json.loads(text.load_text(folder / FILE, 64 << 20))
    except (Unusable, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {what: (each[0], each[1]) for what, each in found.items()
            if isinstance(each, list) and len(each) == 2 and isinstance(each[0], str)
            and isinstance(each[1], list) and all(map(_is_file_of_site, each[1]))}


def write(folder: Path, made: Before) -> None:
    (folder / FILE).write_text(json.dumps(made, sort_keys=True, separators=(",", ":")) + "\n", encoding="utf-8")


def are_there(folder: Path, files: Iterable[str]) -> bool:
    return all((folder / file).is_file() and not (folder / file).is_symlink() for file in files)


def take(old: Path, new: Path) -> int:
    """Puts an old file in the place of a new one, with its time; its size."""
    new.unlink(missing_ok=True)
    try:
        os.link(old, new)
    except OSError:         # no links there, or too many
        shutil.copy2(old, new)
    return new.stat().st_size


def is_same(path: Path, data: bytes) -> bool:
    """Whether a file has these bytes."""
    try:
        return not path.is_symlink() and path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False
