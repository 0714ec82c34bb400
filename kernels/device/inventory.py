# SPDX-License-Identifier: MIT
"""devices.toml: which devices there are, how they are reached, what their owner allows.

An entry says what is allowed; what it does not mention is not. See devices.toml beside this file.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema

from kernels.errors import Usage
from kernels.lab.place import Lab
from kernels.place.owner import Owner
from reports import speak
from reports.text import Unusable, load_toml

HERE = Path(__file__).resolve().parent
EXAMPLE = HERE / "devices.toml"
TRANSPORTS = ("ssh", "adb", "serial", "lava", "labgrid")
TAKEN = ("all", "logs", "latest")  # a word for every device, and folders of a run
LABS = ("lava", "labgrid")  # somebody else decides whose turn it is


@dataclass(frozen=True)
class Device:
    """One device. `named` is false for one that was given on the command line: its address must
    not become the name of its results."""

    name: str
    transport: str
    address: str
    tags: tuple[str, ...] = ()
    about: str = ""
    owner: Owner = Owner()
    ssh_config: str = ""
    lab: Lab = Lab()
    named: bool = True


@dataclass(frozen=True)
class Inventory:
    """The devices of a file, by name."""

    devices: dict[str, Device] = field(default_factory=dict)
    path: Path | None = None
    limits: dict[str, int] = field(default_factory=dict)  # of a tag: how many devices that have it at a time

    def pick(self, words: list[str]) -> list[Device]:
        """Devices by name, pattern or tag, or TRANSPORT:ADDRESS. Each comes once."""
        found: dict[str, Device] = {}
        for word in words:
            for device in self._meant(word):
                found.setdefault(device.name, device)
        return list(found.values())

    def _meant(self, word: str) -> list[Device]:
        transport, colon, address = word.partition(":")
        if colon and transport in TRANSPORTS:
            return [given(transport, address)]
        meant = [
            device
            for device in self.devices.values()
            if word in device.tags or word == "all" or fnmatch.fnmatchcase(device.name, word)
        ]
        if not meant:
            known = f"of {self.path} {' '.join(self.devices)}" if self.path else "none, for want of a devices.toml"
            ways = ", ".join(f"{transport}:..." for transport in TRANSPORTS)
            tags = {tag for device in self.devices.values() for tag in device.tags}
            meant = speak.near(word, [*self.devices, *tags])
            raise Usage(f"no device or tag {word!r}; there are: {known}; or {ways}{meant}")
        return meant


def given(transport: str, address: str) -> Device:
    """A device that is in no inventory. Nothing is known of its owner, so nothing is allowed. Its
    name says nothing about where it is, and is the same each time."""
    if not address:
        raise Usage(f"{transport}: needs an address")
    mark = hashlib.sha256(f"{transport}:{address}".encode()).hexdigest()[:6]
    return Device(f"{transport}-{mark}", transport, address, named=False)


def find(asked: Path | None) -> Path | None:
    """The inventory that was asked for, or $PERFMODES_DEVICES, or the user's own; None if there is
    none."""
    if asked:
        return asked
    told = os.environ.get("PERFMODES_DEVICES")
    if told:
        return Path(told)
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    own = Path(home) / "perfmodes" / "devices.toml"
    return own if own.is_file() else None


def load(path: Path | None) -> Inventory:
    """Read and check an inventory. Raises Usage."""
    if not path:
        return Inventory()
    try:
        told = load_toml(path)
    except Unusable as error:
        raise Usage(str(error)) from None
    _check(path, told)
    devices: dict[str, Device] = {}
    for entry in told["device"]:
        device = _device(entry, told.get("defaults", {}), path.parent)
        if device.name in TAKEN or device.name.endswith(".part"):
            raise Usage(f"{path}: a device cannot be called {device.name}: that means something else")
        if device.name in devices:
            raise Usage(f"{path}: two devices are called {device.name}")
        devices[device.name] = device
    limits = told.get("limits", {})
    tags = {tag for device in devices.values() for tag in device.tags}
    for unknown in sorted(limits.keys() - tags):
        raise Usage(f"{path}: limits: no device has the tag {unknown!r}{speak.near(unknown, sorted(tags))}")
    return Inventory(devices, path, limits)


def _check(path: Path, told: dict[str, Any]) -> None:
    schema = json.loads((HERE / "schema.json").read_text(encoding="utf-8"))
    checker = jsonschema.Draft202012Validator(schema)
    wrong = jsonschema.exceptions.best_match(checker.iter_errors(told))
    if wrong:
        raise Usage(f"{path}: {_where(told, list(wrong.absolute_path))}: {wrong.message[:200]}")


def _where(told: dict[str, Any], parts: list[Any]) -> str:
    """Which place of the file is wrong: of a device, which one by its name."""
    if parts[:1] != ["device"] or len(parts) < 2:
        return ".".join(str(part) for part in parts) or "file"
    entry = told["device"][parts[1]]
    name = entry.get("name") if isinstance(entry, dict) else None
    which = f"device {name[:80]!r}" if isinstance(name, str) else f"device number {parts[1] + 1}"
    return ": ".join([which, ".".join(str(part) for part in parts[2:])]).removesuffix(": ")


def _device(entry: dict[str, Any], defaults: dict[str, Any], folder: Path) -> Device:
    limits = {**defaults, **entry.get("owner", {})}
    limits["levels"] = tuple(str(level) for level in limits.get("levels", ()))
    for words in ("quiet", "power_cycle", "before", "after"):
        limits[words] = tuple(limits.get(words, ()))
    limits["quarantine"] = limits.pop("quarantine_after", 0)
    limits["disturb"] = limits.pop("may_disturb", False)
    config, base = entry.get("ssh_config", ""), entry.get("base", "")
    return Device(
        entry["name"],
        entry["transport"],
        entry["address"],
        tuple(entry.get("tags", ())),
        entry.get("about", ""),
        Owner(**limits),
        str(folder / os.path.expanduser(config)) if config else "",
        Lab(entry.get("bundle", ""), str(folder / os.path.expanduser(base)) if base else ""),
    )
