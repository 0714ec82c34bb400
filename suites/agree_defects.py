# SPDX-License-Identifier: MIT
"""Reproducers and probes beside each other in guests: do they say the same of each kernel?

    python3 suites/agree_defects.py [--defect NAME]... [--runs 3] [--jobs N] [--out DIR] ROW...
    python3 suites/agree_defects.py --kernel IMAGE --arch amd64

Each reproducer is built as a static program, laid into a copy of the bundle, and run as root in a guest of
each row together with the probes of its points, --runs times. Prints a line a defect and kernel. Exit status:
0 they agree, 1 a program and its probe disagree, 3 a kernel gave no result. What is a hazard runs as well, as
guests are thrown away. A program that ends with 4 and a probe that cannot tell disagree with nothing. Of a
race, what all runs of a kernel saw is compared: a run that saw nothing proves nothing.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TREE))

from reports import defects, expect, result, text  # noqa: E402 - the tree is on no path of its own

# What makes a probe of a reproducer: its main() runs as it is, in a process of its own.
PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#undef main
int defect_main(void);
int main(int argc, char **argv)
{
	int status = -1;
	pid_t child;

	if (argc > 1 && !strcmp(argv[1], "--describe"))
		return printf("id=defect.%s\ntitle=a reproducer\n", strrchr(argv[0], '/') + 1), 0;
	puts("TAP version 13\n1..1");
	fflush(stdout);
	child = fork();
	if (child == 0)
		exit(defect_main());
	waitpid(child, &status, 0);
	printf("# exit %d\nok 1 ran\n", WIFEXITED(status) ? WEXITSTATUS(status) : 255);
	return 0;
}
"""
WORDS = {defects.RIGHT: "right", defects.WRONG: "wrong", defects.UNTOLD: "untold"}


def meaning(verdict: str) -> int | None:
    """What a program ends with where a probe says so; None where the probe cannot tell."""
    return defects.RIGHT if verdict == "yes" else defects.WRONG if verdict in ("no", "broken") else None


def compiler(bundle: str) -> tuple[str, list[str]]:
    """What builds a static program for the machine of a bundle, and its further words."""
    if bundle == os.uname().machine:
        return "gcc", []
    headers = ["/usr/include", *map(str, Path("/usr/include").glob(f"{os.uname().machine}-linux-gnu*"))]
    return str(TREE / "build" / bundle / "cross/cc"), [f"-idirafter{folder}" for folder in headers]


def lay_out(found: list[defects.Defect], bundle: str, folder: Path) -> Path:
    """A copy of a machine's bundle that has the reproducers, as probes called defect.NAME."""
    copy = folder / bundle
    shutil.copytree(TREE / "build" / bundle / "bundle", copy, symlinks=True)
    programs = copy / "bin/probes/defect"
    programs.mkdir()
    main = folder / "main.c"
    main.write_text(PROGRAM, encoding="ascii")
    wanted = []
    tool, words = compiler(bundle)
    for defect in found:
        name = defect.name.replace("-", "_")
        made = defects.build(defect, programs, "-static", "-Dmain=defect_main", str(main), *words, compiler=tool)
        made.rename(programs / name)
        wanted += [f"defect.{name}", *(point.split(".")[0] + "." + point.split(".")[1] for point in defect.points)]
    (folder / f"{bundle}.txt").write_text("\n".join(["personas root", *dict.fromkeys(wanted), ""]), encoding="ascii")
    return copy


def status_of(row: Path, defect: defects.Defect) -> int | None:
    """What the reproducer ended with in a guest."""
    file = row / "root" / f"defect.{defect.name.replace('-', '_')}.ktap"
    ended = re.search(r"^# exit (\d+)$", file.read_text(encoding="utf-8", errors="replace"), re.M) if file.exists() else None
    return int(ended[1]) if ended else None


