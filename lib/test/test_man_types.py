# SPDX-License-Identifier: MIT
"""Each structure and constant of a header that is installed is on a manual page, member by member.

The pages are generated, but which types a page shows is written by hand. The headers are read here
in another way than the generator reads them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("man_types")  # one set of pages serves them all
LIB = Path(__file__).resolve().parents[1]
HEADERS = [LIB / "perfmodes.h", *sorted(path for pattern in ("perfmodes_*.h", "*/perfmodes_*.h")
                                        for path in LIB.glob(pattern))]
TEMPLATES = sorted(path for path in LIB.rglob("*.3.in"))


def generate(out: Path, templates: list[Path]) -> str:
    """All pages as one text."""
    command = [sys.executable, LIB / "man" / "pages.py", out, *HEADERS, "--", *templates]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return "\n".join(page.read_text(encoding="utf-8") for page in sorted(out.iterdir()))


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def declared(header: Path) -> dict[str, set[str]]:
    """Types with a body, and what the body declares: the last word before a comma, semicolon, bracket
    or the end of a constant."""
    found = {}
    for kind, name, body in re.findall(r"\b(struct|enum) (pm_\w+)\s*\{([^{}]*)\}",
                                       without_comments(header.read_text(encoding="utf-8"))):
        body = re.sub(r"^[ \t]*#.*$", "", body, flags=re.M)
        body = re.sub(r"\(\*(\w+)\)\([^)]*\)", r"\1", body)
        ends = r"(\w+)\s*(?:\[[^]]*\])?\s*(?:[;,]|$|=)" if kind == "enum" else \
            r"(\w+)\s*(?:\[[^]]*\])?\s*[;,]"
        members = set(re.findall(ends, body))
        found[name] = {word for word in members if not word.isdigit()}
    return found


def missing(pages: str, header: Path) -> list[str]:
    """What is not in a definition of that type on any page."""
    lacking = []
    for name, members in declared(header).items():
        shown = re.findall(rf"^(?:struct|enum) {name} \{{(.*?)^\.Ed", pages, re.M | re.S)
        words = set(re.findall(r"\w+", without_comments("".join(shown))))
        lacking += [name] if not shown else sorted(f"{name}.{one}" for one in members - words)
    return lacking


@pytest.fixture(scope="module", name="pages")
def _pages(tmp_path_factory: pytest.TempPathFactory) -> str:
    return generate(tmp_path_factory.mktemp("man"), TEMPLATES)


@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.stem)
def test_every_member_is_on_a_page(pages: str, header: Path) -> None:
    assert missing(pages, header) == []


def test_members_are_found() -> None:
    known = declared(LIB / "perfmodes_stacks.h")["pm_symbols_opts"]
    assert {"size", "debug_root", "perf_cache", "kallsyms"} <= known
    assert {"sample", "task", "other"} <= declared(LIB / "perfmodes_sample.h")["pm_listener"]
    assert {"from", "to", "flags"} == declared(LIB / "perfmodes_sample.h")["pm_branch"]


def test_a_type_or_member_without_a_page_is_found(pages: str, tmp_path: Path) -> None:
    header = tmp_path / "perfmodes_more.h"
    header.write_text("struct pm_more {\n\tsize_t size;\n};\n"
                      "struct pm_symbols_opts {\n\tconst char *nowhere[4];\t/* debug_root */\n};\n",
                      encoding="utf-8")
    assert missing(pages, header) == ["pm_more", "pm_symbols_opts.nowhere"]
