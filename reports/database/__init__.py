# SPDX-License-Identifier: MIT
"""The database of results: what was asked of which machine and kernel, and what came out."""
