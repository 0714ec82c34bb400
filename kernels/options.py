# SPDX-License-Identifier: MIT
"""The options of the command line, and the requests they make."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernels import ROOT, TYPED, workflow
from kernels.errors import Usage
from kernels.guest import kvm
from kernels.guest.place import Options
from kernels.matrix import Matrix, Row
from kernels.place.place import Order
from kernels.place.report import Request
from kernels.place.work import LEVELS
from kernels.probes import check_probes
from kernels.source import kind
from reports import personas, recordings, speak

EPILOG = """exit status: 0 done and nothing unexpected, 1 broken or unexpected verdicts, or a guest
that ended badly among its probes, 2 usage, 3 at least one kernel could not run (one that
is unavailable is named and left out), 130 or 143 interrupted"""


def parser(*add: Callable[[Any], None]) -> argparse.ArgumentParser:
    """The command line. `add` are the verbs of other rooms."""
    top = speak.Parser(prog="python3 -m kernels", description="probe kernels in an emulator", epilog=EPILOG)
    verbs = top.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("run", prog=TYPED["run"], help="boot kernels and run a suite in each", epilog=EPILOG)
    _rows(run)
    _comparisons(run)
    _bisection(run)
    _in_the_guest(run)
    _machinery(run)
    _other_verbs(verbs)
    for one in add:
        one(verbs)
    return top


def _rows(run: argparse.ArgumentParser) -> None:
    run.add_argument("name", nargs="*", help="row of the matrix, * matches any part")
    run.add_argument("--tag", action="append", default=[],
                     help="all rows with this tag: ci, core, all, an architecture")
    run.add_argument("--list", action="store_true", help="print the rows and stop")
    run.add_argument(
        "--kernel",
        help="with --arch: your own kernel image, .deb, .rpm or Android boot.img, or the archive's "
        "deb:PACKAGE[=VERSION]",
    )
    run.add_argument("--arch", help="architecture of --kernel: a table of matrix.toml (default: amd64)")


def _comparisons(run: argparse.ArgumentParser) -> None:
    run.add_argument("--matrix", metavar="RUN", nargs="?", const="latest",
                     help="print where the kernels of a run differ (default: the latest) and stop")
    run.add_argument("--all", action="store_true",
                     help="with --matrix: also what all of them agree on; with --bisect: ask every row")
    run.add_argument("--diff", metavar="NAME", nargs="+",
                     help="print what changed between two kernels (NAME NAME [RUN]) and stop")


def _bisection(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--bisect",
        metavar=("POINT", "A", "B"),
        nargs=3,
        help="find between which two rows of the matrix the answer to a point changed (as root, or "
        "--persona), and stop",
    )
    run.add_argument(
        "--git",
        metavar="DIR",
        type=Path,
        help="with --bisect: go on in a git tree of Linux, and build what it takes to name a commit",
    )
    run.add_argument(
        "--range",
        metavar="OLD..NEW",
        default="",
        help="with --git: the commits to search between (default: the tags of both kernels)",
    )
    run.add_argument(
        "--config",
        type=Path,
        help="with --git: configuration of the kernels, or `tiny`: tinyconfig, and what a guest needs "
        "(default: defconfig, and that)",
    )
    run.add_argument(
        "--versions",
        action="store_true",
        help="with --bisect: go on among Debian's versions of the second kernel; A and B may be the same",
    )


def _in_the_guest(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--suite",
        help="suite to run in the guest: a name in suites/ or the path of a .txt file "
        "(default: default; quick for several levels)",
    )
    add_replay(run)
    run.add_argument("--probe", action="append", default=[], help="probes whose id matches this glob, in place of the suite's")
    run.add_argument("--persona", help="only these, of suites/personas.txt, with commas")
    run.add_argument(
        "--paranoid",
        default="2",
        metavar="LEVEL",
        help="perf_event_paranoid in the guest, or `kernel` for its own (default: 2); several, "
        "as in -1,0,1,2,3, run one after the other in one guest, a result each",
    )
    run.add_argument(
        "--may-disturb",
        action="store_true",
        help="let probes change CPUs and sysctls of the guest as every persona, not only as root",
    )
    run.add_argument(
        "--no-disturb", action="store_true", help="do not even as root: fewer guests a row"
    )
    run.add_argument("--pmu", default="", metavar="ARGUMENTS",
                     help="of rows with a synthetic PMU: more arguments of its module, as in lie=frozen")
    run.add_argument("--append", default="", metavar="WORDS",
                     help="more words for the kernel's command line, as in lockdown=integrity; in place of the row's of that name")
    run.add_argument("--hazards", action="store_true", help="run probes known to hang or crash some kernels")


def add_replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--replay", type=Path, metavar="FILE",
                        help="in place of a suite: the calls of a recording (./run.sh explain --record FILE), made again")


def _machinery(run: argparse.ArgumentParser) -> None:
    run.add_argument("--jobs", type=int, default=1, help="guests at a time (default: 1)")
    run.add_argument("--timeout", type=int, default=0, help="seconds for one boot with its suite; up to four times as many on a host that has no processor for it")
    run.add_argument(
        "--out", type=Path, help="directory for the results (default: results/kernels/TIME)"
    )
    run.add_argument(
        "--resume",
        action="store_true",
        help="skip the kernels that --out or results/kernels/latest already has",
    )
    run.add_argument(
        "--keep",
        action="store_true",
        help="leave kernel and initramfs in the result, to boot by hand",
    )
    run.add_argument(
        "--cold", action="store_true", help="boot every guest, start none from a snapshot"
    )
    run.add_argument("--junit", type=Path, help="write a JUnit file, one test case a kernel")
    run.add_argument(
        "--mirror", default="", help="Debian mirror instead of the one the system's apt uses"
    )
    run.add_argument(
        "--refresh", action="store_true", help="fetch package indexes even if they are of today"
    )
    run.add_argument("--no-build", action="store_true", help="use the bundle as it is")
    run.add_argument(
        "--bundle", type=Path, metavar="DIR", help="use this one, whatever machine the row is"
    )
    run.add_argument("--no-install", action="store_true", help="install no packages")


def _other_verbs(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Verbs for make and for maintainers."""
    tools = verbs.add_parser("cross", help="make the tool chain for another machine")
    tools.add_argument("machine", help="a folder below build/: aarch64, s390x ...")
    tools.add_argument("folder", type=Path, help="where to put it")
    tools.add_argument("--mirror", default="", help="Debian mirror")
    tools.add_argument("--no-install", action="store_true", help="install no packages")
    root = verbs.add_parser("sysroot", help="unpack Debian packages of another machine")
    root.add_argument("machine", help="a folder below build/: aarch64, s390x ...")
    root.add_argument("folder", type=Path, help="where to put a link to them")
    root.add_argument("packages", nargs="+", help="their names, in the release of this system")
    root.add_argument("--mirror", default="", help="Debian mirror")
    made = verbs.add_parser("bundles", help="print the machines the matrix has bundles for")
    made.add_argument("--here", action="store_true",
                      help="those alone whose compiler is installed; of the others, what is lacking")
    jobs = verbs.add_parser("workflow", help="print the CI workflow generated from the matrix")
    jobs.add_argument("--write", action="store_true", help=f"into {workflow.FILE.name}")


