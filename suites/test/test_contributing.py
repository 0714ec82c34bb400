# SPDX-License-Identifier: MIT
"""The table of CONTRIBUTING.md: what it says to touch is enough, each change done in a copy of the tree."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import TREE

from reports.test import small

TABLE = (TREE / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
FORMAT = 'SUFFIX = "txt"\n\n\ndef write(results, options):\n    return f"{len(results)} shouted\\n"\n'
LINK = '"""A link."""\n\nfrom kernels.place.ssh import SshLink\n\n\nclass ShoutLink(SshLink):\n    """Loud."""\n'
ASK = """
from pathlib import Path
from kernels import options
from kernels.device import command, inventory, options as device_options
Path("devices.toml").write_text('format = 1\\n[[device]]\\nname = "a"\\ntransport = "shout"\\naddress = "there"\\n')
args = options.parser(device_options.add).parse_args(["device", "a"])
devices = inventory.load(Path("devices.toml")).pick(["a", "shout:there"])
print(*(type(command.place_of(device, args).link).__name__ for device in devices))
"""


def row(begin: str) -> str:
    return next(line for line in TABLE.splitlines() if line.startswith(f"| {begin}"))


def change(folder: Path, room: str, added: dict[str, str], edits: list[tuple[str, str, str]], said: str) -> None:
    """A copy of a room with new files and one replacement in each of others, all of which the row names."""
    shutil.copytree(TREE / room, folder / room, ignore=shutil.ignore_patterns("test", "__pycache__"))
    for other in ("lib", "probes", "suites", "kernels", "reports"):
        if other != room:
            (folder / other).symlink_to(TREE / other)
    for name, text in added.items():
        (folder / name).write_text(text, encoding="utf-8")
        assert f"{Path(name).parent.name}/NAME.py" in said
    for name, before, after in edits:
        text = (folder / name).read_text(encoding="utf-8")
        assert before in text
        (folder / name).write_text(text.replace(before, after, 1), encoding="utf-8")
        assert Path(name).name in said, f"the row does not name {name}"


def python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["/usr/bin/python3", *words], cwd=folder, capture_output=True, text=True, check=False)


ROOMS = ("", "lib/", "lib/policy/", "kernels/", "lib/test/", "suites/")


def not_there(table: str) -> list[str]:
    """Paths of the table that are not in the tree; NAME and AREA stand for any."""
    rows = [line for line in table.splitlines() if line.startswith("| a")]
    words = [word for line in rows for word in re.findall(r"`([^` ]*[/.][^` ]*)`", line)]
    assert len(words) > 20
    paths = [re.sub("NAME|AREA", "*", word) for word in words if "=" not in word and not word.startswith("./")]
    return [path for path in paths if not any(list(TREE.glob(room + path.rstrip("/"))) for room in ROOMS)]


def test_each_path_is_there() -> None:
    assert not_there(TABLE) == []
    assert not_there(TABLE.replace("`lib/abi.def`", "`lib/nothing.def`")) == ["lib/nothing.def"]


FORMAT_EDITS = [
    ("reports/rooms.py", 'FORMATS = (', 'FORMATS = ("shout", '),
    ("reports/export/command.py", "import (badge,", "import (shout, badge,"),
    ("reports/export/command.py", "] = {\n", '] = {\n    "shout": shout.write,'),
]


@pytest.mark.parametrize("edits, works", [(FORMAT_EDITS, True), (FORMAT_EDITS[1:], False), (FORMAT_EDITS[:1], False)])
def test_an_output_format(tmp_path: Path, edits: list[tuple[str, str, str]], works: bool) -> None:
    change(tmp_path, "reports", {"reports/export/shout.py": FORMAT}, edits, row("an output format"))
    made = small.result({"root": {"meta.pass": {"opens": "yes"}}})
    (tmp_path / "result.json").write_text(json.dumps(made), encoding="utf-8")
    done = python(tmp_path, "-m", "reports", "export", "shout", "result.json")
    assert (done.stdout == "1 shouted\n") == works, done.stderr


TRANSPORT_EDITS = [
    ("kernels/device/inventory.py", 'TRANSPORTS = (', 'TRANSPORTS = ("shout", '),
    ("kernels/device/schema.json", '"transport": {"enum": [', '"transport": {"enum": ["shout", '),
    ("kernels/device/command.py", 'if device.transport == "adb":',
     'if device.transport == "shout":\n        from kernels.place.shout import ShoutLink\n'
     '        link = ShoutLink(device.address, config)\n    elif device.transport == "adb":'),
]


@pytest.mark.parametrize("lacking", [None, 0, 1, 2])
def test_a_way_to_a_device(tmp_path: Path, lacking: int | None) -> None:
    edits = [edit for i, edit in enumerate(TRANSPORT_EDITS) if i != lacking]
    change(tmp_path, "kernels", {"kernels/place/shout.py": LINK}, edits, row("a way to a device"))
    done = python(tmp_path, "-c", ASK)
    assert (done.stdout == "ShoutLink ShoutLink\n") == (lacking is None), done.stderr
