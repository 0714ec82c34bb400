# SPDX-License-Identifier: MIT
"""The ways a row can end without a result. None of them is a verdict about a kernel."""

from __future__ import annotations


class RowError(Exception):
    """A reason of one line that the reader can act on."""


class Usage(RowError):
    """The command line or matrix.toml asks for something that does not exist."""


class Missing(RowError):
    """Something this machine lacks: a program, a package, a bundle, the network."""


class Refused(RowError):
    """Something was found but cannot be trusted: its signature, hash or content is wrong."""


def reason(error: Exception) -> str:
    """What went wrong, without the number that Python puts before it."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)