def chosen(args: argparse.Namespace, listed: Matrix) -> list[Row]:
    rows, arch = listed.pick(args.name, args.tag), args.arch or "amd64"
    if args.arch and not args.kernel:
        raise Usage("--arch goes with --kernel")
    if args.kernel and args.kernel.startswith("deb:"):
        rows.append(listed.from_archive(args.kernel[4:], arch))
    elif args.kernel:
        if not Path(args.kernel).is_file():
            raise Usage(f"no kernel file {args.kernel}")
        rows.append(listed.own(Path(args.kernel), arch))
        if not args.kernel.endswith(".deb"):
            kind.check(Path(args.kernel), rows[-1].arch.apt)
    if not rows and not args.list:
        raise Usage(f"which kernel? {' '.join(listed.rows)}; or --tag, or --kernel FILE")
    return [with_words(with_pmu(row, args.pmu), args.append) for row in rows]


def with_pmu(row: Row, arguments: str) -> Row:
    """A row whose synthetic PMU is told more; a row without one has nothing to tell it to."""
    if arguments and not row.pmu:
        raise Usage(f"--pmu: {row.name} has no synthetic PMU")
    if not re.fullmatch(r"[\w=,. -]*", arguments):
        raise Usage("--pmu takes words like lie=frozen or counters=2")
    return replace(row, pmu=f"{row.pmu} {arguments}") if arguments else row


