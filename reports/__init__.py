# SPDX-License-Identifier: MIT
"""From the text a run leaves behind to results, profiles and tables."""

import os

# What a person typed: run.sh says, whose verbs these are.
COMMAND = os.environ.get("PERFMODES_COMMAND") or "reports"
NAME = COMMAND.removeprefix("./")

__version__ = "0.1.0"
