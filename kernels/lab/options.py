# SPDX-License-Identifier: MIT
"""The options of the verbs for labs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

ABOUT = "jobs and results of LAVA; guests as devices"
EPILOG = "exit status: 0 done, 1 broken or unexpected verdicts, 2 usage, 3 no result"


def add(verbs: Any) -> None:
    made = verbs.add_parser(
        "lab", prog="python3 -m kernels lab", epilog=EPILOG, help=ABOUT, description=ABOUT
    )  # fmt: skip
    kinds = made.add_subparsers(dest="kind", required=True)
    one = kinds.add_parser("job", help="print a job for a device type and a suite")
    _job_options(one)
    one = kinds.add_parser("guest", help="write the files and the job for a row of the matrix")
    one.add_argument("row", help="./run.sh kernels --list names them")
    one.add_argument("--suite", default="default", help="name of a suite of the bundle")
    one.add_argument("--probe", action="append", default=[], help="probes whose id matches, in place of the suite's")
    one.add_argument("--persona", help="only these, with commas")
    one.add_argument("--minutes", type=int, default=30, help="that the suite may take (30)")
    one.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the files")
    one.add_argument("--no-build", action="store_true", help="use the bundle as it is")
    one.add_argument("--no-install", action="store_true", help="install no packages")
    one = kinds.add_parser("device", help="start a row of the matrix in the place of a device")
    one.add_argument("row", help="./run.sh kernels --list names them")
    one.add_argument("--adb", type=int, default=0, metavar="PORT", help="an adbd at that port of loopback")
    one.add_argument("--serial", type=Path, metavar="SOCKET", help="its console, at a socket that is made")
    one.add_argument("--bundle", action="store_true", help="with the bundle in its initramfs, at /perfmodes")
    one.add_argument("command", nargs=argparse.REMAINDER, help="it runs while this does; else until Ctrl-C")
    one = kinds.add_parser("submit", help="submit it with lavacli, wait, and take in its result")
    _job_options(one)
    one.add_argument("--job", default="", metavar="N", help="one that was submitted before, in place of a new one")
    one.add_argument("--identity", default="default", help="of lavacli: which server, as whom")
    _result_options(one)
    one = kinds.add_parser("ingest", help="result.json out of the log of a job")
    one.add_argument("log", type=Path, help="logs.yaml, a server's log, or messages of lava-run")
    _result_options(one)


def _result_options(made: argparse.ArgumentParser) -> None:
    made.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the result")
    made.add_argument("--keep-names", action="store_true", help="leave MAC addresses in the result")


def _job_options(made: argparse.ArgumentParser) -> None:
    made.add_argument("device_type", help="of the lab; `qemu` needs --kernel and --ramdisk")
    made.add_argument("--suite", default="default", help="name of a suite of the bundle")
    made.add_argument("--probe", action="append", default=[], help="probes whose id matches, in place of the suite's")
    made.add_argument("--persona", help="only these, with commas")
    made.add_argument(
        "--bundle", required=True, help="URL of bundle.tar or bundle.tar.gz, or a folder on the device"
    )
    made.add_argument("--base", type=Path, help="a job of the lab that deploys and boots such a device")
    made.add_argument("--kernel", default="", help="URL, for qemu")
    made.add_argument("--ramdisk", default="", help="URL of a cpio.gz with busybox, for qemu")
    made.add_argument("--append", default="console=ttyS0 rdinit=/init panic=-1", help="for qemu")
    made.add_argument("--minutes", type=int, default=30, help="that the suite may take (30)")