def with_words(row: Row, words: str) -> Row:
    """A row whose kernel is told more, or otherwise; a limit says so: it is not quite that row any more."""
    if not re.fullmatch(r"[\w=,.:/ -]*", words):
        raise Usage("--append takes words like lockdown=integrity")
    told = {word.partition("=")[0] for word in words.split()}
    kept = [word for word in row.append.split() if word.partition("=")[0] not in told]
    limits = *row.limits, f"its command line had: {words}"
    return replace(row, append=" ".join([*kept, words]), limits=limits) if words else row


def levels(args: argparse.Namespace) -> tuple[str, ...]:
    """The values of --paranoid. None means that the kernel keeps its own."""
    if args.paranoid == "kernel":
        return ()
    found = tuple(dict.fromkeys(args.paranoid.split(",")))
    if not set(found) <= set(LEVELS):
        raise Usage(f"--paranoid is of {' '.join(LEVELS)}, or `kernel`")
    if len(found) > 1 and (args.hazards or args.may_disturb):
        raise Usage("--hazards and --may-disturb go with one level of --paranoid")
    return found


def suite_file(args: argparse.Namespace) -> Path:
    """A name in suites/, or a path as run.sh takes it."""
    suite = "replay" if args.replay else args.suite or ("quick" if len(levels(args)) > 1 else "default")
    ours = ROOT / "suites"
    path = Path(suite) if "/" in suite else ours / f"{suite}.txt"
    if not path.is_file() or path.samefile(personas.TABLE):
        names = {p.stem for p in ours.glob("*.txt")} - {personas.TABLE.stem}
        raise Usage(speak.among("suite", suite, sorted(names)))
    if path.suffix != ".txt" or not re.fullmatch(r"[\w-][\w.-]*", path.stem):
        raise Usage(f"a suite is a file NAME.txt of letters, digits, dots and dashes: {suite!r}")
    if (ours / path.name).exists() and not path.samefile(ours / path.name):
        raise Usage(f"{suite!r}: suites/ has another {path.name}; rename yours")
    return path


def request(args: argparse.Namespace) -> Request:
    wanted = levels(args)
    if not args.bundle:  # of somebody else's, with probes of his own
        check_probes(args.probe)
    if args.replay:
        recordings.read(args.replay)    # what is none is told before anything is booted
    if args.jobs < 1 or args.timeout < 0:
        raise Usage("--jobs and --timeout are positive numbers")
    if args.junit and not args.junit.absolute().parent.is_dir():
        raise Usage(f"--junit: no folder {args.junit.absolute().parent}")
    words = [word for glob in args.probe for word in ("--probe", glob)]
    persona = args.persona or (",".join(personas.defined()) if len(wanted) > 1 else "")
    if why := personas.unknown(persona) if persona else "":
        raise Usage(why)
    words += ["--persona", persona] if persona else []
    order = Order(suite_file(args).stem, tuple(words), wanted, limit=args.timeout)
    as_root = not args.no_disturb and len(wanted) < 2
    return Request(order, args.may_disturb, args.hazards, as_root)


def how(args: argparse.Namespace) -> Options:
    """How guests are started. A snapshot pays off where more than one guest is expected."""
    saved = bool(args.probe) or args.may_disturb or args.hazards
    return Options(args.cold, saved, args.keep, kvm.usable())


def results_folder(args: argparse.Namespace, kind: str = "kernels") -> Path:
    """--out, or results/KIND/<time> with `latest` pointing to it."""
    base = ROOT / "results" / kind
    if args.out:
        folder: Path = args.out
    elif args.resume:
        folder = (base / "latest").resolve()
        if not folder.is_dir():
            raise Usage(f"nothing to resume: no results/{kind}/latest")
    else:
        stamp = again = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        number = 1
        while (base / again).exists():
            number += 1
            again = f"{stamp}-{number}"
        folder = base / again
    folder.mkdir(parents=True, exist_ok=True)
    if folder.parent == base:
        (base / ".latest").unlink(missing_ok=True)
        (base / ".latest").symlink_to(folder.name)
        (base / ".latest").rename(base / "latest")
    return folder
