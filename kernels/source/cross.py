# SPDX-License-Identifier: MIT
"""Tool chains for other machines of the matrix: Debian's cross gcc with the musl of that machine.

The compiler and the kernel headers are installed packages. musl comes from the `musl-dev` of the
foreign architecture; it is fetched and checked as kernels are, and unpacked below build/.
No foreign package is installed.
"""

from __future__ import annotations

import argparse
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from kernels import ROOT
from kernels.errors import Missing, Usage
from kernels.matrix import Arch, Matrix
from kernels.source import fetch, image
from kernels.source.fetch import Fetcher

INSTALL = ROOT / ".ci" / "install"
PART = re.compile(r"usr/(include|lib)/[^/]*-linux-musl[^/]*/(.+)")
COMPILER = """\
#!/bin/sh
# Made by `python3 -m kernels cross`: {triple}-gcc with the musl beside this file, always static.
here=$(dirname "$0")
gcc={triple}-gcc
headers="-nostdinc -isystem $here/include -isystem $($gcc -print-file-name=include)"
headers="{cflags} $headers -idirafter /usr/{triple}/include"
for word; do
	case $word in
	-c | -S | -E | -M | -MM | --version | -v | -print-* | -dump*) exec $gcc $headers "$@" ;;
	esac
done
libgcc=$($gcc {cflags} -print-libgcc-file-name)
exec $gcc $headers -static -nostdlib "$here/lib/crt1.o" "$here/lib/crti.o" "$@" -Wl,--start-group \\
	"$here/lib/libc.a" "$libgcc" "${{libgcc%.a}}_eh.a" -Wl,--end-group "$here/lib/crtn.o"
"""


def packages(arch: Arch) -> list[str]:
    """The Debian packages that this machine needs to build for `arch`."""
    return [f"gcc-{arch.triple.replace('_', '-')}", f"linux-libc-dev-{arch.apt}-cross"]


def target(listed: Matrix, bundle: str) -> Arch:
    """The architecture whose bundle has this name."""
    for arch in listed.arches.values():
        if arch.bundle == bundle and arch.triple:
            return arch
    names = (arch.bundle for arch in listed.arches.values() if bundle in (arch.apt, arch.name))
    hint = next((f"; {bundle} is called {name} here" for name in names), "")
    raise Usage(f"no tool chain for {bundle!r}{hint}; there are: {' '.join(bundles(listed))}")


def bundles(listed: Matrix) -> list[str]:
    """Every machine the matrix builds for, each once."""
    return list(dict.fromkeys(arch.bundle for arch in listed.arches.values() if arch.triple))


def install(names: Iterable[str]) -> None:
    """Install packages through .ci/install, which announces what it does."""
    if INSTALL.exists() and shutil.which("dpkg-query"):
        subprocess.run([str(INSTALL), *(f"deb:{name}" for name in names)], check=False)


def require(arch: Arch) -> None:
    """Check for a compiler and headers; Missing names the package to install."""
    compiler, headers = packages(arch)
    if not shutil.which(f"{arch.triple}-gcc"):
        raise Missing(f"no {arch.triple}-gcc: apt-get install {compiler} {headers}")
    if not Path(f"/usr/{arch.triple}/include/linux/perf_event.h").exists():
        raise Missing(f"no kernel headers for {arch.apt}: apt-get install {headers}")


def buildable(listed: Matrix) -> tuple[list[str], list[str]]:
    """The machines that can be built for with what is installed, and of the others what is lacking."""
    found, lacking = [], []
    for name in bundles(listed):
        try:
            if name != platform.machine():
                require(target(listed, name))
            found.append(name)
        except Missing as error:
            lacking.append(f"{name}: {error}")
    return found, lacking


def unpack(deb: Path, folder: Path) -> None:
    """Unpack include/ and lib/ of a musl-dev package; only plain files with plain names."""
    found: dict[str, bytes] = {}
    with image.files(deb) as tar:
        for info in tar:
            match = PART.fullmatch(info.name.removeprefix("./"))
            if match and info.isreg() and ".." not in match[2].split("/"):
                found[f"{match[1]}/{match[2]}"] = tar.extractfile(info).read()
    if "lib/libc.a" not in found:
        raise Missing(f"{deb.name} has no static musl")
    for name, data in found.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def strip_debug(arch: Arch, folder: Path) -> None:
    """Debug information of a newer suite makes the linker of this one crash (riscv64, ld 2.40)."""
    for name in ("libc.a", "crt1.o", "crti.o", "crtn.o"):
        argv = [f"{arch.triple}-objcopy", "--strip-debug", str(folder / name)]
        subprocess.run(argv, check=True, capture_output=True)


def make_tools(arch: Arch, folder: Path, fetcher: Fetcher) -> Path:
    """Make folder/{cc,include,lib}, and last tools.mk, which the Makefile includes."""
    require(arch)
    folder.mkdir(parents=True, exist_ok=True)
    musl = fetcher.tool("musl-dev", arch.musl, arch.apt)
    for part in ("include", "lib"):
        shutil.rmtree(folder / part, ignore_errors=True)
    unpack(musl.path, folder)
    strip_debug(arch, folder / "lib")
    (folder / "cc").write_text(COMPILER.format(triple=arch.triple, cflags=arch.cflags))
    (folder / "cc").chmod(0o755)
    tools = folder / "tools.mk"
    tools.write_text(
        f"# musl-dev {musl.package.version}, sha256 {musl.package.sha256}\n"
        f"CROSS_COMPILE := {arch.triple}-\nCC := {folder}/cc\nDEBIAN_ARCH := {arch.apt}\n"
    )
    return tools


def verb(args: argparse.Namespace, listed: Matrix) -> int:
    """`python3 -m kernels cross MACHINE FOLDER`."""
    arch = target(listed, args.machine)
    print(f"perfmodes: setting up a tool chain for {arch.bundle} in {args.folder}", file=sys.stderr)
    if not args.no_install and arch.bundle != platform.machine():
        install(packages(arch))
    say = lambda text: print(f"perfmodes: {text}", file=sys.stderr)  # noqa: E731
    make_tools(arch, args.folder, fetch.fetcher(args.mirror, say=say))
    return 0
