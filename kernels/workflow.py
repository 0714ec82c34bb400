# SPDX-License-Identifier: MIT
"""Generates .github/workflows/matrix.yml: one job a row, the `ci` rows on every push."""

from __future__ import annotations

from kernels import ROOT
from kernels.matrix import Matrix, Row

FILE = ROOT / ".github" / "workflows" / "matrix.yml"
HEAD = """\
# SPDX-License-Identifier: MIT
# Made by `python3 -m kernels workflow --write` from kernels/matrix.toml; a test regenerates it.
name: kernels
on:
  push:
  pull_request:
  schedule:
    - cron: "23 2 * * 1"
  workflow_dispatch:
permissions:
  contents: read
jobs:
"""
JOB = """\
  {name}:
    if: {condition}
    name: ${{{{ matrix.row }}}}
    runs-on: ubuntu-latest
    container: debian:bookworm
    timeout-minutes: ${{{{ matrix.minutes }}}}
    env:
      XDG_CACHE_HOME: ${{{{ github.workspace }}}}/.cache
    strategy:
      fail-fast: false
      matrix:
        include:
{rows}
    steps:
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2
      - uses: actions/cache@5a3ec84eff668545956fd18022155c47e93e2684 # v4.2.3
        with:
          path: .cache
          key: kernels-${{{{ matrix.row }}}}-${{{{ github.run_id }}}}
          restore-keys: kernels-${{{{ matrix.row }}}}-
      - run: apt-get update
      - run: ./run.sh kernels ${{{{ matrix.row }}}}
      - uses: actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02 # v4.6.2
        if: always()
        with:
          name: ${{{{ matrix.row }}}}
          path: results/kernels/
"""
SET_UP = 20  # minutes for packages, a cross build and the download of a kernel


def _job(name: str, condition: str, rows: list[Row]) -> str:
    """One job for the rows that can be run."""
    lines = [
        f"          - {{row: {row.name}, minutes: {SET_UP + 2 * -(-row.timeout // 60)}}}"
        for row in rows
        if not row.unavailable
    ]
    return JOB.format(name=name, condition=condition, rows="\n".join(lines))


def text(listed: Matrix) -> str:
    """The text of the file."""
    manual = "github.event_name == 'schedule' || github.event_name == 'workflow_dispatch'"
    push = "github.event_name == 'push' || github.event_name == 'pull_request'"
    return (
        HEAD
        + _job("ci", push, listed.pick([], ["ci"]))
        + _job("all", manual, listed.pick([], ["all"]))
    )
