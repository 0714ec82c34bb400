#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the manual pages of functions: prose from *.3.in, what each function does from the headers.

    pages.py OUT HEADER... -- TEMPLATE...

A template begins with `.\\" functions: PATTERN...` and `.\\" types: NAME...`, and names a header and
a package of its own by `.\\" header: NAME` and `.\\" package: NAME`. In it @HEAD@ becomes the head
of the page with all names, @SYNOPSIS@ their declarations, @FUNCTIONS@ a list of them with the
comments that stand above them in the header, and @TYPES@ the definitions of the named types.
A function on two pages or on none is an error.
"""

from __future__ import annotations

import fnmatch
import re
import subprocess
import sys
from pathlib import Path

DATE = "November 21, 2026"
FUNCTION = re.compile(r"/\*((?:[^*]|\*(?!/))*)\*/\n((?:[a-z][\w ]*[ *])(pm_\w+)\([^;{]*\);)")
TYPE = re.compile(r"^(?:enum|struct) (pm_\w+) \{.*?\};$", re.M | re.S)
SENTENCE = re.compile(r"([.!?][)\"]?)\s+")
VERSION = re.compile(r"\s*\((\d+\.\d+)\)\s*$")


class Function:
    """A declaration and the comment above it."""

    def __init__(self, name: str, declaration: str, comment: str) -> None:
        lines = [re.sub(r"^\s*\*? ?", "", line) for line in comment.strip().splitlines()]
        text = "\n".join(lines).strip()
        found = VERSION.search(text)
        self.name = name
        self.declaration = declaration
        self.since = found.group(1) if found else ""
        self.text = VERSION.sub("", text)


def functions(headers: str) -> dict[str, Function]:
    return {name: Function(name, declaration, comment)
            for comment, declaration, name in FUNCTION.findall(headers)}


def expanded(header: Path, name: str) -> str:
    """An enum whose constants are listed in a file of their own, as the compiler sees it through
    the header that includes all others."""
    done = subprocess.run(["gcc", "-E", "-P", str(header)], capture_output=True, text=True,
                          check=True)
    body = re.search(rf"enum {name} \{{(.*?)\}};", done.stdout, re.S)
    constants = [part.strip() for part in body[1].split(",")] if body else []
    return "\n".join([f"enum {name} {{", *(f"\t{one}," for one in constants if one), "};"])


def types(headers: list[Path]) -> dict[str, str]:
    return {found[1]: expanded(headers[0], found[1]) if "#include" in found[0] else found[0]
            for header in headers for found in TYPE.finditer(header.read_text(encoding="utf-8"))}


def escape(text: str) -> str:
    """Text that mdoc leaves alone."""
    text = text.replace("\\", "\\e")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line
                     for line in text.splitlines())


def filled(text: str) -> str:
    """A comment as paragraphs, each sentence on a line of its own."""
    return "\n.Pp\n".join(escape(SENTENCE.sub(r"\1\n", re.sub(r"[ \t]+", " ", part)))
                          for part in re.split(r"\n\s*\n", text))


def head(names: list[str], title: str) -> str:
    listed = " ,\n.Nm ".join(names)
    return (f".Dd {DATE}\n.Dt {title.upper()} 3\n.Os perfmodes\n.Sh NAME\n.Nm {listed}")


def synopsis(chosen: list[Function], header: str, package: str) -> str:
    declared = "\n".join(escape(function.declaration) for function in chosen)
    return (f".Sh SYNOPSIS\n.In {header}\n.Bd -literal\n{declared}\n.Ed\n"
            f".Pp\nCompile and link with\n.Ql pkg-config --cflags --libs {package} .")


def described(chosen: list[Function]) -> str:
    parts = [".Bl -tag -width Ds"]
    for function in chosen:
        parts += [f".It Fn {function.name}", filled(function.text)]
    return "\n".join([*parts, ".El"])


def definitions(names: list[str], known: dict[str, str]) -> str:
    return "\n".join(f".Bd -literal\n{escape(known[name])}\n.Ed" for name in names)


def listed(template: str, what: str) -> list[str]:
    found = re.search(rf'^\.\\" {what}: (.*)$', template, re.M)
    return found.group(1).split() if found else []


def choose(patterns: list[str], known: dict[str, Function]) -> list[Function]:
    """In the order of the patterns, each once."""
    names = dict.fromkeys(name for pattern in patterns for name in known
                          if fnmatch.fnmatchcase(name, pattern))
    return [known[name] for name in names]


def page(template: str, title: str, known: dict[str, Function], defined: dict[str, str]) -> str:
    chosen = choose(listed(template, "functions"), known)
    since = sorted({function.since for function in chosen if function.since})
    filling = {
        "@HEAD@": head([function.name for function in chosen], title),
        "@SYNOPSIS@": synopsis(chosen, *((listed(template, what) or [usual])[0] for what, usual in
                                         (("header", "perfmodes.h"), ("package", "perfmodes")))),
        "@FUNCTIONS@": described(chosen),
        "@TYPES@": definitions(listed(template, "types"), defined),
        "@SINCE@": f".Sh HISTORY\nThese functions came with libperfmodes {', '.join(since)}.",
    }
    for place, text in filling.items():
        template = template.replace(place, text)
    return template


def main(arguments: list[str]) -> int:
    out, rest = Path(arguments[0]), arguments[1:]
    headers = [Path(name) for name in rest[:rest.index("--")]]
    known = functions("\n".join(path.read_text(encoding="utf-8") for path in headers))
    defined = types(headers)
    seen: list[str] = []
    out.mkdir(parents=True, exist_ok=True)
    for name in rest[rest.index("--") + 1:]:
        template = Path(name).read_text(encoding="utf-8")
        title = Path(name).name.removesuffix(".3.in")
        chosen = [function.name for function in choose(listed(template, "functions"), known)]
        if not chosen:
            continue
        seen += chosen
        (out / f"{title}.3").write_text(page(template, title, known, defined), encoding="utf-8")
    wrong = sorted({name for name in known if seen.count(name) != 1})
    if wrong:
        print(f"pages.py: not on exactly one page: {' '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
