# SPDX-License-Identifier: MIT
"""Pictures that are drawn here, as SVG in the page: they print, and need no script."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup, escape

from reports import expect, text

WIDTH, BAR, GAP, LEFT, RIGHT = 720, 16, 5, 100, 150
_OFFSET = re.compile(r"(\d+):(-?\d+)\+-(\d+)")
CPUS = 64


def _svg(height: int, title: str, body: list[str]) -> Markup:
    return Markup('<svg class="picture" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, height, title, Markup("\n").join(Markup(line) for line in body))


def _text(x: float, y: float, said: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text.clean(said, 60))}</text>'


def bars(title: str, rows: Sequence[tuple[str, int, int]]) -> Markup:
    """Horizontal bars: (name, part, whole); the part is dark."""
    most = max((whole for _name, _part, whole in rows), default=1) or 1
    room = WIDTH - LEFT - RIGHT
    body = []
    for number, (name, part, whole) in enumerate(rows):
        y = number * (BAR + GAP)
        body += [_text(LEFT - 8, y + 12, name, "end"),
                 f'<rect class="whole" x="{LEFT}" y="{y}" width="{room * whole / most:.1f}" height="{BAR}"/>',
                 f'<rect class="part" x="{LEFT}" y="{y}" width="{room * part / most:.1f}" height="{BAR}"/>',
                 _text(LEFT + room * whole / most + 6, y + 12, f"{part} of {whole}")]
    return _svg(len(rows) * (BAR + GAP) + 4, title, body)


def costs(title: str, rows: Sequence[tuple[str, int]]) -> Markup:
    """Horizontal bars of times or rates: (name, value)."""
    most, room, left = max(time for _name, time in rows), WIDTH - LEFT - RIGHT - 80, LEFT + 80
    body = []
    for number, (name, time) in enumerate(rows):
        y = number * (BAR + GAP)
        body += [_text(left - 8, y + 12, name[:24], "end"),
                 f'<rect class="part" x="{left}" y="{y}" width="{room * time / most:.1f}" height="{BAR}"/>',
                 _text(left + room * time / most + 6, y + 12, f"{time:,}")]
    return _svg(len(rows) * (BAR + GAP) + 4, title, body)


def _span(since: str) -> tuple[int, int]:
    """Which five releases a release is one of."""
    major, minor, _patch = expect.release_of(since) or (0, 0, 0)
    return major, minor // 5 * 5


def arrivals(points: Sequence[tuple[str, bool]]) -> Markup:
    """(since, works) of each point, by five releases."""
    whole = Counter(_span(since) for since, _works in points if since)
    part = Counter(_span(since) for since, works in points if since and works)
    return bars("Points by the release they came with", [
        ("2.6" if major == 2 else f"{major}.{minor} to {major}.{minor + 4}", part[major, minor],
         whole[major, minor]) for major, minor in sorted(whole)])


def offsets(said: str) -> list[tuple[int, int, int]]:
    """(CPU, nanoseconds, half width) of the fact `offsets` of clock.per_cpu."""
    return [(int(cpu), int(value), int(width)) for cpu, value, width in
            _OFFSET.findall(said[:4000])][:CPUS]


def skew(found: Sequence[tuple[int, int, int]]) -> Markup:
    """Each CPU against the first, with its uncertainty."""
    first = found[0][1]
    points = [(cpu, value - first, width) for cpu, value, width in found]
    reach = max(abs(value) + width for _cpu, value, width in points) or 1
    middle, scale = (WIDTH + LEFT - RIGHT) / 2, (WIDTH - LEFT - RIGHT) / 2 / reach
    height = len(points) * (BAR + GAP)
    body = [f'<line class="zero" x1="{middle:.1f}" y1="0" x2="{middle:.1f}" y2="{height}"/>']
    for number, (cpu, value, width) in enumerate(points):
        y = number * (BAR + GAP) + BAR / 2
        x = middle + value * scale
        body += [_text(LEFT - 8, y + 4, f"CPU {cpu}", "end"),
                 f'<line class="width" x1="{x - width * scale:.1f}" y1="{y}" '
                 f'x2="{x + width * scale:.1f}" y2="{y}"/>',
                 f'<circle class="part" cx="{x:.1f}" cy="{y}" r="4"/>',
                 _text(WIDTH, y + 4, f"{value:+} ± {width} ns", "end")]
    return _svg(height, "Clock of each CPU against the first, in nanoseconds", body)
