# SPDX-License-Identifier: MIT
"""An SVG badge: how many of the points that could be asked work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

from reports import text, wordlist
from reports.export.common import Options, Result, cells, title

SUFFIX = "svg"
CHAR, PAD, HEIGHT, TEXT_LIMIT = 6.6, 8, 20, 40


def _size(said: str) -> int:
    return int(len(said) * CHAR) + 2 * PAD


def write(results: Sequence[Result], options: Options) -> str:
    """The badge. Points of absent hardware, of policy and those that were held back as a hazard are not counted: they say
    nothing of the kernel."""
    counts = Counter(cell.verdict for cell in cells(results, options.persona))
    told = sum(counts[word] for word in wordlist.CONCLUSIVE)
    left = text.clean(title(results[0]) if len(results) == 1 else "perf modes", TEXT_LIMIT)
    right = f"{counts['yes']} of {told} work" + (f", {counts['broken']} broken" if counts["broken"] else "")
    a, b = _size(left), _size(right)
    colour = "#b5482a" if counts["broken"] else "#2f6f8f"
    font = 'font-family="Verdana, DejaVu Sans, sans-serif" font-size="11" fill="#fff"'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{a + b}" height="{HEIGHT}" role="img" '
            f'aria-label="{escape(left)}: {escape(right)}"><title>{escape(left)}: {escape(right)}</title>\n'
            f'<rect width="{a}" height="{HEIGHT}" rx="3" fill="#444b52"/>'
            f'<rect x="{a}" width="{b}" height="{HEIGHT}" rx="3" fill="{colour}"/>\n'
            f'<text x="{PAD}" y="14" {font}>{escape(left)}</text>'
            f'<text x="{a + PAD}" y="14" {font}>{escape(right)}</text>\n</svg>\n')
