# SPDX-License-Identifier: MIT
"""Start the command line, with the interpreter that has the packages it needs."""

from __future__ import annotations

import io
import os
import sys
from importlib.util import find_spec

from kernels import name
from reports import interrupt

SYSTEM = "/usr/bin/python3"
PACKAGES = {"apt_pkg": "python3-apt", "jsonschema": "python3-jsonschema", "rich": "python3-rich",
            "tomllib": "python3 (3.11 or later)"}


def main() -> int:
    """Ctrl-C while the packages are loaded ends it without a word: nothing was begun."""
    interrupt.ends_once()
    try:
        return _start()
    except KeyboardInterrupt:
        return 130


def _start() -> int:
    missing = next((name for name in PACKAGES if find_spec(name) is None), None)
    if missing and not os.environ.get("KERNELS_REEXEC") and os.access(SYSTEM, os.X_OK):
        os.environ["KERNELS_REEXEC"] = "1"
        os.execv(SYSTEM, [SYSTEM, "-m", "kernels", *sys.argv[1:]])
    if missing:
        print(
            f"{name(*sys.argv[1:2] or ['run'])}: no Python module '{missing}'; install the package {PACKAGES[missing]}",
            file=sys.stderr,
        )
        return 3
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    from kernels import cli

    return cli.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
