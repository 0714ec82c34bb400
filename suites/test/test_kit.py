# SPDX-License-Identifier: MIT
"""The page of the kit's words is what the headers say, and a word that says nothing is found."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from conftest import TREE, run


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    """A copy of the kit with its page."""
    shutil.copytree(TREE / "probes/kit", tmp_path / "probes/kit")
    shutil.copy(TREE / "probes/KIT.md", tmp_path / "probes/KIT.md")
    return tmp_path / "probes/kit"


def check(kit: Path) -> tuple[int, str]:
    done = run("/usr/bin/python3", kit / "list-words", "--check")
    return done.returncode, done.stderr


def test_the_page_is_what_the_headers_say() -> None:
    assert check(TREE / "probes/kit") == (0, "")


@pytest.mark.parametrize("new, message", [
    ("int must_guess(int fd);\n", "must_guess has no comment"),
    ("#define GUESS(fd) must_guess(fd)\n", "GUESS has no comment"),
    ("/* Guess what the kernel means. */\nint must_guess(int fd);\n", "71 words come with probe.h, at most 70"),
])
def test_what_a_header_must_not_declare(new: str, message: str, kit: Path) -> None:
    header = kit / "open.h"
    header.write_text(header.read_text().replace("#endif\n", f"{new}\n#endif\n"))
    status, said = check(kit)
    assert status == 1 and message in said


def test_a_changed_comment_makes_the_page_old(kit: Path) -> None:
    header = kit / "open.h"
    header.write_text(header.read_text().replace("/* Do an ioctl that", "/* Make an ioctl that"))
    status, said = check(kit)
    assert status == 1 and "run probes/kit/list-words" in said


def test_no_probe_knows_the_harness_own_word() -> None:
    """Helpers take no _metadata: harness.h notes the test that is running."""
    for file in (TREE / "probes").glob("*/*.[ch]"):
        if file.name != "harness.h":
            assert not re.search(r"\b_metadata\b", file.read_text()), file
