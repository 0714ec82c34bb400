# SPDX-License-Identifier: MIT
"""Turns templates into files. Every value is cleaned and escaped; nothing a result says is markup."""

from __future__ import annotations

import lzma
import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from reports import plain, text, wordlist
from reports.site import again
from reports.site.model import Site

TEXT_LIMIT = 4000
PRESET = 1          # of xz: half of what gzip makes of these tables; higher ones take twice the time for a tenth
BATCH = 1 << 20     # characters


def batched(parts: Iterable[str]) -> Iterator[str]:
    """The parts joined to fewer, of some size."""
    some: list[str] = []
    size = 0
    for each in parts:
        some.append(each)
        size += len(each)
        if size > BATCH:
            yield "".join(some)
            some, size = [], 0
    yield "".join(some)


@lru_cache(maxsize=64)
def chip(verdict: str) -> Markup:
    """A verdict in a line of text."""
    return Markup('<span class="v {}">{}</span>').format(verdict or "silent", verdict or "not asked")


@lru_cache(maxsize=64)
def word(said: str) -> Markup:
    """One of the four words of plain.py, in the colour of the verdict it comes from."""
    return Markup('<span class="v {}">{}</span>').format("unknown" if said == plain.UNKNOWN else said, said)


@lru_cache(maxsize=64)
def cell(verdict: str) -> Markup:
    """A verdict in a narrow table: its colour and sign for the eye, its word for a reader."""
    return Markup('<td class="c {}">{}</td>').format(verdict or "silent", verdict or "not asked")


def _clean(value: Any) -> Any:
    """Control characters and marks that reorder text are spelled out, long texts are cut."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return text.clean(value, TEXT_LIMIT)
    return value


class Pages:
    """Writes the pages of one site below a folder. What `old`, which it replaces, has of the same is taken again."""

    def __init__(self, site: Site, folder: Path, scripts: bool, old: Path | None = None) -> None:
        self.folder = folder
        self.scripts = scripts
        self.old = old
        self.before = again.read(old) if old else {}
        self.made: again.Before = {}
        self.basis = again.digest(again.of_program(), site.declared.text, sorted(site.declared.probes.items()),
                                  site.personas, site.issues, scripts)
        self.files: list[str] = []      # written since the last once() began
        self.kept = 0                   # of `count`, those of the old site
        self.count = 0
        self.sizes: dict[str, str] = {}     # of what was written to be downloaded
        # Autoescape is for every template: each makes HTML.
        self.engine = Environment(loader=FileSystemLoader(Path(__file__).parent / "template"),
                                  autoescape=True, undefined=StrictUndefined, trim_blocks=True,
                                  lstrip_blocks=True, finalize=_clean)
        self.engine.globals |= {"site": site, "scripts": scripts, "verdicts": wordlist.VERDICTS,
                                "chip": chip, "cell": cell, "word": word, "sizes": self.sizes}

    def page(self, template: str, file: str, **values: Any) -> None:
        """Render a template into a file; `up` leads from there to the top."""
        up = "../" * file.count("/")
        self.write(file, self.engine.get_template(template).render(up=up, here=file, **values))

    def write(self, file: str, said: str) -> None:
        """Write a file, which nobody reads before the site is whole."""
        data, path = said.encode("utf-8", "backslashreplace"), self._room(file)
        self._done(file, len(data))
        if self.old and again.is_same(self.old / file, data):
            again.take(self.old / file, path)
            self.kept += 1
        else:
            path.write_bytes(data)

    def once(self, what: str, made_of: str, make: Callable[[], None]) -> None:
        """Make some files, or take those of the old site, where they were made of the same by the same program."""
        key = again.digest(self.basis, made_of)
        was, files = self.before.get(what, ("", []))
        if self.old and was == key and again.are_there(self.old, files):
            for file in files:
                self._done(file, again.take(self.old / file, self._room(file)))
            self.kept += len(files)
        else:
            self.files = files = []
            make()
            self.files = []
        self.made[what] = key, files

    def _room(self, file: str) -> Path:
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def download(self, file: str, parts: Iterable[str]) -> None:
        """Write a large file, part by part, compressed as `file`.xz; `sizes` tells templates how large it is."""
        with lzma.open(self._room(f"{file}.xz"), "wb", preset=PRESET) as packed:
            for some in batched(parts):
                packed.write(some.encode("utf-8", "backslashreplace"))
        self._packed(f"{file}.xz")

    def pack(self, file: str, source: Path) -> None:
        """Put a compressed copy of a file into the site."""
        with source.open("rb") as raw, lzma.open(self._room(f"{file}.xz"), "wb", preset=PRESET) as packed:
            shutil.copyfileobj(raw, packed, 1 << 20)
        self._packed(f"{file}.xz")

    def _packed(self, file: str) -> None:
        path = self.folder / file
        self._done(file, path.stat().st_size)
        if self.old and again.is_same(self.old / file, path.read_bytes()):
            again.take(self.old / file, path)
            self.kept += 1

    def _done(self, file: str, size: int) -> None:
        self.files.append(file)
        self.count += 1
        if file.endswith(".xz"):
            self.sizes[file] = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(size // 1000, 1)} kB"
