# SPDX-License-Identifier: MIT
"""A C header of macros: what a profile knows for certain, for code that is built for one kernel.

A point is 1 or 0, so that `#if PM_RING_WRITE_BACKWARD_NEWEST_FIRST` works; a point that is unknown has no
macro. Facts are numbers or texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from reports import merge, profile, text, wordlist
from reports.export.common import Options, Result, title
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
    if value in wordlist.OF_KERNEL:
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
        if value != "blocked":
            yield f"#define {name} {_value(value)}"
            if value in wordlist.OF_KERNEL:
                yield f'#define {name}_VERDICT "{value}"'


def write(results: Sequence[Result], options: Options) -> str:
    """The header of one result, or of what several have in common."""
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]{0,40}", options.prefix):
        raise Unusable("a prefix is a C identifier of at most 40 characters")
    made, conflicts = merge.merge([(title(each), profile.derive(each)) for each in results])
    found = merge.view(made, options.persona) if options.persona else made["kernel"]
    guard = macro(options.prefix, "profile_h")
    names = "; ".join(title(each) for each in results)[:400]
    about = text.clean(names).encode("ascii", "backslashreplace").decode().replace("*/", "* /")
    about = about.replace("\\", "/").replace("??", "? ?")
    lines = [f"/* {len(results)} result(s): {about}", f" * {len(conflicts)} points differ between them. */",
             f"#ifndef {guard}", f"#define {guard}", "", *_macros(found, options.prefix), "",
             f"#endif /* {guard} */"]
    return "\n".join(lines) + "\n"
