# SPDX-License-Identifier: MIT
"""The options of the command for devices."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kernels import TYPED
from kernels.options import add_replay

EPILOG = """exit status: 0 done and nothing unexpected, 1 broken or unexpected verdicts, or a device that
went down among its probes, 2 usage, 3 at least one device could not run, 130 or 143 interrupted"""


def add(verbs: Any) -> None:
    """Add the verb to those of kernels."""
    made = verbs.add_parser(
        "device", prog=TYPED["device"], help="run a suite on devices", epilog=EPILOG,
        description="run a suite on devices",
    )  # fmt: skip
    made.add_argument(
        "target", nargs="*", metavar="TARGET",
        help="name or tag of the inventory, `all`, ssh:[USER@]HOST[:PORT], adb:SERIAL, "
        "serial:/PATH[@BAUD], serial:tcp:HOST:PORT, lava:IDENTITY/DEVICE-TYPE, the identity one of lavacli's, or "
        "labgrid:[COORDINATOR/]PLACE, labgrid:[COORDINATOR/]TAG=VALUE[,TAG=VALUE...]",
    )  # fmt: skip
    _where(made)
    _what(made)
    _machinery(made)


def _where(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--inventory", type=Path, metavar="FILE",
        help="devices.toml (default: $PERFMODES_DEVICES, ~/.config/perfmodes/devices.toml)",
    )  # fmt: skip
    made.add_argument("--ssh-config", type=Path, metavar="FILE", help="for ssh, in place of the user's")
    made.add_argument(
        "--bundle", default="", metavar="URL",
        help="a folder on the device that has the bundle; for lava, also whence it fetches bundle.tar[.gz]",
    )  # fmt: skip
    made.add_argument(
        "--base", default="", metavar="JOB", help="for lava: a job of the lab that boots such a device"
    )
    made.add_argument("--list", action="store_true", help="print the devices and stop")
    made.add_argument("--health", action="store_true", help="ask how the devices are and stop")
    made.add_argument("--report", action="store_true", help="print what became of the devices in the last days and stop")
    made.add_argument("--days", type=int, default=7, help="for --report: how many (default: 7)")
    made.add_argument("--clean", action="store_true", help="remove what earlier runs have left there and stop")
    made.add_argument(
        "--force", action="store_true", help="take a device from another run: end that, and remove its folder"
    )
    made.add_argument(
        "--matrix", nargs="*", metavar="RUN",
        help="print where devices differ (default: of the latest run) and stop; runs of kernels may be "
        "among them; with --all every point",
    )  # fmt: skip
    made.add_argument("--all", action="store_true", help="with --matrix: also what all agree on")
    made.add_argument(
        "--diff", nargs="+", metavar="NAME",
        help="print what differs between two devices (NAME NAME [RUN]) and stop",
    )  # fmt: skip


def _what(made: argparse.ArgumentParser) -> None:
    made.add_argument("--suite", help="a name in suites/ or the path of a .txt file (default: default)")
    add_replay(made)
    made.add_argument("--probe", action="append", default=[], help="probes whose id matches, in place of the suite's")
    made.add_argument("--persona", help="only these, of suites/personas.txt, with commas")
    made.add_argument(
        "--paranoid", default="kernel", metavar="LEVEL",
        help="perf_event_paranoid for the run, or several (-1,0,1,2); the inventory must allow them "
        "(default: leave it as it is)",
    )  # fmt: skip
    made.add_argument(
        "--may-disturb", action="store_true",
        help="let probes change CPUs and sysctls; the inventory must allow it",
    )  # fmt: skip
    made.add_argument(
        "--clear-perf-harden", action="store_true",
        help="Android: security.perf_harden=0 for the run, put back afterwards; the inventory must allow it",
    )  # fmt: skip
    made.add_argument(
        "--hazards", action="store_true",
        help="run probes known to hang or crash some kernels; the inventory must allow it",
    )  # fmt: skip


def _machinery(made: argparse.ArgumentParser) -> None:
    made.add_argument("--jobs", type=int, default=32, help="devices at a time (default: 32)")
    made.add_argument("--timeout", type=int, default=0, help="seconds for a whole run on a device")
    made.add_argument("--out", type=Path, help="folder for the results (default: results/devices/TIME)")
    made.add_argument(
        "--resume", action="store_true", help="ask what is not answered in --out or in the latest run"
    )
    made.add_argument(
        "--keep-names", action="store_true",
        help="leave host names, accounts, serial numbers, MAC addresses and folders in the results",
    )  # fmt: skip
    made.add_argument("--junit", type=Path, help="write a JUnit file, one test case a device")
    made.add_argument(
        "--metrics", type=Path, metavar="FILE", help="write what is on record of the devices for node_exporter"
    )
    made.add_argument("--no-build", action="store_true", help="use the bundles as they are")
    made.add_argument("--no-install", action="store_true", help="install no packages")
    made.set_defaults(no_disturb=True)
