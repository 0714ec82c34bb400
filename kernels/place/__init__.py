# SPDX-License-Identifier: MIT
"""Where a bundle runs: what is asked there, what comes back, what becomes of it."""
