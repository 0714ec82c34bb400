# SPDX-License-Identifier: MIT
"""The synthetic PMU: its module's source, and how it is built for a kernel of the matrix."""
