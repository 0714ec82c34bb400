# SPDX-License-Identifier: MIT
"""A feed (Atom) of what changed between two builds of a site: an entry for each kernel that answers otherwise than in
the folder that is replaced, or was not there. Entries of earlier builds are kept, the newest first."""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from reports import schema, text
from reports.site.model import Site
from reports.text import Unusable

FILE, TABLE = "feed.xml", "data/cells.json.xz"
SPACE = "http://www.w3.org/2005/Atom"
LINES, ENTRIES = 40, 60
SIZE_LIMIT = 200 << 20
EPOCH = "1970-01-01T00:00:00Z"

Column = tuple[str, ...]     # what a kernel says to each persona: a sign a point


@dataclass(frozen=True)
class Entry:
    """What is told of one kernel."""
    title: str
    page: str
    updated: str
    said: str

    @property
    def id(self) -> str:
        return "urn:perfmodes:" + hashlib.sha256(f"{self.page}\n{self.updated}\n{self.said}".encode()).hexdigest()[:32]


def _table(folder: Path) -> dict[str, Any] | None:
    """The cells of a site; None where it has none that can be read."""
    try:
        with lzma.open(folder / TABLE) as packed:
            data = packed.read(SIZE_LIMIT)
        made: dict[str, Any] = schema.require("table", json.loads(data), TABLE)
        return made
    except (OSError, ValueError, EOFError, lzma.LZMAError, Unusable):
        return None


def _columns(table: dict[str, Any]) -> dict[str, Column]:
    """What each kernel says: for each persona its signs, in the order of the points."""
    each = [map("".join, zip(*told["verdicts"], strict=True)) for told in table["cells"].values()]
    return dict(zip((kernel["page"] for kernel in table["kernels"]), zip(*each, strict=True), strict=True))


def _answers(table: dict[str, Any], column: Column) -> dict[str, str]:
    """persona and point -> what a kernel says; what was not asked is left out."""
    signs = table["signs"]
    return {f"{persona} {point['key']}": signs[sign] for persona, told in zip(table["cells"], column, strict=True)
            for point, sign in zip(table["points"], told, strict=True) if signs[sign] != "not asked"}


def changes(old: dict[str, Any], new: dict[str, Any], started: dict[str, str]) -> Iterator[Entry]:
    """An entry for each kernel that is new, is gone, or answers otherwise."""
    before, after = _columns(old), _columns(new)
    alike = all(old[part] == new[part] for part in ("signs", "points")) and [*old["cells"]] == [*new["cells"]]
    names = {each["page"]: each["name"] for table in (old, new) for each in table["kernels"]}
    for page, name in names.items():
        when = started.get(page) or EPOCH
        if page not in before:
            yield Entry(f"{name}: new", page, when, f"{len(_answers(new, after[page]))} answers")
            continue
        if page not in after:
            yield Entry(f"{name}: gone", "kernels.html", when, "no longer in the database")
            continue
        if alike and before[page] == after[page]:
            continue
        then, since = _answers(old, before[page]), _answers(new, after[page])
        lines = [f"{key}: {was} -> {now}" for key in sorted(then.keys() | since.keys())
                 if (was := then.get(key, "not asked")) != (now := since.get(key, "not asked"))]
        if lines:
            more = [f"and {len(lines) - LINES} more"] if len(lines) > LINES else []
            yield Entry(f"{name}: {text.count(len(lines), 'answer')} changed", page, when, "\n".join(lines[:LINES] + more))


def _kept(folder: Path) -> list[Entry]:
    """The entries of the feed that is replaced."""
    try:
        tree = ElementTree.fromstring(text.load_text(folder / FILE))
    except (Unusable, ElementTree.ParseError):
        return []

    def of(entry: ElementTree.Element, name: str) -> str:
        return entry.findtext(f"{{{SPACE}}}{name}") or ""
    found = []
    for entry in tree.iter(f"{{{SPACE}}}entry"):
        link = entry.find(f"{{{SPACE}}}link")
        found.append(Entry(of(entry, "title"), link.get("href", "") if link is not None else "", of(entry, "updated"),
                           of(entry, "content")))
    return found


def _add(parent: ElementTree.Element, name: str, said: str = "", **attributes: str) -> ElementTree.Element:
    made = ElementTree.SubElement(parent, f"{{{SPACE}}}{name}", attributes)
    made.text = text.clean(said) if name != "content" else "\n".join(map(text.clean, said.split("\n")))
    return made


def write(site: Site, old: Path, new: Path) -> None:
    """The feed of a site that takes the place of an old one, if there is one."""
    started = {f"kernel/{spot.page}": spot.one.result.started for spot in site.spots}
    before, after = _table(old), _table(new)
    entries = [*(changes(before, after, started) if before and after else ()), *_kept(old)][:ENTRIES]
    ElementTree.register_namespace("", SPACE)
    feed = ElementTree.Element(f"{{{SPACE}}}feed")
    _add(feed, "title", "perfmodes: what changed")
    _add(feed, "id", "urn:perfmodes:feed")
    _add(feed, "updated", max((each.updated for each in entries), default="") or max(started.values(), default="") or EPOCH)
    _add(_add(feed, "author"), "name", "perfmodes")
    _add(feed, "link", rel="self", href=FILE)
    for each in entries:
        entry = _add(feed, "entry")
        _add(entry, "title", each.title)
        _add(entry, "id", each.id)
        _add(entry, "updated", each.updated)
        _add(entry, "link", href=each.page)
        _add(entry, "content", each.said, type="text")
    (new / FILE).write_bytes(ElementTree.tostring(feed, encoding="utf-8", xml_declaration=True))
