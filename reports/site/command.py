# SPDX-License-Identifier: MIT
"""The verb `site`."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import nullcontext

from rich.status import Status

from reports import speak, terminal, text
from reports.database import command, connect, usage
from reports.site import build, model
from reports.text import Unusable


def work(args: argparse.Namespace) -> int:
    """Build the site of a database."""
    began = time.monotonic()
    with connect.reading(connect.open_engine(args.db)) as connection, \
            Status("reading", console=terminal.console(stderr=True)) if sys.stderr.isatty() \
            else nullcontext() as status:
        site = model.load(connection, command.wanted(args))
        site.usage = usage.read(args.usage) if args.usage else None
        if not site.spots:
            raise Unusable("no result is in the database, or none fits")
        pages, missing = build.build(site, args.folder, status.update if status else lambda _said: None)
    if missing:
        speak.error(f"without scripts: {missing}")
    print(text.clean(f"{args.folder}/index.html: {pages.count} files, {pages.bytes / 1e6:.1f} MB, "
                     f"{len(site.points)} points, {text.count(len(site.spots), 'kernel')}, "
                     f"{time.monotonic() - began:.1f} s"))
    return 0
