#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""sbom.py VERSION HARNESS FILE... - what the files of a release consist of, as CycloneDX 1.5 JSON.

Each FILE is named with its SHA-256. The parts that come from elsewhere are those that the build takes:
the C library and the compiler's library in the static programs, yajl, and the harness of the kernel's
self-tests below the folder HARNESS. A part whose version nobody here knows is named without.
The time is SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import quote

# Its table says which kernel has which harness.
FETCH = Path(__file__).resolve().parents[1] / "probes/kit/fetch-harness"
PARTS = (("musl-dev", "musl", "MIT", "C library of the static programs"),
         ("libgcc-{gcc}-dev", "libgcc", "GPL-3.0-only WITH GCC-exception-3.1", "compiler's library"),
         ("libyajl-dev", "yajl", "ISC", "JSON reader of the library"))


def told(*command: str) -> str:
    """What a program prints, or nothing."""
    try:
        done = subprocess.run(command, text=True, capture_output=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def digest(path: Path) -> list[dict[str, str]]:
    return [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}]


def licence(expression: str) -> list[dict[str, object]]:
    if " " in expression:
        return [{"expression": expression}]
    return [{"license": {"id": expression}}]


def part(package: str, name: str, terms: str, what: str) -> dict[str, object]:
    package = package.format(gcc=told("gcc", "-dumpversion").partition(".")[0])
    version = told("dpkg-query", "-W", "-f", "${Version}", package)
    made: dict[str, object] = {"type": "library", "bom-ref": name, "name": name,
                               "description": what, "licenses": licence(terms)}
    if version:
        made |= {"version": version, "purl": f"pkg:deb/debian/{package}@{quote(version, safe=':')}"}
    return made


def harness(folder: Path) -> dict[str, object]:
    header = folder / "kselftest_harness.h"
    made: dict[str, object] = {
        "type": "library", "bom-ref": "kselftest", "name": "kselftest",
        "description": "harness of the kernel's self-tests, in the probes",
        "licenses": licence("GPL-2.0-only")}
    if header.is_file():
        made["hashes"] = hashes = digest(header)
        known = re.search(rf"{hashes[0]['content']} linux-source-([0-9.]+)", FETCH.read_text())
        if known:
            made["version"] = known[1]
    return made


def bom(version: str, folder: Path, files: list[Path]) -> dict[str, object]:
    """The whole document. Everything is in a fixed order."""
    when = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), timezone.utc)
    parts = [harness(folder), *(part(*row) for row in PARTS)]
    own = [{"type": "file", "bom-ref": path.name, "name": path.name, "hashes": digest(path)}
           for path in sorted(files)]
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {
            "timestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {"type": "application", "bom-ref": "perfmodes", "name": "perfmodes",
                          "version": version,
                          "licenses": licence("MIT AND GPL-2.0-only")}},
        "components": [*own, *parts],
        "dependencies": [{"ref": "perfmodes", "dependsOn": [str(p["bom-ref"]) for p in parts]}],
    }


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    made = bom(sys.argv[1], Path(sys.argv[2]), [Path(name) for name in sys.argv[3:]])
    print(json.dumps(made, indent=1, sort_keys=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
