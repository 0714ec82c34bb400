# SPDX-License-Identifier: MIT
"""A LAVA job for a device type and a suite.

For QEMU the job is whole: a kernel, an initramfs that waits with the prompt `lava# `, the test. What a
board needs to boot is known to its lab: a job of that lab is taken as the base, and its test actions
are replaced by ours.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from kernels.errors import Usage
from reports.text import Unusable, load_text

ADAPTER = Path(__file__).with_name("adapter")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
URL = re.compile(r"(?:https?|file)://[!-~]+")
QEMU = "qemu"
SPARE = 15  # minutes beside the test, to boot and to bring the bundle


def definition(suite: str, bundle: str, words: tuple[str, ...] = ()) -> dict[str, Any]:
    """The test definition, inline: fetch and unpack the bundle, unless it is a folder there."""
    if not NAME.fullmatch(suite):
        raise Usage(f"not the name of a suite: {suite!r}")
    if any(not re.fullmatch(r"[\w.*,=:/-]+", word) for word in words):
        raise Usage("an argument of run.sh in a job is of letters, digits and .*,=:/-")
    arguments = "".join(f" '{word}'" for word in words)
    steps = ["mkdir -p /tmp/perfmodes && cd /tmp/perfmodes"]
    folder = bundle
    if URL.fullmatch(bundle):
        folder = "/tmp/perfmodes/bundle"
        unpack = "gzip -dc" if bundle.endswith(".gz") else "cat"
        steps += [f"wget -q -O bundle.tar '{bundle}'", f"{unpack} bundle.tar | tar -xf -"]
    elif not re.fullmatch(r"/[\w./-]+", bundle):
        raise Usage(f"--bundle is a URL of bundle.tar or a folder on the device: {bundle!r}")
    steps += [f"cat >adapter <<'END_OF_ADAPTER'\n{ADAPTER.read_text(encoding='utf-8')}END_OF_ADAPTER"]
    steps += [f"sh adapter {folder} {suite}{arguments} || true"]
    meta = {"format": "Lava-Test Test Definition 1.0", "name": "perfmodes",
            "description": f"which modes of perf_event_open work: suite {suite}"}  # fmt: skip
    return {"repository": {"metadata": meta, "run": {"steps": ["\n".join(steps)]}},
            "from": "inline", "name": "perfmodes", "path": "inline/perfmodes.yaml"}  # fmt: skip


def test_action(suite: str, bundle: str, words: tuple[str, ...], minutes: int) -> dict[str, Any]:
    made = definition(suite, bundle, words)
    return {"test": {"timeout": {"minutes": minutes}, "definitions": [made]}}


def for_qemu(kernel: str, ramdisk: str, append: str) -> list[dict[str, Any]]:
    """Deploy and boot. The overlay of LAVA goes into the initramfs itself."""
    for url in (kernel, ramdisk):
        if not URL.fullmatch(url):
            raise Usage(f"--kernel and --ramdisk are URLs: {url!r}")
    images = {
        "kernel": {"image_arg": f'-kernel {{kernel}} -append "{append}"', "url": kernel},
        "ramdisk": {
            "image_arg": "-initrd {ramdisk}", "url": ramdisk, "compression": "gz",
            "format": "cpio.newc", "overlays": {"lava": True},
        },
    }  # fmt: skip
    deploy = {"timeout": {"minutes": 5}, "to": "tmpfs", "os": "oe", "images": images}
    boot = {"timeout": {"minutes": 5}, "method": "qemu", "media": "tmpfs", "prompts": ["lava# "]}
    return [{"deploy": deploy}, {"boot": boot}]


def of_base(base: Path) -> dict[str, Any]:
    """A job of the lab without its tests. Raises Usage."""
    try:
        told = yaml.safe_load(load_text(base))
        told["actions"] = [action for action in told["actions"] if "test" not in action]
    except Unusable as error:
        raise Usage(str(error)) from None
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise Usage(f"{base}: not a job: {str(error)[:200]}") from None
    if not isinstance(told, dict) or not told["actions"]:
        raise Usage(f"{base}: a job that neither deploys nor boots")
    return dict(told)


def of_lab(base: Path, test: dict[str, Any], minutes: int, suite: str, device_type: str = "") -> dict[str, Any]:
    """A job of the lab with our test in place of its own. What it says of names, priority and who gets a mail
    is not for ours, and it may take as much longer as our test takes. Raises Usage."""
    made = of_base(base)
    if "lava-multinode" in (made.get("protocols") or {}):
        raise Usage(f"{base}: a job of several devices; take one that boots a single one, as its health check")
    kind = device_type or str(made.get("device_type", ""))
    if not NAME.fullmatch(kind):
        raise Usage(f"{base}: not a device type: {kind!r}")
    made.pop("notify", None)
    made |= {"device_type": kind, "job_name": f"perfmodes {suite} on {kind}", "priority": "medium"}
    timeouts = made["timeouts"] = dict(made.get("timeouts") or {})
    allowed = _seconds(timeouts.get("job")) // 60
    timeouts["job"] = {"minutes": allowed + minutes + SPARE}
    return {**made, "actions": [*made["actions"], test]}


def _seconds(timeout: object) -> int:
    units = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}
    told = timeout.items() if isinstance(timeout, dict) else ()
    return sum(units[unit] * count for unit, count in told if unit in units and isinstance(count, int))


def job(device_type: str, actions: list[dict[str, Any]], test: dict[str, Any], suite: str, minutes: int) -> dict[str, Any]:
    if not NAME.fullmatch(device_type):
        raise Usage(f"not a device type: {device_type!r}")
    made: dict[str, Any] = {
        "job_name": f"perfmodes {suite} on {device_type}",
        "device_type": device_type,
        "visibility": "public",
        "priority": "medium",
        "timeouts": {"job": {"minutes": minutes + SPARE}, "action": {"minutes": 10}},
        "actions": [*actions, test],
    }
    if device_type == QEMU:
        made["context"] = {"arch": "amd64"}
    return made


def text(made: dict[str, Any]) -> str:
    return str(yaml.safe_dump(made, sort_keys=False, width=1000))
