# SPDX-License-Identifier: MIT
"""Fixtures of other rooms that tests of exports use."""

from reports.test.conftest import make_run

__all__ = ["make_run"]
