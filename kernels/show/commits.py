# SPDX-License-Identifier: MIT
"""Which commit changed an answer: `git bisect` in a tree, each kernel built, booted and asked.

A commit whose kernel does not build, does not boot or does not tell is skipped, as git does it. The
ends are built and asked first: a tree and a package of one version are not the same kernel.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kernels.errors import Missing, Usage
from kernels.matrix import Row
from kernels.show.bisect import Answer
from kernels.source.tree import Tree
from reports import wordlist
from reports.text import clean

Ask = Callable[[str], Answer]  # a commit is checked out: build, boot and ask it
RELEASE = re.compile(r"(\d+\.\d+)(?:\.(\d+))?")
FIRST = re.compile(r"^([0-9a-f]{40}) is the first new commit", re.MULTILINE)


def key(repository: Path) -> str:
    """A word for a repository, for the folder its kernels are built in."""
    return hashlib.sha256(str(repository.resolve()).encode()).hexdigest()[:12]


def row_of(row: Row, image: Path, name: str) -> Row:
    """The row with a kernel that was built in place of the packaged one."""
    if row.dtb or row.pmu or row.arch.runner != "qemu":
        raise Usage(f"{row.name} needs more than a kernel: --git is for rows without board or PMU")
    return replace(row, name=name, kernel=str(image))


def tag(tree: Tree, release: str) -> str:
    """The tag of a release as Linux names them: v6.16.12, or v6.16 in a tree without stable ones."""
    match = RELEASE.match(release)
    names = [f"v{match[0]}", f"v{match[1]}"] if match else []
    for name in names:
        if tree.commit(name):
            return name
    raise Usage(
        f"{tree.repository}: no tag for {release or 'this kernel'}; name both ends: --range OLD..NEW"
    )


def ends(tree: Tree, wanted: str, old: Answer, new: Answer) -> tuple[str, str]:
    """The commits to search between: the user's, or the tags of both releases."""
    first, _, last = wanted.partition("..")
    names = (first, last) if wanted else (tag(tree, old.release), tag(tree, new.release))
    found = tuple(tree.commit(name) if name else "" for name in names)
    for name, commit in zip(names, found, strict=True):
        if not commit:
            raise Usage(f"--range is OLD..NEW; {tree.repository} has no commit {name!r}")
    return found[0], found[1]


def _told(answer: Answer) -> bool:
    return answer.verdict in wordlist.CONCLUSIVE


def _at(tree: Tree, commit: str, ask: Ask) -> Answer:
    moved = tree.git("checkout", "-q", "--detach", commit)
    if moved.returncode:
        raise Missing(f"git checkout {commit[:12]}: {clean(moved.stderr, 200)}")
    return ask(commit)


def _subject(tree: Tree, commit: str) -> str:
    said = tree.git("show", "-s", "--format=%h (\"%s\") %as", commit).stdout.strip()
    return clean(said, 200)


def _step(tree: Tree, ask: Ask, old: str) -> str:
    """Ask the commit that git chose, and tell git. Returns what git says to it."""
    commit = tree.git("rev-parse", "HEAD").stdout.strip()
    answer = ask(commit)
    word = "skip" if not _told(answer) else "old" if answer.verdict == old else "new"
    done = tree.git("bisect", word)
    if done.returncode not in (0, 2):
        raise Missing(f"git bisect {word}: {clean(done.stderr or done.stdout, 300)}")
    return done.stdout


def search(tree: Tree, old: str, new: str, ask: Ask) -> list[str]:
    """The answer in lines. `old` and `new` are commits, and the worktree is open."""
    before, after = _at(tree, old, ask), _at(tree, new, ask)
    for end in (before, after):
        if not _told(end):
            raise Missing(f"{end.row} does not tell: {end.verdict or 'no result'}, {end.reason}")
    if before.verdict == after.verdict:
        raise Missing(f"built from the tree, both ends say {before.verdict}: nothing to search for")
    said = tree.git("bisect", "start", "--term-old", "old", "--term-new", "new", new, old)
    if said.returncode:
        raise Missing(f"git bisect start: {clean(said.stderr or said.stdout, 300)}")
    text = said.stdout
    while not FIRST.search(text) and "'skip'ped commits left" not in text:
        text = _step(tree, ask, before.verdict)
    found = FIRST.search(text)
    if found:
        return [f"the first commit that says otherwise: {_subject(tree, found[1])}"]
    left = re.findall(r"^[0-9a-f]{40}$", text, re.MULTILINE)
    return ["one of these, none of which tells:"] + [f"  {_subject(tree, one)}" for one in left]