def compare(row: Path, found: list[defects.Defect]) -> dict[str, tuple[str, list[str], bool]]:
    """Of each defect: what its program said, what its points are, and whether they agree."""
    told: dict[str, str] = {}
    for _, probe, name, point in expect.points(result.load(row)):
        told[f"{probe}.{name}"] = point["verdict"]
    made = {}
    for defect in found:
        status = status_of(row, defect)
        verdicts = [told.get(point, "not asked") for point in defect.points]
        known = {meaning(verdict) for verdict in verdicts} - {None}
        word = WORDS.get(status, f"exit {status}") if status is not None else "did not end"
        agree = status == defects.UNTOLD or not known or status in known
        made[defect.name] = (word, verdicts, agree and word in WORDS.values())
    return made


@dataclass
class Tally:
    """What the runs of one kernel said of a race."""
    programs: set[str] = field(default_factory=set)
    points: set[int | None] = field(default_factory=set)

    def agree(self) -> bool:
        """Both saw it in some run, or neither did in any."""
        return ("wrong" in self.programs) == (defects.WRONG in self.points) or not {*self.points} - {None}


def main(words: list[str]) -> int:
    """Run all that is named; returns the exit status."""
    matrix = text.load_toml(TREE / "kernels/matrix.toml")
    parser = argparse.ArgumentParser(description="reproducers and probes beside each other in guests")
    parser.add_argument("rows", nargs="*", metavar="ROW")
    parser.add_argument("--defect", action="append", help="only these")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--jobs", default="1", help="guests at a time")
    parser.add_argument("--out", type=Path, help="folder of the results (default: none is kept)")
    parser.add_argument("--kernel", help="a kernel of your own, with --arch")
    parser.add_argument("--arch", default="amd64", choices=sorted(matrix["arch"]))
    options = parser.parse_args(words)
    found = [each for each in defects.read() if not options.defect or each.name in options.defect]
    rows = [row for row in matrix["row"] if row["name"] in options.rows]
    wanted: dict[str, list[str]] = {}
    for row in rows:
        wanted.setdefault(matrix["arch"][row["arch"]]["bundle"], []).append(row["name"])
    if options.kernel:
        wanted = {matrix["arch"][options.arch]["bundle"]: ["--kernel", options.kernel, "--arch", options.arch]}
    if not found or not wanted or len(rows) != len(set(options.rows)):
        parser.error("no such defect or row (./run.sh kernels --list names the rows)")
    lost, apart, pairs = 0, 0, 0
    races = {defect.name for defect in found if defect.race}
    tallies: dict[tuple[str, str], Tally] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.out or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for bundle, names in wanted.items():
            copy = lay_out(found, bundle, Path(scratch))
            for run in range(options.runs):
                out = folder / f"{bundle}-{run + 1}"
                subprocess.run(["./run.sh", "kernels", *names, "--bundle", copy, "--suite", f"{scratch}/{bundle}.txt", "--persona",
                                "root", "--hazards", "--no-build", "--jobs", options.jobs, "--out", out],
                               cwd=TREE, stdout=subprocess.DEVNULL, check=False, timeout=3600)
                for row in sorted(path.parent for path in out.glob("*/result.json")):
                    for name, (word, verdicts, agree) in compare(row, found).items():
                        if name in races and word in WORDS.values():
                            tally = tallies.setdefault((row.name, name), Tally())
                            tally.programs.add(word)
                            tally.points |= {meaning(verdict) for verdict in verdicts}
                            agree = True
                        print(f"{row.name:24} {run + 1}  {name:24} {word:8} {' '.join(verdicts)}{'' if agree else '   APART'}",
                              flush=True)
                        told = word in ("right", "wrong") and any(meaning(verdict) is not None for verdict in verdicts)
                        apart, pairs = apart + (not agree), pairs + told
                lost += (len(names) if rows else 1) - len(list(out.glob("*/result.json")))
    for (row_name, name), tally in tallies.items():
        if not tally.agree():
            print(f"{row_name:24} all {name}: one of program and probe alone saw the race   APART", flush=True)
            apart += 1
    print(f"{pairs} pairs of program and probe that both can tell; {apart} disagree; {lost} guests without a result")
    return 1 if apart else 3 if lost else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
