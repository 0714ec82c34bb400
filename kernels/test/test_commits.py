# SPDX-License-Identifier: MIT
"""The search for the commit that changed an answer: real git, kernels that are text files."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kernels import matrix
from kernels.errors import Missing, Usage
from kernels.show import commits
from kernels.show.bisect import Answer
from kernels.source.tree import NEEDED, SMALL, TINY, NoBuild, Tree

pytestmark = [pytest.mark.skipif(not shutil.which(name), reason=f"no {name}: apt-get install {name}")
              for name in ("git", "make")]  # fmt: skip
LISTED = matrix.load()
WORDS = {"y": "yes", "n": "no", "b": "broken", "?": "unknown", "x": ""}
MAKEFILE = """\
all image_name olddefconfig defconfig tinyconfig:
\t@case $@ in image_name) echo arch/kernel ;; tinyconfig) echo tiny > $(O)/.config ;; defconfig) touch $(O)/.config ;; esac
kernel:
\tmkdir -p $(O)/arch && cp answer $(O)/arch/kernel && echo "$(CC)" > $(O)/compiler
"""


def git(folder: Path, *words: str) -> str:
    ids = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    argv = ["git", "-C", str(folder), *ids, *words]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(name="repository")
def _repository(tmp_path: Path) -> Callable[[str], Path]:
    """A repository with a commit for each letter, the first tagged v6.1, the last v6.2."""

    def make(said: str) -> Path:
        folder = tmp_path / "linux"
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main")
        (folder / "Makefile").write_text(MAKEFILE)
        for number, letter in enumerate(said):
            (folder / "answer").write_text(f"{letter} {number}\n")
            git(folder, "add", ".")
            git(folder, "commit", "-q", "-m", f"change {number}")
            if number in (0, len(said) - 1):
                git(folder, "tag", "v6.2" if number else "v6.1")
        return folder

    return make


def tree_of(repository: Path, tmp_path: Path, config: Path | None = None) -> Tree:
    return Tree(repository, tmp_path / "ours", LISTED.arches["amd64"], config)


def asker(tree: Tree, asked: list[str]) -> commits.Ask:
    def ask(commit: str) -> Answer:
        asked.append(commit)
        letter = (tree.source / "answer").read_text()[0]
        return Answer(commit[:12], "6.1", WORDS[letter], "why")

    return ask


def look(repository: Path, tmp_path: Path) -> tuple[list[str], list[str]]:
    tree, asked = tree_of(repository, tmp_path), list[str]()
    old, new = tree.commit("v6.1"), tree.commit("v6.2")
    with tree.opened(old):
        return commits.search(tree, old, new, asker(tree, asked)), asked


@pytest.mark.parametrize(("said", "first"), [("yyyyyynnnn", 6), ("nb", 1), ("nxny", 3)])
def test_the_commit_is_found(
    repository: Callable[[str], Path], tmp_path: Path, said: str, first: int
) -> None:
    lines, asked = look(repository(said), tmp_path)
    assert len(lines) == 1 and f'("change {first}")' in lines[0], lines
    assert len(asked) <= 2 + 2 * len(said).bit_length()


def test_commits_that_do_not_tell_at_the_border_are_all_named(
    repository: Callable[[str], Path], tmp_path: Path
) -> None:
    lines, _ = look(repository("n??y"), tmp_path)
    assert lines[0].startswith("one of these")
    named = sorted(line.split('"')[1] for line in lines[1:])
    assert named == ["change 1", "change 2", "change 3"]


@pytest.mark.parametrize(("said", "why"), [("yy", "both ends say yes"), ("yx", "does not tell")])
def test_ends_that_show_nothing_end_the_search(
    repository: Callable[[str], Path], tmp_path: Path, said: str, why: str
) -> None:
    with pytest.raises(Missing, match=why):
        look(repository(said), tmp_path)


def test_the_users_checkout_and_bisection_stay(
    repository: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = repository("yyynnn")
    git(folder, "bisect", "start", "v6.2", "v6.1")
    (folder / "answer").write_text("work in progress\n")
    before = git(folder, "rev-parse", "HEAD"), git(folder, "bisect", "log")
    look(folder, tmp_path)
    assert (git(folder, "rev-parse", "HEAD"), git(folder, "bisect", "log")) == before
    assert (folder / "answer").read_text() == "work in progress\n"
    assert len(git(folder, "worktree", "list").splitlines()) == 1
    assert not (tmp_path / "ours/source").exists()


def test_the_worktree_goes_when_the_search_is_interrupted(
    repository: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = repository("yn")
    tree = tree_of(folder, tmp_path)
    with pytest.raises(KeyboardInterrupt), tree.opened(tree.commit("v6.1")):
        raise KeyboardInterrupt
    assert len(git(folder, "worktree", "list").splitlines()) == 1 and not tree.source.exists()
    git(folder, "worktree", "add", "--detach", str(tree.source), "v6.1")  # as a killed run leaves one
    with tree.opened(tree.commit("v6.2")):
        assert (tree.source / "answer").read_text() == "n 1\n"


def test_two_searches_do_not_build_in_one_folder(repository: Callable[[str], Path], tmp_path: Path) -> None:
    tree = tree_of(repository("yn"), tmp_path)
    with tree.opened(tree.commit("v6.1")):
        with pytest.raises(Missing, match="another search builds"), tree.opened(tree.commit("v6.2")):
            pass
        assert (tree.source / "answer").read_text() == "y 0\n"
    with tree.opened(tree.commit("v6.2")):
        assert (tree.source / "answer").read_text() == "n 1\n"


def test_a_kernel_is_built(repository: Callable[[str], Path], tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("CONFIG_MINE=y\n")
    for given in (None, config):
        tree = tree_of(tmp_path / "linux" if given else repository("yb"), tmp_path, given)
        with tree.opened(tree.commit("v6.2")):
            assert tree.build().read_text() == "b 1\n"
        kept = (tree.output / ".config").read_text()
        assert kept == ("CONFIG_MINE=y\n" if given else NEEDED)


def test_the_smallest_kernel_has_what_a_guest_needs(repository: Callable[[str], Path], tmp_path: Path) -> None:
    tree = tree_of(repository("yb"), tmp_path, TINY)
    with tree.opened(tree.commit("v6.2")):
        tree.build()
    assert (tree.output / ".config").read_text() == "tiny\n" + SMALL + NEEDED


@pytest.mark.parametrize("there", [True, False])
def test_objects_are_kept_where_ccache_is(
    there: bool, repository: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: ("/ccache" if there else None) if name == "ccache" else found(name))
    tree = tree_of(repository("yb"), tmp_path)
    with tree.opened(tree.commit("v6.2")):
        tree.build()
    assert (tree.output / "compiler").read_text() == ("ccache gcc\n" if there else "cc\n")


def test_a_commit_that_does_not_build_says_why(
    repository: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = repository("yn")
    broken = MAKEFILE.replace("mkdir -p", "@echo error: no >&2; false #")
    (folder / "Makefile").write_text(broken)
    git(folder, "commit", "-qam", "broken")
    tree = tree_of(folder, tmp_path)
    with tree.opened(tree.commit("main")), pytest.raises(NoBuild, match="error: no"):
        tree.build()


def test_the_ends_are_the_tags_of_both_kernels(
    repository: Callable[[str], Path], tmp_path: Path
) -> None:
    tree = tree_of(repository("yyn"), tmp_path)
    tags = tree.commit("v6.1"), tree.commit("v6.2")
    old, new = (Answer("a", release, "yes") for release in ("6.1.0-56-cloud-amd64", "6.2.3+deb13"))
    assert commits.ends(tree, "", old, new) == tags
    assert commits.ends(tree, f"v6.1..{tags[1]}", old, new) == tags
    with pytest.raises(Usage, match="--range OLD..NEW"):
        commits.ends(tree, "", old, Answer("b", "6.9.1", "no"))
    for wrong in ("v6.1", "v6.1..", "..v6.2", "v6.1..v9", "--all..v6.2", "v6.1..-x"):
        with pytest.raises(Usage):
            commits.ends(tree, wrong, old, new)


def test_only_plain_rows_can_take_another_kernel() -> None:
    row = commits.row_of(LISTED.rows["amd64-6.1"], Path("/k/bzImage"), "git-0123")
    assert (row.kernel, row.name, row.cpus) == ("/k/bzImage", "git-0123", 2)
    for name in ("armel-6.1-raspi0", "amd64-6.1-pmu", "uml"):
        with pytest.raises(Usage, match="more than a kernel"):
            commits.row_of(LISTED.rows[name], Path("k"), "git-0")
