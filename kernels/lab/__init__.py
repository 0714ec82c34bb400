# SPDX-License-Identifier: MIT
"""Labs with an engine of their own: jobs for LAVA, and results out of its logs."""
