# SPDX-License-Identifier: MIT
"""A C header of macros: what a profile knows for certain, for code that is built for one kernel.

A point is 1 where it works and 0 where the kernel refuses it or does it wrong, so that
`#if PM_RING_WRITE_BACKWARD_NEWEST_FIRST` works. What is unknown, blocked or a hazard is neither: it has no such
macro, and a hazard or a blocked point has its _VERDICT alone. PM_PROFILE_PERSONA says for whom all that holds, at
PM_PROFILE_LEVEL of perf_event_paranoid; without a persona it is what every persona that could tell agrees on.
Facts are numbers or texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from reports import merge, profile, speak, text, wordlist
from reports.export.common import Options, Result, title
from reports.sheet import level_of
from reports.text import Unusable

SUFFIX = "h"
INT_LIMIT = 1 << 63


def macro(prefix: str, key: str) -> str:
    return prefix + re.sub("[^A-Za-z0-9]", "_", key).upper()


def _literal(value: str) -> str:
    """A C string: every byte that is not plain is an octal escape, so no trigraph or escape begins."""
    made = ""
    for byte in value.encode("utf-8", "backslashreplace"):
        char = chr(byte)
        made += char if 32 <= byte < 127 and char not in '"\\?' else f"\\{byte:03o}"
    return f'"{made}"'


def _value(value: Any) -> str:
    if value in wordlist.CONCLUSIVE:
        return "1" if value == "yes" else "0"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int):
        return f"{value}LL" if abs(value) < INT_LIMIT else _literal(str(value))
    return _literal(str(value))


def _macros(found: dict[str, Any], prefix: str) -> Iterator[str]:
    seen: dict[str, str] = {}
    for key, value in sorted(found.items()):
        name = macro(prefix, key)
        if name in seen:
            raise Unusable(f"{key} and {seen[name]} would both be {name}")
        seen[name] = key
        if value not in wordlist.EVERY or value in wordlist.CONCLUSIVE:
            yield f"#define {name} {_value(value)}"
        if value in wordlist.EVERY:
            yield f'#define {name}_VERDICT "{value}"'


def _level(results: Sequence[Result]) -> str:
    """The level at which all results were asked, or that they differ."""
    levels = {level_of(each) for each in results}
    return levels.pop() if len(levels) == 1 else "several"


Merged = tuple[merge.Profile, list[merge.Conflict]]


def merged(results: Sequence[Result]) -> Merged:
    """What the results have in common, and where they differ."""
    return merge.merge([(title(each), profile.derive(each)) for each in results])


def write(results: Sequence[Result], options: Options, common: Merged | None = None) -> str:
    """The header of one result, or of what several have in common, where that is not known yet."""
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]{0,40}", options.prefix):
        raise speak.Misused("a prefix is a C identifier of at most 40 characters")
    made, conflicts = common or merged(results)
    found = merge.view(made, options.persona) if options.persona else made["kernel"]
    guard, guard_of = macro(options.prefix, "profile_h"), macro(options.prefix, "profile")
    names = "; ".join(title(each) for each in results)[:400]
    about = text.clean(names).encode("ascii", "backslashreplace").decode().replace("*/", "* /")
    about = about.replace("\\", "/").replace("??", "? ?")
    whom = f"For {options.persona}: 1 works, 0 does not; what policy blocks has its _VERDICT alone." if options.persona else \
        "1 works for root or for whoever else was let; policy may block it for others: --persona user tells."
    lines = [f"/* {len(results)} result(s): {about}", f" * {len(conflicts)} points differ between them.", f" * {whom} */",
             f"#ifndef {guard}", f"#define {guard}", "",
             f"#define {guard_of}_PERSONA {_literal(options.persona or 'any')}",
             f"#define {guard_of}_LEVEL {_literal(_level(results))}", "", *_macros(found, options.prefix), "",
             f"#endif /* {guard} */"]
    return "\n".join(lines) + "\n"
