# SPDX-License-Identifier: MIT
"""Scripts and styles: built once by npm from locked versions, kept in build/site. Where npm is missing
the site is built without scripts and with the plain style: every table is there."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

from reports import text
from reports.site import again

HERE = Path(__file__).parent
WORK = Path("build/site")
PATIENCE = 600
OUT = ("site.js", "style.css", "plots.js", "uplot.css")
ASKED = ("package.json", "package-lock.json", ".npmrc", "bundle.mjs")


def _sources() -> list[Path]:
    return [*(HERE / name for name in ASKED), *sorted((HERE / "front").iterdir())]


def _digest(paths: list[Path]) -> str:
    made = hashlib.sha256()
    for path in paths:
        made.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return made.hexdigest()


def _run(*command: str) -> str:
    """Run a tool in the work folder; why it failed, or ''."""
    try:
        ended = subprocess.run(command, cwd=WORK, capture_output=True, text=True, timeout=PATIENCE,
                               check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return text.clean(str(error), 200)
    last = [line for line in ended.stderr.splitlines() if line.strip()][-1:] or [""]
    return "" if ended.returncode == 0 else text.clean(f"{command[0]}: {last[0]}", 200)


def _stale(name: str, digest: str) -> bool:
    mark = WORK / name
    return not mark.is_file() or mark.read_text(encoding="utf-8") != digest


def install() -> str:
    """The locked packages in build/site/node_modules; why not, or ''."""
    if not shutil.which("npm") or not shutil.which("node"):
        return "npm is not installed: install the packages nodejs and npm for search, filters and compare"
    WORK.mkdir(parents=True, exist_ok=True)
    locked = _digest([HERE / name for name in ASKED[:3]])
    for name in ASKED:
        shutil.copyfile(HERE / name, WORK / name)
    if _stale(".installed", locked):
        failed = _run("npm", "ci", "--no-fund", "--no-audit", "--loglevel=error")
        if failed:
            return f"the packages of the front end could not be installed: {failed}"
        (WORK / ".installed").write_text(locked, encoding="utf-8")
    return ""


def sheets() -> list[Path]:
    """Our own style sheets, in their order; fonts come from packages."""
    names = re.findall(r'url\("\./(\w+)\.css"\)', (HERE / "front/main.css").read_text(encoding="utf-8"))
    return [HERE / f"front/{name}.css" for name in names if name != "fonts"]


def plain_style() -> str:
    """The style where nothing can be bundled."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sheets())


def _put(folder: Path, name: str, data: bytes, old: Path | None) -> None:
    if old and again.is_same(old / name, data):
        again.take(old / name, folder / name)
    else:
        (folder / name).write_bytes(data)


def put(folder: Path, old: Path | None = None) -> str:
    """Put scripts and styles into a folder; why there are no scripts, or ''. What a site that is replaced has
    of the same is taken again."""
    built = _digest(_sources())
    missing = ""
    if _stale(".built", built) or any(not (WORK / "out" / name).is_file() for name in OUT):
        missing = install()
        if not missing:
            for name in ("front", "out"):
                shutil.rmtree(WORK / name, ignore_errors=True)
            shutil.copytree(HERE / "front", WORK / "front")
            missing = _run("node", "bundle.mjs")
        if not missing:
            (WORK / ".built").write_text(built, encoding="utf-8")
    if missing:
        _put(folder, "style.css", plain_style().encode(), old)
        return missing
    for path in sorted((WORK / "out").iterdir()):
        _put(folder, path.name, path.read_bytes(), old)
    return ""
