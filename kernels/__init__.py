# SPDX-License-Identifier: MIT
"""The kernel matrix: fetch a kernel, boot it around the bundle, bring the result directory home."""
