# SPDX-License-Identifier: MIT
"""The command line: rows in, result directories out."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from kernels import ROOT, matrix, name, reader, workflow
from kernels.device import command, options as device
from kernels.errors import RowError, Usage, reason
from kernels.guest.place import GuestPlace
from kernels.lab import command as lab_command, options as lab
from kernels.matrix import Matrix, Row
from kernels.options import chosen, how, parser, request, results_folder, suite_file
from kernels.place.bundle import bundles, find_bundle, with_suite
from kernels.place.engine import Engine
from kernels.place.judge import resumable
from kernels.place.report import Report
from kernels.probes import check_point
from kernels.show import bisect, commits, compare, summary as show, versions
from kernels.show.listing import listing
from kernels.show.progress import Progress
from kernels.source import cross, fetch, sysroot
from kernels.source.tree import TINY, NoBuild, Tree
from reports import speak, text
from reports.text import Unusable


def print_bundles(args: argparse.Namespace, listed: Matrix) -> int:
    found, lacking = cross.buildable(listed) if args.here else (cross.bundles(listed), [])
    print("\n".join(found))
    for what in lacking:
        print(f"perfmodes: left out: {what}", file=sys.stderr)
    return 0


def install(args: argparse.Namespace, rows: list[Row]) -> None:
    """Install the packages these rows need, unless the user does that otherwise."""
    script = ROOT / ".ci" / "install"
    if not args.no_install and script.exists() and shutil.which("apt-get"):
        groups = ["kernels"] if args.no_build else ["kernels", "build"]
        emulators = {row.arch.qemu_package for row in rows if not row.unavailable} - {""}
        groups += [f"deb:{name}" for name in sorted(emulators)] + ["tree"] * bool(args.git)
        subprocess.run([str(script), *groups], check=False)


def known(rows: list[Row], folder: Path, resume: bool) -> list[Report]:
    """The rows with nothing left to run: unavailable, or finished by the run that is resumed."""
    earlier = [resumable(folder, row.name) for row in rows if resume]
    gone = [Report(row.name, unavailable=row.unavailable) for row in rows if row.unavailable]
    return [report for report in earlier if report] + gone


def run(args: argparse.Namespace, listed: Matrix) -> int:
    if args.matrix:
        return compare.table([args.matrix], args.all)
    if args.diff:
        return compare.diff(args.diff)
    if (args.git or args.range or args.config or args.versions) and not args.bisect:
        raise Usage("--git, --range, --config and --versions go with --bisect")
    if args.git and args.versions:
        raise Usage("--git is for a tree, --versions for where there is none")
    if args.bisect:
        return bisect_rows(args, listed)
    rows = [row.here() for row in chosen(args, listed)]
    if args.list:
        listing(listed, rows, show.console())
        return 0
    return boot_rows(args, rows)


def boot_rows(args: argparse.Namespace, rows: list[Row]) -> int:
    """Boot the rows and report on them. Returns the exit status."""
    if args.bundle and not (args.bundle / "run.sh").is_file():
        raise Usage(f"--bundle: no bundle in {args.bundle}: run.sh is missing")
    wanted, began = request(args), time.monotonic()
    install(args, rows)
    progress = Progress([row.name for row in rows], show.console(stderr=True))
    fetcher = fetch.fetcher(args.mirror, args.refresh, progress.note)
    folder, guests = results_folder(args), how(args)
    reports = known(rows, folder, args.resume)
    for report in reports:
        progress.ended(report.name, show.line(report))
    settled = {report.name for report in reports}
    places = [GuestPlace(row, fetcher, guests) for row in rows if row.name not in settled]
    machines = (place.facts().machine for place in places)
    made: dict[str, Path | str]
    if args.bundle:
        made = dict.fromkeys(machines, args.bundle)
    else:
        made = bundles(machines, not args.no_build, not args.no_install)
    say = lambda report: progress.ended(report.name, show.line(report))  # noqa: E731
    with with_suite(made, suite_file(args), args.replay) as whole:
        engine = Engine(folder, wanted, whole, progress.set)
        reports += engine.run_all(places, args.jobs, say, progress.live())
    show.closing(reports, [row.name for row in rows], time.monotonic() - began, folder)
    if args.junit:
        text.write_named(args.junit, show.junit(reports))
    return max((report.status for report in reports), default=0)


def run_search(search: bisect.Search, point: str, whole: bool) -> tuple[bisect.Answer, bisect.Answer]:
    """The last row of one answer and the first of the other, which are printed; whole: ask every row."""
    for index in range(len(search.rows) if whole else 0):
        search.at(index)
    last, first = search.run()
    print("\n".join(bisect.report(search, last, first, point)), flush=True)
    return last, first


def bisect_rows(args: argparse.Namespace, listed: Matrix) -> int:
    """Ask one probe on as few rows as needed; answers of the same probe are kept and used again."""
    point, *ends = args.bisect
    (probe, of_probe), persona = bisect.split(point), args.persona or "root"
    rows = {row.name: row for row in bisect.between(listed, *ends, args.versions)}
    args.probe, args.persona = [probe], persona
    check_point(probe, of_probe)
    wanted, note = request(args), lambda line: print(line, file=sys.stderr)
    install(args, list(rows.values()))
    machine = next(iter(rows.values())).arch.bundle
    bundle = find_bundle(machine, not args.no_build, not args.no_install)
    folder = args.out or bisect.cache(ROOT / "results" / "kernels", bundle, probe, persona)
    fetcher = fetch.fetcher(args.mirror, args.refresh, note)
    folder.mkdir(parents=True, exist_ok=True)

    def ask_row(row: Row) -> bisect.Answer:
        made = resumable(folder, row.name)
        if not made:
            place = GuestPlace(row, fetcher, how(args))
            made = Engine(folder, wanted, {machine: bundle}).run(place)
        failed = bisect.Answer(row.name, made.release, "", made.error)
        where = folder / row.name
        answer = failed if made.error else bisect.answer_of(where, row.name, persona, point)
        print(f"  {answer}", flush=True)
        return answer

    print(f"{point} as {persona}, {len(rows)} rows:", flush=True)
    ends = [next(iter(rows))] * 2
    if len(rows) > 1:
        found = run_search(bisect.Search(list(rows), lambda name: ask_row(rows[name])), point, args.all)
        ends = [answer.row for answer in found]
    if args.versions:
        search, named = versions.search(fetcher, rows[ends[0]], rows[ends[1]], ask_row)
        print(f"versions of {ends[1]}:", flush=True)
        border = [named[answer.row] for answer in run_search(search, point, args.all)]
        print("\n".join(versions.changes(fetcher, *border, folder)))
    if args.git:
        bisect_commits(args, rows[ends[1]], found, ask_row)
    return 0


def bisect_commits(
    args: argparse.Namespace,
    row: Row,
    found: tuple[bisect.Answer, bisect.Answer],
    ask_row: Callable[[Row], bisect.Answer],
) -> None:
    """Go on in a git tree between the two rows: build the kernel of a commit, and ask it."""
    small = "-tiny" if args.config == TINY else ""
    home = fetch.cache_home() / "trees" / f"{row.arch.name}-{commits.key(args.git)}{small}"
    tree = Tree(args.git.resolve(), home, row.arch, args.config)
    old, new = commits.ends(tree, args.range, *found)

    def ask(commit: str) -> bisect.Answer:
        name = f"git-{commit[:12]}"
        try:
            image = tree.build()
        except NoBuild as error:
            print(f"  {name} is skipped: {error}", flush=True)
            return bisect.Answer(name, "", "", str(error))
        return ask_row(commits.row_of(row, image, name))

    with tree.opened(old):
        print(f"in {args.git}, kernels built in {os.path.relpath(tree.output)}:", flush=True)
        print("\n".join(commits.search(tree, old, new, ask)))


def print_workflow(args: argparse.Namespace, listed: Matrix) -> int:
    if args.write:
        workflow.FILE.parent.mkdir(parents=True, exist_ok=True)
        workflow.FILE.write_text(workflow.text(listed), encoding="utf-8")
    else:
        print(workflow.text(listed), end="")
    return 0


def on_devices(args: argparse.Namespace, listed: Matrix) -> int:
    return command.run(args)


def in_a_lab(args: argparse.Namespace, listed: Matrix) -> int:
    return lab_command.run(args, listed)


VERBS = {
    "run": run,
    "device": on_devices,
    "lab": in_a_lab,
    "cross": cross.verb,
    "sysroot": sysroot.verb,
    "bundles": print_bundles,
    "workflow": print_workflow,
}


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LAST_SECONDS = 2        # for what is left to be written, after a signal


def _ending() -> list[signal.Signals]:
    """Those that are not ignored from the start, as nohup(1) has it for SIGHUP."""
    return [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]


def _patience(signum: int, frame: FrameType | None) -> None:
    os.write(2, b"perfmodes: already ending; what was started is being put away\n")


_told: list[int] = []    # the signal that ends the run


def _ended(signum: int, frame: FrameType | None) -> None:
    """The first signal ends the run. Later ones find that under way, and must not break it off."""
    _told.append(signum)
    for number in _ending():
        signal.signal(number, _patience)
    if signum == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + signum)


def _wait_no_longer(status: int) -> None:
    """Told to end, with all put away, nobody waits for a reader that does not read."""
    signal.signal(signal.SIGALRM, lambda signum, frame: os._exit(status))
    signal.alarm(LAST_SECONDS)


def main(argv: Sequence[str]) -> int:
    try:
        try:
            return _main(argv)
        finally:
            if _told:
                _wait_no_longer(128 + _told[0])
            if sys.stdout:
                sys.stdout.flush()
            signal.alarm(0)     # nothing is left to be written: what ends the interpreter has its time
    except BrokenPipeError:
        if not reader.gone():
            raise
        return reader.leave()
    except OSError as error:  # the flush: a disk that is full
        reader.leave()
        speak.aside(f"{name(*argv[:1] or ['run'])}: standard output: {error.strerror}")
        return 3


def _with_levels(argv: Sequence[str]) -> list[str]:
    """Words for argparse, which takes the levels of `--paranoid -1,0` for an option."""
    found = list(argv)
    for at in range(len(found) - 1, 0, -1):
        if found[at - 1] == "--paranoid" and found[at].startswith("-1"):
            found[at - 1:at + 1] = [f"--paranoid={found[at]}"]
    return found


def _main(argv: Sequence[str]) -> int:
    args = parser(device.add, lab.add).parse_args(_with_levels(argv))
    before = {number: signal.signal(number, _ended) for number in _ending()}
    try:
        status = VERBS[args.verb](args, matrix.load())
    except (RowError, Unusable, OSError) as error:
        if isinstance(error, BrokenPipeError) and reader.gone():
            raise
        speak.aside(f"{name(args.verb)}: {text.clean(reason(error), show.LIMIT)}")
        status = 2 if isinstance(error, (Usage, Unusable)) else 3
    except KeyboardInterrupt:
        speak.aside("perfmodes: interrupted; what had finished is kept, --resume asks the rest")
        return 130
    for number, handler in before.items():
        signal.signal(number, handler)
    return status
