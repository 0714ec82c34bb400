# SPDX-License-Identifier: MIT
"""The lists that stand in one place: a second one of the same things, in any language, is found.

Each list is a file of rows that C includes and Python reads as text. A copy is a file that repeats
several of its rows: an errno name beside itself as text, a flag or field beside its bit, advice that
gates give, the words of verdicts or the names of personas one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from reports import personas, wordlist

TREE = Path(__file__).resolve().parents[1]
ERRNOS, ABI = "lib/errnos.def", "lib/abi.def"
GATES = "lib/gate"      # with whatever follows
COPIED_ROWS = 4     # fewer are examples
COPIED_WORDS = 3    # one after the other; two are a decision between them

_ERRNO_ROW = re.compile(r"""\b(E[A-Z0-9]{2,})\b[^\w\n"']{1,8}(?:return\s+)?["']\1["']""")
# What the words of gates tell people to change, in text that a program prints.
_ADVICE = re.compile(r'''"[^"\n]*?(setcap|ulimit\ -[nl]|fs\.file-max|SystemCallFilter|CONFIG_PERF_EVENTS=y
                     |out\ of\ descriptors|no\ right\ to\ watch|lockdown=confidentiality
                     |sysctl\ -w\ kernel\.perf_event_\w+)''', re.VERBOSE)
_APART = r"""["']?[ \t]*[,:=(][ \t]*(?:1u?l*[ \t]*<<[ \t]*)?["']?"""
_NUMBERED = re.compile(rf"\b(\d+){_APART}(\w+)")
_NAMED = re.compile(rf"\b(\w+){_APART}(\d+)\b")


@cache
def rows(kind: str, path: Path = TREE / ABI) -> frozenset[tuple[str, int]]:
    """(name, bit) of each row of that kind in the list of the ABI."""
    found = re.findall(rf"^\t{kind}\((\d+), (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return frozenset((name.lower(), int(bit)) for bit, name in found)


def _errnos(text: str) -> dict[str, int]:
    return {match[1]: match.start() for match in _ERRNO_ROW.finditer(text)}


def _gates(text: str) -> dict[str, int]:
    return {match[1]: match.start() for match in _ADVICE.finditer(text)}


def _bits(kind: str, prefix: str) -> Callable[[str], dict[str, int]]:
    """Finds rows of a kind in a text: the name, perhaps behind a prefix, beside its own bit."""
    def find(text: str) -> dict[str, int]:
        pairs = [(match[2], match[1], match.start()) for match in _NUMBERED.finditer(text)]
        pairs += [(match[1], match[2], match.start()) for match in _NAMED.finditer(text)]
        named = [(name.lower().removeprefix(prefix), int(bit), at) for name, bit, at in pairs]
        return {name: at for name, bit, at in named if (name, bit) in rows(kind)}
    return find


# Between two entries: punctuation, words of a switch, and at most two other words, as in
# `"no": "n", "broken"` or `case PM_NO: return 2; case ...`.
_SWITCH = r"(?:(?:case|break)\b\W+)*"
_BETWEEN = re.compile(rf"(?=.{{1,47}}\Z)\W+{_SWITCH}(?:\w+\W+{_SWITCH}){{0,2}}", re.DOTALL)
_BETWEEN_BARE = re.compile(r"[ \t,|/]{1,4}")


def _words(known: Iterable[str]) -> Callable[[str], dict[str, int]]:
    """Finds the longest run of such words: quoted, as constants (YES, PM_YES), or bare and with
    nothing but commas or spaces between them."""
    either = "|".join(known)
    word = re.compile(rf"""(?<![\w-])(?:["']({either})["']|(?:PM_)?({either.upper()})|({either}))"""
                      r"(?![\w-])")

    def find(text: str) -> dict[str, int]:
        longest: dict[str, int] = {}
        run: dict[str, int] = {}
        end, bare = 0, False
        for match in word.finditer(text):
            between = _BETWEEN_BARE if bare or match[3] else _BETWEEN
            if not between.fullmatch(text, end, match.start()):
                run = {}
            run.setdefault((match[1] or match[2] or match[3]).lower(), match.start())
            longest = max(longest, run, key=len)
            end, bare = match.end(), bool(match[3])
        return longest
    return find


@dataclass(frozen=True)
class OneList:
    """A list, and how to find rows of it in a text: their names, and where."""
    path: str
    of: str
    find: Callable[[str], dict[str, int]]
    enough: int = COPIED_ROWS
    in_tests: bool = True


LISTS = (OneList(ERRNOS, "errno names", _errnos),
         OneList(GATES, "gates", _gates),
         OneList(ABI, "flags of the attr", _bits("FLAG", "pm_")),
         OneList(ABI, "fields of samples", _bits("FIELD", "perf_sample_")),
         OneList(ABI, "branch filters", _bits("FILTER", "perf_sample_branch_")),
         # A test says what it expects, word by word; nothing else is made from that.
         OneList(wordlist.SOURCE, "verdicts", _words(wordlist.EVERY), COPIED_WORDS, False),
         OneList(personas.SOURCE, "personas", _words(personas.names()), COPIED_WORDS, False))


def copies(path: str, text: str) -> Iterator[tuple[int, str]]:
    """(line, message) of what a file repeats of a list that is another's."""
    for one in LISTS:
        if path.startswith(one.path) or not (
                one.in_tests or "test" not in PurePosixPath(path).parts):
            continue
        found = one.find(text)
        if len(found) >= one.enough:
            yield (text.count("\n", 0, min(found.values())) + 1,
                   f"a second list of {one.of}, {len(found)} rows: the one is {one.path}")
