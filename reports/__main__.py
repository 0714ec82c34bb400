# SPDX-License-Identifier: MIT
"""Starts the verbs, with an interpreter that has the packages they need."""

from __future__ import annotations

import os
import sys
import traceback

from reports import NAME, interrupt

SYSTEM = "/usr/bin/python3"
FAULT = 4       # 1 says that a result is bad, or that one was rejected
PACKAGES = {"rich": "python3-rich", "jsonschema": "python3-jsonschema",
            "elftools": "python3-pyelftools", "jinja2": "python3-jinja2",
            "tomllib": "python3 (3.11 or later)"}


def _missing() -> str | None:
    """The first missing module. It is only looked up, not imported, to keep the start fast."""
    from importlib.util import find_spec
    return next((name for name in PACKAGES if find_spec(name) is None), None)


def _is_short_of_memory(error: BaseException) -> bool:
    """What the kernel, or the dynamic linker of an extension module, says; and Python where there is
    not even the memory for a MemoryError."""
    said = str(error).lower()
    return isinstance(error, MemoryError) or any(words in said for words in (
        "failed to map segment", "cannot allocate memory", "without exception set", "without setting an exception"))


def _start() -> int:
    missing = _missing()
    if missing and not os.environ.get("REPORTS_REEXEC") and os.access(SYSTEM, os.X_OK):
        os.environ["REPORTS_REEXEC"] = "1"
        os.execv(SYSTEM, [SYSTEM, "-m", "reports", *sys.argv[1:]])
    if missing:
        print(f"{NAME}: no Python module '{missing}'; install the package {PACKAGES[missing]}",
              file=sys.stderr)
        return 3
    for name, stream in (("stdout", sys.stdout), ("stderr", sys.stderr)):
        if stream is None:      # closed by the caller
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    from reports import verbs
    return verbs.main(sys.argv[1:])


def main() -> int:
    interrupt.ends_once()
    try:
        return _start()
    except KeyboardInterrupt:
        return 130
    except Exception as error:      # no verb lets one through but by a fault of ours
        if not isinstance(error, (MemoryError, ImportError, OSError, SystemError)) or not _is_short_of_memory(error):
            traceback.print_exc()
            return FAULT
        print(f"{NAME}: not enough memory; is there a limit on it (ulimit -v)?", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
