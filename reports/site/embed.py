# SPDX-License-Identifier: MIT
"""A feature for the pages of others: an image, embed/FEATURE.svg, and a small page for an iframe, embed/FEATURE.html.
Both run nothing, and load nothing but the style that the page has beside it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from reports import text, wordlist
from reports.features import Feature
from reports.site import places
from reports.site.model import MIXED
from reports.site.places import Place
from reports.site.render import Pages

if TYPE_CHECKING:
    from reports.site.start import Start

FRONT = Path(__file__).with_name("front")
STYLES = ("colour.css", "verdict.css", "embed.css")
CELL, LEFT, TOP, NAME_LIMIT, LETTER = 20, 84, 40, 24, 6.4
FRAME, FRAME_ROW = 160, 72      # pixels of an iframe: its words, and those of a persona
SIGNS = wordlist.SIGNS | {"yes": "", MIXED: "\N{PLUS-MINUS SIGN}", "": ""}


@lru_cache(maxsize=1)
def colours() -> list[tuple[str, str, str]]:
    """(name, by day, by night) of each colour of the site's style."""
    said = (FRONT / STYLES[0]).read_text(encoding="utf-8")
    return re.findall(r"--([a-z0-9-]+): light-dark\((#[0-9a-f]+), (#[0-9a-f]+)\);", said)


@dataclass
class Card:
    """What is told of a feature: a row for each persona, a column for each kernel."""
    feature: Feature
    places: list[Place]
    rows: list[tuple[str, list[str]]]
    since: str

    @property
    def names(self) -> list[str]:
        return [text.clean(place.name, NAME_LIMIT) for place in self.places]

    @property
    def newest(self) -> str:
        """The day of the newest answer."""
        return max((text.clean(place.spot.one.result.started[:10], 20) for place in self.places), default="")

    @property
    def top(self) -> int:
        """Where the rows begin: names of kernels stand above them, upright."""
        return TOP + int(max(map(len, self.names), default=0) * LETTER) + 8

    @property
    def width(self) -> int:
        return max(LEFT + CELL * len(self.places) + 8, int((len(self.feature.name) + 2) * 8.2), 380)

    @property
    def height(self) -> int:
        return self.top + CELL * len(self.rows) + 30

    @property
    def frame(self) -> int:
        """How high an iframe should be."""
        return FRAME + self.top - TOP + FRAME_ROW * len(self.rows)

    def said(self, verdicts: list[str]) -> str:
        """A row in words: "yes on 20, blocked on 6"."""
        counts = Counter(each or "not asked" for each in verdicts)
        return ", ".join(f"{word} on {count}" for word, count in counts.most_common())

    @property
    def words(self) -> str:
        """The whole in words, for who does not see it."""
        rows = "; ".join(f"as {persona}: {self.said(verdicts)}" for persona, verdicts in self.rows)
        return f"{self.feature.name}, by {text.count(len(self.places), 'kernel')}: {rows}"


def of(begin: Start, each: Feature) -> Card:
    """A feature on the kernels of the start page, each at its usual level. What a persona was not asked stays empty."""
    shown = places.shown(begin.places)
    rows = [(persona, [place.verdict(each, persona) if persona in place.spot.columns else "" for place in shown])
            for persona in begin.personas]
    return Card(each, shown, rows, begin.since[each.id])


def write(begin: Start, pages: Pages) -> None:
    """Both, of each feature."""
    pages.write("embed/embed.css", "\n".join((FRONT / name).read_text(encoding="utf-8") for name in STYLES))
    for each in begin.features:
        card = of(begin, each)
        for suffix in ("svg", "html"):
            pages.page(f"embed.{suffix}", f"embed/{each.id}.{suffix}", card=card, colours=colours(), signs=SIGNS,
                       size=CELL, left=LEFT)
