# SPDX-License-Identifier: MIT
"""The ways a row can end without a result. None of them is a verdict about a kernel."""


class RowError(Exception):
    """A reason of one line that the reader can act on."""


class Usage(RowError):
    """The command line or matrix.toml asks for something that does not exist."""


class Missing(RowError):
    """Something this machine lacks: a program, a package, a bundle, the network."""


class Refused(RowError):
    """Something was found but cannot be trusted: its signature, hash or content is wrong."""
