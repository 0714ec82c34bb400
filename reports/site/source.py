# SPDX-License-Identifier: MIT
"""What the tree says of a point besides its declaration: why it matters, how it is observed, and where
the library decides by it. All of it is read as text; without a tree there is none."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from reports import text

FILE_LIMIT = 1 << 20
_COMMENT = re.compile(r"/\*(?!\s*SPDX)(.*?)\*/", re.DOTALL)
_KEY = re.compile(r'"([a-z0-9_]+(?:\.[a-z0-9_]+){2,})"')
_NEEDS = re.compile(r'X\("([a-z0-9_.]+)"')


@dataclass(frozen=True)
class About:
    """The comment at the start of a probe, in its parts."""
    why: str = ""
    observed: str = ""
    commits: tuple[str, ...] = ()


@dataclass(frozen=True)
class Use:
    """A file of the library that decides by a fact."""
    name: str
    what: str
    path: str


@dataclass
class Sources:
    """All that was read."""
    probes: dict[str, About] = field(default_factory=dict)
    uses: dict[str, list[Use]] = field(default_factory=dict)


def _opening(path: Path) -> str:
    """The first comment of a file that is no licence line, as running text."""
    try:
        said = text.decode(text.read_bounded(path, FILE_LIMIT)[0])[0]
    except OSError:
        return ""
    match = _COMMENT.search(said)
    lines = [re.sub(r"^\s*\*? ?", "", line).rstrip() for line in match[1].split("\n")] if match else []
    return "\n".join(lines).strip()


def about(comment: str) -> About:
    """The comment taken apart: the question and why it is asked, what is watched, the commits."""
    body, *commits = re.split(r"(?m)^Linux commit ", comment)
    why, _, observed = body.partition("Observed:")
    said = [" ".join(part.split()) for part in (why, observed)]
    return About(text.clean(said[0], 2000), text.clean(said[1], 2000),
                 tuple(text.clean("Linux commit " + " ".join(each.split()), 300) for each in commits))


def read(tree: Path = Path(".")) -> Sources:
    """The sources of the tree."""
    found = Sources()
    # lint: allow arrow: a probe's opening comment is its documentation
    for path in sorted(tree.glob("probes/*/*.c")):
        comment = _opening(path)
        if comment:
            found.probes[f"{path.parent.name}.{path.stem}"] = about(comment)
    # lint: allow arrow: which file of the library names a fact, to point there
    for path in sorted(tree.glob("lib/policy/**/*.c")):
        if "test" in path.parts:
            continue
        said = text.decode(text.read_bounded(path, FILE_LIMIT)[0])[0]
        opening = " ".join(_opening(path).split())
        kind = "strategy " if path.parent.name == "strategy" else ""
        use = Use(f"{kind}{path.stem}", text.clean(opening.partition(". ")[0], 300), path.as_posix())
        for key in dict.fromkeys(_KEY.findall(said) + _NEEDS.findall(said)):
            found.uses.setdefault(key, []).append(use)
    return found
