# SPDX-License-Identifier: MIT
"""Devices: the inventory of those there are, and the command that runs a bundle on them."""
