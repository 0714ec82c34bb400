# SPDX-License-Identifier: MIT
"""./run.sh device: devices in, result directories out."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from kernels import ROOT
from kernels.device import history, manifest, nights
from kernels.device.fleet import THREADS, Fleet, Groups, Turns, without_bundle
from kernels.device.inventory import LABS, TRANSPORTS, Device, Inventory, find, load
from kernels.device.lock import locked
from kernels.device.logs import Logs
from kernels.errors import RowError, Usage, reason
from kernels.lab.place import Lab, LavaPlace, Scheduled, jobs_of
from kernels.lab.shelf import LabgridPlace
from kernels.options import request, results_folder, suite_file
from kernels.place.adb import AdbLink
from kernels.place.bring import packing
from kernels.place.bundle import bundles, with_suite
from kernels.place.follow import Pace
from kernels.place.judge import resumable
from kernels.place.private import Private
from kernels.place.remote import RemotePlace
from kernels.place.report import Report
from kernels.place.scratch import scratch
from kernels.place.serial import SerialLink
from kernels.place.ssh import SshLink
from kernels.show import compare, summary as show
from kernels.show.progress import Progress
from reports import text

RUNS = ROOT / "results" / "devices"
PACE = Pace()


def ssh_config(device: Device, args: argparse.Namespace) -> Path | None:
    """The configuration that ssh is to use. ssh would wait for ever for one that is a FIFO."""
    config = args.ssh_config or device.ssh_config
    if config:
        text.require_file(Path(config))
    return Path(config) if config else None


def place_of(device: Device, args: argparse.Namespace) -> RemotePlace:
    """The place behind a device. Its address is a name that stays out of results."""
    config = ssh_config(device, args)
    link: SshLink | AdbLink | SerialLink
    if device.transport == "adb":
        link = AdbLink(device.address)
    elif device.transport == "serial":
        link = SerialLink(device.address)
    else:
        link = SshLink(device.address, config)
    private = Private([device.address, *link.names], args.keep_names)
    made = RemotePlace(device.name, link, device.transport, device.owner, PACE, private)
    made.force = args.force
    made.clear, made.there = args.clear_perf_harden, args.bundle or device.lab.bundle
    if made.there and not made.there.startswith("/"):
        raise Usage(f"{device.name}: --bundle is a folder on the device, not {made.there!r}")
    return made


def lab_of(device: Device, args: argparse.Namespace) -> Scheduled:
    """A device whose turn its lab decides: a place of labgrid, or a device type of LAVA."""
    if device.transport == "labgrid":
        return shelf_of(device, args)
    lab = Lab(args.bundle or device.lab.bundle, args.base or device.lab.base)
    identity = device.address.partition("/")[0]
    private = Private([identity], args.keep_names)
    return LavaPlace(device.name, device.address, lab, private, resume=args.resume)


def shelf_of(device: Device, args: argparse.Namespace) -> LabgridPlace:
    @contextmanager
    def whole(machine: str) -> Iterator[dict[str, Path | str]]:
        made = bundles([machine], not args.no_build, not args.no_install)
        with with_suite(made, suite_file(args), args.replay) as suited:
            yield suited

    config = ssh_config(device, args)
    return LabgridPlace(
        device.name, device.address, whole, device.owner, Private(keep=args.keep_names), PACE,
        config, args.clear_perf_harden,
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    if args.matrix is not None:
        return compare.table(args.matrix or ["latest"], args.all, RUNS)
    if args.diff:
        return compare.diff(args.diff, RUNS)
    for option in ("jobs", "days"):
        if getattr(args, option) < 1:
            raise Usage(f"--{option} is a positive number")
    listed = load(find(args.inventory))
    if args.list and not args.health:
        return listing(listed, args)
    every = ["all"] if listed.devices and (args.health or args.report) else []
    devices = listed.pick(args.target or every)
    if not devices:
        ways = ", ".join(f"{transport}:..." for transport in TRANSPORTS)
        raise Usage(f"which device? {' '.join(listed.devices) or 'there is no devices.toml'}; or {ways}")
    if args.report:
        return nights.report(devices, args.days, show.console(), time.time())
    places = [place_of(device, args) for device in devices if device.transport not in LABS]
    labs = [lab_of(device, args) for device in devices if device.transport in LABS]
    with scratch():
        try:
            if args.clean:
                return clean(places)
            return health(places, labs) if args.health else probe(places, labs, devices, args, listed.limits)
        finally:
            for place in places:
                place.link.close()


class Told:
    """The JUnit file, written anew with each result; whatever ends the run, every device is in it."""

    def __init__(self, path: Path | None, names: list[str]) -> None:
        self.path, self._names = path, names
        self._reports: dict[str, Report] = {}
        self._lock = threading.Lock()

    def add(self, report: Report) -> None:
        with self._lock:
            self._reports[report.name] = report
            self._write([*self._reports.values()])

    def _write(self, reports: list[Report]) -> None:
        if self.path:
            text.write_named(self.path, show.junit(reports, "devices"))

    def __enter__(self) -> None:
        self._write([])

    def __exit__(self, *how: object) -> None:
        without = [Report(name, error="the command ended before it") for name in self._names]
        self._write([self._reports.get(report.name, report) for report in without])


def listing(listed: Inventory, args: argparse.Namespace) -> int:
    """--list: every device with its tags and what is allowed there."""
    out = show.console()
    if not listed.path:
        out.print("no devices.toml: kernels/device/devices.toml is an example", soft_wrap=True)
    devices = listed.pick(args.target) if args.target else list(listed.devices.values())
    for device in devices:
        said = f"{device.transport}:{device.address}; tags: {', '.join(device.tags) or 'none'}"
        out.print(f"{device.name:<20} {said}", soft_wrap=True, markup=False, highlight=False)
        for line in filter(None, (device.about, allowed(device))):
            out.print(f"{'':<20} {line}", soft_wrap=True, markup=False, highlight=False)
    return 0


def allowed(device: Device) -> str:
    owner = device.owner
    may = ["--may-disturb"] * owner.disturb + ["--hazards"] * owner.hazards
    may += ["--clear-perf-harden"] * owner.perf_harden
    may += [f"--paranoid {','.join(owner.levels)}"] if owner.levels else []
    quiet = f"; not within {', '.join(owner.quiet)}" if owner.quiet else ""
    return f"allowed: {', '.join(may) or 'what changes nothing'}{quiet}"


def side_by_side(places: list[RemotePlace], ask: Callable[[RemotePlace], str]) -> dict[str, tuple[bool, str]]:
    """Ask every device something. For each whether that went well, and what was said."""
    turns, stop = Turns(), threading.Event()

    def one(place: RemotePlace) -> tuple[str, tuple[bool, str]]:
        turns.wait(stop)
        place.stop = stop
        try:
            return place.name, (True, ask(place))
        except (RowError, OSError) as error:
            return place.name, (False, reason(error))

    with ThreadPoolExecutor(max(1, min(len(places), THREADS))) as pool:
        try:
            return dict(pool.map(one, places))
        finally:
            stop.set()


def clean(places: list[RemotePlace]) -> int:
    """--clean: what earlier runs have left is removed. 3 if a device cannot be asked."""

    def ask(place: RemotePlace) -> str:
        with locked(place.address, place.stop):
            return place.clean()

    done = side_by_side(places, ask)
    for name, (_, said) in done.items():
        print(show.clean(f"{name:<20} {said}"))
    return 0 if all(well for well, _ in done.values()) else 3


def health(places: list[RemotePlace], labs: list[Scheduled]) -> int:
    """--health: a line for each device. 3 if one of them cannot run now."""
    asked = side_by_side(places, lambda place: place.health() or without_bundle(place.facts().machine))
    ill = {name: said for name, (_, said) in asked.items() if said}
    for place in places:
        told = ill.get(place.name) or well(place)
        print(show.clean(f"{place.name:<20} {place.private.spoken(told)}"))
    for lab in labs:
        why = lab.health()
        ill |= {lab.name: why} if why else {}
        print(show.clean(f"{lab.name:<20} {why or 'ok: its lab answers'}"))
    return 3 if ill else 0


def well(place: RemotePlace) -> str:
    known = place.known
    said = [f"ok: {known['machine']}, {known.get('release', '')}"]
    said += [f"Android {known['android']}"] if known.get("android") else []
    said += [f"{int(known['heat']) // 1000} degrees"] if known.get("heat", "").isdecimal() else []
    charge = known.get("battery", "-")
    said += [f"battery {charge.strip('-')} %"] if charge != "-" else []
    return ", ".join(said)


def _introduced(devices: list[Device]) -> dict[str, Device]:
    """By name. One of the command line alone is told with its address: its results have another name."""
    for device in devices:
        if not device.named:
            print(show.clean(f"{device.name} is {device.transport}:{device.address}"), file=sys.stderr)
    return {device.name: device for device in devices}


def _beforehand(devices: dict[str, Device], args: argparse.Namespace, folder: Path) -> list[Report]:
    """Of whom nothing is asked: what --resume finds whole, and what is in quarantine."""
    reports = [made for name in devices if args.resume and (made := resumable(folder, name, whole=True))]
    had = {report.name for report in reports} | set(args.target)
    alone = {name: history.quarantine(device) for name, device in devices.items() if name not in had}
    return reports + [Report(name, unavailable=why) for name, why in alone.items() if why]


def probe(
    places: list[RemotePlace], labs: list[Scheduled], devices: list[Device], args: argparse.Namespace,
    limits: dict[str, int],
) -> int:  # fmt: skip
    """Run the suite on all devices and report on them. Returns the exit status."""
    wanted = request(args)  # what cannot be asked for is told before a folder is made
    began, folder = time.monotonic(), results_folder(args, "devices")
    entries, names = _introduced(devices), [device.name for device in devices]
    progress, logs = Progress(names, show.console(stderr=True)), Logs(folder / "logs")

    def state(name: str, said: str) -> None:
        progress.set(name, said)
        logs.say(name, said)

    privates = {place.name: place.private for place in (*places, *labs)}
    spoken = lambda name, said: privates[name].spoken(said)  # noqa: E731
    told = Told(args.junit, names)

    def ended(report: Report) -> None:
        history.add(entries[report.name], report, folder)
        progress.ended(report.name, show.line(report, privates[report.name].spoken))
        logs.say(report.name, show.line(report))
        told.add(report)

    reports = _beforehand(entries, args, folder)
    had = {report.name for report in reports}
    with told, progress.live():
        for report in reports:
            ended(report)
        left = [lab for lab in labs if lab.name not in had]
        with packing(), jobs_of(left, wanted, folder, state, ended) as of_labs:
            groups = Groups(limits, {device.name: device.tags for device in devices})
            fleet = Fleet(args, folder, state, ended, groups=groups)
            reports += fleet.run([place for place in places if place.name not in had])
        reports += of_labs
    show.closing(reports, names, time.monotonic() - began, folder, "device", spoken)
    manifest.write(folder, names)
    if args.metrics:
        text.write_named(args.metrics, "".join(history.metrics(devices)))
    return max((report.status for report in reports), default=0)
