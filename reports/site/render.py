# SPDX-License-Identifier: MIT
"""Turns templates into files. Every value is cleaned and escaped; nothing a result says is markup."""

from __future__ import annotations

import gzip
import shutil
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from reports import plain, text, wordlist
from reports.site.model import Site

TEXT_LIMIT = 4000


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
    return Markup('<td class="c {}"><i>{}</i></td>').format(verdict or "silent", verdict or "not asked")


def _clean(value: Any) -> Any:
    """Control characters and marks that reorder text are spelled out, long texts are cut."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return text.clean(value, TEXT_LIMIT)
    return value


class Pages:
    """Writes the pages of one site below a folder."""

    def __init__(self, site: Site, folder: Path, scripts: bool) -> None:
        self.folder = folder
        self.scripts = scripts
        self.count = 0
        self.bytes = 0
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
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        self._put(path, said.encode("utf-8", "backslashreplace"))

    def download(self, file: str, said: str) -> None:
        """Write a large file, compressed, as `file`.gz; `size` tells templates how large it is."""
        packed = gzip.compress(said.encode("utf-8", "backslashreplace"), mtime=0)
        path = self.folder / f"{file}.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        self._put(path, packed)
        self.sizes[f"{file}.gz"] = f"{max(len(packed) // 1000, 1)} kB"

    def _put(self, path: Path, data: bytes) -> None:
        path.write_bytes(data)
        self.count += 1
        self.bytes += len(data)

    def copy(self, file: str, source: Path) -> None:
        """Put a copy of a file into the site."""
        shutil.copyfile(source, self.folder / file)
        self.count += 1
        self.bytes += source.stat().st_size
