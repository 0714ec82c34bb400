# SPDX-License-Identifier: MIT
"""The verb `site`."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from rich.status import Status
from sqlalchemy.engine import Engine

from reports import answers, speak, terminal, text
from reports.database import command, connect, ship, usage
from reports.site import build, model
from reports.text import Unusable


@contextmanager
def _engine(args: argparse.Namespace) -> Iterator[Engine]:
    """The database that is meant; where there is none, or with --shipped, the answers that ship."""
    if not args.shipped and (args.db != args.usual_db or connect.is_server(args.db) or Path(args.db).is_file()):
        yield connect.open_engine(args.db)
        return
    with ship.engine() as found:
        speak.error(f"of the answers that ship: {text.count(len(answers.names()), 'row')}")
        yield found


def issues(said: str) -> str:
    """The address of the list of issues, without its last slash. Raises Unusable."""
    if said and not re.fullmatch(r"https://[A-Za-z0-9.-]+(?::[0-9]+)?(?:/[A-Za-z0-9._~-]+)+/?", said):
        raise Unusable(text.clean(f"--issues {said}: not an address like https://HOST/OWNER/NAME/issues", 300))
    return said.rstrip("/")


def work(args: argparse.Namespace) -> int:
    """Build the site of a database, or of the answers that ship."""
    began = time.monotonic()
    with _engine(args) as engine, connect.reading(engine) as connection, \
            Status("reading", console=terminal.console(stderr=True)) if sys.stderr.isatty() \
            else nullcontext() as status:
        site = model.load(connection, command.wanted(args))
        site.issues = issues(args.issues)
        site.usage = usage.read(args.usage) if args.usage else None
        if not site.spots:
            raise Unusable("no result is in the database, or none fits")
        try:
            pages, missing = build.build(site, args.folder, status.update if status else lambda _said: None)
        except OSError as error:    # a write does not say into which file
            raise Unusable(f"{error.filename or args.folder}: cannot be written: {error.strerror or error}") from error
    if missing:
        speak.error(f"without scripts: {missing}")
    sizes = [path.stat().st_size for path in args.folder.rglob("*") if path.is_file()]
    print(text.clean(f"{args.folder}/index.html: {len(sizes)} files, {sum(sizes) / 1e6:.1f} MB, "
                     f"{f'{pages.kept} as before, ' if pages.kept else ''}"
                     f"{len(site.points)} points, {text.count(len(site.spots), 'kernel')}, "
                     f"{time.monotonic() - began:.1f} s"))
    return 0
