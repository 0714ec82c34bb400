# SPDX-License-Identifier: MIT
"""The rows of the matrix, for --list."""

from __future__ import annotations

from rich.console import Console

from kernels.matrix import Matrix, Row


def listing(matrix: Matrix, rows: list[Row], out: Console) -> None:
    """--list: every row with its reason, its limits and its tags."""
    for row in rows or list(matrix.rows.values()):
        what = row.package or f"{row.series} {row.flavour}"
        out.print(
            f"{row.name:<22} {what} ({', '.join(row.suites)}); "
            f"tags: {', '.join(sorted(row.all_tags()))}",
            soft_wrap=True,
        )
        out.print(f"{'':<22} {row.why}", soft_wrap=True)
        if row.unavailable:
            out.print(f"{'':<22} cannot be run: {row.unavailable}", soft_wrap=True)
        for limit in row.limits:
            out.print(f"{'':<22} limit: {limit}", soft_wrap=True)
