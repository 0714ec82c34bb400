#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the bindings whole: each package, with the declarations that the headers give it.

    make.py LIB OUT       LIB is the folder of perfmodes.h, OUT gets python/ and rust/, and for each
                          optional library NAME.map: what it shows when it is linked as a shared one

What is generated is never committed, so it cannot differ from the headers.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import for_python
import for_rust
import read

ROOM = Path(__file__).resolve().parents[1]


def main(library: Path, out: Path) -> int:
    interface = read.whole(library)
    for language in ("python", "rust"):
        shutil.copytree(ROOM / language, out / language, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("__pycache__", "target"))
        shutil.copy(library / "LICENSE", out / language)
        text = (ROOM / "README.md").read_text(encoding="utf-8")
        (out / language / "README.md").write_text(text.replace(f"({language}/", "("), encoding="utf-8")
    (out / "python" / "perfmodes" / "abi.py").write_text(for_python.module(interface),
                                                         encoding="utf-8")
    (out / "rust" / "src" / "abi.rs").write_text(for_rust.module(interface), encoding="utf-8")
    for name, functions in interface.parts.items():
        shown = "".join(f"\t{function.name};\n" for function in functions)
        (out / f"{name}.map").write_text(f"{{\nglobal:\n{shown}local:\n\t*;\n}};\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2])))
