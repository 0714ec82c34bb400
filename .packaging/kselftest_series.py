# SPDX-License-Identifier: MIT
"""Probes as a patch series for tools/testing/selftests/perf_events of Linux.

    make kselftest-series OUT=DIR [LINUX=TREE|linux-source.tar.xz] [AUTHOR="Name <mail>"]

DIR gets perf_events/, the folder as it is with the series, and a patch with its cover letter for `git am`. What
the series changes is taken from LINUX, a tree or the archive of a linux-source package; without one, from the
newest in /usr/src, or else the newest that apt has. The tests are the probes of TESTS in the words of the kernel's own
harness; probes/kit/series/ has what they share in place of the kit. No file of the kernel is kept.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent
OURS = Path(__file__).resolve().parent / "series"
KIT = TREE / "probes/kit/series"
FOLDER = "tools/testing/selftests/perf_events"
SHARED = ("events.h", "workers.h", "rings.h")
# No PMU, no privilege, some seconds, the same answer each time.
TESTS = ("group/periods", "group/read_by_sibling", "inherit/scope", "ioctl/switch", "output/chain",
         "output/ended_target", "output/lifetime", "output/pause", "output/targets", "read/reset",
         "ring/closed_fd", "sw/clocks", "task/exit_fold")
# Functions that only note something down beside the points.
NOTES = ("try_excluded",)


class Unfit(Exception):
    """What was given cannot be made a series of."""


def _call(argv: list[str | Path], where: Path | None = None) -> str:
    done = subprocess.run(argv, cwd=where, capture_output=True, text=True, check=False, timeout=1800)
    if done.returncode != 0:
        raise Unfit(f"{argv[0]}: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout


def name_of(probe: str) -> str:
    """read/reset -> read_reset"""
    return probe.replace("/", "_")


def title_of(source: str) -> str:
    """What a probe is about, from its declaration."""
    found = re.search(r'TITLE\("([^"]+)"', source)
    if not found:
        raise Unfit("a probe without a title")
    return found[1]


def _without(text: str, function: str) -> str:
    """Text without a function and the calls of it."""
    text = re.sub(rf"^static void {function}\(.*?^}}\n\n", "", text, flags=re.M | re.S)
    return re.sub(rf"^\t{function}\([^;]*\);\n", "", text, flags=re.M)


def _noted(body: re.Match[str]) -> str:
    """The set-up of a fixture that writes down which test runs, behind its declarations."""
    declared = re.match(r"(?:\t(?:struct|int|const|static|uint64_t|pid_t)\b[^\n]*\n(?:\t\t[^\n]*\n)*)+\n", body[2])
    at = declared.end() if declared else 0
    return f"{body[1]}{body[2][:at]}\trunning = _metadata;\n{body[2][at:]}"


def _opened(line: str, outer: list[int]) -> list[int]:
    """Columns behind the parentheses that are open after a line."""
    columns, column, quoted = list(outer), 0, ""
    for at, sign in enumerate(line):
        column = column // 8 * 8 + 8 if sign == "\t" else column + 1
        if quoted:
            quoted = "" if sign == quoted and line[at - 1] != "\\" else quoted
        elif sign in "\"'":
            quoted = sign
        elif sign == "(":
            columns.append(column)
        elif sign == ")" and columns:
            columns.pop()
    return columns


def _width(line: str) -> int:
    return len(re.match(r"\s*", line.expandtabs(8))[0])  # type: ignore[index]


def styled(text: str) -> str:
    """The kernel's types and formats: lines that stood below a parenthesis still do."""
    text = re.sub(r'" PRI([uxd])64 "', r"ll\1", text)
    text = re.sub(r'" PRI([uxd])64', r'll\1"', text)
    text = re.sub(r'(?<!\\)"\n\s*"', "", text)
    old: list[int] = []
    new: list[int] = []
    lines = []
    for line in text.split("\n"):
        changed = re.sub(r"\buint(32|64)_t\b", r"__u\1", line)
        if old and line.strip() and _width(line) == old[-1]:
            changed = "\t" * (new[-1] // 8) + " " * (new[-1] % 8) + changed.lstrip()
        code = re.match(r"\s*(?:/?\*|//)", line) is None
        old, new = (_opened(line, old), _opened(changed, new)) if code else ([], [])
        lines.append(changed)
    return "\n".join(lines)


def converted(source: str, name: str) -> str:
    """A probe in the words of the kernel's harness."""
    text = re.sub(r"^/\* (SPDX[^*]*?) \*/", r"// \1", source)
    text = re.sub(r'^#include [<"][^\n]*\n', "", text, flags=re.M)
    text = re.sub(r"^PROBE\(.*?\)\)\n\n", "", text, count=1, flags=re.M | re.S)
    text = text.replace(" */\n\n", ' */\n#include "rings.h"\n\n', 1)
    for function in NOTES:
        text = _without(text, function)
    text = re.sub(r"^\tfact_\w+\([^;]*\);\n", "", text, flags=re.M)
    text = text.replace("PROBE_MAIN", "TEST_HARNESS_MAIN").replace("ASSERT_EQ(0, ", "must_succeed(")
    text = text.replace("probe_env()->page_size", "(size_t)sysconf(_SC_PAGESIZE)")
    text = re.sub(r"\bpm_", "ev_", text).replace("};\nFIXTURE_VARIANT_ADD", "};\n\nFIXTURE_VARIANT_ADD")
    fixture = name.partition("_")[2]
    first = re.search(r"^TEST\(", text, re.M)
    if first:
        made = f"FIXTURE({fixture})\n{{\n}};\n\nFIXTURE_SETUP({fixture})\n{{\n}}\n\nFIXTURE_TEARDOWN({fixture})\n{{\n}}\n\n"
        # A comment on the first test stays with it.
        start = text.rfind("\n}\n\n", 0, first.start()) + 4
        at = start if start > 3 and text[start:first.start()].startswith("/*") else first.start()
        text = text[:at] + made + text[at:]
        text = re.sub(r"^TEST\((\w+)\)", rf"TEST_F({fixture}, \1)", text, flags=re.M)
    text = re.sub(r"^(FIXTURE_SETUP\(\w+\)\n\{\n)(.*?^\}\n)", _noted, text, flags=re.M | re.S)
    left = re.search(r"\b(?:ASSERT_\w+|EXPECT_\w+|fact_\w+|PROBE\w*|require|ask_open)\(", text)
    if left:
        raise Unfit(f"{name}: {left[0]} has no word in the kernel's harness")
    return styled(text)


def _newest() -> Path | None:
    def version(path: Path) -> list[int]:
        return [int(part) for part in re.findall(r"\d+", path.name)]
    return max(Path("/usr/src").glob("linux-source-*.tar.xz"), key=version, default=None)


def _download(folder: Path) -> Path:
    """The archive of the newest linux-source that apt has."""
    names = re.findall(r"^(linux-source-\d+\.\d+) ", _call(["apt-cache", "search", "--names-only", r"^linux-source-[0-9.]*$"]), re.M)
    if not names:
        raise Unfit("apt has no linux-source: LINUX= is to name a tree, or the archive of such a package")
    newest = max(names, key=lambda name: [int(part) for part in re.findall(r"\d+", name)])
    _call(["apt-get", "-q", "download", newest], folder)
    (package,) = folder.glob("linux-source-*.deb")
    _call(["dpkg-deb", "-x", package, folder / "package"])
    (archive,) = (folder / "package/usr/src").glob("linux-source-*.tar.xz")
    return archive


def base(linux: Path | None, into: Path, scratch: Path) -> None:
    """What the series changes, as a kernel has it."""
    given = linux or _newest() or _download(scratch)
    if given.is_dir():
        for name in ("MAINTAINERS", FOLDER):
            if not (given / name).exists():
                raise Unfit(f"{given} has no {name}: no tree of Linux, or an old one")
        shutil.copytree(given / FOLDER, into / FOLDER, ignore=lambda _, names: {
            name for name in names if not re.fullmatch(r"Makefile|config|settings|\.gitignore|.*\.[ch]", name)})
        shutil.copy(given / "MAINTAINERS", into)
        return
    _call(["tar", "-xf", given, "-C", into, "--strip-components=1", "--wildcards", f"*/{FOLDER}/*", "*/MAINTAINERS"])


def change(tree: Path) -> list[str]:
    """The tests, laid into a tree. Returns their names and titles."""
    folder, listed = tree / FOLDER, []
    for name in SHARED:
        shutil.copy(KIT / name, folder)
    for probe in TESTS:
        source = (TREE / "probes" / f"{probe}.c").read_text(encoding="utf-8")
        (folder / f"{name_of(probe)}.c").write_text(converted(source, name_of(probe)), encoding="utf-8")
        listed.append(f"  {name_of(probe):24} {title_of(source)}")
    names = [name_of(probe) for probe in TESTS]
    makefile = (folder / "Makefile").read_text(encoding="utf-8")
    added = "".join(f"TEST_GEN_PROGS += {name}\n" for name in names)
    made = re.sub(r"^include \.\./lib\.mk$", f"{added}\nLOCAL_HDRS += {' '.join(SHARED)}\n\ninclude ../lib.mk", makefile, flags=re.M)
    if made == makefile:
        raise Unfit(f"{FOLDER}/Makefile has no line `include ../lib.mk`")
    (folder / "Makefile").write_text(made, encoding="utf-8")
    with open(folder / ".gitignore", "a", encoding="utf-8") as file:
        file.write("".join(f"{name}\n" for name in names))
    for name, text in (("config", "CONFIG_PERF_EVENTS=y\n"), ("settings", "timeout=120\n")):
        if not (folder / name).exists():
            (folder / name).write_text(text, encoding="ascii")
    maintained = (tree / "MAINTAINERS").read_text(encoding="utf-8")
    line = f"F:\t{FOLDER}/\n"
    if line not in maintained:
        entry = re.sub(r"(^PERFORMANCE EVENTS SUBSYSTEM\n.*?F:\ttools/lib/perf/\nF:\ttools/perf/\n)", rf"\1{line}", maintained,
                       count=1, flags=re.M | re.S)
        (tree / "MAINTAINERS").write_text(entry, encoding="utf-8")
    return listed


def series(linux: Path | None, out: Path, author: str) -> None:
    """Make the series."""
    if not re.fullmatch(r"[^<>\n]+ <[^<>@\s]+@[^<>\s]+>", author):
        raise Unfit(f"AUTHOR= is to be \"Name <mail>\", not {author!r}")
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "tree"
        tree.mkdir()
        base(linux, tree, Path(scratch))
        who, mail = re.match(r"(.*) <(.*)>", author).groups()  # type: ignore[union-attr]
        git = ["git", "-c", f"user.name={who}", "-c", f"user.email={mail}", "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgsign=false"]
        _call(["git", "init", "-q", "-b", "base"], tree)
        _call([*git, "add", "-A", "-f"], tree)
        _call([*git, "commit", "-q", "-m", "base"], tree)
        tests = change(tree)
        _call([*git, "add", "-A", "-f"], tree)
        _call([*git, "commit", "-q", "-s", "-F", OURS / "commit.txt"], tree)
        out.mkdir(parents=True, exist_ok=True)
        for old in [*out.glob("*.patch"), *out.glob("perf_events")]:
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        _call([*git, "format-patch", "-q", "--cover-letter", "--base=HEAD~1", "-o", out.resolve(), "HEAD~1"], tree)
        subject, _, text = (OURS / "cover.txt").read_text(encoding="utf-8").replace("@TESTS@", "\n".join(tests)).partition("\n\n")
        cover = out / "0000-cover-letter.patch"
        cover.write_text(cover.read_text(encoding="utf-8").replace("*** SUBJECT HERE ***", subject)
                         .replace("*** BLURB HERE ***", text.rstrip()), encoding="utf-8")
        shutil.copytree(tree / FOLDER, out / "perf_events")
    print(f"{len(TESTS)} tests, {', '.join(sorted(path.name for path in out.glob('*.patch')))} in {out}")


def main(words: list[str]) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="kselftest_series")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--linux", type=Path)
    parser.add_argument("--author", default="")
    options = parser.parse_args(words)
    author = options.author
    try:
        if not author:
            author = re.sub(r" \d+ [+-]\d+$", "", _call(["git", "var", "GIT_AUTHOR_IDENT"], TREE).strip())
        series(options.linux, options.out, author)
    except Unfit as error:
        print(f"kselftest-series: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
