# SPDX-License-Identifier: MIT
"""From the text a run leaves behind to results, profiles and tables."""

__version__ = "0.1.0"
