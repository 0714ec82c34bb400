# SPDX-License-Identifier: MIT
"""Which device and which kernel a result is from, and what of it is real hardware."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reports import text
from reports.database import pack

# What tells one device from another. Two machines of the same make are the same device: no serial
# number is in a result.
DEVICE = ("arch", "board", "fingerprint", "cpu_model", "cpu_midr", "hypervisor", "emulator", "pmu")
KERNEL = ("arch", "release", "version", "build_id", "config_sha256")
KINDS = ("hardware", "virtual", "emulated", "synthetic")
LABEL_LIMIT = 120


@dataclass(frozen=True)
class Machine:
    """A device, with a key that is the same for each of its results."""
    key: str
    kind: str
    arch: str
    label: str


def kind_of(identity: dict[str, Any]) -> str:
    """hardware, virtual (a hypervisor on the same architecture), emulated, or synthetic (its PMU is
    a module of ours). Only hardware counts as hardware."""
    if identity.get("pmu") == "synthetic":
        return "synthetic"
    if "emulator" in identity or str(identity.get("hypervisor", "")).startswith(("qemu-tcg", "uml")):
        return "emulated"
    return "virtual" if identity.get("hypervisor", "none") != "none" else "hardware"


def label_of(identity: dict[str, Any]) -> str:
    """What a person calls the device."""
    models = identity.get("cpu_model", []) or [f"MIDR {midr}" for midr in identity.get("cpu_midr", [])]
    parts = [str(identity.get("board", "")), " + ".join(models)]
    name = ", ".join(part for part in parts if part) or f"unnamed {identity['arch']} machine"
    extra = identity.get("pmu") or identity.get("emulator") or identity.get("hypervisor")
    return text.clean(f"{name} ({extra})" if extra else name, LABEL_LIMIT)


def _key(identity: dict[str, Any], names: tuple[str, ...]) -> str:
    return pack.digest_of(pack.canonical({name: identity[name] for name in names if name in identity}))


def device_of(identity: dict[str, Any]) -> Machine:
    return Machine(_key(identity, DEVICE), kind_of(identity), text.clean(identity["arch"], 40),
                   label_of(identity))


def kernel_key(identity: dict[str, Any]) -> str:
    return _key(identity, KERNEL)
